"""Real processes for tests: those of the lab, somebody without rights, and a receiver that plays captures."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sim.lab import lircd as lab
from sim.lab.processes import DEADLINE_S, Api, Control, LateError, Table, listens, program, wait_for

__all__ = [
    "DEADLINE_S", "Api", "Control", "LateError", "Receiver", "Table", "capture_words", "lircd", "listens",
    "program", "unprivileged", "wait_for",
]  # fmt: skip

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


@contextmanager
def lircd(folder: Path, device: Path) -> Iterator[Path]:
    """Run a real lircd on a receiver's socket; yields lircd's own socket. A missing lircd is a failure."""
    assert not lab.missing(), f"{lab.missing()} is missing: install the package `lirc`"
    with lab.lircd(folder, device) as (_, socket_path):
        yield socket_path
