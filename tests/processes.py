"""Real processes for tests: the simulated table, the daemon, lircd, and a receiver that plays captures."""

import json
import os
import platform
import shutil
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


def wait_for(what: Callable[[], Any], why: str) -> Any:
    """Return the first true answer of `what`; fail where it never comes. A limit, not a measurement."""
    end = time.monotonic() + DEADLINE_S
    while not (found := what()):
        assert time.monotonic() < end, f"in vain: {why}"
        time.sleep(0.02)
    return found


@contextmanager
def program(*arguments: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a program; it is ended when the block is left, and what it said on its way is shown on failure."""
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
            said, _ = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            said, _ = process.communicate()
        print(f"--- {' '.join(arguments[:4])}\n{said}")


AS_NOBODY = """
import os, sys
import tablectl.cli.main, tablectl.service.daemon
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(*[65534] * 3)
    os.setresuid(*[65534] * 3)
tablectl.cli.main.main(sys.argv[1:])
"""


def unprivileged(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `tablectl` as somebody who owns nothing here; root steps down once all is loaded."""
    return subprocess.run(
        [sys.executable, "-c", AS_NOBODY, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )


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
        found: dict[str, Any] = self.call("GET", "/v1/status")[1]
        return found

    def state(self) -> str:
        return str(self.status()["state"])


class Control:
    """The simulated table's control socket."""

    def __init__(self, path: Path) -> None:
        self._sock = socket.socket(socket.AF_UNIX)
        self._sock.settimeout(DEADLINE_S)
        self._sock.connect(str(path))
        self._stream = self._sock.makefile("rwb")

    def __call__(self, do: str, **values: Any) -> dict[str, Any]:
        self._stream.write(json.dumps({"do": do, **values}).encode() + b"\n")
        self._stream.flush()
        answer: dict[str, Any] = json.loads(self._stream.readline())
        return answer

    def close(self) -> None:
        self._stream.close()
        self._sock.close()


class Table:
    """A simulated table and a daemon, in a folder of their own."""

    def __init__(self, folder: Path, speed: float = 5.0) -> None:
        self.folder = folder
        self.speed = speed
        self.config = folder / "tablectl.toml"
        self.journal = folder / "journal.db"
        self.api = Api(folder / "api")
        self.env: dict[str, str] = {}  # of the daemon alone
        self.options: tuple[str, ...] = ()  # and its own

    @contextmanager
    def sim(self, *options: str) -> Iterator[Control]:
        places = [f"--{name}={self.folder / name}" for name in ("pty", "lirc", "control")]
        with program(sys.executable, "-m", "sim", *places, f"--speed={self.speed}", *options) as process:
            wait_for(
                lambda: (self.folder / "control").exists() or process.poll() is not None, "the simulator"
            )
            control = Control(self.folder / "control")
            try:
                yield control
            finally:
                control.close()

    @contextmanager
    def daemon(self, remote: str | None = None, rule: str = "riichi") -> Iterator[subprocess.Popen[str]]:
        with self.daemon_waiting(remote, rule) as process:
            wait_for(lambda: self.api.status()["board"], "a session with the board")
            yield process

    @contextmanager
    def daemon_waiting(
        self, remote: str | None = None, rule: str = "riichi"
    ) -> Iterator[subprocess.Popen[str]]:
        """Run a daemon that may have no board yet."""
        remote = remote or f"lirc+unix:{self.folder / 'lirc'}"
        self.config.write_text(
            f'[table]\nport = "{self.folder / "pty"}"\nrule = "{rule}"\nsets = 2\n'
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
        )
        with program(*arguments, env=self.env) as process:
            wait_for(lambda: listens(self.api.path) or process.poll() is not None, "the daemon's socket")
            assert process.poll() is None, process.communicate()[0]
            yield process


class Receiver:
    """A receiver's device: a listening unix socket that gives its reader LIRC words, as the kernel does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        self._listener.settimeout(DEADLINE_S)
        self._reader: socket.socket | None = None

    def accept(self) -> None:
        self._reader, _ = self._listener.accept()

    def send(self, words: bytes) -> None:
        assert self._reader is not None
        self._reader.sendall(words)

    def close(self) -> None:
        if self._reader:
            self._reader.close()
        self._listener.close()


def capture_words(file: Path) -> bytes:
    """Return a capture as kernel words: the quiet before it, its edges, the time-out after the last one."""
    numbers = [
        int(n) for line in file.read_text().splitlines() if not line.startswith("#") for n in line.split()
    ]
    words = [500_000]
    words += [abs(n) | (0x0100_0000 if n > 0 else 0) for n in numbers]
    words.append(0x0300_0000 | 125_000)
    return b"".join(w.to_bytes(4, "little") for w in words)


LIRCD_CONF = """
begin remote
  name           TABLE
  bits           16
  flags          SPACE_ENC|CONST_LENGTH
  eps            30
  aeps           100
  header         9000  4500
  one             560  1690
  zero            560   560
  ptrail          560
  repeat         9000  2250
  pre_data_bits  16
  pre_data       0x00FF
  gap            108000
  toggle_bit_mask 0x0
  frequency      38000
  begin codes
    KEY_START    0xA25D
  end codes
end remote
"""


@contextmanager
def lircd(folder: Path, device: Path) -> Iterator[Path]:
    """Run a real lircd on a receiver's socket; yields lircd's own socket. A missing lircd is a failure."""
    assert shutil.which("lircd"), "lircd is missing: install the package `lirc`"
    plugins = list(Path("/usr/lib").glob(f"{platform.machine()}*/lirc/plugins"))
    assert plugins, "lircd's plug-ins are missing"
    conf, options, out = folder / "remote.lircd.conf", folder / "lirc_options.conf", folder / "lircd"
    conf.write_text(LIRCD_CONF)
    options.write_text("[lircd]\n")
    with program(
        "lircd", "--nodaemon", "-O", str(options), "-H", "default", "-d", str(device), "-o", str(out),
        "-P", str(folder / "lircd.pid"), "-L", str(folder / "lircd.log"), "-U", str(plugins[0]), str(conf),
    ):  # fmt: skip
        wait_for(out.exists, "lircd's socket")
        yield out
