"""The whole host as one core: port, board session, remote and controller, joined.

The daemon and the lab drive this same object; they differ in their clocks, wires and disks alone.
"""

import traceback
from collections import deque
from collections.abc import Callable
from typing import Any, get_args

from firmware_protocol import host_link as hl
from firmware_protocol.core import Core, Tick, earliest
from tablectl.board import port_types as pt
from tablectl.board.session import BoardSession
from tablectl.board.supervisor import Gated, Supervisor
from tablectl.remote.receiver import Foreign, LircdBytes, Lost, Receiver, UnknownKey, Words
from tablectl.table import events as ev
from tablectl.table.controller import Controller
from tablectl.table.intents import Key

Trace = Callable[[str, int, Any, tuple[Any, ...]], None]

_TO_PORT = frozenset((
    pt.Begin, pt.PortsListed, pt.PortOpened, pt.OpenFailed, pt.PortHeard, pt.PortLost, pt.UsbDone
))  # fmt: skip
_TO_SESSION = frozenset((hl.Opened, hl.Closed, hl.Received, ev.StopAll, ev.ClearStop, ev.Panel))
_TO_RECEIVER = frozenset((Words, LircdBytes, Lost))
_TO_CONTROLLER = frozenset((
    ev.Hello, ev.Status, ev.Accepted, ev.Done, ev.Failed, ev.Stopped, ev.PanelKey, ev.SensorMissed,
    ev.LinkLost, ev.Journaled, ev.Jog, ev.JournalFailed, ev.Entropy, Key,
))  # fmt: skip
_GATED = frozenset(get_args(Gated))
# These never wait for the disk: they stop, or keep alive what is already written down.
_UNWRITTEN = frozenset({ev.Verb.STOP, ev.Verb.RENEW})


class Host:
    """Events of port, remote, disk and clients in; what shells must do comes out."""

    def __init__(
        self,
        controller: Controller,
        session: BoardSession,
        receiver: Receiver,
        supervisor: Supervisor,
        trace: Trace | None = None,
    ) -> None:
        self.controller = controller
        self.session = session
        self.receiver = receiver
        self.supervisor = supervisor
        self._trace = trace
        self._written = 0  # the last journal entry that is on the disk
        self._waiting: deque[ev.Command] = deque()

    def handle(self, event: Any, now_us: int) -> tuple[Any, ...]:
        """Take one event in and route it; effects for shells come out in order."""
        out: list[Any] = []
        if isinstance(event, Tick):
            for name, core in self._cores():
                deadline = core.next_deadline()
                if deadline is not None and deadline <= now_us:
                    self._route([(name, core, event)], now_us, out)
            return tuple(out)
        released: list[tuple[str, Core, Any]] = []
        if type(event) is ev.Journaled:
            self._written = max(self._written, event.id)
            released = self._release()
        self._route([*released, (*self._target(event), event)], now_us, out)
        if isinstance(event, Lost) and self.receiver.trouble:
            out.append(self.receiver.trouble)  # for people; no core has to know
        return tuple(out)

    def next_deadline(self) -> int | None:
        """Return the first deadline of the four cores."""
        return earliest(
            self.supervisor.next_deadline(),
            self.session.next_deadline(),
            self.receiver.next_deadline(),
            self.controller.next_deadline(),
        )

    def _cores(self) -> tuple[tuple[str, Core], ...]:
        return (
            ("port", self.supervisor),
            ("session", self.session),
            ("remote", self.receiver),
            ("table", self.controller),
        )

    def _target(self, event: Any) -> tuple[str, Core]:
        kind = type(event)
        if kind in _TO_SESSION:
            return "session", self.session
        if kind in _TO_PORT:
            return "port", self.supervisor
        if kind in _TO_RECEIVER:
            return "remote", self.receiver
        return "table", self.controller

    def _route(self, events: list[tuple[str, Core, Any]], now_us: int, out: list[Any]) -> None:
        queue = deque(events)
        stopped = False
        while queue:
            name, core, event = queue.popleft()
            effects = self._call(name, core, event, now_us)
            if core is self.session:
                effects = self._gated(effects, now_us)
            for effect in effects:
                kind = type(effect)
                if kind is ev.Command:
                    queue.extend(self._order(effect))
                elif kind in (Foreign, UnknownKey):
                    heard = ev.Heard(effect.user_code, effect.data_code, kind is UnknownKey)
                    queue.append(("table", self.controller, heard))
                elif kind is ev.Crashed:
                    out.append(effect)
                    if type(event) is not ev.Crashed:
                        queue.append(("table", self.controller, effect))
                elif kind is ev.StopAll:
                    # Ahead of everything that was to be sent.
                    self._waiting.clear()
                    queue.appendleft(("session", self.session, effect))
                    stopped = True
                elif kind in _TO_SESSION:
                    if kind is ev.Panel:
                        out.append(effect)
                    elif kind is ev.ClearStop:
                        queue.append(("port", self.supervisor, effect))
                    queue.append(("session", self.session, effect))
                elif kind in _TO_CONTROLLER:
                    queue.append(("table", self.controller, effect))
                else:
                    out.append(effect)
        if stopped:  # its bytes first: writing an entry wakes the disk's thread, and that takes the processor
            out.sort(key=lambda effect: not isinstance(effect, hl.Transmit))

    def _gated(self, effects: tuple[Any, ...], now_us: int) -> tuple[Any, ...]:
        """Return the session's effects, of which the supervisor sees who the board is and how it ends."""
        passed: list[Any] = []
        for effect in effects:
            if type(effect) not in _GATED:
                passed.append(effect)
                continue
            decided = self._call("port", self.supervisor, effect, now_us)
            passed += decided
            if isinstance(effect, ev.Hello) and effect not in decided:
                break  # not this table's board: nothing that it says is heard
        return tuple(passed)

    def _call(self, name: str, core: Core, event: Any, now_us: int) -> tuple[Any, ...]:
        try:
            effects = core.handle(event, now_us)
        except Exception:  # a defect of ours must not leave a motor running
            effects = (ev.StopAll(), ev.Crashed(name, traceback.format_exc()))
        if self._trace:
            self._trace(name, now_us, event, effects)
        return effects

    def _order(self, command: ev.Command) -> list[tuple[str, Core, Any]]:
        """Return what follows from an order: it goes out, or waits until its journal entry is on the disk."""
        follows: list[tuple[str, Core, Any]] = []
        unwritten = command.after is not None and command.after > self._written
        if command.verb is ev.Verb.STOP:
            # What waits for the disk must not start after it was stopped.
            for waiting in [w for w in self._waiting if w.part == command.part]:
                self._waiting.remove(waiting)
                follows.append(("table", self.controller, ev.NotSent(waiting.op)))
        if command.verb not in _UNWRITTEN and (unwritten or self._waiting):
            self._waiting.append(command)
        else:
            follows += self._send(command)
        return follows

    def _send(self, command: ev.Command) -> list[tuple[str, Core, Any]]:
        return [("session", self.session, command), ("table", self.controller, ev.Sent(command.op))]

    def _release(self) -> list[tuple[str, Core, Any]]:
        follows = []
        while self._waiting and (self._waiting[0].after or 0) <= self._written:
            follows += self._send(self._waiting.popleft())
        return follows
