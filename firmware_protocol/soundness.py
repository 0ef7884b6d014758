"""Whether a description can be true: what contradicts itself is refused, and nothing moves."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from firmware_protocol.errors import DescriptionError
from firmware_protocol.parts import CENTRAL, ENDS, HAND, MOST_STACKS, WALL, Part, PartKind
from firmware_protocol.texts import shown
from firmware_protocol.timing import PING_US

if TYPE_CHECKING:
    from firmware_protocol.description import Description

SIDES = range(1, 5)
MOUTHS = {4: (WALL,), 8: (WALL, HAND)}  # what a table's mouths do, one of each at every side
DICE = ("display", "pan")
KEYS = ("lift.1", "lift.2", *(f"dice.S{n}" for n in SIDES))
NAME_LENGTH = 64
STOP_LINE = "stop.line"

MOST = {"sensors": 64, "lamps": 32, "keys": 8}  # the bits that the wire has for each
# Milliseconds. A board that is silent sooner than two pings stops at one that is lost; a lease shorter than
# half a second ends between two renewals; what takes a minute is no stroke of this machine.
TIMES = {"max_lease_ms": (500, 65_535), "silence_ms": (2 * PING_US // 1000, 10_000)}
STROKE_MS = (50, 60_000)


def check(found: "Description") -> None:
    """Raise DescriptionError where a description contradicts itself or a machine cannot be so."""
    _names(found)
    _numbers(found)
    for part in found.parts:
        _part(part, found)
    _mouths(found)


def _names(found: "Description") -> None:
    lists: dict[str, tuple[str, ...]] = {
        "parts": tuple(p.name for p in found.parts),
        "sensors": found.sensors,
        "keys": found.keys,
        "lamps": found.lamps,
    }
    for name in (found.table, *(each for names in lists.values() for each in names)):
        if not name.isprintable() or not 0 < len(name) <= NAME_LENGTH:
            raise DescriptionError("description.name", name=shown(name), limit=NAME_LENGTH)
    for field, names in lists.items():
        if len(names) > (most := MOST.get(field, len(names))):
            raise DescriptionError("description.too_many", field=field, found=len(names), limit=most)
        if twice := next(_repeated(names), None):
            raise DescriptionError("description.twice", field=field, name=shown(twice))
    for key in found.keys:
        if key not in KEYS:
            raise DescriptionError("description.key", found=shown(key), known=", ".join(KEYS))
    if found.dice not in DICE:
        raise DescriptionError("description.dice", found=shown(found.dice), known=", ".join(DICE))


def _repeated(names: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


def _numbers(found: "Description") -> None:
    if found.mouths not in MOUTHS:
        raise DescriptionError("description.mouths", found=found.mouths)
    if len(found.capacity) != found.mouths:
        raise DescriptionError("description.stores", found=len(found.capacity), wanted=found.mouths)
    for n, stacks in enumerate(found.capacity):
        if stacks > MOST_STACKS:
            values = {"found": stacks, "limit": MOST_STACKS}
            raise DescriptionError("description.capacity", store=f"capacity[{n}]", **values)
    for field, (low, high) in TIMES.items():
        if not low <= (value := getattr(found, field)) <= high:
            raise DescriptionError("description.time", field=field, found=value, low=low, high=high)


def _part(part: Part, found: "Description") -> None:
    name, ends = shown(part.name), ENDS[part.kind]
    central = part.kind in CENTRAL
    if part.side not in ((0,) if central else SIDES):
        raise DescriptionError("description.side", part=name, side=part.side)
    mouths = MOUTHS[found.mouths]
    names = [part.kind.value] if central else [f"{part.kind}.{does}{part.side}" for does in mouths]
    if part.name not in names:
        raise DescriptionError("description.part_name", part=name, known=", ".join(names))
    if not ends and part.stroke_ms:
        raise DescriptionError("description.no_ends", part=name, found=part.stroke_ms)
    low, high = STROKE_MS
    if ends and not low <= part.stroke_ms <= high:
        raise DescriptionError("description.stroke", part=name, found=part.stroke_ms, low=low, high=high)
    if part.max_ma > found.max_total_ma:
        raise DescriptionError(
            "description.current", part=name, found=part.max_ma, total=found.max_total_ma
        )  # fmt: skip
    for end in ends:
        if f"{part.name}.{end}" not in found.sensors:
            raise DescriptionError("description.sensor", part=name, sensor=f"{name}.{end}")


def _mouths(found: "Description") -> None:
    if STOP_LINE not in found.sensors:
        raise DescriptionError("description.stop_line", sensor=STOP_LINE)
    each = len(MOUTHS[found.mouths])
    for kind in PartKind:
        for side in (0,) if kind in CENTRAL else SIDES:
            wanted = 1 if kind in CENTRAL else each
            has = sum(part.kind is kind and part.side == side for part in found.parts)
            if has != wanted:
                key = "description.central" if kind in CENTRAL else "description.at_side"
                raise DescriptionError(key, kind=kind.value, side=f"S{side}", found=has, wanted=wanted)
