"""Players who know nothing but the walls before them: they count, take and draw with their fingers.

Their hands are the truth that a computed deal is held against; they walk the tiles that truly stand, stack by
stack, and never ask where the computed ones lie.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sim.tiles import Tile

CLOCKWISE = (0, 3, 2, 1)  # how fingers go round the table, seen from above


@dataclass(slots=True)
class Stack:
    """Two tiles or one; the upper one is taken first."""

    wall: int
    number: int
    lower: Tile | None
    upper: Tile | None

    def take(self) -> Tile | None:
        """Take the upper tile, or the lower one where there is none; None from where nothing lies."""
        taken, self.upper = self.upper, None
        if taken is None:
            taken, self.lower = self.lower, None
        return taken


@dataclass(slots=True)
class Fingers:
    """One hand at walls that stand: `walls` are each side's tiles, those first pushed at its right."""

    walls: Sequence[Sequence[Tile]]
    hands: dict[int, list[Tile]] = field(default_factory=dict)
    drawn: list[Tile] = field(default_factory=list)
    replaced: list[Tile] = field(default_factory=list)
    _ring: list[Stack] = field(default_factory=list)

    def open(self, wall: int, stack: int) -> None:
        """Put a finger on the stack that is taken first."""
        ring = [
            Stack(side, number + 1, *_pair(self.walls[side], number))
            for side in CLOCKWISE
            for number in range(-(-len(self.walls[side]) // 2))
        ]
        first = next(n for n, each in enumerate(ring) if (each.wall, each.number) == (wall, stack))
        self._ring = ring[first:] + ring[:first]

    def take_block(self, seat: int) -> None:
        """Take four tiles: two stacks, or what comes next where a stack is a single tile."""
        self.hands.setdefault(seat, []).extend(self._front() for _ in range(4))

    def take_one(self, seat: int) -> None:
        """Take one tile."""
        self.hands.setdefault(seat, []).append(self._front())

    def jump(self, turn: Sequence[int]) -> None:
        """Let the dealer take the upper tiles of the next stack and the next but one, the others one each.

        With single tiles on the way, or fewer players, one each is taken and the dealer takes one more.
        """
        whole = [s for s in self._ring if s.lower is not None or s.upper is not None][:3]
        if len(turn) == 4 and all(s.upper is not None for s in whole):
            first, second, third = whole
            self.hands[turn[0]] += _both(first.take(), third.take())
            for seat, stack in zip(turn[1:], (first, second, second), strict=True):
                self.hands[seat] += _both(stack.take())
            return
        for seat in (*turn, turn[0]):
            self.take_one(seat)

    def draw(self) -> Tile:
        """Draw the next tile in play."""
        self.drawn.append(self._front())
        return self.drawn[-1]

    def replace(self) -> Tile:
        """Draw a tile from the tail: backwards from the break, the upper one of a stack first."""
        for stack in reversed(self._ring):
            if (taken := stack.take()) is not None:
                self.replaced.append(taken)
                return taken
        raise IndexError("no tile is left")

    def lift(self, tile: Tile) -> None:
        """Take an indicator out of the order of drawing: it lies open and nobody draws it."""
        for stack in self._ring:
            if stack.upper is tile:
                stack.upper = None
            if stack.lower is tile:
                stack.lower = None

    def left(self) -> list[Tile]:
        """Return what lies there still, in the order of drawing."""
        return [t for s in self._ring for t in (s.upper, s.lower) if t is not None]

    def _front(self) -> Tile:
        for stack in self._ring:
            if (taken := stack.take()) is not None:
                return taken
        raise IndexError("no tile is left")


def _pair(wall: Sequence[Tile], number: int) -> tuple[Tile | None, Tile | None]:
    # The mouth puts the first tile of a stack below the second; a last single one lies alone.
    lower, *upper = wall[2 * number : 2 * number + 2]
    return lower, upper[0] if upper else None


def _both(*tiles: Tile | None) -> list[Tile]:
    return [tile for tile in tiles if tile is not None]
