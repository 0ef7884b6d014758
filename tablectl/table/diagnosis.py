"""No tile for long: is one missing, or does a mouth not take? The other mouths look, too.

No evidence is never evidence of none: a tile is called missing only after mouths that have just proved that
they take have looked for it in vain. A mouth that looks stops at its first tile: what has come into the slot
does not go back.
"""

from firmware_protocol.description import Mouth
from tablectl.table.activity import Outcome, Trouble
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, OpId, Verb
from tablectl.table.ledger import per_mouth
from tablectl.table.operations import Operations, Pending
from tablectl.table.sorter import GiveBack, by_name, conveyor, unseen

LOOK_US = 8_000_000
ENOUGH = 3  # tiles at other eyes while the suspect saw none: that mouth is at fault
ROUNDS = 4


class Diagnosis:
    """Diagnosing: mouths that are done take a tile each and give it back, a few times."""

    def __init__(
        self, operations: Operations, mouths: tuple[Mouth, ...], tiles: tuple[int, ...], state: BoardState
    ) -> None:
        self._operations = operations
        self._mouths = mouths
        self._tiles = by_name(mouths, tiles)
        self._begin = self._state = state
        filling = {p.mouth for p in operations.running(Verb.FILL)}
        self._suspects = [name for name in self._tiles if name in filling]
        self._helpers = [name for name, t in self._tiles.items() if t and name not in filling]
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
        for name in self._helpers:
            self._operations.order(Verb.RUN, conveyor(name), now_us)

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
        if hidden := unseen(self._state, self._taken(), self._taken(self._begin), self._helpers):
            return Trouble("E26", {"side": hidden})
        came = [name for name in self._helpers if self._came([name])]
        for name in came:
            self._stop(name, now_us)
        own = self._came(self._suspects) or not self._operations.running(Verb.FILL)
        looking = [name for name in self._helpers if name not in came]
        if not own and now_us < self._until_us and (looking or not self._helpers):
            return None
        others = self._came(self._helpers)
        self._evidence += others
        if not own and self._evidence >= ENOUGH:
            return Trouble("E22", {"sides": ", ".join(self._suspects)})
        if not own and not others:
            return Trouble("E21" if self._helpers else "E25", {"sides": self._lack()})
        self._until_us = None
        for name in looking:
            self._stop(name, now_us)
        return None

    def next_deadline(self) -> int | None:
        """Return when the look ends, or the belts have given back."""
        if self._until_us is not None:
            return self._until_us
        return self._back.next_deadline() if self._back else None

    def _taken(self, state: BoardState | None = None) -> dict[str, int]:
        return by_name(self._mouths, (state or self._state).taken)

    def _came(self, mouths: list[str]) -> int:
        taken, began = self._taken(), self._taken(self._begin)
        return sum(taken[name] - began[name] for name in mouths)

    def _lack(self) -> str:
        taken = self._taken()
        lack = {name: wanted - taken[name] for name, wanted in self._tiles.items()}
        return per_mouth({name: count for name, count in lack.items() if count > 0})

    def _stop(self, mouth: str, now_us: int) -> None:
        for running in self._operations.running(Verb.RUN, conveyor(mouth)):
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
