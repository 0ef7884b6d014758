"""The simulated table as a program: a pty for the wire, sockets for LIRC words and control; no decision."""

import json
import os
import selectors
import socket
import tty
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firmware_protocol.core import TICK, earliest
from firmware_protocol.pace import PacedClock
from sim import keys
from sim.faults import FaultSpecError
from sim.remote import FINGER_US, IrWords, Remote
from sim.table import (
    Fault,
    Mains,
    Mend,
    PanelKey,
    PanelShows,
    Plugged,
    PressRemote,
    SimTable,
    StopLine,
    TableOptions,
    WireIn,
    WireOut,
)

_READ_BYTES = 4096
_NO_FILE = -1
_LONGEST_WAIT_S = 1.0
_SHORTEST_WAIT_S = 0.0002  # while the clock waits for the host, what is due does not come nearer


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """Where the simulated table is reached, and how fast its clock runs."""

    pty: Path
    lirc: Path | None
    control: Path | None
    speed: float


class Process:
    """One simulated table, driven in real time."""

    def __init__(self, options: ProcessOptions, table: TableOptions, boot_id: int) -> None:
        self._clock = PacedClock(options.speed)
        self._table = SimTable(table, boot_id)
        self._remote = Remote(table.seed)
        self._selector = selectors.DefaultSelector()
        self._listeners: list[socket.socket] = []
        self._ir_readers: list[socket.socket] = []
        self._made: list[Path] = []
        self._now_us = 0
        self._seen_us = 0  # the time of the table's last event
        self._ended = False
        self._panel: PanelShows | None = None
        self._fingers: dict[str, int] = {}  # panel key to the time before which no finger leaves it
        self._commands: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
            "truth": lambda c: {"time_us": self._now_us, **self._table.truth()},
            "panel": self._answer_panel,
            "press": lambda c: self._press(c["key"], int(c.get("held_us", 0))),
            "panel_key": lambda c: self._panel_key(c["key"], bool(c["down"])),
            "fault": lambda c: self._give_table(Fault(c["spec"])),
            "mend": lambda c: self._give_table(Mend(c["spec"])),
            "stop_line": lambda c: self._give_table(StopLine(bool(c["open"]))),
            "faults": lambda c: {
                name: {"says": kind.says, "parts": kind.parts}
                for name, kind in self._table.faults.kinds.items()
            },
            "end": lambda c: self.end(),
        }
        self._port = options.pty
        self._made.append(options.pty)
        self._master = self._slave = _NO_FILE
        self._plug_in()
        if options.lirc:
            self._listen(options.lirc, self._accept_ir)
        if options.control:
            self._listen(options.control, self._accept_control)

    def run(self) -> None:
        """Serve until told to end."""
        wait_s = 0.0
        try:
            while not self._ended:
                ready = self._selector.select(wait_s)
                self._now_us = self._clock.now_us()
                for each, _ in ready:
                    each.data()
                self._tick()
                wait_s = self._wait_s()
        finally:
            self._close()

    def end(self) -> None:
        """Leave `run` after this round."""
        self._ended = True

    def _wait_s(self) -> float:
        due = earliest(self._table.next_deadline(), self._remote.next_deadline())
        if due is None:
            return _LONGEST_WAIT_S
        return min(max(_SHORTEST_WAIT_S, self._clock.real_s(due - self._now_us)), _LONGEST_WAIT_S)

    def _tick(self) -> None:
        due = self._remote.next_deadline()
        if due is not None and due <= self._now_us:
            self._do_remote(self._remote.handle(TICK, self._now_us))
        due = self._table.next_deadline()
        if due is not None and due <= self._now_us:
            self._give_table(TICK)

    def _give_table(self, event: Any) -> None:
        self._seen_us = self._now_us
        self._do_table(self._table.handle(event, self._now_us))

    def _do_table(self, effects: tuple[Any, ...]) -> None:
        for effect in effects:
            match effect:
                case WireOut(data) if self._master != _NO_FILE:
                    with suppress(BlockingIOError):  # nobody reads: a UART's bytes fall on the floor
                        os.write(self._master, data)
                case Plugged(in_):
                    self._plug_in() if in_ else self._pull_out()
                case Mains():
                    pass  # the board is dead, and its adapter at the host's end stays where it is
                case PressRemote(key, held_us):
                    self._press(key, held_us)
                case PanelShows():
                    self._panel = effect

    def _press(self, key: str, held_us: int) -> None:
        self._do_remote(self._remote.handle(keys.press(key, held_us), self._now_us))

    def _panel_key(self, key: str, down: bool) -> None:
        """Press or release a panel key; a finger stays on it for a while, however fast a program is."""
        let_go_us = self._fingers.get(key, 0)
        if not down and let_go_us > self._now_us:
            self._table.agenda.at(let_go_us, lambda: self._table.board.contact(key, False))
            return
        self._give_table(PanelKey(key, down))
        if down:
            self._fingers[key] = self._now_us + FINGER_US

    def _do_remote(self, effects: tuple[IrWords, ...]) -> None:
        for effect in effects:
            for reader in list(self._ir_readers):
                try:
                    reader.send(effect.data)
                except OSError:
                    self._ir_readers.remove(reader)
                    reader.close()

    def _read_wire(self) -> None:
        if self._master == _NO_FILE:
            return  # pulled out by what came before in the same round
        with suppress(BlockingIOError):
            data = os.read(self._master, _READ_BYTES)
            # What has come is older than what is due: a late loop must not call its host silent.
            due = self._table.next_deadline()
            at_us = self._now_us if due is None else max(self._seen_us, min(self._now_us, due - 1))
            self._clock.heard(at_us)
            self._do_table(self._table.handle(WireIn(data), at_us))
            self._seen_us = at_us

    # --- sockets --------------------------------------------------------------------------------------------

    def _listen(self, path: Path, accept: Callable[[socket.socket], None]) -> None:
        with suppress(FileNotFoundError):
            path.unlink()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen()
        self._made.append(path)
        self._listeners.append(listener)
        self._selector.register(listener, selectors.EVENT_READ, lambda: accept(listener.accept()[0]))

    def _accept_ir(self, reader: socket.socket) -> None:
        reader.setblocking(False)
        self._ir_readers.append(reader)

    def _accept_control(self, client: socket.socket) -> None:
        stream = client.makefile("rwb")

        def serve() -> None:
            text = stream.readline()
            if text:
                stream.write(json.dumps(self._answer(text)).encode() + b"\n")
                with suppress(BrokenPipeError):
                    stream.flush()
            else:
                self._selector.unregister(client)
                with suppress(BrokenPipeError):
                    stream.close()
                client.close()

        self._selector.register(client, selectors.EVENT_READ, serve)

    def _answer(self, text: bytes) -> dict[str, Any]:
        """Carry one control command out and return the answer."""
        try:
            command = json.loads(text)
            act = self._commands.get(command["do"])
            if act is None:
                return {"error": f"no command {command['do']!r}; there are {', '.join(self._commands)}"}
            return act(command) or {}
        except (ValueError, KeyError, TypeError, FaultSpecError) as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def _answer_panel(self, command: dict[str, Any]) -> dict[str, Any]:
        shows = self._panel
        return {"display": shows.display, "lamps": shows.lamps} if shows else {}

    def _plug_in(self) -> None:
        """Make a pty and the link to it, where there is none."""
        if self._master != _NO_FILE:
            return
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        with suppress(FileNotFoundError):
            self._port.unlink()
        self._port.symlink_to(os.ttyname(self._slave))
        self._selector.register(self._master, selectors.EVENT_READ, self._read_wire)

    def _pull_out(self) -> None:
        """Take link and pty away, as when a USB cable is pulled: whoever has it open gets EIO."""
        if self._master == _NO_FILE:
            return
        with suppress(FileNotFoundError):
            self._port.unlink()
        self._selector.unregister(self._master)
        os.close(self._master)
        os.close(self._slave)
        self._master = self._slave = _NO_FILE

    def _close(self) -> None:
        self._pull_out()
        for path in self._made:
            with suppress(FileNotFoundError):
                path.unlink()
        for sock in (*self._listeners, *self._ir_readers):
            sock.close()
        for each in list(self._selector.get_map().values()):
            if isinstance(each.fileobj, socket.socket):
                each.fileobj.close()
        self._selector.close()
