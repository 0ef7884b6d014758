"""Where everything lies on the picture: the table from above, seat 0 below, seats counter-clockwise.

A spot is given as its owner sees it: `along` the wall from his right, `across` from the inner edge of it
outwards; a negative `across` lies between the walls. The upper tile of a stack is drawn further in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from tablectl.rules.walls import Layer, Place, Walls

PITCH, ALONG, ACROSS = 40.0, 38.4, 34.4  # one stack to the next; a tile
ROW = {"T": 0.0, "B": ACROSS + 1.6}
DEPTH = 2 * ACROSS + 1.6
MARGIN = DEPTH + 94  # of a wall, its numbers and its owner's name
LEAST_STACKS = 14

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> Point:
        """Return its centre."""
        return self.x + self.width / 2, self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Plan:
    """The walls laid out round the middle (0, 0)."""

    walls: Walls

    @property
    def length(self) -> float:
        """Return the side of the square between the walls."""
        return PITCH * max(LEAST_STACKS, *(self.walls.stacks(wall) for wall in range(4)))

    @property
    def half(self) -> float:
        """Return how far the outermost mark lies from the middle."""
        return self.length / 2 + MARGIN

    def spot(self, wall: int, along: float, across: float) -> Point:
        """Return a spot of a wall on the picture."""
        x, y = self.length / 2 - along, self.length / 2 + across
        for _ in range(wall):  # a quarter turn to the left, as the seats go
            x, y = y, -x
        return x, y

    def edge(self, wall: int, stacks: float) -> float:
        """Return how far along its wall the `stacks`th stack ends; 0 is where the wall begins."""
        return (self.length - PITCH * self.walls.stacks(wall)) / 2 + PITCH * stacks

    def tile(self, place: Place) -> Box:
        """Return where a tile is drawn."""
        return self._box(place.wall, place.stack, place.stack, (place.layer,))

    def block(self, places: Sequence[Place]) -> Box:
        """Return the box round some tiles of one wall."""
        stacks = [place.stack for place in places]
        layers = {place.layer for place in places}
        return self._box(places[0].wall, min(stacks), max(stacks), tuple(layers))

    def number(self, wall: int, stack: int) -> Point:
        """Return where the number of a stack is written."""
        return self.spot(wall, self.edge(wall, stack - 0.5), DEPTH + 15)

    def lane(self, stacks: Sequence[tuple[int, int]], across: float) -> list[Point]:
        """Return a line beside stacks that follow each other in draw order, round the corners."""
        line: list[Point] = []
        low, high = -across, self.length + across  # beyond them lies the lane of the next wall
        last = stacks[0][0]
        for wall, stack in stacks:
            while last != wall:
                line.append(self.spot(last, high, across))
                last = (last + 3) % 4
            ends = (min(max(self.edge(wall, end), low), high) for end in (stack - 1, stack))
            line += [self.spot(wall, along, across) for along in ends]
        return [point for point, _ in groupby(line)]

    def _box(self, wall: int, first: int, last: int, layers: tuple[Layer, ...]) -> Box:
        rows = [ROW[layer] for layer in layers]
        slack = (PITCH - ALONG) / 2
        x1, y1 = self.spot(wall, self.edge(wall, first - 1) + slack, min(rows))
        x2, y2 = self.spot(wall, self.edge(wall, last) - slack, max(rows) + ACROSS)
        return Box(min(x1, x2), min(y1, y2), abs(x2 - x1), abs(y2 - y1))
