"""What a board says of itself: parts, sensors, limits. The host hard-codes no machine.

On the wire it is zlib-compressed JSON, fetched in chunks when its hash (CRC-32 of the compressed bytes) is
unknown to the host.
"""

import json
import zlib
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from firmware_protocol.errors import DescriptionError

FORMAT = 1
_MAX_SIZE = 16_384  # decompressed; a description of 30 parts and 50 sensors has about 3,000 bytes


class PartKind(StrEnum):
    """What a motor drives."""

    DRUM = "drum"  # 大盘
    CONVEYOR = "conveyor"  # 上牌, with the pick-up's gate
    STACKER = "stacker"  # 推牌
    LIFT = "lift"  # 升牌
    CONSOLE = "console"  # 中升


@dataclass(frozen=True, slots=True)
class Part:
    """One motor and what it drives; `side` is 1…4, 0 for the drum and the console."""

    name: str
    kind: PartKind
    side: int
    stroke_ms: int  # end to end, or one turn of a lift; 0 where there are no ends
    max_ma: int


@dataclass(frozen=True, slots=True)
class Description:
    """A board and its table.

    A part's id on the wire is its index in `parts`; sensors, keys and lamps are bits by their index.
    """

    table: str
    simulated: bool
    parts: tuple[Part, ...]
    sensors: tuple[str, ...]
    keys: tuple[str, ...]
    lamps: tuple[str, ...]
    mouths: int
    capacity: tuple[int, ...]  # stacks a side holds, sides S1…S4
    dice: str  # "display" | "pan"
    max_total_ma: int
    max_lease_ms: int
    silence_ms: int

    def part(self, name: str) -> int:
        """Return the id of the part `name`."""
        for index, part in enumerate(self.parts):
            if part.name == name:
                return index
        raise DescriptionError(f"this table has no part {name}")

    def names(self, kind: PartKind) -> tuple[str, ...]:
        """Return the names of all parts of one kind, in the order of their ids."""
        return tuple(p.name for p in self.parts if p.kind is kind)

    def to_bytes(self) -> bytes:
        """Return the compressed form that goes over the wire."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":"), sort_keys=True)
        return zlib.compress(text.encode(), 9)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Description":
        """Read a description; DescriptionError says what is wrong with it."""
        unpacker = zlib.decompressobj()
        try:
            text = unpacker.decompress(data, _MAX_SIZE)
            complete = unpacker.eof
            table: dict[str, Any] = json.loads(text)
            version = table.pop("format")
            fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}
            fields["parts"] = tuple(Part(**{**p, "kind": PartKind(p["kind"])}) for p in table["parts"])
            found = cls(**fields)
            found.check()
        except (zlib.error, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise DescriptionError(f"the board's description is unreadable: {error}") from error
        if not complete:
            raise DescriptionError("the board's description is cut off or too long")
        if version != FORMAT:
            raise DescriptionError(f"the board's description has format {version}; this host knows {FORMAT}")
        return found

    def check(self) -> None:
        """Raise DescriptionError where the description contradicts itself."""

        def refuse(why: str) -> None:
            raise DescriptionError(f"the board's description contradicts itself: {why}")

        names = [p.name for p in self.parts]
        texts = (self.table, self.dice, *names, *self.sensors, *self.keys, *self.lamps)
        if not all(isinstance(text, str) and text for text in texts):
            refuse("a name is no text")
        if not all(_is_count(p.max_ma) and (p.stroke_ms == 0 or _is_count(p.stroke_ms)) for p in self.parts):
            refuse("a part's current or time is no whole number")
        if len(set(names)) != len(names) or len(set(self.sensors)) != len(self.sensors):
            refuse("two parts or sensors have one name")
        if len(self.parts) > 255 or max(len(self.sensors), len(self.lamps)) > 32 or len(self.keys) > 8:
            refuse("more parts, sensors, lamps or keys than the wire can number")
        limits = (*self.capacity, self.mouths, self.max_total_ma, self.max_lease_ms, self.silence_ms)
        if not all(_is_count(n) for n in limits):
            refuse("a count or limit is no positive whole number")
        if len(self.capacity) != 4 or self.mouths not in (4, 8):
            refuse("a table has four sides and four or eight mouths")
        if any(p.side not in (range(1, 5) if p.kind in _SIDED else (0,)) for p in self.parts):
            refuse("a part stands at a side that is none")
        for kind, count in _NEEDED.items():
            if len(self.names(kind)) != (count or self.mouths):
                refuse(f"{len(self.names(kind))} parts of kind {kind} at {self.mouths} mouths")


_SIDED = (PartKind.CONVEYOR, PartKind.STACKER, PartKind.LIFT)
_NEEDED = {PartKind.DRUM: 1, PartKind.CONSOLE: 1, PartKind.LIFT: 4, PartKind.CONVEYOR: 0, PartKind.STACKER: 0}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 32
