"""The serial port as a shell: opens what the supervisor orders, passes bytes, tells when it is gone.

pyserial opens and configures; reads and writes go to the descriptor itself, because pyserial's own write
spins for ever on a full buffer.
"""

import asyncio
import errno
import fcntl
import os
import stat
import termios
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import serial

from firmware_protocol import host_link as hl
from tablectl.board import discover, usb
from tablectl.board import port_types as pt
from tablectl.board.port_types import Trouble

BAUD = 115_200
_READ_BYTES = 4096
BUFFER_BYTES = 16_384  # a board that takes nothing for this long is gone
_PTY_MAJORS = range(136, 144)

_TROUBLES = {
    errno.ENOENT: Trouble.MISSING,
    errno.ENODEV: Trouble.MISSING,
    errno.ENXIO: Trouble.MISSING,
    errno.EBUSY: Trouble.BUSY,  # TIOCEXCL of another
    errno.EAGAIN: Trouble.BUSY,  # flock of another
    errno.EACCES: Trouble.DENIED,
    errno.EPERM: Trouble.DENIED,
}

OnEvent = Callable[[pt.PortReport | hl.Received], object]


class Port:
    """One serial port at a time; `list_ports` and `reset_usb` reach the system."""

    def __init__(
        self,
        on_event: OnEvent,
        list_ports: Callable[[str], tuple[pt.FoundPort, ...]] = discover.ports,
        reset_usb: Callable[[pt.UsbPlace], str] = usb.reset,
    ) -> None:
        self._on_event = on_event
        self._list_ports = list_ports
        self._reset_usb = reset_usb
        self._serial: serial.Serial | None = None
        self._id = 0
        self._heard = False
        self._buffer = bytearray()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """Return how many bytes the system has not yet taken."""
        return len(self._buffer)

    def do(self, order: pt.PortOrder) -> None:
        """Carry an order out; what may take long is done in a thread and reported."""
        match order:
            case pt.OpenPort(id_, path):
                self._start(self._open(id_, path))
            case pt.ClosePort():
                self._close()
            case pt.ListPorts(also):
                self._start(self._list(also))
            case pt.ResetUsb(place):
                self._start(self._reset(place))

    async def end(self) -> None:
        """Close the port and forget what is under way; nothing is reported any more."""
        self._on_event = lambda event: None
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._close(sent=True)  # a last STOP ALL must get out

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
            self._lost(OSError(errno.ENOBUFS, "full"))
        else:
            self._flush()

    # --- orders ---------------------------------------------------------------------------------------------

    def _report(self, event: pt.PortReport | hl.Received) -> None:
        self._on_event(event)

    def _start(self, order: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(order)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(self, id_: int, path: str) -> None:
        try:
            opened = await asyncio.to_thread(open_port, path)
        except Exception as error:  # an order without an outcome would be waited for without end
            self._report(pt.OpenFailed(id_, *failure(error)))
            return
        self._close()
        self._serial, self._id, self._heard = opened, id_, False
        asyncio.get_running_loop().add_reader(opened.fileno(), self._read)
        self._report(pt.PortOpened(id_))

    async def _list(self, also: str) -> None:
        try:
            found = await asyncio.to_thread(self._list_ports, also)
        except Exception:  # a device went while it was being described; it is listed again
            found = ()
        self._report(pt.PortsListed(found))

    async def _reset(self, place: pt.UsbPlace) -> None:
        try:
            detail = await asyncio.to_thread(self._reset_usb, place)
        except Exception as error:  # whatever a USB library throws, the board is looked for again
            detail = str(error) or type(error).__name__
        self._report(pt.UsbDone(detail))

    # --- bytes ----------------------------------------------------------------------------------------------

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
        if not data:
            self._lost(OSError(errno.EIO, "end of file"))
            return
        if not self._heard:
            self._heard = True
            self._report(pt.PortHeard(self._id))
        self._report(hl.Received(data))

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
        self._close()
        # Reported by itself: the host may be writing, and is not to be entered again from its own effect.
        asyncio.get_running_loop().call_soon(self._report, pt.PortLost(self._id, failure(error)[1]))

    def _close(self, sent: bool = False) -> None:
        """Close the port; what has not left is dropped, unless it is to be `sent`."""
        if self._serial is None:
            return
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._serial.fileno())
        loop.remove_writer(self._serial.fileno())
        port, self._serial = self._serial, None
        self._buffer.clear()
        if not sent:
            with suppress(OSError, termios.error):
                # A driver would wait up to 30 s for an adapter that takes no bytes.
                termios.tcflush(port.fileno(), termios.TCIOFLUSH)
        with suppress(OSError, termios.error):
            port.close()


def open_port(path: str) -> serial.Serial:
    """Open and configure a port that nobody else has, for nobody else to have."""
    port = serial.Serial(path, BAUD, timeout=0, exclusive=True)  # that is flock: heeded by who asks for it
    try:
        os.set_blocking(port.fileno(), False)
        if not _outlives_us(port.fileno()):
            fcntl.ioctl(port.fileno(), termios.TIOCEXCL)  # heeded by everybody but root
        _keep_lines(port.fileno())
    except BaseException:
        port.close()
        raise
    return port


def _outlives_us(fd: int) -> bool:
    """Tell whether a terminal keeps its locks when we die: a pty does, while its other end lives."""
    return os.major(os.fstat(fd).st_rdev) in _PTY_MAJORS and stat.S_ISCHR(os.fstat(fd).st_mode)


def _keep_lines(fd: int) -> None:
    """Let closing leave DTR and RTS alone: many a board takes their change for a reset."""
    with suppress(termios.error):
        attributes = termios.tcgetattr(fd)
        attributes[2] &= ~termios.HUPCL
        termios.tcsetattr(fd, termios.TCSANOW, attributes)


def failure(error: Exception) -> tuple[Trouble, str]:
    """Return what an exception of the system means, and its words."""
    number = error.errno if isinstance(error, OSError) else next(iter(error.args), None)
    if not isinstance(number, int):
        return Trouble.UNUSABLE, str(error)
    return _TROUBLES.get(number, Trouble.UNUSABLE), os.strerror(number)
