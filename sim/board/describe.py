"""What the simulated board says of itself."""

from firmware_protocol.description import Description, Part, PartKind
from sim.mechanics.machine import DOOR
from sim.model import SIDES, MachineModel

LIFT_KEYS = ("lift.1", "lift.2")
KEYS = (*LIFT_KEYS, *(f"dice.S{n}" for n in SIDES))
STREAK = tuple(f"streak.{n}" for n in range(1, 6))  # 连庄灯
LAMPS = ("ready", "reset", *(f"dealer.S{n}" for n in SIDES), *STREAK)
STOP_LINE = "stop.line"


def describe(model: MachineModel) -> Description:
    """Describe a table of that model; its dice are on the display."""
    travel, current, mouths = model.travel, model.current, model.each_mouth
    parts = [Part("drum", PartKind.DRUM, 0, 0, current.drum_ma)]
    parts += [Part(f"conveyor.{x.name}", PartKind.CONVEYOR, x.side, 0, current.conveyor_ma) for x in mouths]
    parts += [
        Part(f"stacker.{x.name}", PartKind.STACKER, x.side, travel.stacker_ms, current.stacker_ma)
        for x in mouths
    ]
    parts += [Part(f"lift.{x.name}", PartKind.LIFT, x.side, x.lift_ms, x.lift_ma) for x in mouths]
    parts.append(Part("console", PartKind.CONSOLE, 0, travel.console_ms, current.console_ma))
    sensors = [f"stacker.{x.name}.{end}" for x in mouths for end in ("open", "closed")]
    sensors += [f"lift.{x.name}.home" for x in mouths]
    sensors += [f"belt.{x.name}.full" for x in mouths]
    sensors += [f"slot.{x.name}.{which}" for x in mouths for which in ("first", "full")]
    sensors += ["console.down", "console.up", DOOR, STOP_LINE]
    return Description(
        table=model.table,
        simulated=True,
        parts=tuple(parts),
        sensors=tuple(sensors),
        keys=KEYS,
        lamps=LAMPS,
        mouths=model.mouths,
        capacity=tuple(x.stacks for x in mouths),
        dice="display",
        max_total_ma=current.limit_ma,
        max_lease_ms=5000,
        silence_ms=700,
    )
