"""What can go wrong with a part, as faults of the simulated table; sides are alike, so one stands for all."""

from collections.abc import Iterable

from sim.lab.bench import STOP_LINE

_MOTOR = ("disconnected:{part}", "stalled:{part}", "late:{part}")


def _sensors(*names: str) -> tuple[str, ...]:
    return tuple(f"{kind}:{name}" for kind in ("dead", "stuck") for name in names)


_OF = {
    "drum": _MOTOR,
    "conveyor": (
        *_MOTOR, "jam:{side}", "dead-eye:{side}", "dirty-eye:{side}", "double-eye:{side}",
        *_sensors("slot.{side}.first", "slot.{side}.full", "belt.{side}.full"),
    ),
    "stacker": (*_MOTOR, "blocked:{part}", *_sensors("{part}.open", "{part}.closed")),
    "lift": (*_MOTOR, "short:{part}", *_sensors("{part}.home")),
    "console": (*_MOTOR, "hand:{part}", *_sensors("{part}.down", "{part}.up")),
}  # fmt: skip
# What is no part's: the door, the cable, the wired stop.
WORLD = ("door:service", "unplug:wire", STOP_LINE)
WIRE = ("mute:wire", "slow:wire", "noisy:wire")
KEYS = ("key-stuck:lift.1", "key-bouncing:lift.1")


def of_part(part: str) -> tuple[str, ...]:
    """Return what can be wrong with a part and what belongs to it."""
    kind, _, side = part.partition(".")
    return tuple(text.format(part=part, side=side) for text in _OF[kind])


def of_moving(parts: Iterable[str]) -> tuple[str, ...]:
    """Return what can go wrong while these parts are driven: the first of each kind, and the wire."""
    kinds = {part.partition(".")[0]: part for part in reversed(list(parts))}
    return (*(fault for part in sorted(kinds.values()) for fault in of_part(part)), *WIRE)


# What can be wrong before something moves: one part of each kind, of the lifts one of each pair, for those of
# the second pair turn when those of the first have turned.
STANDING = (
    *(
        f
        for part in ("drum", "conveyor.S1", "stacker.S1", "lift.S1", "lift.S2", "console")
        for f in of_part(part)
    ),
    *WIRE,
    *KEYS,
)
