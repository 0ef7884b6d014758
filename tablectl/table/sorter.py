"""The wash of one set: drum and mouths run until every side has its tiles, then a probe for one too many."""

from collections.abc import Collection, Iterable

from firmware_protocol.core import earliest
from firmware_protocol.description import Mouth
from tablectl.table.activity import Outcome, Trouble
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, OpId, Verb
from tablectl.table.ledger import per_mouth, wrong_stores
from tablectl.table.operations import Operations, Pending

EMPTY_US = 8_000_000  # no eye has seen a tile: nothing was put in
NO_TILE_US = 20_000_000  # the longest gap of a good wash is under 15 s
PROBE_US = 3_000_000  # 2 s miss 8 extra tiles of 150, 3 s two
BACK_US = 2_000_000  # a belt that runs back is empty by then
RETRIES = 2
_RETRIED = frozenset({"STALL", "TIMEOUT", "FEED_STALL"})


def conveyor(mouth: str) -> str:
    """Return the name of a mouth's conveyor."""
    return f"conveyor.{mouth}"


def by_name(mouths: Iterable[Mouth], counts: Iterable[int]) -> dict[str, int]:
    """Return a count of each mouth by its name."""
    return {mouth.name: count for mouth, count in zip(mouths, counts, strict=True)}


class GiveBack:
    """Runs belts backwards so that what is on them goes back to the drum; then stops them."""

    def __init__(self, operations: Operations, mouths: Collection[str], now_us: int) -> None:
        self._operations = operations
        self._ids = {operations.order(Verb.RUN_BACK, conveyor(name), now_us) for name in mouths}
        self._until_us: int | None = now_us + BACK_US if mouths else None

    def ended(self, op: OpId) -> None:
        """Strike a move off."""
        self._ids.discard(op)

    def done(self, now_us: int) -> bool:
        """Stop the belts when it is time; tell whether they stand."""
        if self._until_us is not None and now_us >= self._until_us:
            self._until_us = None
            for running in self._operations.running(Verb.RUN_BACK):
                self._ids.add(self._operations.stop(running, now_us))
        return self._until_us is None and not self._ids

    def next_deadline(self) -> int | None:
        """Return when the belts are to be stopped."""
        return self._until_us


class Wash:
    """Washing: one FILL per mouth; FILLED when each of them was done and the counts are what was ordered."""

    def __init__(
        self,
        operations: Operations,
        mouths: tuple[Mouth, ...],
        tiles: tuple[int, ...],
        state: BoardState,
        recount: tuple[str, ...] = (),
    ) -> None:
        self._operations = operations
        self._mouths = mouths
        self._tiles = tiles
        self._ordered = {name: count for name, count in by_name(mouths, tiles).items() if count}
        self._state = state
        self._recount = recount
        self._done: set[str] = set()
        self._tries: dict[str, int] = {}
        self._back: GiveBack | None = None
        self._quiet_us = 0  # since when no eye has seen a tile
        self._seen_any = any(state.taken)

    def begin(self, now_us: int) -> None:
        """Give back what is on a belt beyond the order, or in doubt, then run drum and mouths."""
        self._quiet_us = now_us
        taken = by_name(self._mouths, self._state.taken)
        over = [name for name, count in taken.items() if count > self._ordered.get(name, 0)]
        back = [name for name in taken if name in over or name in self._recount]
        if back:
            self._back = GiveBack(self._operations, back, now_us)
        else:
            self._feed(now_us)

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in the counts."""
        if any(c > b for c, b in zip(state.taken, self._state.taken, strict=True)):
            self._quiet_us = now_us
            self._seen_any = True
        self._state = state

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Note a filled side; begin again, a few times, with a stacker or conveyor that was held."""
        if self._back:
            self._back.ended(pending.op)
        if reason is None and pending.verb is Verb.FILL:
            self._done.add(pending.mouth)
        if reason is None and pending.verb is Verb.STROKE_HOME:
            self._fill(pending.mouth, now_us)
        if reason not in _RETRIED or pending.stopping:
            return False
        tries = self._tries[pending.part] = self._tries.get(pending.part, 0) + 1
        if tries > RETRIES:
            return False
        if pending.verb is Verb.FILL:
            # Back to its open end first: away from the tiles, it pushes nothing.
            self._operations.order(Verb.STROKE_HOME, f"stacker.{pending.mouth}", now_us)
            return True
        if pending.part == "drum":
            self._operations.order(Verb.RUN, "drum", now_us)
            return True
        return False

    def advance(self, now_us: int) -> Outcome:
        """Return FILLED, EMPTY or NO_TILE when it has come to that."""
        if self._back:
            if self._back.done(now_us):
                self._back = None
                self._quiet_us = now_us
                self._feed(now_us)
            return None
        if self._done == set(self._ordered):
            wrong = wrong_stores(self._mouths, self._tiles, self._state)
            return Trouble("E23", {"sides": wrong}) if wrong else Trigger.FILLED
        if not all(p.sent for p in self._operations.pending.values()):
            self._quiet_us = now_us  # what waits for the disk does not run
        if not self._seen_any and now_us >= self._quiet_us + EMPTY_US:
            return Trigger.EMPTY
        if self._seen_any and now_us >= self._quiet_us + NO_TILE_US:
            self._quiet_us = now_us  # re-armed: the next look is as long away
            if self._operations.running(Verb.FILL):
                return Trigger.NO_TILE
        return None

    def next_deadline(self) -> int | None:
        """Return when the silence of the eyes means something."""
        if self._back:
            return self._back.next_deadline()
        return self._quiet_us + (NO_TILE_US if self._seen_any else EMPTY_US)

    def _feed(self, now_us: int) -> None:
        if not self._operations.running(Verb.RUN, "drum"):
            self._operations.order(Verb.RUN, "drum", now_us)
        for name in self._ordered:
            if not self._operations.running(Verb.FILL, conveyor(name)):
                self._fill(name, now_us)

    def _fill(self, mouth: str, now_us: int) -> None:
        self._operations.order(Verb.FILL, conveyor(mouth), now_us, self._ordered[mouth])


class Probe:
    """Probing: the mouths run against full stores; a tile at any eye is one too many (多牌).

    Without `look` part of the set stays in the drum, and everything is only stopped.
    """

    def __init__(
        self,
        operations: Operations,
        mouths: tuple[Mouth, ...],
        tiles: tuple[int, ...],
        state: BoardState,
        look: bool = True,
    ) -> None:
        self._look = look
        self._operations = operations
        self._mouths = mouths
        self._tiles = tiles
        self._ordered = {name: count for name, count in by_name(mouths, tiles).items() if count}
        self._began = self._state = state
        self._end_us: int | None = None
        self._stopping: set[OpId] | None = None

    def begin(self, now_us: int) -> None:
        """Run every mouth; the drum still turns."""
        self._end_us = now_us + (PROBE_US if self._look else 0)
        for name in self._ordered if self._look else ():
            self._operations.order(Verb.RUN, conveyor(name), now_us)

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in the counts."""
        self._state = state

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Strike off what was stopped."""
        if self._stopping:
            self._stopping.discard(pending.op)
        return False

    def advance(self, now_us: int) -> Outcome:
        """Stop the feeders at the end of the time; CLEAR when they stand and the stores are as ordered."""
        taken, began = by_name(self._mouths, self._state.taken), by_name(self._mouths, self._began.taken)
        extra = {name: n - self._ordered.get(name, 0) for name, n in taken.items()}
        if extra := {name: over for name, over in extra.items() if over > 0}:
            return Trouble("E24", {"sides": per_mouth(extra)})
        if hidden := unseen(self._state, taken, began, self._ordered):
            return Trouble("E26", {"side": hidden})
        if self._stopping is None and self._end_us is not None and now_us >= self._end_us:
            if not all(p.sent for p in self._operations.pending.values()):
                self._end_us = now_us + PROBE_US  # what waits for the disk has not run
                return None
            self._end_us = None
            self._stopping = self._operations.stop_feeds(now_us)
        if self._stopping is None or self._stopping:
            return None
        wrong = wrong_stores(self._mouths, self._tiles, self._state)
        return Trouble("E23", {"sides": wrong}) if wrong else Trigger.CLEAR

    def next_deadline(self) -> int | None:
        """Return when the probe ends."""
        return earliest(self._end_us)


def unseen(
    state: BoardState, taken: dict[str, int], began: dict[str, int], mouths: Iterable[str]
) -> str | None:
    """Return a mouth at whose head a tile lies that its eye has not seen, None where there is none."""
    for name in mouths:
        if f"slot.{name}.first" in state.sensors and taken[name] <= began[name]:
            return name
    return None
