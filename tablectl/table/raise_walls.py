"""Raising: the lifts turn in opposite pairs, but only if every store holds what was ordered."""

from tablectl.table.activity import Outcome, Procedure, Trouble
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, Verb
from tablectl.table.homing import pairs
from tablectl.table.ledger import per_side
from tablectl.table.operations import Operations, Pending


class RaiseWalls:
    """Raises the sides that hold a wall; `cut`: a raise was begun before, some sides may be up already."""

    def __init__(self, operations: Operations, tiles: tuple[int, ...], state: BoardState, cut: bool) -> None:
        sides = range(1, len(tiles) + 1)
        stored, unsure = state.stored, state.unsure
        up = [n for n in sides if cut and stored[n - 1] == 0 and not unsure[n - 1]]
        left = [n for n in sides if tiles[n - 1] and n not in up]
        # After a cut a lift may have turned unseen: turning it again raises what is there, or nothing.
        wrong = [n for n in left if stored[n - 1] != tiles[n - 1] or (unsure[n - 1] and not cut)]
        self._wrong = {f"S{n}": f"{stored[n - 1]}/{tiles[n - 1]}" for n in wrong}
        groups = [] if wrong else pairs(Verb.STROKE_TURN, left)
        self._strokes = Procedure(operations, groups, Trigger.RAISED)
        self._state = state

    def begin(self, now_us: int) -> None:
        """Turn the first pair."""
        self._strokes.begin(now_us)

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in the counts."""
        self._state = state

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Strike a lift off."""
        return self._strokes.ended(pending, reason, now_us)

    def advance(self, now_us: int) -> Outcome:
        """Return RAISED, or that a store does not hold what it should."""
        if self._wrong:
            return Trouble("E23", {"sides": per_side(self._wrong)})
        outcome = self._strokes.advance(now_us)
        holds = zip(self._state.stored, self._state.unsure, strict=True)
        doubtful = [f"S{n}" for n, (stored, unsure) in enumerate(holds, 1) if stored or unsure]
        if outcome is Trigger.RAISED and doubtful:
            return Trouble("E41", {"side": ", ".join(doubtful)})  # whether that wall stands is not known
        return outcome

    def next_deadline(self) -> int | None:
        """Return None: lifts end by themselves."""
        return None
