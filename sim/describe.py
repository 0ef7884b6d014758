"""What the simulated board says of itself."""

from firmware_protocol.description import Description, Part, PartKind
from sim.mechanics.machine import SIDES, MachineModel

KEYS = ("lift.1", "lift.2", "dice.S1", "dice.S2", "dice.S3", "dice.S4")
LAMPS = ("ready", "reset", "dealer.S1", "dealer.S2", "dealer.S3", "dealer.S4")


def four_mouth(model: MachineModel) -> Description:
    """Describe the four-mouth table 四口机: fourteen motors, dice on the display."""
    parts = [Part("drum", PartKind.DRUM, 0, 0, 1800)]
    parts += [Part(f"conveyor.S{n}", PartKind.CONVEYOR, n, 0, 600) for n in SIDES]
    parts += [Part(f"stacker.S{n}", PartKind.STACKER, n, model.stacker_ms, 1200) for n in SIDES]
    parts += [Part(f"lift.S{n}", PartKind.LIFT, n, model.lift_ms, 1500) for n in SIDES]
    parts.append(Part("console", PartKind.CONSOLE, 0, model.console_ms, 1500))
    sensors = [f"stacker.S{n}.{end}" for n in SIDES for end in ("open", "closed")]
    sensors += [f"lift.S{n}.home" for n in SIDES]
    sensors += [f"belt.S{n}.full" for n in SIDES]
    sensors += ["console.down", "console.up", "stop.line"]
    return Description(
        table="four-mouth",
        simulated=True,
        parts=tuple(parts),
        sensors=tuple(sensors),
        keys=KEYS,
        lamps=LAMPS,
        mouths=len(SIDES),
        capacity=(model.capacity,) * len(SIDES),
        dice="display",
        max_total_ma=8000,
        max_lease_ms=5000,
        silence_ms=700,
    )
