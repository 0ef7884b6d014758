"""Raising: the lifts turn in opposite pairs, but only if every store holds what was ordered."""

from firmware_protocol.description import Mouth
from tablectl.table.activity import Outcome, Procedure, Trouble
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, Verb
from tablectl.table.homing import pairs
from tablectl.table.ledger import per_mouth
from tablectl.table.operations import Operations, Pending


class RaiseWalls:
    """Raises what stores hold, walls and hands; `cut`: a raise was begun before, some may be up already."""

    def __init__(
        self,
        operations: Operations,
        mouths: tuple[Mouth, ...],
        tiles: tuple[int, ...],
        state: BoardState,
        cut: bool,
    ) -> None:
        self._mouths = mouths
        self._wrong: dict[str, str] = {}
        left: list[Mouth] = []
        for mouth, wanted, stored, unsure in zip(mouths, tiles, state.stored, state.unsure, strict=True):
            up = cut and stored == 0 and not unsure
            if not wanted or up:
                continue
            left.append(mouth)
            # After a cut a lift may have turned unseen: turning it again raises what is there, or nothing.
            if stored != wanted or (unsure and not cut):
                self._wrong[mouth.name] = f"{stored}/{wanted}"
        groups = [] if self._wrong else pairs(Verb.STROKE_TURN, left)
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
            return Trouble("E23", {"sides": per_mouth(self._wrong)})
        outcome = self._strokes.advance(now_us)
        holds = zip(self._mouths, self._state.stored, self._state.unsure, strict=True)
        doubtful = [mouth.name for mouth, stored, unsure in holds if stored or unsure]
        if outcome is Trigger.RAISED and doubtful:
            return Trouble("E41", {"side": ", ".join(doubtful)})  # whether that wall stands is not known
        return outcome

    def next_deadline(self) -> int | None:
        """Return None: lifts end by themselves."""
        return None
