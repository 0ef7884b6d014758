"""What the suite needs of a port, and the serial one."""

import time
from typing import Protocol

import serial


class Port(Protocol):
    """Bytes out, bytes in, and a clock that they go by."""

    def now_us(self) -> int:
        """Return the time in µs."""
        ...

    def write(self, data: bytes) -> None:
        """Write bytes."""
        ...

    def read(self, until_us: int) -> bytes:
        """Return bytes as soon as there are any, none at `until_us`."""
        ...


class SerialPort:
    """A real port; opening it may reset the board, so that boot noise may come first."""

    def __init__(self, path: str, baud: int) -> None:
        self._serial = serial.Serial(path, baud, exclusive=True)

    def now_us(self) -> int:
        """Return the time in µs."""
        return time.monotonic_ns() // 1000

    def write(self, data: bytes) -> None:
        """Write bytes."""
        self._serial.write(data)

    def read(self, until_us: int) -> bytes:
        """Return bytes as soon as there are any, none at `until_us`."""
        self._serial.timeout = max(0, until_us - self.now_us()) / 1_000_000
        first: bytes = self._serial.read(1)
        return first + self._serial.read(self._serial.in_waiting) if first else b""

    def close(self) -> None:
        """Give the port back."""
        self._serial.close()
