"""The simulated table as one core: board, machine and players around one agenda."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firmware_protocol import messages as m
from firmware_protocol.core import Tick, earliest
from sim.agenda import Agenda
from sim.board import Board
from sim.describe import LAMPS, four_mouth
from sim.faults import FaultSpec, parse
from sim.mechanics.machine import Machine, MachineModel
from sim.players import Players
from sim.tiles import SETS, Place, lay_out


@dataclass(frozen=True, slots=True)
class WireIn:
    """Bytes from the host."""

    data: bytes


@dataclass(frozen=True, slots=True)
class PanelKey:
    """Somebody presses or releases a key of the panel."""

    key: str
    down: bool


@dataclass(frozen=True, slots=True)
class StopLine:
    """Somebody opens the wired stop, or closes it."""

    is_open: bool


@dataclass(frozen=True, slots=True)
class Fault:
    """Something breaks now; see `sim.faults`."""

    spec: str


@dataclass(frozen=True, slots=True)
class WireOut:
    """Bytes to the host."""

    data: bytes


@dataclass(frozen=True, slots=True)
class PressRemote:
    """A player presses a key of the remote."""

    key: str
    held_us: int


@dataclass(frozen=True, slots=True)
class PanelShows:
    """What the panel shows has changed."""

    display: str
    lamps: tuple[str, ...]
    buzzer_ms: int


TableEvent = WireIn | PanelKey | StopLine | Fault | Tick
TableEffect = WireOut | PressRemote | PanelShows


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How a simulated table is set up; the same options give the same bytes."""

    tiles: int = 136
    sets: int = 2
    hands: int = 1
    play_us: int = 20_000_000
    seed: int = 0
    faults: tuple[str, ...] = ()
    model: MachineModel = field(default_factory=MachineModel)
    faces: tuple[str, ...] | None = None  # None: the usual composition of `tiles` tiles


class SimTable:
    """Everything in the table but the wire."""

    def __init__(self, options: TableOptions, boot_id: int = 1) -> None:
        self.options = options
        self.agenda = Agenda()
        self.machine = Machine(self.agenda, options.model, options.seed)
        faces = options.faces or SETS[options.tiles]
        self.boxes = [Place(f"box.{back}") for back in "AB"[: options.sets]]
        self.tiles = [
            t for n, box in enumerate(self.boxes) for t in lay_out(faces, box.name[-1], box, n * len(faces))
        ]
        self.players = Players(
            self.agenda,
            self.machine,
            self.boxes,
            options.hands,
            options.play_us,
            options.seed,
            lambda key, held_us: self._out.append(PressRemote(key, held_us)),
        )
        description = four_mouth(options.model)
        self.board = Board(
            self.agenda,
            self.machine,
            description,
            boot_id,
            b"SIM00001",
            lambda data: self._out.append(WireOut(data)),
            self._show,
        )
        self._parts = tuple(p.name for p in description.parts)
        self._out: list[TableEffect] = []
        self.machine.on_console = self.players.console
        self.machine.on_wall = self.players.wall
        for text in options.faults:
            self._plan_fault(parse(text, self._parts))

    def handle(self, event: TableEvent, now_us: int) -> tuple[TableEffect, ...]:
        """Take one event in; whatever was due before it happens first, at its own time."""
        self._out = []
        self._catch_up(now_us)
        match event:
            case WireIn(data):
                self.board.receive(data)
            case PanelKey(key, down):
                self.board.press(key, down)
            case StopLine(is_open):
                self.board.stop_line(is_open)
            case Fault(spec):
                self._plan_fault(parse(spec, self._parts))
            case Tick():
                pass
        return tuple(self._out)

    def next_deadline(self) -> int | None:
        """Return when the next thing happens inside the table."""
        return earliest(self.agenda.next_us(), self.board.next_deadline())

    def truth(self) -> dict[str, Any]:
        """Return where every tile is, for tests and the control socket; the host never sees this."""
        return {
            "places": {p.name: [t.number for t in p.tiles] for p in self.places()},
            "hands": [{"back": s.back, "walls": s.walls, "stacks": s.stacks} for s in self.players.seen],
            "hands_played": self.players.hands_played,
            "violations": list(self.machine.violations),
        }

    def places(self) -> tuple[Place, ...]:
        """Return every place where a tile can be."""
        return (*self.machine.places(), self.players.table, *self.boxes)

    def _catch_up(self, now_us: int) -> None:
        while (due := self.next_deadline()) is not None and due <= now_us:
            self.agenda.run_until(max(due, self.agenda.now_us))
            self.board.tick()
        self.agenda.run_until(now_us)

    def _plan_fault(self, fault: FaultSpec) -> None:
        acts: dict[str, Callable[[], None]] = {"disconnected": lambda: self.machine.disconnect(fault.part)}
        self.agenda.at(fault.at_us, acts[fault.kind])

    def _show(self, panel: m.Panel) -> None:
        lamps = tuple(name for i, name in enumerate(LAMPS) if panel.lamps >> i & 1)
        display = panel.display.decode("ascii", "replace")
        self._out.append(PanelShows(display, lamps, panel.buzzer_ms))
        self.players.read(display)
