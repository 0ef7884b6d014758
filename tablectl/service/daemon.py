"""The daemon: an asyncio shell round the host. Clock, port, remote, disk and socket; no decision."""

import asyncio
import fcntl
import gc
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from aiohttp import web

from firmware_protocol import host_link as hl
from firmware_protocol.core import TICK
from firmware_protocol.pace import PacedClock
from tablectl.board import port_types as pt
from tablectl.board.port import Port
from tablectl.config import Config
from tablectl.errors import TablectlError
from tablectl.journal import reader
from tablectl.journal.store import Store
from tablectl.remote import keymap
from tablectl.remote.sources import open_source
from tablectl.rules import ruleset
from tablectl.service import view
from tablectl.service.api import Api
from tablectl.service.notify import Notifier, summary
from tablectl.service.origin import Origin
from tablectl.service.trace_file import TraceFile
from tablectl.table import events as ev
from tablectl.table.intents import Key
from tablectl.table.memory import Memory, restored
from tablectl.trace import encode


class Daemon:
    """One table. `speed` scales every clock; only a simulated board accepts it."""

    def __init__(self, config: Config, speed: float = 1.0, trace: Path | None = None) -> None:
        self._config = config
        self._speed = speed
        self._clock = PacedClock(speed)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._end: asyncio.Future[None] = self._loop.create_future()
        self._over = False
        self._store = Store(config.journal, self._written, self._write_failed)
        keys = keymap.load(config.keymap)
        origin = Origin(
            version=version("tablectl"),
            speed=speed,
            port=config.port,
            sets=config.sets,
            user_codes=config.user_codes,
            keymap=keys.name,
            keys=tuple((code, intent.value) for code, intent in keys.keys.items()),
            memory=self._memory().to_json(),
            timing=self._kept("timing"),
            nonce_seed=int.from_bytes(os.urandom(4), "little"),
            next_journal_id=self._store.last_id + 2,
        )
        self._trace = TraceFile(trace, origin) if trace else None
        self._host = origin.host(self._trace)
        self._port = Port(self.dispatch)
        self._source = open_source(config.remote)
        self._api = Api(self._press, self._status)
        started = {"version": version("tablectl"), "speed": speed, "entropy": "operating system"}
        started["configuration"] = encode(config)
        self._last_entry = self._store.last_id + 1
        self._store.begin(self._last_entry, 0, "start", started)
        self._notifier = Notifier()

    async def run(self) -> None:
        """Serve until a signal or a fatal error; TablectlError tells the latter."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._loop.add_signal_handler(number, self._finish)
        runner = web.AppRunner(self._api.application(), shutdown_timeout=1.0)
        await runner.setup()
        tasks = [asyncio.create_task(self._source.run(self.dispatch))]
        self.dispatch(pt.Begin())
        try:
            self._config.socket.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                self._config.socket.unlink()
            await web.UnixSite(runner, str(self._config.socket)).start()
            # What the start has made stays: to look through it for garbage again would hold up a STOP.
            gc.freeze()
            self._notifier.ready(self._summary())
            tasks.append(asyncio.create_task(self._notifier.keep_watch()))
            await self._end
        finally:
            self._notifier.stopping()
            self._stop_moving()
            self._api.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._port.end()
            await runner.cleanup()
            with suppress(FileNotFoundError):
                self._config.socket.unlink()
            self._store.close()
            self._over = True
            if self._trace:
                self._trace.close()

    def dispatch(self, event: Any) -> list[dict[str, Any]]:
        """Give the host an event, carry its effects out, and return those that people may see."""
        if self._over:
            return []  # the last words of disk and timers, which nobody waits for
        if isinstance(event, hl.Received):
            self._clock.heard()
        elif isinstance(event, ev.Journaled) and event.id >= self._last_entry:
            self._clock.disk_answered()
        now_us = self._clock.now_us()
        told = [seen for effect in self._host.handle(event, now_us) if (seen := self._do(effect, now_us))]
        self._plan()
        self._notifier.status(self._summary())
        return told

    def _summary(self) -> str:
        table = self._host.controller
        return summary(table.state, table.fault, table.connected)

    def _do(self, effect: Any, now_us: int) -> dict[str, Any] | None:
        match effect:
            case hl.Transmit(data, urgent):
                self._port.write(data, urgent)
            case pt.ListPorts() | pt.OpenPort() | pt.ClosePort() | pt.ResetUsb():
                self._port.do(effect)
            case ev.Journal(id_, kind, data):
                self._clock.asked_disk()
                self._last_entry = id_
                self._store.append(id_, now_us, kind, data)
            case ev.EntropyWanted(id_, count):
                self._loop.call_soon(self.dispatch, ev.Entropy(id_, os.urandom(count)))
            case ev.Crashed(core, error):
                print(f"<2>tablectl: {core}: {error}", file=sys.stderr, flush=True)
            case _:
                told = view.event(effect, now_us)
                self._api.publish(told)
                return told
        return None

    def _status(self) -> dict[str, Any]:
        return view.status(self._host, self._config.remote, self._source.connected)

    def _press(self, key: Key | ev.Jog) -> list[dict[str, Any]]:
        return self.dispatch(key)

    def _plan(self) -> None:
        """Have the clock ring by the host's deadline.

        A ring that comes sooner stays: moved on at every event it would never come while bytes do, and then
        nothing would be renewed, no ping sent. One too many is ignored.
        """
        self._refuse_scaled_clock()
        deadline = self._host.next_deadline()
        if deadline is None or self._end.done():
            return
        at_s = self._loop.time() + self._clock.real_s(deadline - self._clock.now_us())
        if self._timer:
            if self._timer.when() <= at_s:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(at_s, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.dispatch(TICK)

    def _refuse_scaled_clock(self) -> None:
        board = self._host.controller.board
        if board and self._speed != 1.0 and not board.description.simulated and not self._end.done():
            self._end.set_exception(TablectlError("service.scaled_clock", speed=self._speed))

    def _finish(self) -> None:
        if not self._end.done():
            self._end.set_result(None)

    def _stop_moving(self) -> None:
        if self._host.controller.moving:
            self.dispatch(ev.StopAll())

    def _written(self, id_: int) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self.dispatch, ev.Journaled(id_))

    def _write_failed(self, detail: str) -> None:
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self.dispatch, ev.JournalFailed(detail))

    def _memory(self) -> Memory:
        """Return the journal's last word on the sets, or that of a table never used."""
        return restored(self._kept("memory"), self._config.rule, ruleset.available())

    def _kept(self, key: str) -> Any:
        """Return what the newest journal entry with a key says under it, None where there is none."""
        data = reader.last_with(self._config.journal, key)
        return json.loads(data)[key] if data else None


@contextmanager
def only_one(config: Config) -> Iterator[None]:
    """Hold the table for this process; TablectlError where another daemon has it."""
    lock = config.socket.with_name(config.socket.name + ".lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        stream = lock.open("w")
    except OSError as error:
        raise TablectlError("service.no_socket", socket=config.socket, reason=error.strerror) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise TablectlError("service.second", socket=config.socket) from error
        yield


def run(config: Config, speed: float = 1.0, trace: Path | None = None) -> None:
    """Run the daemon until it is told to end."""

    async def main() -> None:
        await Daemon(config, speed, trace).run()

    with only_one(config):
        asyncio.run(main())
