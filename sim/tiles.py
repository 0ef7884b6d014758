"""Tiles: each one object in exactly one place. Faces are known here and nowhere on the wire."""

from dataclasses import dataclass, field

SUITS = tuple(f"{rank}{suit}" for suit in "mps" for rank in range(1, 10))
HONOURS = tuple(f"z{n}" for n in range(1, 8))
FLOWERS = tuple(f"f{n}" for n in range(1, 9))

SETS: dict[int, tuple[str, ...]] = {
    108: SUITS * 4,
    136: (SUITS + HONOURS) * 4,
    144: (SUITS + HONOURS) * 4 + FLOWERS,
}


MOST_TILES = 176  # of any set that is played with


def faces_of(tiles: int) -> tuple[str, ...]:
    """Return the faces of a set of so many tiles: the usual ones, or blanks where no set is usual."""
    return SETS.get(tiles) or ("blank",) * tiles


@dataclass(eq=False, slots=True)
class Place:
    """Somewhere tiles can be, in order."""

    name: str
    tiles: "list[Tile]" = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.tiles)


@dataclass(eq=False, slots=True)
class Tile:
    """One tile; `back` is the colour of its set."""

    number: int
    face: str
    back: str
    place: Place

    def move(self, place: Place) -> None:
        """Take the tile from where it is and put it last in `place`."""
        self.place.tiles.remove(self)
        place.tiles.append(self)
        self.place = place


def lay_out(faces: tuple[str, ...], back: str, place: Place, first_number: int = 0) -> list[Tile]:
    """Put a new set of tiles into `place`."""
    tiles = [Tile(first_number + n, face, back, place) for n, face in enumerate(faces)]
    place.tiles.extend(tiles)
    return tiles
