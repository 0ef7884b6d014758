"""What a board has counted, in memory that outlives its power: tiles per mouth since a store was emptied.

Two things are seen: the eye sees a tile enter the belt, the slot's sensor sees a stack leave for the store.
Neither is taken for the other, so that a dirty eye shows as a disagreement and not as a wrong store.
"""

from dataclasses import dataclass, field

STACK = 2
UNKNOWN = 0xC0  # high bits of the stored byte: how much is in the store is not known


@dataclass(slots=True)
class Counts:
    """Per mouth: `taken` at the eye, `stored` in the store; `unsure` when nobody saw what a lift did."""

    mouths: int
    taken: list[int] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)
    unsure: list[bool] = field(default_factory=list)
    ordered: list[int] = field(default_factory=list)  # by the last FILL; a lift raises nothing less

    def __post_init__(self) -> None:
        self.taken = [0] * self.mouths
        self.stored = [0] * self.mouths
        self.unsure = [False] * self.mouths
        self.ordered = [0] * self.mouths

    def empty(self, mouth: int) -> None:
        """Begin to count anew: the lift has taken the wall out of the store."""
        self.taken[mouth] = self.stored[mouth] = self.ordered[mouth] = 0
        self.unsure[mouth] = False

    def waiting(self, mouth: int) -> int:
        """Return how many counted tiles are on the belt and in the slot."""
        return self.taken[mouth] - self.stored[mouth]

    def complete(self, mouth: int) -> bool:
        """Tell whether a store is as full as ordered, with nothing on its way to it."""
        return self.taken[mouth] == self.stored[mouth] == self.ordered[mouth]

    def to_wire(self) -> bytes:
        """Return two bytes per mouth, as messages carry them."""
        stored = [s | (UNKNOWN if u else 0) for s, u in zip(self.stored, self.unsure, strict=True)]
        return bytes(v for pair in zip(self.taken, stored, strict=True) for v in pair)
