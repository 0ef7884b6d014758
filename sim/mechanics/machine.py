"""The machine: motors in, sensor edges out; drum, mouths and all behind them, console, supply and door."""

import random
from collections.abc import Callable
from functools import partial
from operator import attrgetter

from firmware_protocol.description import PartKind
from sim.agenda import Agenda, Entry
from sim.mechanics.crank import TURN, Crank, travel_from
from sim.mechanics.drum import Drum
from sim.mechanics.eye import Eye
from sim.mechanics.motor import Motor
from sim.mechanics.mouth import Mouth
from sim.mechanics.side import Side
from sim.model import MachineModel, MouthSpec
from sim.tiles import Place

DOOR = "door.open"
CONSOLE_DOWN = 0.05  # of its travel: so low it is out of the walls' way
BROWN_OUT_US = 2_000  # the supply's capacitors bridge so much


class Machine:
    """Part and sensor names are those of the board's description; the board sets the `on_…` calls."""

    def __init__(self, agenda: Agenda, model: MachineModel, seed: int) -> None:
        self.agenda = agenda
        self.model = model
        self.violations: list[str] = []
        self.on_sensor: Callable[[str, bool], None] = lambda name, active: None
        self.on_eye: Callable[[str, tuple[int, ...], int], None] = lambda mouth, peaks, direction: None
        self.on_stall: Callable[[str], None] = lambda part: None
        self.on_load: Callable[[str], None] = lambda part: None
        self.on_drive: Callable[[], None] = lambda: None
        self.on_brown_out: Callable[[], None] = lambda: None
        self.on_wall: Callable[[str], None] = lambda mouth: None
        self.on_console: Callable[[bool], None] = lambda is_up: None
        self._forced: dict[str, bool] = {}
        self._door_open = False
        self._brown_out: Entry | None = None
        self.drum = Drum(agenda, model.drum)
        self.console = Crank(
            agenda,
            2000 * model.travel.console_ms,
            {"console.down": 0, "console.up": TURN // 2},
            {},
            self._console_sensor,
            lambda held: self.motors["console"].hold(held),
        )
        # Streams of their own for each mouth: what one does never shifts another's chance.
        streams = [f"{seed}/{{}}/{n}" for n in range(1, 1 + len(model.each_mouth))]
        self.sides = tuple(map(self._side, model.each_mouth, streams))
        self._by_name = {side.name: side for side in self.sides}
        self.motors = self._motors()
        self._readings = self._sensors()

    def _side(self, spec: MouthSpec, stream: str) -> Side:
        eye = Eye(self.model.eye, random.Random(stream.format("eye")))
        mouth = Mouth(
            spec.name,
            self.agenda,
            self.drum,
            eye,
            self.model.mouth,
            random.Random(stream.format("mouth")),
            lambda peaks, direction: self.on_eye(spec.name, peaks, direction),
            self._edge,
        )
        return Side(
            self.agenda,
            spec,
            self.model,
            mouth,
            self._edge,
            lambda part, held: self.motors[part].hold(held),
            lambda side: self.on_wall(side),
            self.violations.append,
            lambda: travel_from(self.console.angle, 0) <= CONSOLE_DOWN,
        )

    def _motors(self) -> dict[str, Motor]:
        current = self.model.current
        turns: dict[str, tuple[int, Callable[[int], None]]] = {"drum": (current.drum_ma, self.drum.turn)}
        for side in self.sides:
            turns[f"conveyor.{side.name}"] = (current.conveyor_ma, side.mouth.turn)
            turns[f"stacker.{side.name}"] = (current.stacker_ma, side.turn_stacker)
            turns[f"lift.{side.name}"] = (side.spec.lift_ma, side.lift.turn)
        turns["console"] = (current.console_ma, self.console.turn)
        return {
            name: Motor(self.agenda, name, max_ma, turn, lambda part: self.on_stall(part), self._load_changed)
            for name, (max_ma, turn) in turns.items()
        }

    # --- what the board drives and reads --------------------------------------------------------------------

    def drive(self, part: str, direction: int, reduced: bool = False) -> None:
        """Switch one motor on or off; a conveyor that runs forward picks only with its gate open."""
        self.on_drive()
        self.motors[part].drive(direction, reduced)

    def bridge_door(self, part: str, on: bool) -> None:
        """Let one motor have its power although the door is open, or no longer."""
        self.motors[part].bridge(DOOR, on)

    def open_gate(self, mouth: str, is_open: bool) -> None:
        """Open or close the pick-up of one mouth."""
        self._by_name[mouth].mouth.open_gate(is_open)

    @property
    def driven(self) -> tuple[str, ...]:
        """Return the motors whose output is on."""
        return tuple(name for name, motor in self.motors.items() if motor.direction)

    @property
    def current_ma(self) -> int:
        """Return what all motors draw together."""
        return sum(m.current_ma for m in self.motors.values())

    @property
    def sensors(self) -> tuple[str, ...]:
        """Return the names of all sensors."""
        return tuple(self._readings)

    def tells(self, sensor: str) -> bool:
        """Return what a sensor tells now."""
        forced = self._forced.get(sensor)
        return self._readings[sensor]() if forced is None else forced

    def _sensors(self) -> dict[str, Callable[[], bool]]:
        readings: dict[str, Callable[[], bool]] = {DOOR: lambda: self._door_open} | _marks(self.console)
        for side in self.sides:
            readings |= _marks(side.stacker) | _marks(side.lift)
            readings[f"belt.{side.name}.full"] = partial(attrgetter("full"), side.mouth)
            readings[f"slot.{side.name}.first"] = partial(attrgetter("slot_first"), side.mouth)
            readings[f"slot.{side.name}.full"] = partial(attrgetter("slot_full"), side.mouth)
        return readings

    # --- what people and faults do --------------------------------------------------------------------------

    def open_door(self, is_open: bool) -> None:
        """Open or shut the service door; open, it cuts the power of every motor."""
        self._door_open = is_open
        self.power(not is_open, DOOR)
        self._edge(DOOR, is_open)

    def power(self, on: bool, by: str = "mains") -> None:
        """Give or cut the power of all motors; it is on when nothing cuts it."""
        for motor in self.motors.values():
            motor.power(on, by)

    def force_sensor(self, name: str, value: bool | None) -> None:
        """Let a sensor tell one thing for ever, or the truth again with None."""
        before = self.tells(name)
        if value is None:
            self._forced.pop(name, None)
        else:
            self._forced[name] = value
        after = self.tells(name)
        if after != before:
            self.on_sensor(name, after)

    def crank(self, part: str) -> Crank:
        """Return the crank that a part's motor turns."""
        kind, _, side = part.partition(".")
        if kind == PartKind.CONSOLE:
            return self.console
        return self.side(side).stacker if kind == PartKind.STACKER else self.side(side).lift

    def side(self, name: str) -> Side:
        """Return the mouth of that name, with all behind it."""
        return self._by_name[name]

    def places(self) -> tuple[Place, ...]:
        """Return every place of the machine that can hold tiles."""
        of_sides = [p for s in self.sides for p in (s.mouth.belt, s.mouth.slot, s.store, s.wall)]
        return (self.drum.place, *of_sides)

    # --- edges ----------------------------------------------------------------------------------------------

    def _load_changed(self, part: str) -> None:
        self.on_load(part)
        if self._brown_out is None and self._overloaded:
            self._brown_out = self.agenda.after(BROWN_OUT_US, self._supply_drops)

    def _supply_drops(self) -> None:
        self._brown_out = None
        if self._overloaded:
            self.on_brown_out()

    @property
    def _overloaded(self) -> bool:
        return self.current_ma > self.model.current.brown_out_ma

    def _edge(self, name: str, active: bool) -> None:
        if name not in self._forced:
            self.on_sensor(name, active)

    def _console_sensor(self, name: str, active: bool) -> None:
        self._edge(name, active)
        if name == "console.up":
            self.on_console(active)


def _marks(crank: Crank) -> dict[str, Callable[[], bool]]:
    return {name: partial(crank.on.__getitem__, name) for name in crank.on}
