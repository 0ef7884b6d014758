"""Real processes: the simulated table and the daemon in a folder of their own, and how they are spoken to."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DEADLINE_S = 60
_LOOK_S = 0.02
_END_S = 20


class LateError(Exception):
    """Something that had to come did not; the text says what."""


def wait_for(what: Callable[[], Any], why: str, deadline_s: float = DEADLINE_S) -> Any:
    """Return the first true answer of `what`; LateError where it never comes. A limit, not a measurement."""
    end = time.monotonic() + deadline_s
    while not (found := what()):
        if time.monotonic() > end:
            raise LateError(f"in vain: {why}")
        time.sleep(_LOOK_S)
    return found


@contextmanager
def program(
    *arguments: str, env: dict[str, str] | None = None, tell: Callable[[str], object] = print
) -> Iterator[subprocess.Popen[str]]:
    """Run a program; it is ended when the block is left, and `tell` gets what it said on its way."""
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            said, _ = process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
        tell(f"--- {' '.join(arguments[:4])}\n{said}")


def listens(path: Path) -> bool:
    """Tell whether somebody listens on a socket; a bound one that does not yet listen refuses."""
    with socket.socket(socket.AF_UNIX) as sock:
        try:
            sock.connect(str(path))
        except OSError:
            return False
        return True


class Api:
    """The daemon's interface, spoken by hand: one HTTP request a call."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def call(self, method: str, target: str, body: Any = None) -> tuple[int, Any]:
        """Return the status and the answer of one request."""
        data = b"" if body is None else json.dumps(body).encode()
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(DEADLINE_S)
            sock.connect(str(self.path))
            head = (
                f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                f"Content-Length: {len(data)}\r\nContent-Type: application/json\r\n\r\n"
            )
            sock.sendall(head.encode() + data)
            answer = b"".join(iter(lambda: sock.recv(65536), b""))
        top, _, text = answer.partition(b"\r\n\r\n")
        return int(top.split()[1]), json.loads(text)

    def status(self) -> dict[str, Any]:
        """Return the state of the whole table."""
        found: dict[str, Any] = self.call("GET", "/v1/status")[1]
        return found

    def state(self) -> str:
        """Return where the cycle is."""
        return str(self.status()["state"])


class Control:
    """The simulated table's control socket."""

    def __init__(self, path: Path) -> None:
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.settimeout(DEADLINE_S)
        self._sock.connect(str(path))
        self._stream = self._sock.makefile("rwb")

    def __call__(self, do: str, **values: Any) -> dict[str, Any]:
        """Return the answer to one command."""
        self._stream.write(json.dumps({"do": do, **values}).encode() + b"\n")
        self._stream.flush()
        answer: dict[str, Any] = json.loads(self._stream.readline())
        return answer

    def close(self) -> None:
        """Hang up."""
        self._stream.close()
        self._sock.close()


class Table:
    """A simulated table and a daemon, in a folder of their own; `tell` gets what they said when they end."""

    def __init__(self, folder: Path, speed: float = 5.0, tell: Callable[[str], object] = print) -> None:
        self.folder = folder
        self.speed = speed
        self.config = folder / "tablectl.toml"
        self.journal = folder / "journal.db"
        self.lirc = folder / "lirc"
        self.port = folder / "pty"
        self.api = Api(folder / "api")
        self.env: dict[str, str] = {}  # of the daemon alone
        self.options: tuple[str, ...] = ()  # and its own
        self._tell = tell

    @contextmanager
    def simulator(self, *options: str) -> Iterator[tuple[subprocess.Popen[str], Control]]:
        """Run the simulated table."""
        places = [f"--{name}={self.folder / name}" for name in ("pty", "lirc", "control")]
        arguments = (sys.executable, "-m", "sim", *places, f"--speed={self.speed}", *options)
        with program(*arguments, tell=self._tell) as process:
            socket_path = self.folder / "control"
            wait_for(lambda: listens(socket_path) or process.poll() is not None, "the simulator")
            control = Control(socket_path)
            try:
                yield process, control
            finally:
                control.close()

    @contextmanager
    def sim(self, *options: str) -> Iterator[Control]:
        """Run the simulated table, which is only spoken to."""
        with self.simulator(*options) as (_, control):
            yield control

    @contextmanager
    def daemon(self, remote: str | None = None, rule: str = "riichi") -> Iterator[subprocess.Popen[str]]:
        """Run a daemon and wait until it has a board."""
        with self.daemon_waiting(remote, rule) as process:
            wait_for(lambda: self.api.status()["board"], "a session with the board")
            yield process

    @contextmanager
    def daemon_waiting(
        self, remote: str | None = None, rule: str = "riichi", *options: str
    ) -> Iterator[subprocess.Popen[str]]:
        """Run a daemon that may have no board yet."""
        remote = remote or f"lirc+unix:{self.lirc}"
        self.config.write_text(
            f'[table]\nport = "{self.port}"\nrule = "{rule}"\nsets = 2\n'
            f'[remote]\ninput = "{remote}"\n'
            'user_codes = ["0x00"]\nkeymap = "default"\n'
            f'[service]\nsocket = "{self.api.path}"\njournal = "{self.journal}"\n',
            encoding="utf-8",
        )
        arguments = (
            sys.executable,
            "-m",
            "tablectl",
            "run",
            f"--config={self.config}",
            f"--speed={self.speed}",
            *self.options,
            *options,
        )
        with program(*arguments, env=self.env, tell=self._tell) as process:
            wait_for(lambda: listens(self.api.path) or process.poll() is not None, "the daemon's socket")
            if process.poll() is not None:
                raise LateError(f"the daemon ended at once: {process.communicate()[0]}")
            yield process
