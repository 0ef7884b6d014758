"""The hash chain: each entry's hash covers the one before, so that a change anywhere shows from there on."""

import hashlib
import json
from collections.abc import Iterable
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


def first_broken(entries: Iterable[Entry]) -> int | None:
    """Return the number of the first entry that does not follow from those before it, None when all do."""
    previous, expected = GENESIS, 1
    for entry in entries:
        again = chained(previous, expected, entry.wall, entry.time_us, entry.kind, entry.data)
        if again != entry:
            return expected
        previous, expected = entry.hash, expected + 1
    return None
