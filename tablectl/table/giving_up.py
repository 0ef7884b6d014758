"""Giving a wash up: another rule is wanted, or counts are lost, so what is stored comes up as it is.

People take it off and begin anew. These walls are nobody's: no dice are thrown on them.
"""

from tablectl.table.activity import Outcome, Procedure
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, OpId, Verb
from tablectl.table.homing import pairs
from tablectl.table.operations import Operations, Pending
from tablectl.table.sorter import GiveBack, conveyor


class GivingUp:
    """Belts go back to the drum, slots go into the stores, the lifts turn.

    `recorded` is what the stores held by the record: a board that has forgotten it may have it still.
    """

    def __init__(
        self, operations: Operations, state: BoardState, recount: tuple[str, ...], recorded: tuple[int, ...]
    ) -> None:
        self._operations = operations
        self._state = state
        self._recount = recount
        self._recorded = recorded or (0,) * len(state.stored)
        self._back: GiveBack | None = None
        self._filling: set[OpId] | None = None
        self._lifts: Procedure | None = None

    def begin(self, now_us: int) -> None:
        """Let the belts run back."""
        # A belt that has run back lets the board count anew: what it holds is then one number again.
        state = self._state
        counts = zip(state.taken, state.stored, state.unsure, strict=True)
        sides = [
            n
            for n, (taken, stored, unsure) in enumerate(counts, 1)
            if taken != stored or unsure or f"S{n}" in self._recount
        ]
        self._back = GiveBack(self._operations, sides, now_us)

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in the counts."""
        self._state = state

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Strike a move off."""
        if self._back:
            self._back.ended(pending.op)
        if self._filling and reason is None:
            self._filling.discard(pending.op)
        return self._lifts.ended(pending, reason, now_us) if self._lifts else False

    def advance(self, now_us: int) -> Outcome:
        """Go on from step to step; RAISED at the end."""
        if self._back and not self._back.done(now_us):
            return None
        if self._filling is None:
            self._filling = {
                self._operations.order(Verb.FILL, conveyor(n), now_us, taken)
                for n, taken in enumerate(self._state.taken, 1)
                if taken
            }
        if self._filling:
            return None
        if self._lifts is None:
            holds = zip(self._state.stored, self._state.unsure, self._recorded, strict=True)
            sides = [n for n, words in enumerate(holds, 1) if any(words)]
            self._lifts = Procedure(self._operations, pairs(Verb.STROKE_TURN, sides), Trigger.RAISED)
            self._lifts.begin(now_us)
        return self._lifts.advance(now_us)

    def next_deadline(self) -> int | None:
        """Return when the belts are to be stopped."""
        return self._back.next_deadline() if self._back else None
