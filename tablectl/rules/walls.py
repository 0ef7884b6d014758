"""Where the tiles of the built walls lie, and in which order they are drawn.

    seen from above          seat 2                 a wall stands before each seat; its stacks are numbered
                        1 ─────────▶ n              from the owner's right to his left; a stack is T over B
                      ▲                1
             seat 3   │                │  seat 1    drawing runs up the numbers, then on to stack 1 of the
                      │                ▼            left neighbour's wall: clockwise, 0 → 3 → 2 → 1 → 0
                      1                n
                        n ◀───────── 1              the tail is the stack just before the first one taken
                             seat 0

A side of odd length ends in one lower tile. A side may be empty; fingers and draws go past it.
"""

from dataclasses import dataclass
from typing import Literal

Layer = Literal["T", "B"]

SIDES = 4
LAYERS: tuple[Layer, Layer] = ("T", "B")
_CLOCKWISE = (0, 3, 2, 1)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one tile lies: wall (machine seat 0-3), stack (from 1 at the owner's right), layer."""

    wall: int
    stack: int
    layer: Layer

    def __str__(self) -> str:
        return f"w{self.wall}s{self.stack}{self.layer}"


@dataclass(frozen=True, slots=True)
class Walls:
    """Four walls, given as the number of tiles before each machine seat."""

    tiles: tuple[int, int, int, int]

    @property
    def total(self) -> int:
        """Return the number of tiles in all walls."""
        return sum(self.tiles)

    def stacks(self, wall: int) -> int:
        """Return the number of stacks of one wall, a last half stack included."""
        return (self.tiles[wall] + 1) // 2

    def stack(self, wall: int, number: int) -> tuple[Place, ...]:
        """Return the tiles of one stack, upper first: two, or the one lower tile that ends an odd wall."""
        halved = 2 * number > self.tiles[wall]
        return tuple(Place(wall, number, layer) for layer in (LAYERS[1:] if halved else LAYERS))

    def after(self, wall: int, passed: int) -> tuple[int, int]:
        """Return wall and number of the stack after `passed` stacks, counted from the right end of `wall`."""
        ring = self._ring()
        return ring[(self._start(wall) + passed) % len(ring)]

    def draw_order(self, wall: int, stack: int) -> tuple[Place, ...]:
        """Return every tile in the order of drawing, once round the table from the given stack."""
        return tuple(place for where in self._from(wall, stack) for place in self.stack(*where))

    def tail_order(self, wall: int, stack: int) -> tuple[Place, ...]:
        """Return every tile as replacements take it: backwards from the stack before, upper tiles first."""
        return tuple(place for where in reversed(self._from(wall, stack)) for place in self.stack(*where))

    def _from(self, wall: int, stack: int) -> tuple[tuple[int, int], ...]:
        ring, first = self._ring(), self._start(wall) + stack - 1
        return ring[first:] + ring[:first]

    def _ring(self) -> tuple[tuple[int, int], ...]:
        return tuple((wall, n) for wall in _CLOCKWISE for n in range(1, self.stacks(wall) + 1))

    def _start(self, wall: int) -> int:
        return sum(self.stacks(before) for before in _CLOCKWISE[: _CLOCKWISE.index(wall)])
