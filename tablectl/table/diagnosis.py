"""No tile for long: is one missing, or does a mouth not take? The other mouths look, too.

No evidence is never evidence of none: a tile is called missing only after mouths that have just proved that
they take have looked for it in vain. A mouth that looks stops at its first tile: what has come into the slot
does not go back.
"""

from tablectl.table.activity import Outcome, Trouble
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, OpId, Verb
from tablectl.table.ledger import per_side
from tablectl.table.operations import Operations, Pending
from tablectl.table.sorter import GiveBack, conveyor, unseen

LOOK_US = 8_000_000
ENOUGH = 3  # tiles at other eyes while the suspect saw none: that mouth is at fault
ROUNDS = 4


class Diagnosis:
    """Diagnosing: mouths that are done take a tile each and give it back, a few times."""

    def __init__(self, operations: Operations, tiles: tuple[int, ...], state: BoardState) -> None:
        self._operations = operations
        self._tiles = tiles
        self._begin = self._state = state
        self._suspects = sorted(int(p.side[1:]) for p in operations.running(Verb.FILL))
        self._helpers = [n for n, t in enumerate(tiles, 1) if t and n not in self._suspects]
        self._evidence = 0
        self._round = 0
        self._until_us: int | None = None
        self._stopping: set[OpId] = set()
        self._back: GiveBack | None = None

    def begin(self, now_us: int) -> None:
        """Let the mouths look that are done."""
        self._round += 1
        self._begin = self._state
        self._back = None
        self._until_us = now_us + LOOK_US
        for n in self._helpers:
            self._operations.order(Verb.RUN, conveyor(n), now_us)

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in the counts."""
        self._state = state

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Strike off what was stopped."""
        self._stopping.discard(pending.op)
        if self._back:
            self._back.ended(pending.op)
        return False

    def advance(self, now_us: int) -> Outcome:
        """Return a named fault, or EYE_OWN when washing is to go on."""
        if self._until_us is None:
            return self._tidy(now_us)
        if hidden := unseen(self._state, self._begin, self._helpers):
            return Trouble("E26", {"side": hidden})
        came = [n for n in self._helpers if self._came([n])]
        for n in came:
            self._stop(n, now_us)
        own = self._came(self._suspects) or not self._operations.running(Verb.FILL)
        looking = [n for n in self._helpers if n not in came]
        if not own and now_us < self._until_us and (looking or not self._helpers):
            return None
        others = self._came(self._helpers)
        self._evidence += others
        if not own and self._evidence >= ENOUGH:
            return Trouble("E22", {"sides": ", ".join(f"S{n}" for n in self._suspects)})
        if not own and not others:
            return Trouble("E21" if self._helpers else "E25", {"sides": self._lack()})
        self._until_us = None
        for n in looking:
            self._stop(n, now_us)
        return None

    def next_deadline(self) -> int | None:
        """Return when the look ends, or the belts have given back."""
        if self._until_us is not None:
            return self._until_us
        return self._back.next_deadline() if self._back else None

    def _came(self, sides: list[int]) -> int:
        return sum(self._state.taken[n - 1] - self._begin.taken[n - 1] for n in sides)

    def _lack(self) -> str:
        taken = zip(self._tiles, self._state.taken, strict=True)
        lack = {f"S{n}": t - c for n, (t, c) in enumerate(taken, 1)}
        return per_side({side: count for side, count in lack.items() if count > 0})

    def _stop(self, side: int, now_us: int) -> None:
        for running in self._operations.running(Verb.RUN, conveyor(side)):
            self._stopping |= {running.op, self._operations.stop(running, now_us)}

    def _tidy(self, now_us: int) -> Outcome:
        """Give back what was taken, then look again or let the wash go on."""
        if self._stopping:
            return None
        if self._back is None:
            self._back = GiveBack(self._operations, self._helpers, now_us)
        if not self._back.done(now_us):
            return None
        came = any(c > b for c, b in zip(self._state.taken, self._begin.taken, strict=True))
        if came or not self._operations.running(Verb.FILL) or self._round >= ROUNDS:
            return Trigger.EYE_OWN
        self.begin(now_us)
        return None
