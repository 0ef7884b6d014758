"""What a board cannot truly see or count: by reports that contradict each other nothing may move."""

from collections.abc import Iterable

from firmware_protocol.description import Description
from firmware_protocol.parts import ENDS
from tablectl.table.activity import Trouble
from tablectl.table.events import BoardState
from tablectl.table.operations import Pending


class Plausible:
    """Holds each report of a session against those before it and against what was ordered to move."""

    def __init__(self) -> None:
        self._certain: dict[str, int] = {}  # the last certain count of a store whose lift has stood since

    def greet(self) -> None:
        """Begin anew: the board may have forgotten."""
        self._certain.clear()

    def contradiction(
        self, state: BoardState, moving: Iterable[Pending], description: Description
    ) -> Trouble | None:
        """Return why a report cannot be true, None where it can."""
        for part in description.parts:
            ends = ENDS[part.kind]
            if len(ends) > 1 and all(f"{part.name}.{end}" in state.sensors for end in ends):
                return Trouble("E52", {"part": part.name})  # it is at one end or the other
        side = self._impossible_count(state, moving, description.capacity)
        return Trouble("E27", {"side": side}) if side else None

    def _impossible_count(
        self, state: BoardState, moving: Iterable[Pending], capacity: tuple[int, ...]
    ) -> str | None:
        """Return a side whose store has lost tiles though its lift stands, or holds more than it can."""
        for lift in (p for p in moving if p.part.startswith("lift.")):
            self._certain.pop(lift.side, None)
        for n, (stored, unsure, holds) in enumerate(
            zip(state.stored, state.unsure, capacity, strict=False), 1
        ):
            side = f"S{n}"
            if stored > 2 * holds or (not unsure and stored < self._certain.get(side, 0)):
                return side
            if not unsure:
                self._certain[side] = stored
        return None
