"""The simulated table as one core: board, machine and players around one agenda."""

from dataclasses import dataclass, field
from typing import Any

from firmware_protocol import messages as m
from firmware_protocol.core import Tick, earliest
from sim.agenda import Agenda
from sim.board import Board
from sim.board.describe import LAMPS, describe
from sim.board.interlocks import Move
from sim.faults import Faults
from sim.mechanics.machine import Machine
from sim.model import MachineModel, load
from sim.players import Players
from sim.silence import Silence
from sim.tiles import Place, faces_of, lay_out
from sim.wiring import Cable


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
class Mend:
    """What was broken is repaired now."""

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


@dataclass(frozen=True, slots=True)
class Plugged:
    """The cable was put in or pulled out."""

    in_: bool


@dataclass(frozen=True, slots=True)
class Mains:
    """The mains were given or cut; a host in the table loses its power, too."""

    on: bool


TableEvent = WireIn | PanelKey | Fault | Mend | StopLine | Tick
TableEffect = WireOut | PressRemote | PanelShows | Plugged | Mains


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How a simulated table is set up; the same options give the same bytes."""

    tiles: int = 136
    sets: int = 2
    hands: int = 1
    play_us: int = 20_000_000
    seed: int = 0
    faults: tuple[str, ...] = ()
    complete: tuple[int, ...] = ()  # tiles of each side's whole wall, as the players know their rule
    repair: bool = False  # the players mend what is broken, press RESET and go on
    model: MachineModel = field(default_factory=lambda: load("four-mouth"))
    faces: tuple[str, ...] | None = None  # None: the usual composition of `tiles` tiles


class SimTable:
    """Everything in the table but the wire."""

    def __init__(self, options: TableOptions, boot_id: int = 1) -> None:
        self.options = options
        self.agenda = Agenda()
        self.machine = Machine(self.agenda, options.model, options.seed)
        faces = options.faces or faces_of(options.tiles)
        self.boxes = [Place(f"box.{back}") for back in "AB"[: options.sets]]
        self.tiles = [
            t for n, box in enumerate(self.boxes) for t in lay_out(faces, box.name[-1], box, n * len(faces))
        ]
        self._out: list[TableEffect] = []
        self._boot_id = boot_id
        self._mains = True
        self.players = Players(
            self.agenda,
            self.machine,
            self.boxes,
            options.hands,
            options.play_us,
            options.seed,
            lambda key, held_us: self._out.append(PressRemote(key, held_us)),
            (lambda: self.faults.mend_all()) if options.repair else None,
            options.complete,
            self.mains,
        )
        self._cable = Cable(self.agenda, options.seed)
        self.board = Board(
            self.agenda,
            self.machine,
            describe(options.model),
            boot_id,
            b"SIM00001",
            lambda data: self._cable.to_host(data, lambda d: self._out.append(WireOut(d))),
            self._show,
        )
        self.silence = Silence(self.agenda, self.machine)
        self.faults = Faults(self.agenda, self.machine, self.board, self.players, self)
        self.machine.on_console = self.players.console
        self.machine.on_wall = self.players.wall
        self.machine.on_brown_out = lambda: self.restart_board(m.ResetCause.BROWN_OUT)
        for text in options.faults:
            self.faults.plan(text)

    def handle(self, event: TableEvent, now_us: int) -> tuple[TableEffect, ...]:
        """Take one event in; whatever was due before it happens first, at its own time."""
        self._out = []
        self._catch_up(now_us)
        match event:
            case WireIn(data):
                if self._mains:
                    self._cable.to_board(data, self._receive)
            case PanelKey(key, down):
                self.board.contact(key, down)
            case Fault(spec):
                self.faults.plan(spec)
                self._catch_up(now_us)
            case Mend(spec):
                self.faults.mend(spec)
            case StopLine(is_open):
                self.board.stop_line(is_open)
            case Tick():
                pass
        return tuple(self._out)

    def next_deadline(self) -> int | None:
        """Return when the next thing happens inside the table."""
        return earliest(self.agenda.next_us(), self.board.next_deadline() if self._mains else None)

    def truth(self) -> dict[str, Any]:
        """Return where every tile is and what the motors did, for tests and the control socket.

        The host never sees this.
        """
        self.silence.look()
        return {
            "places": {p.name: [t.number for t in p.tiles] for p in self.places()},
            "hands": [
                {"back": s.back, "walls": s.walls, "stacks": s.stacks, "served": s.hands}
                for s in self.players.seen
            ],
            "hands_played": self.players.hands_played,
            "violations": list(self.machine.violations),
            "driven": list(self.machine.driven),
            "executed": [self._told(move) for move in self.board.executed],
            "silence": {"heard_us": self.silence.heard_us, "longest_us": self.silence.longest_us},
        }

    def _receive(self, data: bytes) -> None:
        self.silence.heard()
        self.board.receive(data)

    def _told(self, move: Move) -> str:
        """Return a command that moved something as verb and part."""
        if isinstance(move, m.Fill):
            return f"fill conveyor.{self.board.description.named_mouths[move.mouth].name}"
        return f"{type(move).__name__.lower()} {self.board.description.parts[move.part].name}"

    def places(self) -> tuple[Place, ...]:
        """Return every place where a tile can be."""
        return (*self.machine.places(), self.players.table, self.players.floor, *self.boxes)

    # --- what faults do to cable and mains ------------------------------------------------------------------

    def wire(self, fault: str, on: bool) -> None:
        """Let the wire be mute, slow, noisy or unplugged, or well again."""
        (self._cable.faults.add if on else self._cable.faults.discard)(fault)
        if fault == "unplug":
            self._out.append(Plugged(not on))

    def mains(self, on: bool) -> None:
        """Cut the mains or give them back: the board keeps its counts and nothing else."""
        if on == self._mains:
            return
        self._mains = on
        self.machine.power(on)
        self._out.append(Mains(on))
        if on:
            self.restart_board(m.ResetCause.POWER_ON)
        else:
            self.board.halt()

    def restart_board(self, cause: m.ResetCause) -> None:
        """Let the board restart, with another boot id."""
        self._boot_id = self._boot_id + 1 & 0xFFFFFFFF
        self.board.restart(self._boot_id, cause)

    def _catch_up(self, now_us: int) -> None:
        while True:
            board_us = self.board.next_deadline() if self._mains else None
            due_us = earliest(self.agenda.next_us(), board_us)
            if due_us is None or due_us > now_us:
                break
            self.agenda.run_until(due_us)
            if due_us == board_us and self._mains:
                self.board.tick()
        self.agenda.run_until(now_us)

    def _show(self, panel: m.Panel) -> None:
        lamps = tuple(name for i, name in enumerate(LAMPS) if panel.lamps >> i & 1)
        display = panel.display.decode("ascii", "replace")
        self._out.append(PanelShows(display, lamps, panel.buzzer_ms))
        self.players.read(display)
