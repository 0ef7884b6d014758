"""What must hold of every run of a kill campaign, whatever was struck; pure, over what was seen of it."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sim.lab.kills_plan import Kind, Plan
from tablectl.journal.chain import Entry, first_broken
from tablectl.table.faults import catalogue

SILENCE_MS = 720  # the board's 700 ms and what it takes to switch off
# Which mechanisms a state of the cycle moves; a board that moved another was ordered without a word of it.
MOVES = {
    "homing": ("stacker", "console", "lift"),
    "opening": ("console",),
    "closing": ("console",),
    "raising": ("lift",),
    "washing": ("drum", "conveyor", "stacker"),
    "probing": ("conveyor",),  # the drum turns on
    "diagnosing": ("conveyor",),
    "add_opening": ("conveyor", "console"),
    "add_closing": ("console",),
    "giving_up": ("conveyor", "lift"),
}
_BARRED = ("unhomed", "fault", "stopped")
_SILENT = ("E12", "E13")  # the computer was silent; a scaled clock says it in its own words
# What a strike is among the faults that the causes in the catalogue name.
_FAULTS: dict[Kind, tuple[str, ...]] = {
    Kind.DAEMON: (),
    Kind.SIMULATOR: ("power-cut", "missing"),  # the board that comes instead knows nothing of the tiles
    Kind.UNPLUG: ("unplug",),
    Kind.RESET: ("reset",),
    Kind.LIRCD: (),
}
_LOSS = {Kind.SIMULATOR: ("E10",), Kind.UNPLUG: ("E10",), Kind.RESET: ("E10", "E11")}  # while it moved


@dataclass(frozen=True, slots=True)
class Wrong:
    """What must not be and was: a key of the texts, and its values."""

    key: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Look:
    """A table that stood still: what the daemon said, and what the simulator knew."""

    state: str
    ledger: tuple[str, ...]  # per side, a number or from-to
    stored: tuple[int, ...] | None  # what the set in the stores is said to be
    truth: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that was seen of one run."""

    plan: Plan
    ready: bool
    state: str  # at the end
    struck: int  # the number of the last journal entry before the strike
    kept: tuple[Entry, ...]  # the journal as it was found right after the strike
    done: tuple[str, ...]  # what the board had been ordered to move by then
    entries: tuple[Entry, ...]  # the journal at the end
    executed: tuple[str, ...]  # by every board of this run
    truths: tuple[dict[str, Any], ...]  # the last word of every simulator of this run
    looks: tuple[Look, ...]
    losses: tuple[str, ...]  # of the remote's input, as the host was told; where lircd was killed
    said: str  # by the processes


def expected(kind: Kind) -> frozenset[str]:
    """Return the codes that a strike may bring: those with a cause in the catalogue that it is."""
    faults = set(_FAULTS[kind])
    codes = {code for code, entry in catalogue().items() if any(faults & set(c) for c in entry.simulated)}
    if kind is Kind.DAEMON or codes & set(_SILENT):
        codes |= set(_SILENT)
    return frozenset(codes)


def codes(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Return the codes of the faults in a journal, in order."""
    return tuple(code for code, _ in _faults(entries))


def state_at(entries: Iterable[Entry], number: int) -> str:
    """Return the state of the cycle after the entry with that number."""
    return ([new for _, new in _states(e for e in entries if e.id <= number)] or ["unhomed"])[-1]


def judge(seen: Seen) -> tuple[Wrong, ...]:
    """Return everything that is wrong with a run."""
    checks = (_end, _journal, _written_ahead, _codes, _noticed, _asked, _remote, _ledger, _table)
    found = [wrong for check in checks for wrong in check(seen)]
    return tuple(wrong for n, wrong in enumerate(found) if wrong not in found[:n])


def _end(seen: Seen) -> Iterator[Wrong]:
    if not seen.ready:
        yield Wrong("not_ready", {"state": seen.state, "codes": " ".join(codes(after(seen))) or "-"})
    if "Traceback" in seen.said:
        yield Wrong("crash", {"line": seen.said.strip().splitlines()[-1]})


def _journal(seen: Seen) -> Iterator[Wrong]:
    for entries in (seen.kept, seen.entries):
        if (broken := first_broken(entries)) is not None:
            yield Wrong("chain", {"entry": broken})
    if seen.entries[: len(seen.kept)] != seen.kept:
        yield Wrong("vanished")


def _written_ahead(seen: Seen) -> Iterator[Wrong]:
    """Each motion must have its state in the journal: at once, not only when all is over."""
    for executed, entries in ((seen.done, seen.kept), (seen.executed, seen.entries)):
        if (motion := unwritten(executed, entries)) is not None:
            yield Wrong("unwritten", {"motion": motion})


def unwritten(executed: Sequence[str], entries: Iterable[Entry]) -> str | None:
    """Return the first motion that no state of the journal allows, in their order; None where all are."""
    states = iter(["unhomed", *(new for _, new in _states(entries))])
    allowed = MOVES.get(next(states), ())
    for motion in executed:
        mechanism = motion.split()[1].partition(".")[0]
        while mechanism not in allowed:
            state = next(states, None)
            if state is None:
                return motion
            allowed = MOVES.get(state, ())
    return None


def _codes(seen: Seen) -> Iterator[Wrong]:
    for code, detail in _faults(e for e in seen.entries if e.id <= seen.struck):
        yield Wrong("code_before", {"code": code, "detail": detail})
    meant = expected(seen.plan.kind)
    for code, detail in _faults(after(seen)):
        if code not in meant:
            values = {"code": code, "detail": detail, "expected": " ".join(sorted(meant)) or "-"}
            yield Wrong("code", values)


def _noticed(seen: Seen) -> Iterator[Wrong]:
    """A board that goes while something moves is a fault; one that goes at rest is only homed anew."""
    named = _LOSS.get(seen.plan.kind)
    if named is None:
        return
    state = "unhomed"
    for entry in seen.entries:
        data = json.loads(entry.data)
        if entry.kind == "state":
            if entry.id > seen.struck and data["to"] == "unhomed":
                if state in MOVES:
                    yield Wrong("unnoticed", {"state": state})
                return
            state = data["to"]
        elif entry.kind == "fault" and entry.id > seen.struck:
            if data["code"] not in named or state not in MOVES:
                yield Wrong("noticed_as", {"state": state, "code": data["code"]})
            return
    yield Wrong("unnoticed", {"state": state})


def _asked(seen: Seen) -> Iterator[Wrong]:
    """After a stop nothing moves before a person has pressed a key."""
    asked = False
    for entry in seen.entries:
        data = json.loads(entry.data)
        if entry.kind == "start" or (entry.kind == "state" and data["to"] == "unhomed"):
            asked = False
        elif entry.kind == "key":
            asked = True
        elif entry.kind == "state" and data["to"] == "homing" and not asked:
            yield Wrong("unasked", {"entry": entry.id})


def _remote(seen: Seen) -> Iterator[Wrong]:
    """The loss of a remote is told, once for each reason, and stops nothing."""
    if seen.plan.kind is not Kind.LIRCD:
        return
    if not seen.losses:
        yield Wrong("loss_untold")
    for why, count in Counter(seen.losses).items():
        if count > 1:
            yield Wrong("loss_again", {"why": why, "count": count})
    for _, new in _states(after(seen)):
        if new in _BARRED:
            yield Wrong("stopped", {"state": new})


def _ledger(seen: Seen) -> Iterator[Wrong]:
    for look in seen.looks:
        for n, (count, truth) in enumerate(zip(look.ledger, look.truth, strict=True), 1):
            least, _, most = count.partition("-")
            if not int(least) <= truth <= int(most or least):
                yield Wrong("ledger", {"side": f"S{n}", "ledger": count, "truth": truth, "state": look.state})
        if look.state == "rest" and look.stored is not None and look.stored != look.truth:
            yield Wrong("false_ready", {"stored": look.stored, "truth": look.truth})


def _table(seen: Seen) -> Iterator[Wrong]:
    for truth in seen.truths:
        for violation in truth["violations"]:
            yield Wrong("violation", {"what": violation})
        if (ms := truth["silence"]["longest_us"] // 1000) > SILENCE_MS:
            yield Wrong("silence", {"ms": ms, "limit": SILENCE_MS})
        times = Counter(n for tiles in truth["places"].values() for n in tiles)
        if len(times) != 2 * seen.plan.tiles or set(times.values()) != {1}:
            yield Wrong("tiles")


def after(seen: Seen) -> list[Entry]:
    """Return the journal's entries since the strike."""
    return [e for e in seen.entries if e.id > seen.struck]


def _faults(entries: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    """Yield the code of each fault and what was said of it."""
    for entry in entries:
        if entry.kind == "fault":
            data = json.loads(entry.data)
            yield data["code"], " ".join(map(str, data["values"].values())) or "-"


def _states(entries: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        if entry.kind == "state":
            data = json.loads(entry.data)
            yield data["from"], data["to"]
