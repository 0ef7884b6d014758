"""Where the bytes of the remote come from: a device, a socket or a file, opened by URL and opened again.

lirc:/dev/lirc0      the kernel's raw device, or a FIFO in its place
lirc+unix:/path      the same words from a listening unix socket
lircd:/path          the lines of lircd's socket
file:/path           a capture, mode2 text or signed µs, once
"""

import asyncio
import errno
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from pathlib import Path

from tablectl.errors import TablectlError
from tablectl.remote import lirc_device
from tablectl.remote.pulses import parse_text
from tablectl.remote.receiver import LircdBytes, Lost, Words
from tablectl.remote.trouble import Trouble, UnheardError

FIRST_RETRY_S = 0.1
LAST_RETRY_S = 2.0
READ_BYTES = 4096  # whole words: the kernel refuses anything else
_TROUBLES = {
    errno.ENOENT: Trouble.MISSING,
    errno.ENODEV: Trouble.MISSING,
    errno.ENXIO: Trouble.NO_RECEIVER,
    errno.ECONNREFUSED: Trouble.NO_SERVER,
    errno.EACCES: Trouble.DENIED,
    errno.EPERM: Trouble.DENIED,
    errno.EBUSY: Trouble.BUSY,
    errno.ENOTTY: Trouble.NO_RECEIVER,
    errno.EINVAL: Trouble.NO_RECEIVER,
    errno.ENOTSOCK: Trouble.NO_RECEIVER,
}

SourceEvent = Words | LircdBytes | Lost
OnEvent = Callable[[SourceEvent], object]
Sleep = Callable[[float], Awaitable[object]]


class Source(ABC):
    """One input of the remote; `connected` says whether it is open now."""

    connected = False

    @abstractmethod
    async def run(self, on_event: OnEvent) -> None:
        """Call `on_event` with all that comes, until cancelled or until nothing more can come."""


class LiveSource(Source):
    """A source that may vanish and come back at any time."""

    _absent = Trouble.MISSING

    def __init__(self, path: str, sleep: Sleep = asyncio.sleep) -> None:
        self.path = path
        self._sleep = sleep

    async def run(self, on_event: OnEvent) -> None:
        """Call `on_event` with all that comes, until cancelled; tell a loss once a reason, open again."""
        retry_s, told = FIRST_RETRY_S, ""
        while True:
            try:
                async with aclosing(self._events()) as events:
                    async for event in events:
                        retry_s = FIRST_RETRY_S
                        on_event(event)
            except UnheardError as gone:
                if self.connected or told != str(gone):
                    on_event(Lost(str(gone), gone.trouble, self.path))
                told = str(gone)
            finally:
                self.connected = False
            await self._sleep(retry_s)
            retry_s = min(2 * retry_s, LAST_RETRY_S)

    @abstractmethod
    def _events(self) -> AsyncGenerator[SourceEvent, None]:
        """Open, yield what is read, close whatever happens; raise UnheardError at the end."""

    def _gone(self, error: OSError) -> UnheardError:
        trouble = _TROUBLES.get(error.errno or 0, Trouble.UNUSABLE)
        if self.connected:
            trouble = Trouble.LOST
        elif trouble is Trouble.MISSING:
            trouble = self._absent
        return UnheardError(trouble, error.strerror or str(error))


class DeviceSource(LiveSource):
    """A /dev/lirc device in MODE2, or a FIFO that carries the same words."""

    async def _events(self) -> AsyncGenerator[SourceEvent, None]:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                lirc_device.prepare(fd)
                self.connected = True
                while data := await _read(fd):
                    yield Words(data)
            finally:
                os.close(fd)
        except OSError as error:
            raise self._gone(error) from error
        raise UnheardError(Trouble.LOST, "end of file")


class SocketSource(LiveSource):
    """A listening unix stream socket; `wrap` says what its bytes are."""

    _absent = Trouble.NO_SERVER

    def __init__(self, path: str, wrap: type[Words] | type[LircdBytes], sleep: Sleep = asyncio.sleep) -> None:
        super().__init__(path, sleep)
        self._wrap = wrap

    async def _events(self) -> AsyncGenerator[SourceEvent, None]:
        loop = asyncio.get_running_loop()
        try:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.setblocking(False)
                await loop.sock_connect(sock, self.path)
                self.connected = True
                while data := await loop.sock_recv(sock, READ_BYTES):
                    yield self._wrap(data)
        except OSError as error:
            raise self._gone(error) from error
        raise UnheardError(Trouble.LOST, "end of file")


class FileSource(Source):
    """A capture, read when the source is opened and told once, all at the same moment."""

    def __init__(self, path: str) -> None:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise TablectlError("remote.no_capture", file=path, reason=reason) from error
        self._words = parse_text(text, path)

    async def run(self, on_event: OnEvent) -> None:
        """Call `on_event` with the words of the file and return."""
        on_event(Words(self._words))


def open_source(url: str) -> Source:
    """Return the source that `url` names; TablectlError for a URL that names none."""
    kind, _, path = url.partition(":")
    if path and "\0" not in path:
        match kind:
            case "lirc":
                return DeviceSource(path)
            case "lirc+unix":
                return SocketSource(path, Words)
            case "lircd":
                return SocketSource(path, LircdBytes)
            case "file":
                return FileSource(path)
    raise TablectlError("remote.bad_url", url=url)


async def _read(fd: int) -> bytes:
    loop = asyncio.get_running_loop()
    while True:
        readable = asyncio.Event()
        loop.add_reader(fd, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(fd)
        with suppress(BlockingIOError):
            return os.read(fd, READ_BYTES)
