"""The ledger: how many tiles each mouth's store holds, certain or as an interval."""

from collections.abc import Iterable
from dataclasses import dataclass

from firmware_protocol.description import Mouth
from tablectl.table.events import BoardState


@dataclass(frozen=True, slots=True)
class Count:
    """From `least` to `most` tiles; certain where both are the same."""

    least: int
    most: int

    @property
    def certain(self) -> bool:
        """Tell whether the count is certain."""
        return self.least == self.most

    def __str__(self) -> str:
        return str(self.least) if self.certain else f"{self.least}-{self.most}"


def stores(state: BoardState | None, capacity: tuple[int, ...], disturbed: bool = False) -> tuple[Count, ...]:
    """Return the count of each store.

    A lift that nobody saw home leaves its store between none and what it held. `disturbed`: the door was
    open, and until a person says that no tile was taken every store may hold anything.
    """
    if state is None or disturbed:
        return tuple(Count(0, 2 * stacks) for stacks in capacity)
    return tuple(
        Count(0 if unsure else stored, stored)
        for stored, unsure in zip(state.stored, state.unsure, strict=True)
    )


def wrong_stores(mouths: Iterable[Mouth], tiles: tuple[int, ...], state: BoardState) -> str:
    """Return which stores do not certainly hold what was ordered, empty where all do."""
    wrong = {
        mouth.name: f"{stored}{'?' if unsure else ''}/{wanted}"
        for mouth, wanted, stored, unsure in zip(mouths, tiles, state.stored, state.unsure, strict=True)
        if stored != wanted or unsure
    }
    return per_mouth(wrong)


def per_mouth(counts: dict[str, int] | dict[str, str]) -> str:
    """Return counts as people read them."""
    return ", ".join(f"{mouth}: {count}" for mouth, count in counts.items())
