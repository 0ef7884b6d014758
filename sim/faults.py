"""Faults of the simulated table: `kind:part@time+duration`, for example `jam:S2@12s+5s`.

Time counts from the start, or from now where the fault is given to a running table; without a duration a
fault stays until it is mended.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from firmware_protocol import messages as m
from sim.agenda import Agenda
from sim.board.board import Board
from sim.mechanics.crank import TURN
from sim.mechanics.machine import Machine
from sim.texts import TEXTS

_SPEC = re.compile(
    r"(?P<kind>[a-z-]+):(?P<part>[A-Za-z0-9.]+)"
    r"(?:@(?P<time>\d+(?:\.\d+)?)s)?(?:\+(?P<lasts>\d+(?:\.\d+)?)s)?"
)
LATE_US = 1_500_000
DIRT = 0.53  # takes so much light that a tile's peak lies about the threshold: some tiles are missed
_BOUNCES = 6
_BOUNCE_US = 4_000


class FaultSpecError(ValueError):
    """A fault that the simulated table cannot have; `key` says why: its grammar, kind or part."""

    def __init__(self, key: str, **values: str) -> None:
        super().__init__(key, values)
        self.key = key
        self.values = values

    def text(self, lang: str) -> str:
        """Return why, in a language."""
        return TEXTS(f"bad_fault.{self.key}", lang, **self.values)

    def __str__(self) -> str:
        return self.text("en")


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """One fault: when it comes, how long it stays (None: until mended)."""

    kind: str
    part: str
    at_us: int
    lasts_us: int | None


class People(Protocol):
    """What can go wrong with the tiles in people's hands."""

    def lose(self, count: int) -> None:
        """Leave tiles out the next time a set is put in; 0 gives them back."""
        ...

    def add_strange(self, count: int) -> None:
        """Put tiles of the other set in as well; 0 leaves them out."""
        ...

    def mix(self, count: int) -> None:
        """Exchange tiles of the two sets; 0 sorts them again."""
        ...


class Wiring(Protocol):
    """What can go wrong between board and host, and with the mains."""

    def wire(self, fault: str, on: bool) -> None:
        """Let the wire be mute, slow, noisy or unplugged, or well again."""
        ...

    def mains(self, on: bool) -> None:
        """Cut the mains or give them back."""
        ...

    def restart_board(self, cause: m.ResetCause) -> None:
        """Let the board restart."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: what it is, which parts can have it, what it does, and how it is undone."""

    says: str
    parts: tuple[str, ...]
    act: Callable[[str], None]
    mend: Callable[[str], None]


class Faults:
    """Every fault that this table can have."""

    def __init__(
        self, agenda: Agenda, machine: Machine, board: Board, people: People, wiring: Wiring
    ) -> None:
        self._agenda = agenda
        self._active: list[FaultSpec] = []
        sides = tuple(s.name for s in machine.sides)
        motors = tuple(machine.motors)
        sensors = tuple(s for s in board.description.sensors if s in machine.sensors and s != "door.open")

        def eye(attribute: str, on: float, off: float) -> tuple[Callable[[str], None], Callable[[str], None]]:
            def put(value: float) -> Callable[[str], None]:
                return lambda side: setattr(machine.side(side).mouth.eye, attribute, value)

            return put(on), put(off)

        def obstacle(angle: int) -> tuple[Callable[[str], None], Callable[[str], None]]:
            return (lambda p: machine.crank(p).block(angle)), (lambda p: machine.crank(p).block(None))

        def wire(fault: str) -> tuple[Callable[[str], None], Callable[[str], None]]:
            return (lambda _: wiring.wire(fault, True)), (lambda _: wiring.wire(fault, False))

        def key(name: str, closed: bool) -> None:
            board.contact(name, closed)

        def nothing(_: str) -> None:
            pass

        lifts, stackers = tuple(f"lift.{s}" for s in sides), tuple(f"stacker.{s}" for s in sides)
        keys = board.description.keys
        self.kinds: dict[str, Kind] = {
            "jam": Kind("a tile stands half in the slot", sides,
                lambda s: machine.side(s).jam(True), lambda s: machine.side(s).jam(False)),
            "disconnected": Kind("a motor has lost its plug", motors,
                lambda p: machine.motors[p].plug(False), lambda p: machine.motors[p].plug(True)),
            "stalled": Kind("a motor is held for good and draws its stall current", motors,
                lambda p: machine.motors[p].seize(True), lambda p: machine.motors[p].seize(False)),
            "late": Kind("a motor begins to turn 1.5 s late", motors,
                lambda p: machine.motors[p].delay(LATE_US), lambda p: machine.motors[p].delay(0)),
            "blocked": Kind("something stands in a stacker's way", stackers, *obstacle(TURN * 3 // 10)),
            "short": Kind("a lift does not come quite home", lifts, *obstacle(TURN * 97 // 100)),
            "hand": Kind("a hand is in the console's gap", ("console",), *obstacle(TURN * 3 // 4)),
            "dead": Kind("a sensor tells nothing", sensors,
                lambda s: machine.force_sensor(s, False), lambda s: machine.force_sensor(s, None)),
            "stuck": Kind("a sensor tells the same for ever", sensors,
                lambda s: machine.force_sensor(s, True), lambda s: machine.force_sensor(s, None)),
            "dead-eye": Kind("an eye sees no tile", sides, *eye("dead", True, False)),
            "dirty-eye": Kind("an eye misses some tiles", sides, *eye("dirt", DIRT, 0.0)),
            "double-eye": Kind("an eye counts tiles twice", sides, *eye("flutters", True, False)),
            "door": Kind("the service door is open", ("service",),
                lambda _: machine.open_door(True), lambda _: machine.open_door(False)),
            "key-stuck": Kind("a key stays down", keys,
                lambda k: key(k, True), lambda k: key(k, False)),
            "key-bouncing": Kind("a key chatters when pressed", keys, self._bounce(board), nothing),
            "missing": Kind("a tile is left on the floor", ("tile",),
                lambda _: people.lose(1), lambda _: people.lose(0)),
            "extra": Kind("a tile of the other set is put in, too", ("tile",),
                lambda _: people.add_strange(1), lambda _: people.add_strange(0)),
            "mixed": Kind("tiles of the two sets are exchanged", ("sets",),
                lambda _: people.mix(4), lambda _: people.mix(0)),
            "mute": Kind("nothing of the board reaches the host", ("wire",), *wire("mute")),
            "slow": Kind("bytes of the board come 150 ms late", ("wire",), *wire("slow")),
            "noisy": Kind("bits flip on the wire", ("wire",), *wire("noisy")),
            "unplug": Kind("the cable between board and host is out", ("wire",), *wire("unplug")),
            "reset": Kind("the board restarts", ("board",),
                lambda _: wiring.restart_board(m.ResetCause.WATCHDOG), nothing),
            "brown-out": Kind("the supply drops and the board restarts", ("supply",),
                lambda _: wiring.restart_board(m.ResetCause.BROWN_OUT), nothing),
            "power-cut": Kind("the mains are cut", ("mains",),
                lambda _: wiring.mains(False), lambda _: wiring.mains(True)),
        }  # fmt: skip

    def parse(self, text: str) -> FaultSpec:
        """Read a fault; FaultSpecError says what is wrong with it."""
        match = _SPEC.fullmatch(text)
        if match is None:
            raise FaultSpecError("grammar", found=text)
        kind = self.kinds.get(match["kind"])
        if kind is None:
            raise FaultSpecError("kind", found=match["kind"], known=", ".join(self.kinds))
        if match["part"] not in kind.parts:
            raise FaultSpecError("part", kind=match["kind"], found=match["part"], known=", ".join(kind.parts))
        lasts = round(float(match["lasts"]) * 1_000_000) if match["lasts"] else None
        return FaultSpec(match["kind"], match["part"], round(float(match["time"] or 0) * 1_000_000), lasts)

    def plan(self, text: str) -> None:
        """Let a fault come at its time from now on."""
        spec = self.parse(text)
        kind = self.kinds[spec.kind]
        begin = self._agenda.now_us + spec.at_us
        self._agenda.at(begin, lambda: self._come(spec))
        if spec.lasts_us is not None:
            self._agenda.at(begin + spec.lasts_us, lambda: kind.mend(spec.part))

    def _come(self, spec: FaultSpec) -> None:
        self._active.append(spec)
        self.kinds[spec.kind].act(spec.part)

    def mend_all(self) -> None:
        """Undo every fault that has come."""
        for spec in self._active:
            self.kinds[spec.kind].mend(spec.part)
        self._active.clear()

    def mend(self, text: str) -> None:
        """Undo a fault now."""
        spec = self.parse(text)
        self.kinds[spec.kind].mend(spec.part)

    def _bounce(self, board: Board) -> Callable[[str], None]:
        def chatter(key: str) -> None:
            for n in range(_BOUNCES):
                self._agenda.after(n * _BOUNCE_US, lambda closed=n % 2 == 0: board.contact(key, closed))  # type: ignore[misc]
            self._agenda.after(_BOUNCES * _BOUNCE_US, lambda: board.contact(key, True))
            self._agenda.after(150_000, lambda: board.contact(key, False))

        return chatter
