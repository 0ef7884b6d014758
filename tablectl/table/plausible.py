"""What a board cannot truly see or count: by reports that contradict each other nothing may move."""

from collections.abc import Iterable

from firmware_protocol.description import Description
from firmware_protocol.parts import ENDS
from tablectl.table.activity import Trouble
from tablectl.table.events import BoardState
from tablectl.table.operations import Pending


class Plausible:
    """Holds each report of a session against those before it and against what was ordered to move."""

    def __init__(self, description: Description) -> None:
        self._holds = [(mouth.name, 2 * mouth.stacks) for mouth in description.named_mouths]
        two_ends = [part for part in description.parts if len(ENDS[part.kind]) > 1]
        self._ends = [(p.name, {f"{p.name}.{end}" for end in ENDS[p.kind]}) for p in two_ends]
        self._certain: dict[str, int] = {}  # the last certain count of a store whose lift has stood since

    def contradiction(self, state: BoardState, moving: Iterable[Pending]) -> Trouble | None:
        """Return why a report cannot be true, None where it can."""
        told = set(state.sensors)
        for part, ends in self._ends:
            if ends <= told:
                return Trouble("E52", {"part": part})  # it is at one end or the other
        mouth = self._impossible_count(state, moving)
        return Trouble("E27", {"side": mouth}) if mouth else None

    def _impossible_count(self, state: BoardState, moving: Iterable[Pending]) -> str | None:
        """Return a mouth whose store has lost tiles though its lift stands, or holds more than it can."""
        for lift in (p for p in moving if p.part.startswith("lift.")):
            self._certain.pop(lift.mouth, None)
        for (mouth, most), stored, unsure in zip(self._holds, state.stored, state.unsure, strict=False):
            if stored > most or (not unsure and stored < self._certain.get(mouth, 0)):
                return mouth
            if not unsure:
                self._certain[mouth] = stored
        return None
