"""Round trips over a pty: a ping to the simulated board's process and its answer, beside a bare echo."""

import os
import select
import subprocess
import sys
import tempfile
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from firmware_protocol import frames
from firmware_protocol.codes import MINOR, FrameKind
from firmware_protocol.framing import Deframer
from firmware_protocol.messages import Hello, HelloAck, Ping, Pong
from sim.lab.figure import Against, Figure, Watch, percentile

PATIENCE_S = 20.0
_NONCE = 1
_ECHO = "import os,sys\nfd = int(sys.argv[1])\nwhile data := os.read(fd, 4096): os.write(fd, data)"


class SilentError(Exception):
    """The far end did not answer."""


def round_trips(count: int) -> tuple[Figure, ...]:
    """Ping `count` times and echo as often, in turns of a hundred."""
    with _echo() as (echo, echo_pid), _board() as (board, board_pid):
        session = _greet(board)
        watch = Watch(echo_pid, board_pid)
        pings: list[float] = []
        echoes: list[float] = []
        while len(pings) < count:
            turn = min(100, count - len(pings))
            pings += [_ping(board, session, len(pings) + n) for n in range(turn)]
            echoes += [
                _echoed(echo, frames.build(FrameKind.PING, Ping(n).payload(), session)) for n in range(turn)
            ]
        foreign = watch.foreign()
    return tuple(
        Figure(
            f"trip_p{percent}",
            percentile(pings, percent) * 1e6,
            "µs",
            (Against("echo", percentile(echoes, percent) * 1e6),),
            foreign,
        )
        for percent in (50, 99)
    )


@contextmanager
def _echo() -> Iterator[tuple[int, int]]:
    """Yield one end of a pty whose other end a process echoes from."""
    master, slave = os.openpty()
    tty.setraw(slave)
    process = subprocess.Popen([sys.executable, "-c", _ECHO, str(master)], pass_fds=(master,))
    os.close(master)
    try:
        yield slave, process.pid
    finally:
        process.terminate()
        process.wait()
        os.close(slave)


@contextmanager
def _board() -> Iterator[tuple[int, int]]:
    """Yield a port with the simulated table's process at its far end."""
    with tempfile.TemporaryDirectory() as folder:
        port = Path(folder, "port")
        command = [sys.executable, "-m", "sim", "--pty", str(port), "--hands", "0"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        fd = -1
        try:
            end = time.monotonic() + PATIENCE_S
            while not port.exists():
                if process.poll() is not None or time.monotonic() > end:
                    raise SilentError("no simulated table")
                time.sleep(0.01)
            fd = os.open(port, os.O_RDWR | os.O_NOCTTY)
            yield fd, process.pid
        finally:
            process.terminate()
            process.wait()
            if fd >= 0:
                os.close(fd)


def _greet(fd: int) -> int:
    """Open a session and return its number."""
    os.write(fd, frames.build_plain(Hello(_NONCE, MINOR)))
    for frame in _answers(fd):
        ack = HelloAck.parse(frame.payload) if frame.kind is FrameKind.HELLO_ACK else None
        if ack and ack.nonce == _NONCE:
            return frames.session_of(ack.boot_id, _NONCE)
    raise SilentError("no HELLO_ACK")


def _ping(fd: int, session: int, number: int) -> float:
    """Return how long it took from before a ping was made until its answer was taken apart."""
    start = time.perf_counter()
    os.write(fd, frames.build(FrameKind.PING, Ping(number).payload(), session))
    for frame in _answers(fd):
        if frame.kind is FrameKind.PONG and (pong := Pong.parse(frame.payload)) and pong.number == number:
            break
    return time.perf_counter() - start


def _echoed(fd: int, data: bytes) -> float:
    start = time.perf_counter()
    os.write(fd, data)
    came = b""
    while len(came) < len(data):
        came += _read(fd)
    return time.perf_counter() - start


def _answers(fd: int) -> Iterator[frames.Frame]:
    deframer, end = Deframer(), time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        for body in deframer.feed(_read(fd)):
            if frame := frames.parse(body):
                yield frame
    raise SilentError("not the answer")


def _read(fd: int) -> bytes:
    readable, _, _ = select.select([fd], [], [], PATIENCE_S)
    if not readable:
        raise SilentError("no answer")
    return os.read(fd, 4096)
