"""The parts of a table as its board describes them."""

from dataclasses import dataclass
from enum import StrEnum


class PartKind(StrEnum):
    """What a motor drives."""

    DRUM = "drum"  # 大盘
    CONVEYOR = "conveyor"  # 上牌, with the pick-up's gate
    STACKER = "stacker"  # 推牌
    LIFT = "lift"  # 升牌
    CONSOLE = "console"  # 中升


# The sensors at the ends of a part's way, home first; a part without ends has no `stroke_ms`.
ENDS: dict[PartKind, tuple[str, ...]] = {
    PartKind.DRUM: (),
    PartKind.CONVEYOR: (),
    PartKind.STACKER: ("open", "closed"),
    PartKind.LIFT: ("home",),
    PartKind.CONSOLE: ("down", "up"),
}
CENTRAL = (PartKind.DRUM, PartKind.CONSOLE)  # these stand at no side
# What a mouth does, as its name begins: it builds the wall of its side, or serves the hand there.
WALL, HAND = "S", "H"
MOST_STACKS = 31  # of a store: its tiles are counted in six bits


@dataclass(frozen=True, slots=True)
class Mouth:
    """One way of tiles from the drum to a side: `conveyor.`, `stacker.` and `lift.` with its name."""

    name: str
    side: int
    hand: bool  # it serves a hand; else it builds a wall
    stacks: int  # that its store holds

    @classmethod
    def named(cls, name: str, stacks: int = MOST_STACKS) -> "Mouth":
        """Return the mouth of that name, with a store as large as any."""
        return cls(name, int(name[1:]), name.startswith(HAND), stacks)


@dataclass(frozen=True, slots=True)
class Part:
    """One motor and what it drives; `side` is 1…4, 0 for the drum and the console."""

    name: str  # the kind and, at a side, "." and the name of its mouth
    kind: PartKind
    side: int
    stroke_ms: int  # end to end, or one turn of a lift; 0 where there are no ends
    max_ma: int

    @property
    def mouth(self) -> str:
        """Return the name of its mouth, empty for the drum and the console."""
        return self.name.partition(".")[2]
