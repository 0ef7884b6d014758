"""Giving a wash up: another rule is wanted, or counts are lost, so what is stored comes up as it is.

People take it off and begin anew. These walls are nobody's: no dice are thrown on them.
"""

from firmware_protocol.description import Mouth
from tablectl.table.activity import Outcome, Procedure
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, OpId, Verb
from tablectl.table.homing import pairs
from tablectl.table.operations import Operations, Pending
from tablectl.table.sorter import GiveBack, by_name, conveyor


class GivingUp:
    """Belts go back to the drum, slots go into the stores, the lifts turn.

    `recorded` is what the stores held by the record: a board that has forgotten it may have it still.
    """

    def __init__(
        self,
        operations: Operations,
        mouths: tuple[Mouth, ...],
        state: BoardState,
        recount: tuple[str, ...],
        recorded: tuple[int, ...],
    ) -> None:
        self._operations = operations
        self._mouths = mouths
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
        counts = zip(self._mouths, state.taken, state.stored, state.unsure, strict=True)
        doubtful = [
            mouth.name
            for mouth, taken, stored, unsure in counts
            if taken != stored or unsure or mouth.name in self._recount
        ]
        self._back = GiveBack(self._operations, doubtful, now_us)

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
                self._operations.order(Verb.FILL, conveyor(name), now_us, taken)
                for name, taken in by_name(self._mouths, self._state.taken).items()
                if taken
            }
        if self._filling:
            return None
        if self._lifts is None:
            holds = zip(self._mouths, self._state.stored, self._state.unsure, self._recorded, strict=True)
            full = [mouth for mouth, *words in holds if any(words)]
            self._lifts = Procedure(self._operations, pairs(Verb.STROKE_TURN, full), Trigger.RAISED)
            self._lifts.begin(now_us)
        return self._lifts.advance(now_us)

    def next_deadline(self) -> int | None:
        """Return when the belts are to be stopped."""
        return self._back.next_deadline() if self._back else None
