"""The serial port as a shell: opens it, passes bytes both ways, tells when it is gone, opens it again.

pyserial opens and configures; reads and writes go to the descriptor itself, because pyserial's own write
spins for ever on a full buffer.
"""

import asyncio
import errno
import os
import termios
from collections.abc import Callable
from contextlib import suppress

import serial

from firmware_protocol import host_link as hl

BAUD = 115_200
RETRY_S = 0.5
_READ_BYTES = 4096
BUFFER_BYTES = 16_384  # a board that takes nothing for this long is gone

OnEvent = Callable[[hl.Opened | hl.Closed | hl.Received], object]


class Port:
    """One serial port by path."""

    def __init__(self, path: str, on_event: OnEvent) -> None:
        self.path = path
        self.why_closed = ""
        self._on_event = on_event
        self._serial: serial.Serial | None = None
        self._buffer = bytearray()
        self._gone = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Tell whether the port is open."""
        return self._serial is not None

    @property
    def waiting(self) -> int:
        """Return how many bytes the system has not yet taken."""
        return len(self._buffer)

    async def run(self) -> None:
        """Keep the port open until cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    self._serial = await loop.run_in_executor(None, self._open)
                except (OSError, ValueError, termios.error) as error:
                    self.why_closed = str(error)
                    await asyncio.sleep(RETRY_S)
                    continue
                self._gone.clear()
                self._buffer.clear()
                loop.add_reader(self._serial.fileno(), self._read)
                self._on_event(hl.Opened())
                await self._gone.wait()
                await asyncio.sleep(RETRY_S)
        finally:
            self._close()

    def write(self, data: bytes, urgent: bool = False) -> None:
        """Send bytes; urgent ones drop what is not yet on the wire and go at once."""
        if self._serial is None:
            return
        if urgent:
            self._buffer.clear()
            with suppress(termios.error, OSError):
                termios.tcflush(self._serial.fileno(), termios.TCOFLUSH)
            # A frame cut by the flush is noise; the zero that begins every frame ends it.
        self._buffer += data
        if len(self._buffer) > BUFFER_BYTES:
            self._lost(OSError(errno.EIO, "the board takes no bytes"))
        else:
            self._flush()

    def _open(self) -> serial.Serial:
        port = serial.Serial(self.path, BAUD, timeout=0, exclusive=True)
        os.set_blocking(port.fileno(), False)
        return port

    def _read(self) -> None:
        if self._serial is None:
            return
        try:
            data = os.read(self._serial.fileno(), _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._lost(error)
            return
        if data:
            self._on_event(hl.Received(data))
        else:
            self._lost(OSError(errno.EIO, "end of file"))

    def _flush(self) -> None:
        if self._serial is None:
            return
        loop = asyncio.get_running_loop()
        try:
            sent = os.write(self._serial.fileno(), self._buffer)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError as error:
            self._lost(error)
            return
        del self._buffer[:sent]
        if self._buffer:
            loop.add_writer(self._serial.fileno(), self._flush)
        else:
            loop.remove_writer(self._serial.fileno())

    def _lost(self, error: OSError) -> None:
        # Closed at once: while the descriptor is open the kernel gives a re-plugged board another name.
        self.why_closed = str(error)
        self._close()
        self._gone.set()
        self._on_event(hl.Closed())

    def _close(self) -> None:
        if self._serial is None:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._serial.fileno())
        loop.remove_writer(self._serial.fileno())
        port, self._serial = self._serial, None
        self._buffer.clear()
        with suppress(OSError, termios.error):
            port.close()
