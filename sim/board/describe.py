"""What the simulated board says of itself."""

from firmware_protocol.description import Description, Part, PartKind
from sim.mechanics.machine import DOOR, SIDES
from sim.model import MachineModel

LIFT_KEYS = ("lift.1", "lift.2")
KEYS = (*LIFT_KEYS, "dice.S1", "dice.S2", "dice.S3", "dice.S4")
STREAK = tuple(f"streak.{n}" for n in range(1, 6))  # 连庄灯
LAMPS = ("ready", "reset", "dealer.S1", "dealer.S2", "dealer.S3", "dealer.S4", *STREAK)
STOP_LINE = "stop.line"


def describe(model: MachineModel) -> Description:
    """Describe the four-mouth table 四口机: fourteen motors, dice on the display."""
    travel, current = model.travel, model.current
    parts = [Part("drum", PartKind.DRUM, 0, 0, current.drum_ma)]
    parts += [Part(f"conveyor.S{n}", PartKind.CONVEYOR, n, 0, current.conveyor_ma) for n in SIDES]
    parts += [
        Part(f"stacker.S{n}", PartKind.STACKER, n, travel.stacker_ms, current.stacker_ma) for n in SIDES
    ]
    parts += [Part(f"lift.S{n}", PartKind.LIFT, n, travel.lift_ms, current.lift_ma) for n in SIDES]
    parts.append(Part("console", PartKind.CONSOLE, 0, travel.console_ms, current.console_ma))
    sensors = [f"stacker.S{n}.{end}" for n in SIDES for end in ("open", "closed")]
    sensors += [f"lift.S{n}.home" for n in SIDES]
    sensors += [f"belt.S{n}.full" for n in SIDES]
    sensors += [f"slot.S{n}.{which}" for n in SIDES for which in ("first", "full")]
    sensors += ["console.down", "console.up", DOOR, STOP_LINE]
    return Description(
        table=model.table,
        simulated=True,
        parts=tuple(parts),
        sensors=tuple(sensors),
        keys=KEYS,
        lamps=LAMPS,
        mouths=model.mouths,
        capacity=(model.store.stacks,) * len(SIDES),
        dice="display",
        max_total_ma=current.limit_ma,
        max_lease_ms=5000,
        silence_ms=700,
    )
