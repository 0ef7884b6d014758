"""The board's interlocks: why a move is not begun, whatever the host believes."""

from collections.abc import Callable, Mapping

from firmware_protocol import messages as m
from firmware_protocol.description import Description, Part, PartKind
from sim.board.counts import STACK, Counts, Push
from sim.board.whereabouts import Whereabouts

FEEDS = (PartKind.DRUM, PartKind.CONVEYOR)
TIMED = (m.End.HOME_TIMED, m.End.FAR_TIMED)
Move = m.Run | m.Stroke | m.Fill | m.Jog
_OF_CONSOLE = frozenset({m.End.HOME, m.End.FAR, *TIMED})
_OF = {
    PartKind.STACKER: frozenset({m.End.HOME, m.End.FAR}),
    PartKind.LIFT: frozenset({m.End.HOME, m.End.TURN}),
    PartKind.CONSOLE: _OF_CONSOLE,
}


class Interlocks:
    """Looks at sensors, counts and what moves; `moving`: ids of busy parts, and whether each is jogged."""

    def __init__(
        self,
        description: Description,
        counts: Counts,
        whereabouts: Whereabouts,
        tells: Callable[[str], bool],
        moving: Callable[[], Mapping[int, bool]],
    ) -> None:
        self._description = description
        self._names = tuple(mouth.name for mouth in description.named_mouths)
        self._counts = counts
        self._whereabouts = whereabouts
        self._believes = whereabouts.believes
        self._tells = tells
        self._moving = moving

    def part_of(self, move: Move) -> int | None:
        """Return the part that a move is on, None where there is none."""
        if isinstance(move, m.Fill):
            if move.mouth >= self._description.mouths:
                return None
            return self._description.part(f"conveyor.{self._names[move.mouth]}")
        return move.part if move.part < len(self._description.parts) else None

    def refusal(self, move: Move, feed_held: bool, lift_key: bool) -> m.FailReason | None:
        """Return why a move may not begin now, None where it may.

        `feed_held`: nothing may feed until the host knows of the keys; `lift_key`: one is held now.
        """
        index = self.part_of(move)
        if index is None:
            return m.FailReason.BAD_ARGUMENT
        part = self._description.parts[index]
        moving = self._moving()
        # A stroke to the other end takes the place of the one under way: a hand in the gap must not wait.
        replaces = isinstance(move, m.Stroke) and part.kind not in FEEDS
        if any(moving.values()) or (index in moving and not replaces):
            return m.FailReason.BUSY
        match move:
            case m.Stroke(end=end):
                reason = self._stroke(part, end) or self._timed(part, end, lift_key)
            case m.Fill():
                reason = self._fill(move, feed_held)
            case m.Jog(direction=direction):
                return self._jog(part, direction, feed_held)
            case m.Run(direction=direction):
                wrong = part.kind not in FEEDS or direction not in (1, -1)
                reason = m.FailReason.BAD_ARGUMENT if wrong else _aborted(feed_held)
        return reason or self._current(move, index)

    def nothing_to_push(self, mouth: int, tiles: int) -> bool:
        """Tell whether a FILL to that number is over before a stacker moves: a tray is no matter to it."""
        at, name = self._counts.of[mouth], self._names[mouth]
        filled = at.taken == at.stored == tiles and at.push is Push.NOTHING
        empty = not self._tells(f"slot.{name}.first")
        return filled and empty and self._believes(f"stacker.{name}.open")

    def _fill(self, move: m.Fill, feed_held: bool) -> m.FailReason | None:
        name = self._names[move.mouth]
        if move.tiles > 2 * self._description.capacity[move.mouth]:
            return m.FailReason.BAD_ARGUMENT
        if move.tiles < self._counts.of[move.mouth].taken:
            return m.FailReason.COUNT
        if feed_held:
            return m.FailReason.ABORTED
        clear = self._believes(f"lift.{name}.home") or self.nothing_to_push(move.mouth, move.tiles)
        clear = clear and not self._whereabouts.contradicts_itself(f"stacker.{name}")
        return _barred(clear and not self._busy(f"stacker.{name}", f"lift.{name}"))

    def _stroke(self, part: Part, end: int) -> m.FailReason | None:
        if part.kind in FEEDS or end not in _OF[part.kind]:
            return m.FailReason.BAD_ARGUMENT
        name, where = part.mouth, self._whereabouts
        clear = part.kind is PartKind.LIFT or not where.contradicts_itself(part.name)
        if part.kind is PartKind.STACKER:
            clear = clear and (self._pushes_freely(part) if end == m.End.FAR else self._goes_home(part))
            clear = clear and not self._busy(f"lift.{name}", f"conveyor.{name}")
        elif part.kind is PartKind.LIFT:
            clear = self._lifts_freely(part)
            clear = clear and not self._busy(f"stacker.{name}", f"conveyor.{name}", "console")
            # Raised only as full as ordered, with nothing on its way.
            clear = clear and (end == m.End.HOME or self._counts.complete(self._names.index(name)))
        else:
            clear = clear and not self._busy(*self._description.names(PartKind.LIFT))
        return _barred(clear)

    def _timed(self, part: Part, end: int, lift_key: bool) -> m.FailReason | None:
        """A stroke by time begins at the other end, seen, and comes down only under a held key."""
        if end not in TIMED:
            return None
        start = f"{part.name}.{'down' if end == m.End.FAR_TIMED else 'up'}"
        if self._whereabouts.timed(start) or not self._believes(start):
            return m.FailReason.INTERLOCK
        return None if end == m.End.FAR_TIMED else _aborted(not lift_key)

    def _jog(self, part: Part, direction: int, feed_held: bool) -> m.FailReason | None:
        if direction not in (1, -1):
            return m.FailReason.BAD_ARGUMENT
        if self._moving():
            return m.FailReason.BUSY
        match part.kind:
            case PartKind.STACKER:
                whole = not self._whereabouts.contradicts_itself(part.name)
                return _barred(direction < 0 or (whole and self._pushes_freely(part)))
            case PartKind.LIFT:
                return _barred(self._lifts_freely(part))
            case PartKind.CONSOLE:
                lifts = self._description.names(PartKind.LIFT)
                return _barred(all(self._whereabouts.there(f"{lift}.home") for lift in lifts))
            case _:
                return _aborted(feed_held)

    def _pushes_freely(self, stacker: Part) -> bool:
        """A push against a tray that is not home, or into a full store, breaks things."""
        mouth = self._names.index(stacker.mouth)
        room = 2 * self._description.capacity[mouth] - self._counts.most(mouth)
        return self._believes(f"lift.{stacker.mouth}.home") and room >= STACK

    def _goes_home(self, stacker: Part) -> bool:
        """Going back breaks nothing; but one that cannot see its open end comes round and pushes."""
        where, opened = self._whereabouts, f"{stacker.name}.open"
        if where.there(f"lift.{stacker.mouth}.home") or self._tells(opened):
            return True
        return where.free_us(stacker.name, where.way_home(stacker.name)) > 0

    def _lifts_freely(self, lift: Part) -> bool:
        stacker, where = f"stacker.{lift.mouth}", self._whereabouts
        clear = self._believes(f"{stacker}.open") and not where.contradicts_itself(stacker)
        return clear and self._believes("console.down") and not self._tells("console.up")

    def _current(self, move: Move, part: int) -> m.FailReason | None:
        parts = self._description.parts
        wanted = parts[part].max_ma
        if isinstance(move, m.Fill):
            wanted += parts[self._description.part(f"stacker.{self._names[move.mouth]}")].max_ma
        for busy in set(self._moving()) - {part}:
            wanted += parts[busy].max_ma
            if parts[busy].kind is PartKind.CONVEYOR:
                wanted += parts[self._description.part(f"stacker.{parts[busy].mouth}")].max_ma
        return m.FailReason.CURRENT if wanted > self._description.max_total_ma else None

    def _busy(self, *names: str) -> bool:
        moving = set(self._moving())
        return any(self._description.part(n) in moving for n in names)


def _barred(clear: bool) -> m.FailReason | None:
    return None if clear else m.FailReason.INTERLOCK


def _aborted(held: bool) -> m.FailReason | None:
    return m.FailReason.ABORTED if held else None
