"""What systemd is told: ready, a line of status, the watchdog's ping, stopping. Datagrams, no library.

The ping proves that the event loop turns: keys are heard, STOP is sent, the board's silence is noticed. It
does not ask after the journal's writer. A disk that hangs or is full is a fault of its own (E16): everything
stands, and the display, the API and this status line say why. A restart would neither free the disk nor tell
anybody; it would only turn a table that explains itself into one that comes and goes.
"""

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from tablectl.table import events as ev
from tablectl.table.cycle import State
from tablectl.table.faults import catalogue
from tablectl.texts import TEXTS, language


class Notifier:
    """Speaks to the service manager that started this process; without one, to nobody."""

    def __init__(self, environ: Mapping[str, str] = os.environ, pid: int | None = None) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        self._status = ""
        self._ready = False
        self.ping_s: float | None = None
        usec, watched = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
        if usec.isdecimal() and int(usec) > 0 and watched in ("", str(pid or os.getpid())):
            self.ping_s = int(usec) / 2_000_000

    def ready(self, status: str) -> None:
        """Tell that the table can be used: the journal is written, the API listens."""
        self._ready, self._status = True, status
        self._send(f"READY=1\nSTATUS={status}")

    def status(self, line: str) -> None:
        """Tell a line on how the table is, where it is another one than before."""
        if self._ready and line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    def stopping(self) -> None:
        """Tell that the end was asked for, or cannot be helped."""
        self._ready = False
        self._send("STOPPING=1")

    async def keep_watch(self) -> None:
        """Ping the watchdog for as long as the event loop comes round; at once where none is set."""
        while self.ping_s is not None:
            self._send("WATCHDOG=1")
            await asyncio.sleep(self.ping_s)

    def _send(self, text: str) -> None:
        if not self._address.startswith(("/", "@")):
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        # A manager that does not listen is no reason for a table not to work, and none to wait.
        with (
            suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock,
        ):
            sock.setblocking(False)
            sock.sendto(text.encode(), address)


def summary(state: State, fault: ev.FaultRaised | None, connected: bool) -> str:
    """Return how the table is in one line, in the language of the environment."""
    lang = language()
    parts = [TEXTS(f"state.{state}", lang)]
    if fault:
        parts.append(catalogue()[fault.code].title(lang, fault.values))
    if not connected:
        parts.append(TEXTS("notify.no_board", lang))
    return " ".join("; ".join(parts).split())  # one line: a value must not look like another field
