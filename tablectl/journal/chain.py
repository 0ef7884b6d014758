"""The hash chain: each entry's hash covers the one before, so that a change anywhere shows from there on."""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: number, wall time (ISO 8601, UTC), table time in µs, kind and data as canonical JSON."""

    id: int
    wall: str
    time_us: int
    kind: str
    data: str
    hash: str


def canonical(data: dict[str, Any]) -> str:
    """Return the one JSON text of `data`."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def chained(previous: str, id_: int, wall: str, time_us: int, kind: str, data: str) -> Entry:
    """Return the entry that follows the entry with the hash `previous`."""
    text = "\n".join((previous, str(id_), wall, str(time_us), kind, data))
    return Entry(id_, wall, time_us, kind, data, hashlib.sha256(text.encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class Broken:
    """The first entry that does not follow from those before it: it stands where number `expected` should.

    `why` is "hash" (its content, or one before it, is not what was written), "number" (it stands in a place
    that is not its own) or "missing" (the entries from `expected` to the one before it are gone).
    """

    expected: int
    found: int
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the chain proves: how many entries follow from each other, the first and the last of them."""

    entries: int
    first: Entry | None
    last: Entry | None
    broken: Broken | None

    @property
    def head(self) -> str:
        """Return the hash that stands for all that follow; whoever noted it can tell a rewritten journal."""
        return self.last.hash if self.last else GENESIS


def verify(entries: Iterable[Entry], seen: Callable[[Entry], None] = lambda entry: None) -> Verdict:
    """Follow the chain from its first entry as far as it holds; `seen` gets each entry that follows."""
    first: Entry | None = None
    last: Entry | None = None
    count = 0
    for entry in entries:
        if not _follows(last.hash if last else GENESIS, count + 1, entry):
            return Verdict(count, first, last, Broken(count + 1, entry.id, _why(count + 1, entry.id)))
        first, last, count = first or entry, entry, count + 1
        seen(entry)
    return Verdict(count, first, last, None)


def first_broken(entries: Iterable[Entry]) -> int | None:
    """Return the number of the first entry that does not follow from those before it, None when all do."""
    broken = verify(entries).broken
    return broken.expected if broken else None


def _follows(previous: str, expected: int, entry: Entry) -> bool:
    try:
        return chained(previous, expected, entry.wall, entry.time_us, entry.kind, entry.data) == entry
    except (TypeError, UnicodeError):  # a column holds what no writer of ours puts there
        return False


def _why(expected: int, found: int) -> str:
    if found == expected:
        return "hash"
    return "missing" if found > expected else "number"
