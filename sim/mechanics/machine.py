"""The four-mouth machine: drum, mouths, stackers, lifts, console, and the tiles in them."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from sim.agenda import Agenda
from sim.mechanics.crank import TURN, WINDOW, Crank
from sim.mechanics.drum import Drum
from sim.mechanics.mouth import Mouth, MouthModel
from sim.tiles import Place

SIDES = (1, 2, 3, 4)
PUSHED_ANGLE = TURN // 2 - WINDOW - 1_000  # the stack is in the store when the closed sensor comes on
LATCH_ANGLE = TURN * 45 // 100  # on its way up the tray leaves the wall on its latches


@dataclass(frozen=True, slots=True)
class MachineModel:
    """What a four-mouth machine is like; the defaults wash 136 tiles in 18 to 35 s."""

    mouth: MouthModel = field(default_factory=MouthModel)
    take_chance: float = 0.95
    few_tiles: int = 3
    stacker_ms: int = 375
    lift_ms: int = 2600
    console_ms: int = 2000
    capacity: int = 20  # stacks a side holds


class Side:
    """One side's store, latches and the mechanisms between."""

    def __init__(self, machine: "Machine", number: int, mouth: Mouth) -> None:
        self.name = f"S{number}"
        self.mouth = mouth
        self.store = Place(f"store.{self.name}")
        self.wall = Place(f"wall.{self.name}")
        self._machine = machine
        model = machine.model
        stacker, lift = f"stacker.{self.name}", f"lift.{self.name}"
        self.stacker = Crank(
            machine.agenda,
            2 * model.stacker_ms * 1000,
            {f"{stacker}.open": 0, f"{stacker}.closed": TURN // 2},
            {PUSHED_ANGLE: self._push},
            self._stacker_sensor,
        )
        self.lift = Crank(
            machine.agenda,
            model.lift_ms * 1000,
            {f"{lift}.home": 0},
            {LATCH_ANGLE: self._latch},
            lambda name, active: machine.on_sensor(name, active),
        )
        mouth.slot_free = self._slot_free

    def _slot_free(self) -> bool:
        return self.stacker.on[f"stacker.{self.name}.open"] and not self.stacker.direction

    def drive_stacker(self, direction: int) -> None:
        """Drive the stacker; a slot it leaves free takes waiting tiles."""
        self.stacker.drive(direction)
        self.mouth.settle()

    def _stacker_sensor(self, name: str, active: bool) -> None:
        self._machine.on_sensor(name, active)
        self.mouth.settle()

    def _push(self, direction: int) -> bool:
        if not self.lift.on[f"lift.{self.name}.home"]:
            self._machine.violations.append(f"{self.name}: pushed against a tray that is not home")
            return False
        if len(self.store) >= 2 * self._machine.model.capacity:
            self._machine.violations.append(f"{self.name}: pushed into a full store")
            return False
        for tile in list(self.mouth.slot.tiles):
            tile.move(self.store)
        return True

    def _latch(self, direction: int) -> bool:
        if not self.store.tiles:
            return True
        if direction > 0 and self.wall.tiles:
            return False  # the wall before has not been pulled off: the lift stalls under it
        if not self._machine.console.on["console.down"]:
            self._machine.violations.append(f"{self.name}: raised while the console was not down")
        for tile in list(self.store.tiles):
            tile.move(self.wall)
        self._machine.on_wall(self.name)
        return True


class Machine:
    """Motors in, sensor edges out. Part names are those of the board's description."""

    def __init__(self, agenda: Agenda, model: MachineModel, seed: int) -> None:
        self.agenda = agenda
        self.model = model
        self.violations: list[str] = []
        self.on_sensor: Callable[[str, bool], None] = lambda name, active: None
        self.on_eye: Callable[[int, int], None] = lambda side, direction: None
        self.on_wall: Callable[[str], None] = lambda side: None
        self.on_console: Callable[[bool], None] = lambda is_up: None
        self.drum = Drum(agenda, model.take_chance, model.few_tiles)
        self.console = Crank(
            agenda,
            2 * model.console_ms * 1000,
            {"console.down": 0, "console.up": TURN // 2},
            {},
            self._console_sensor,
        )
        self.sides = tuple(Side(self, n, self._mouth(n, seed)) for n in SIDES)

    def _mouth(self, number: int, seed: int) -> Mouth:
        # A stream of its own for each mouth: what one does never shifts another's chance.
        rng = random.Random(f"{seed}/mouth/{number}")
        return Mouth(
            f"S{number}",
            self.agenda,
            self.drum,
            self.model.mouth,
            rng,
            lambda direction: self.on_eye(number, direction),
            lambda full: self.on_sensor(f"belt.S{number}.full", full),
        )

    def _console_sensor(self, name: str, active: bool) -> None:
        self.on_sensor(name, active)
        if name == "console.up":
            self.on_console(active)

    def sensors(self) -> dict[str, bool]:
        """Return what every sensor sees now."""
        seen: dict[str, bool] = {}
        for side in self.sides:
            seen |= side.stacker.on | side.lift.on | {f"belt.{side.name}.full": side.mouth.full}
        return seen | self.console.on

    def drive(self, part: str, direction: int) -> None:
        """Switch one motor on or off; a conveyor that runs forward picks only with its gate open."""
        kind, _, side = part.partition(".")
        if kind == "drum":
            self.drum.drive(direction)
        elif kind == "console":
            self.console.drive(direction)
        elif kind == "conveyor":
            self._side(side).mouth.drive(direction)
        elif kind == "stacker":
            self._side(side).drive_stacker(direction)
        else:
            self._side(side).lift.drive(direction)

    def open_gate(self, side: int, is_open: bool) -> None:
        """Open or close the pick-up of one side."""
        self.sides[side - 1].mouth.open_gate(is_open)

    def disconnect(self, part: str) -> None:
        """Take the plug out of one crank's motor."""
        self.crank(part).disconnected = True
        self.crank(part).drive(0)

    def crank(self, part: str) -> Crank:
        """Return the crank that a part's motor turns."""
        kind, _, side = part.partition(".")
        if kind == "console":
            return self.console
        return self._side(side).stacker if kind == "stacker" else self._side(side).lift

    def _side(self, name: str) -> Side:
        return self.sides[int(name[1:]) - 1]

    def places(self) -> tuple[Place, ...]:
        """Return every place of the machine that can hold tiles."""
        of_sides = [p for s in self.sides for p in (s.mouth.belt, s.mouth.slot, s.store, s.wall)]
        return (self.drum.place, *of_sides)
