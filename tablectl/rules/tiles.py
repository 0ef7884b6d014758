"""Which tiles a set holds: a short notation, read into an exact count of every kind.

`1-9m*4` is four of each 1m…9m, `z5-7*4` four of each dragon, `f1-8*1` the eight flowers, `j1*8` eight jokers,
`a1-4*1` the four animals. Suits write the number first, all else the letter first, as players write hands.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tablectl.errors import TablectlError

CLASSES = ("m", "p", "s", "winds", "dragons", "flowers", "jokers", "animals")

_NOTATION = re.compile(
    r"(?:(?P<number>\d+)(?:-(?P<number_end>\d+))?(?P<suit>[mps])"
    r"|(?P<letter>[zfja])(?P<index>\d+)(?:-(?P<index_end>\d+))?)\*(?P<copies>\d+)",
    re.ASCII,
)

# Flowers go on to f16 for the Vietnamese sets.
_LAST = {"m": 9, "p": 9, "s": 9, "z": 7, "f": 16, "j": 1, "a": 4}
_WINDS = 4


@dataclass(frozen=True, slots=True)
class Composition:
    """How many tiles of each kind a set holds, in the order of its notation."""

    counts: tuple[tuple[str, int], ...]

    @property
    def total(self) -> int:
        """Return the number of tiles."""
        return sum(count for _, count in self.counts)

    @property
    def designs(self) -> int:
        """Return the number of different tiles."""
        return len(self.counts)

    def count(self, kind: str) -> int:
        """Return how many tiles of `kind`, such as "5m" or "z7", there are."""
        return dict(self.counts).get(kind, 0)

    def by_class(self) -> dict[str, int]:
        """Return the number of tiles of every class of `CLASSES`, zeros included."""
        totals = dict.fromkeys(CLASSES, 0)
        for kind, count in self.counts:
            totals[class_of(kind)] += count
        return totals


def class_of(kind: str) -> str:
    """Return the class of a kind: its suit, or winds, dragons, flowers, jokers or animals."""
    if kind[0] == "z":
        return "winds" if int(kind[1:]) <= _WINDS else "dragons"
    return {"f": "flowers", "j": "jokers", "a": "animals"}.get(kind[0], kind[-1])


def composition(notation: Iterable[str], where: str = "tiles") -> Composition:
    """Read a list of notations; `where` names the list in the error for a bad one or a kind named twice."""
    counts: dict[str, int] = {}
    for text in notation:
        for kind, copies in _read(text, where):
            if kind in counts:
                raise TablectlError("rules.tile_twice", where=where, text=text, kind=kind)
            counts[kind] = copies
    return Composition(tuple(counts.items()))


def read_kinds(text: str, where: str = "tiles") -> tuple[str, ...]:
    """Return the kinds of a notation without copies, such as "1-9m" or "z5-7"."""
    return tuple(kind for kind, _ in _read(f"{text}*1", where))


def _read(text: str, where: str) -> list[tuple[str, int]]:
    match = _NOTATION.fullmatch(text)
    if match is None:
        raise TablectlError("rules.tile_notation", where=where, text=text)
    suit, letter = match["suit"], match["letter"]
    first = int(match["number"] or match["index"])
    last = int(match["number_end"] or match["index_end"] or first)
    copies = int(match["copies"])
    if not (1 <= first <= last <= _LAST[suit or letter] and copies >= 1):
        raise TablectlError("rules.tile_notation", where=where, text=text)
    return [(f"{n}{suit}" if suit else f"{letter}{n}", copies) for n in range(first, last + 1)]
