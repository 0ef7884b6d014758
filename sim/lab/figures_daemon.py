"""Figures of the real daemon as its own process, at a pty and a receiver that this one plays."""

import os
import select
import socket
import subprocess
import sys
import tempfile
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from firmware_protocol import frames
from firmware_protocol.codes import FrameKind
from firmware_protocol.core import TICK
from firmware_protocol.framing import Deframer
from sim import keys
from sim.lab.figure import Against, Figure, Rule, Watch, cpu_s, percentile, resident_mib
from sim.lab.figures_wire import PATIENCE_S, SilentError
from sim.remote import frame, words
from sim.table import SimTable, TableOptions, WireIn, WireOut

KEY_MS = 45.0  # a key is out so long after its last pulse, at the most
GAP_MS = 25.0  # of these the decoder waits, until silence has proven that nothing follows
IDLE_PERCENT = 1.0
_QUIET_S = 0.6  # between two presses: the board is greeted anew, and a key is up
_SILENCE_US = 500_000  # before a press
_WAITS = """
import os, select, socket, sys
words, wire, gap_s = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3])
while words.recv(4096):
    select.select([], [], [], gap_s)
    os.write(wire, bytes(14))
"""
_BARE = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]


class _Bench:
    """A daemon in a folder of its own, with a simulated board and a receiver that this process plays."""

    def __init__(self, folder: Path) -> None:
        self._config, self._api = folder / "tablectl.toml", folder / "api"
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self._slave = slave
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / "lirc"))
        self._listener.listen()
        self._reader: socket.socket | None = None
        self._table = SimTable(TableOptions(hands=0))
        self._config.write_text(
            f'[table]\nport = "{os.ttyname(slave)}"\nrule = "riichi"\nsets = 2\n'
            f'[remote]\ninput = "lirc+unix:{folder / "lirc"}"\nuser_codes = ["0x00"]\nkeymap = "default"\n'
            f'[service]\nsocket = "{self._api}"\njournal = "{folder / "journal.db"}"\n',
            encoding="utf-8",
        )
        self.start = time.perf_counter()
        command = [sys.executable, "-m", "tablectl", "run", f"--config={self._config}"]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def close(self) -> None:
        """End the daemon."""
        self.process.terminate()
        self.process.wait()
        if self._reader:
            self._reader.close()
        self._listener.close()
        os.close(self._master)
        os.close(self._slave)

    def started_ms(self) -> float:
        """Wait until the daemon's socket answers, and return how long that took."""
        self._wait(self._listens)
        return (time.perf_counter() - self.start) * 1e3

    def connect(self) -> None:
        """Wait until the daemon reads the receiver and has a session with the board."""
        self._reader, _ = self._listener.accept()
        self.until(FrameKind.PING, PATIENCE_S)

    def press(self, signed_us: tuple[int, ...]) -> float:
        """Send a key; return how many ms its first byte came after the last pulse was handed over."""
        assert self._reader is not None
        self.play(_QUIET_S)
        self._reader.sendall(words((-_SILENCE_US, *signed_us)))
        start = time.perf_counter()
        return (self.until(FrameKind.STOP_ALL, PATIENCE_S) - start) * 1e3

    def play(self, seconds: float) -> None:
        """Let the board do what it does, for so long."""
        with suppress(SilentError):
            self.until(None, seconds)

    def until(self, kind: FrameKind | None, seconds: float) -> float:
        """Play the board until a frame of that kind has come; return when its bytes did."""
        deframer, end = Deframer(), time.perf_counter() + seconds
        while (now := time.perf_counter()) < end:
            due = self._table.next_deadline()
            wait_s = min(end - now, 0.05 if due is None else max(0.0, due / 1e6 - time.monotonic()))
            if select.select([self._master], [], [], wait_s)[0]:
                data, came = os.read(self._master, 4096), time.perf_counter()
                self._give(WireIn(data))
                found = [frames.parse(body) for body in deframer.feed(data)]
                if any(each and each.kind is kind for each in found):
                    return came
            elif due is not None:
                self._give(TICK)
        raise SilentError("the daemon is silent")

    def _give(self, event: object) -> None:
        for effect in self._table.handle(event, time.monotonic_ns() // 1_000):  # type: ignore[arg-type]
            if isinstance(effect, WireOut):
                os.write(self._master, effect.data)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as sock:
            return sock.connect_ex(str(self._api)) == 0

    def _wait(self, what: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not what():
            if self.process.poll() is not None or time.monotonic() > end:
                raise SilentError("no daemon")
            time.sleep(0.002)


class _Waiting:
    """A program that takes words, waits as the decoder does, and writes a frame: no daemon is faster."""

    def __init__(self) -> None:
        self._master, slave = os.openpty()
        tty.setraw(slave)
        self._words, theirs = socket.socketpair()
        numbers = (theirs.fileno(), slave)
        command = [sys.executable, "-c", _WAITS, *map(str, numbers), str(GAP_MS / 1e3)]
        self._process = subprocess.Popen(command, pass_fds=numbers)
        theirs.close()
        os.close(slave)

    def press(self, signed_us: tuple[int, ...]) -> float:
        """Send a key; return how many ms the first byte came after it."""
        self._words.sendall(words((-_SILENCE_US, *signed_us)))
        start = time.perf_counter()
        if not select.select([self._master], [], [], PATIENCE_S)[0]:
            raise SilentError("nothing was written")
        os.read(self._master, 4096)
        return (time.perf_counter() - start) * 1e3

    def close(self) -> None:
        """End the program."""
        self._words.close()
        self._process.wait()
        os.close(self._master)


@contextmanager
def _bench() -> Iterator[_Bench]:
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(Path(folder))
        try:
            yield bench
        finally:
            bench.close()


def start_up(starts: int) -> tuple[Figure, ...]:
    """Start the daemon some times, beside an interpreter that does nothing."""
    watch = Watch()
    took, bare = [], []
    for _ in range(starts):
        with _bench() as bench:
            took.append(bench.started_ms())
        start = time.perf_counter()
        with _interpreter():
            bare.append((time.perf_counter() - start) * 1e3)
    against = (Against("interpreter", percentile(bare, 50)),)
    return (Figure("start", percentile(took, 50), "ms", against, watch.foreign()),)


def at_work(presses: int, idle_s: float) -> tuple[Figure, ...]:
    """Let a daemon with a board idle, then press STOP again and again: what it costs, and how fast it is."""
    signed = frame(keys.press("STOP").user_code, keys.press("STOP").data_code)
    with _bench() as bench, _interpreter() as interpreter, closing(_Waiting()) as waiting:
        pid = bench.process.pid
        bench.started_ms()
        bench.connect()
        bench.play(1.0)
        watch, before, start = Watch(pid), cpu_s(pid), time.perf_counter()
        bench.play(idle_s)
        idle = 100 * (cpu_s(pid) - before) / (time.perf_counter() - start)
        idle_foreign, watch = watch.foreign(), Watch(pid)
        took, bare_took = [], []
        for _ in range(presses):  # in turn: what else the computer does strikes both
            took.append(bench.press(signed))
            bare_took.append(waiting.press(signed))
        foreign = watch.foreign()
        memory, bare = resident_mib(pid), resident_mib(interpreter)
    presses_took = [
        Figure(
            f"ir_p{percent}",
            percentile(took, percent),
            "ms",
            (
                Against("gap", GAP_MS),
                Against("waiting", percentile(bare_took, percent)),
                Against("key", KEY_MS, Rule.MOST),
            ),
            foreign,
        )
        for percent in (50, 99)
    ]
    return (
        *presses_took,
        Figure("memory", memory, "MiB", (Against("interpreter", bare),), foreign),
        Figure("idle", idle, "%", (Against("chosen", IDLE_PERCENT, Rule.MOST),), idle_foreign),
    )


@contextmanager
def _interpreter() -> Iterator[int]:
    """Run a Python that has started and does nothing."""
    process = subprocess.Popen(_BARE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.communicate()
