"""The board's interlocks: why a move is not begun, whatever the host believes."""

from collections.abc import Callable, Iterable

from firmware_protocol import messages as m
from firmware_protocol.description import Description, PartKind
from sim.board.counts import STACK, Counts

FEEDS = (PartKind.DRUM, PartKind.CONVEYOR)
Move = m.Run | m.Stroke | m.Fill
_ENDINGS = frozenset(int(end) for end in m.End)


class Interlocks:
    """Looks at sensors, counts and what moves; `seen` gives the sensors, `moving` the ids of busy parts."""

    def __init__(
        self,
        description: Description,
        counts: Counts,
        seen: Callable[[], dict[str, bool]],
        moving: Callable[[], Iterable[int]],
    ) -> None:
        self._description = description
        self._counts = counts
        self._seen = seen
        self._moving = moving

    def part_of(self, move: Move) -> int | None:
        """Return the part that a move is on, None where there is none."""
        if isinstance(move, m.Fill):
            if move.mouth >= self._description.mouths:
                return None
            return self._description.part(f"conveyor.S{move.mouth + 1}")
        return move.part if move.part < len(self._description.parts) else None

    def refusal(self, move: Move, feed_held: bool) -> m.FailReason | None:
        """Return why a move may not begin now, None where it may."""
        part = self.part_of(move)
        if part is None:
            return m.FailReason.BAD_ARGUMENT
        kind = self._description.parts[part].kind
        # A stroke to the other end takes the place of the one under way: a hand in the gap must not wait.
        if part in self._moving() and not (isinstance(move, m.Stroke) and kind not in FEEDS):
            return m.FailReason.BUSY
        if isinstance(move, m.Stroke):
            reason = self._stroke(kind, self._description.parts[part].side, move.end)
        elif isinstance(move, m.Fill):
            reason = self._fill(move, feed_held)
        elif kind not in FEEDS or move.direction not in (1, -1):
            reason = m.FailReason.BAD_ARGUMENT
        else:
            reason = m.FailReason.ABORTED if feed_held else None
        return reason or self._current(move, part)

    def _fill(self, move: m.Fill, feed_held: bool) -> m.FailReason | None:
        side = f"S{move.mouth + 1}"
        if move.tiles > 2 * self._description.capacity[move.mouth]:
            return m.FailReason.BAD_ARGUMENT
        if move.tiles < self._counts.of[move.mouth].taken:
            return m.FailReason.COUNT
        if feed_held:
            return m.FailReason.ABORTED
        if not self._seen()[f"lift.{side}.home"] or self._busy(f"stacker.{side}", f"lift.{side}"):
            return m.FailReason.INTERLOCK
        return None

    def _stroke(self, kind: PartKind, side: int, end: int) -> m.FailReason | None:
        name, seen = f"S{side}", self._seen()
        turns = kind is PartKind.LIFT and end != m.End.HOME
        if end not in _ENDINGS or kind in FEEDS or (end == m.End.TURN) != turns:
            return m.FailReason.BAD_ARGUMENT
        clear = True
        if kind is PartKind.STACKER:
            # A push against a tray that is not home, or into a full store, breaks things; going back is none.
            room = 2 * self._description.capacity[side - 1] - self._counts.most(side - 1)
            clear = end == m.End.HOME or (seen[f"lift.{name}.home"] and room >= STACK)
            clear = clear and not self._busy(f"lift.{name}", f"conveyor.{name}")
        elif kind is PartKind.LIFT:
            clear = seen[f"stacker.{name}.open"] and seen["console.down"] and not seen["console.up"]
            clear = clear and not self._busy(f"stacker.{name}", f"conveyor.{name}", "console")
            # Raised only as full as ordered, with nothing on its way.
            clear = clear and (end == m.End.HOME or self._counts.complete(side - 1))
        elif kind is PartKind.CONSOLE:
            clear = not self._busy(*self._description.names(PartKind.LIFT))
        return None if clear else m.FailReason.INTERLOCK

    def _current(self, move: Move, part: int) -> m.FailReason | None:
        parts = self._description.parts
        wanted = parts[part].max_ma
        if isinstance(move, m.Fill):
            wanted += parts[self._description.part(f"stacker.S{move.mouth + 1}")].max_ma
        for busy in set(self._moving()) - {part}:
            wanted += parts[busy].max_ma
            if parts[busy].kind is PartKind.CONVEYOR:
                wanted += parts[self._description.part(f"stacker.S{parts[busy].side}")].max_ma
        return m.FailReason.CURRENT if wanted > self._description.max_total_ma else None

    def _busy(self, *names: str) -> bool:
        moving = set(self._moving())
        return any(self._description.part(n) in moving for n in names)
