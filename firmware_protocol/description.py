"""What a board says of itself: parts, sensors, limits. The host hard-codes no machine.

On the wire it is zlib-compressed JSON, fetched in chunks when its hash (CRC-32 of the compressed bytes) is
unknown to the host.
"""

import json
import zlib
from dataclasses import asdict, dataclass, fields
from typing import Any, NoReturn

from firmware_protocol import soundness
from firmware_protocol.errors import DescriptionError
from firmware_protocol.parts import Mouth, Part, PartKind
from firmware_protocol.texts import shown

__all__ = ["FORMAT", "Description", "Mouth", "Part", "PartKind"]

FORMAT = 1
_MAX_SIZE = 16_384  # decompressed; a description of 30 parts and 50 sensors has about 3,000 bytes


@dataclass(frozen=True, slots=True)
class Description:
    """A board and its table.

    A part's id on the wire is its index in `parts`, a mouth's that of its conveyor among the conveyors;
    sensors, keys and lamps are bits by their index.
    """

    table: str
    simulated: bool
    parts: tuple[Part, ...]
    sensors: tuple[str, ...]
    keys: tuple[str, ...]
    lamps: tuple[str, ...]
    mouths: int
    capacity: tuple[int, ...]  # stacks that each mouth's store holds
    dice: str  # "display" | "pan"
    max_total_ma: int
    max_lease_ms: int
    silence_ms: int

    def part(self, name: str) -> int:
        """Return the id of the part `name`."""
        for index, part in enumerate(self.parts):
            if part.name == name:
                return index
        raise DescriptionError("description.no_part", part=shown(name))

    def names(self, kind: PartKind) -> tuple[str, ...]:
        """Return the names of all parts of one kind, in the order of their ids."""
        return tuple(p.name for p in self.parts if p.kind is kind)

    @property
    def named_mouths(self) -> tuple[Mouth, ...]:
        """Return the mouths in the order of their ids."""
        conveyors = (part for part in self.parts if part.kind is PartKind.CONVEYOR)
        return tuple(Mouth.named(p.mouth, n) for p, n in zip(conveyors, self.capacity, strict=True))

    def to_bytes(self) -> bytes:
        """Return the compressed form that goes over the wire."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, separators=(",", ":"), sort_keys=True)
        return zlib.compress(text.encode(), 9)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Description":
        """Read a description; DescriptionError says what is wrong with it."""
        table = _table(_unpacked(data))
        version = table.pop("format", None)
        if version != FORMAT or type(version) is not int:
            raise DescriptionError("description.format", found=shown(version), known=FORMAT)
        _has_exactly(cls, table, "")
        if not isinstance(table["parts"], list):
            _wrong("description.no_list", "parts", table["parts"])
        parts = tuple(_read_part(n, part) for n, part in enumerate(table["parts"]))
        found = cls(
            table=_text(table, "table"),
            simulated=_flag(table, "simulated"),
            parts=parts,
            sensors=_texts(table, "sensors"),
            keys=_texts(table, "keys"),
            lamps=_texts(table, "lamps"),
            mouths=_count(table, "mouths"),
            capacity=_counts(table, "capacity"),
            dice=_text(table, "dice"),
            max_total_ma=_count(table, "max_total_ma"),
            max_lease_ms=_count(table, "max_lease_ms"),
            silence_ms=_count(table, "silence_ms"),
        )
        found.check()
        return found

    def check(self) -> None:
        """Raise DescriptionError where the description contradicts itself."""
        soundness.check(self)


def _unpacked(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(data, _MAX_SIZE)
    except zlib.error as error:
        raise DescriptionError("description.not_zlib") from error
    if not unpacker.eof:
        key = "description.too_long" if len(text) >= _MAX_SIZE else "description.cut_off"
        raise DescriptionError(key, limit=_MAX_SIZE)
    return text


def _table(text: bytes) -> dict[str, Any]:
    try:
        table = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise DescriptionError("description.not_json") from error
    if not isinstance(table, dict):
        raise DescriptionError("description.no_table", found=shown(table))
    return table


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DescriptionError("description.field_twice", field=shown(twice))
    return table


def _has_exactly(cls: type[Any], table: dict[str, Any], where: str) -> None:
    known = {f.name for f in fields(cls)}
    for name in sorted(known - set(table)):
        raise DescriptionError("description.missing", field=where + name)
    for name in sorted(set(table) - known):
        raise DescriptionError("description.unknown", field=shown(where + name))


def _read_part(number: int, part: Any) -> Part:
    where = f"parts[{number}]."
    if not isinstance(part, dict):
        raise DescriptionError("description.no_table", found=shown(part))
    _has_exactly(Part, part, where)
    kind = _text(part, "kind", where)
    if kind not in list(PartKind):
        raise DescriptionError("description.kind", found=shown(kind), known=", ".join(PartKind))
    return Part(
        name=_text(part, "name", where),
        kind=PartKind(kind),
        side=_whole(part, "side", where),
        stroke_ms=_whole(part, "stroke_ms", where),
        max_ma=_count(part, "max_ma", where),
    )


def _wrong(key: str, field: str, found: Any) -> NoReturn:
    raise DescriptionError(key, field=field, found=shown(found))


def _text(table: dict[str, Any], field: str, where: str = "") -> str:
    if not isinstance(found := table[field], str):
        _wrong("description.no_text", where + field, found)
    return found


def _flag(table: dict[str, Any], field: str) -> bool:
    if not isinstance(found := table[field], bool):
        _wrong("description.no_flag", field, found)
    return found


def _whole(table: dict[str, Any], field: str, where: str = "") -> int:
    if type(found := table[field]) is not int or not 0 <= found < 1 << 32:
        _wrong("description.no_whole", where + field, found)
    return found


def _count(table: dict[str, Any], field: str, where: str = "") -> int:
    if not (found := _whole(table, field, where)):
        _wrong("description.no_count", where + field, found)
    return found


def _list(table: dict[str, Any], field: str) -> dict[str, Any]:
    """Return a list's values by what they are called in a message."""
    if not isinstance(found := table[field], list):
        _wrong("description.no_list", field, found)
    return {f"{field}[{n}]": value for n, value in enumerate(found)}


def _texts(table: dict[str, Any], field: str) -> tuple[str, ...]:
    values = _list(table, field)
    return tuple(_text(values, name) for name in values)


def _counts(table: dict[str, Any], field: str) -> tuple[int, ...]:
    values = _list(table, field)
    return tuple(_count(values, name) for name in values)
