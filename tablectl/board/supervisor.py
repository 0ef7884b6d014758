"""The supervisor of the port, without I/O: which port is opened when, given up, and opened again.

A port is a path, `auto` (any USB port with a board; from then on that board and no other) or `uid:` with the
board's own name. Adapters of one make share their names and names change with the socket, so that only HELLO
tells which board it is: what the session says passes through here before the table hears of it.
"""

from dataclasses import dataclass
from enum import StrEnum

from firmware_protocol import host_link as hl
from firmware_protocol.core import Tick
from tablectl.board import port_types as pt
from tablectl.board.port_types import FoundPort, Trouble
from tablectl.table import events as ev

AUTO = "auto"
BY_UID = "uid:"

ANSWER_US = 5_000_000  # opening may reset the board: 3 s of boot noise, then five HELLOs
FIRST_RETRY_US = 250_000
LAST_RETRY_US = 16_000_000
LIST_US = 1_000_000  # looking at what is plugged in disturbs nobody
GOOD_US = 10_000_000  # a session that ended sooner is one more failure: a board that browns out, a bad plug
MUTE_TRIES = 3
RESET_APART_US = 300_000_000
SETTLE_US = 1_000_000  # after a reset the device is enumerated anew

_REFUSALS = (hl.DownReason.VERSION, hl.DownReason.DESCRIPTION)

Gated = ev.Hello | ev.LinkLost | ev.Stopped
SupervisorEvent = pt.PortReport | Gated | ev.ClearStop | Tick
SupervisorEffect = pt.PortOrder | pt.PortTrouble | Gated | hl.Opened | hl.Closed


class State(StrEnum):
    """What the supervisor is at; each has its text under `port.next`."""

    IDLE = "idle"
    WAITING = "waiting"
    LISTING = "listing"
    OPENING = "opening"
    GREETING = "greeting"  # open, without a session
    UP = "up"
    RESETTING = "resetting"


@dataclass(slots=True)
class _Record:
    """How it went with one path."""

    fails: int = 0
    not_before_us: int = 0
    mute: int = 0  # attempts in a row that were opened and heard nothing


class Supervisor:
    """One board's port. `speed` is that of a simulated table's clock: ports and their drivers are real."""

    def __init__(self, port: str, speed: float = 1.0) -> None:
        self.target = port
        self.state = State.IDLE
        self.path = ""  # open, or tried last
        self.trouble: pt.PortTrouble | None = None  # the last one
        self.tries = 0  # since the last session
        self.wait_us = 0  # how long the present wait is
        self.resets = 0
        self.reset_detail = ""
        self._fixed = "" if port == AUTO or port.startswith(BY_UID) else port
        self._uid = port.removeprefix(BY_UID) if port.startswith(BY_UID) else ""
        self._speed = speed
        self._records: dict[str, _Record] = {}
        self._tried = FoundPort("", None)
        self._home = FoundPort("", None)  # where the board answered last
        self._id = 0
        self._heard = False
        self._up_us: int | None = None
        self._table_knows = False  # of a session that it has not been told the end of
        self._refusal: str | None = None  # of this attempt
        self._told_refusal: str | None = None
        self._told: pt.PortTrouble | None = None
        self._reset_us: int | None = None
        self._due: int | None = None
        self._now = 0
        self._out: list[SupervisorEffect] = []

    @property
    def is_open(self) -> bool:
        """Tell whether a port is open."""
        return self.state in (State.GREETING, State.UP)

    def handle(self, event: SupervisorEvent, now_us: int) -> tuple[SupervisorEffect, ...]:
        """Take one event in."""
        self._now = now_us
        self._out = []
        match event:
            case Tick():
                self._tick()
            case ev.Hello() | ev.LinkLost() | ev.Stopped() if self.state is State.IDLE:
                self._out.append(event)  # somebody else holds the wire
            case ev.Hello():
                self._hello(event)
            case ev.LinkLost():
                self._link_lost(event)
            case ev.Stopped():
                self._greet_again()
                self._out.append(event)
            case ev.ClearStop():
                self._greet_again()
            case pt.Begin() if self.state is State.IDLE:
                self._list()
            case pt.PortsListed(ports) if self.state is State.LISTING:
                self._choose(ports)
            case pt.UsbDone(detail) if self.state is State.RESETTING:
                self.reset_detail = detail
                self._wait(self._now + self._real(SETTLE_US))
            case pt.PortOpened(id_) if self.state is State.OPENING and id_ == self._id:
                self._opened()
            case pt.OpenFailed(id_, trouble, detail) if self.state is State.OPENING and id_ == self._id:
                self._failed(trouble, detail)
            case pt.PortHeard(id_) if self.is_open and id_ == self._id:
                self._heard = True
                self._record.mute = 0
            case pt.PortLost(id_, detail) if self.is_open and id_ == self._id:
                self._end_session()
                self._out.append(hl.Closed())
                self._failed(Trouble.LOST, detail)
            case _:
                pass  # the outcome of an order that is over
        return tuple(self._out)

    def next_deadline(self) -> int | None:
        """Return when a wait is over or a port is given up."""
        return self._due

    def _tick(self) -> None:
        if self._due is None or self._due > self._now:
            return
        self._due = None
        if self.state is State.WAITING:
            self._list()
        elif self.state is State.GREETING:
            self._give_up()

    def _real(self, real_us: int) -> int:
        """Return a real stretch of time in the table's."""
        return int(real_us * self._speed)

    # --- which port -----------------------------------------------------------------------------------------

    def _list(self) -> None:
        self.state = State.LISTING
        self._out.append(pt.ListPorts(self._fixed))

    def _choose(self, ports: tuple[FoundPort, ...]) -> None:
        if self._fixed:
            candidates = [next((p for p in ports if p.path == self._fixed), FoundPort(self._fixed, None))]
        else:
            # A port of the computer's own may be a console; who has the board there names its path.
            candidates = sorted((p for p in ports if p.usb), key=_place)
            there = {p.path for p in candidates}
            self._records = {path: r for path, r in self._records.items() if path in there}
        if not candidates:
            self._tell(Trouble.NOT_FOUND, "", "")
        ready = [p for p in candidates if self._record_of(p.path).not_before_us <= self._now]
        if ready:
            self._try(min(ready, key=lambda p: (not self._at_home(p), self._record_of(p.path).fails)))
        else:
            self._wait_for_a_port()

    def _at_home(self, port: FoundPort) -> bool:
        """Tell whether the board was last here: at this USB socket, or by this name where there is none."""
        if port.usb is None:
            return port.path == self._home.path
        return port.usb == self._home.usb

    def _try(self, port: FoundPort) -> None:
        self._tried, self.path = port, port.path
        if port.usb and self._hangs(port):
            self._record.mute = 0
            self._reset_us = self._now
            self.resets += 1
            self.state = State.RESETTING
            self._out.append(pt.ResetUsb(port.usb))
            return
        self._id += 1
        self.tries += 1
        self.state = State.OPENING
        self._out.append(pt.OpenPort(self._id, port.path))

    def _hangs(self, port: FoundPort) -> bool:
        """Tell whether an adapter is to be reset; never one that was not ours, which may just be silent."""
        ours = bool(self._fixed) or self._at_home(port)
        before = self._reset_us
        rested = before is None or self._now - before >= self._real(RESET_APART_US)
        return ours and rested and self._record_of(port.path).mute >= MUTE_TRIES

    # --- one port -------------------------------------------------------------------------------------------

    @property
    def _record(self) -> _Record:
        return self._record_of(self._tried.path)

    def _record_of(self, path: str) -> _Record:
        return self._records.setdefault(path, _Record())

    def _opened(self) -> None:
        self._heard = False
        self._refusal = None
        self._greet()
        self._out.append(hl.Opened())

    def _greet(self) -> None:
        self.state = State.GREETING
        self._due = self._now + self._real(ANSWER_US)

    def _greet_again(self) -> None:
        if self.state is State.UP:
            self._end_session()
            self._greet()

    def _hello(self, hello: ev.Hello) -> None:
        if not self.is_open:
            return
        if self._uid and hello.uid != self._uid:
            self._close(Trouble.OTHER_BOARD, hello.uid)
            return
        if not self._fixed:
            self._uid = hello.uid
        self.state = State.UP
        self._due = None
        self._up_us = self._now
        self._home = self._tried
        self.tries = 0
        self._told = self._told_refusal = None
        self._table_knows = True
        self._out.append(hello)

    def _link_lost(self, lost: ev.LinkLost) -> None:
        refused = lost.reason in _REFUSALS
        if refused:
            self._refusal = lost.detail
        closed = lost.reason == hl.DownReason.CLOSED
        # A port that is opened again and again must not be told again and again.
        if self._table_knows or not (closed or (refused and lost.detail == self._told_refusal)):
            self._out.append(lost)
        if refused:
            self._told_refusal = lost.detail
        self._table_knows = False
        self._greet_again()

    def _end_session(self) -> None:
        if self._up_us is not None and self._now - self._up_us >= self._real(GOOD_US):
            self._record.fails = 0
        self._up_us = None

    def _give_up(self) -> None:
        if self._refusal is not None:
            self._close(Trouble.REFUSED, self._refusal)
        elif self._heard:
            self._close(Trouble.NO_BOARD, "")
        else:
            self._record.mute += 1
            self._close(Trouble.MUTE, "")

    def _close(self, trouble: Trouble, detail: str) -> None:
        self._out += [pt.ClosePort(trouble), hl.Closed()]
        self._failed(trouble, detail)

    def _failed(self, trouble: Trouble, detail: str) -> None:
        record = self._record
        record.fails += 1
        delay_us = min(FIRST_RETRY_US << min(record.fails - 1, 16), LAST_RETRY_US)
        if trouble is Trouble.MISSING:
            delay_us = min(delay_us, LIST_US)
            record.mute = 0
        record.not_before_us = self._now + self._real(delay_us)
        self._tell(trouble, self._tried.path, detail)
        self._wait_for_a_port()

    def _wait_for_a_port(self) -> None:
        due = min((r.not_before_us for r in self._records.values()), default=0)
        if not self._fixed:  # something may be plugged in, and another port may be ready already
            looked_at = self._now + self._real(LIST_US)
            due = min(looked_at, max(due, self._now + self._real(FIRST_RETRY_US)))
        self._wait(due)

    def _wait(self, until_us: int) -> None:
        self.state = State.WAITING
        self._due = until_us
        self.wait_us = until_us - self._now

    def _tell(self, trouble: Trouble, path: str, detail: str) -> None:
        self.trouble = pt.PortTrouble(trouble, path, detail)
        if self.trouble != self._told:
            self._told = self.trouble
            self._out.append(self.trouble)


def _place(port: FoundPort) -> tuple[int, tuple[int, ...], str]:
    """Return what orders ports by their sockets: names change, sockets do not."""
    return (port.usb.bus, port.usb.ports, port.path) if port.usb else (0, (), port.path)
