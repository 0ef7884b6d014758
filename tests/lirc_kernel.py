"""A /dev/lirc0 as the kernel's lirc_dev.c answers for one, in umockdev's testbed: `python lirc_kernel.py`.

umockdev's recordings know no ioctl of LIRC, but its library lets a program answer any ioctl and any read of a
device's file. So whoever runs under its preloaded library opens, polls and reads a character device, and the
model below answers: receivers, transmitters and scancode devices with the errors that the kernel gives.

Orders come as JSON lines on the standard input; the folder for UMOCKDEV_DIR and every ioctl go out as such.
"""

import ctypes
import errno
import json
import os
import shutil
import struct
import sys
import threading
import tty
from collections import deque
from collections.abc import Callable
from typing import Any

DEVICE = "/dev/lirc0"
DESCRIBED = (
    f"P: /devices/platform/ir/rc/rc0/lirc0\nN: lirc0\nE: DEVNAME={DEVICE}\n"
    "E: SUBSYSTEM=lirc\nE: MAJOR=251\nE: MINOR=0\n"
)

# As linux/lirc.h builds them: _IOR and _IOW of type 'i' and a 32-bit value, features by mode.
IOCTLS = {
    2 << 30 | 4 << 16 | ord("i") << 8 | 0x00: "GET_FEATURES",
    2 << 30 | 4 << 16 | ord("i") << 8 | 0x02: "GET_REC_MODE",
    2 << 30 | 4 << 16 | ord("i") << 8 | 0x08: "GET_MIN_TIMEOUT",
    2 << 30 | 4 << 16 | ord("i") << 8 | 0x09: "GET_MAX_TIMEOUT",
    2 << 30 | 4 << 16 | ord("i") << 8 | 0x24: "GET_REC_TIMEOUT",
    1 << 30 | 4 << 16 | ord("i") << 8 | 0x12: "SET_REC_MODE",
    1 << 30 | 4 << 16 | ord("i") << 8 | 0x18: "SET_REC_TIMEOUT",
}
PULSE_MODE, MODE2, SCANCODE = 2, 4, 8
CAN_SEND_PULSE, CAN_REC_MODE2, CAN_REC_SCANCODE = PULSE_MODE, MODE2 << 16, SCANCODE << 16
CAN_SET_REC_TIMEOUT = 0x1000_0000
FIFO_WORDS = 512
SCANCODE_BYTES = 24
PULSE_WORD, TIMEOUT_WORD = 0x0100_0000, 0x0300_0000


class DriverError(Exception):
    """An errno that an ioctl or a read ends with."""


class Driver:
    """One rc device and its one open file."""

    def __init__(
        self,
        kind: str = "raw",
        timeout_us: int = 125_000,
        least_us: int = 1,
        most_us: int = 1_250_000,
        mode: int = MODE2,
        unknown: tuple[str, ...] = (),  # ioctls that this driver does not have
        read_words: int = FIFO_WORDS,  # no more of them at a time
    ) -> None:
        self.kind, self.mode, self.unknown, self.read_words = kind, mode, unknown, read_words
        self.timeout_us, self.least_us, self.most_us = timeout_us, least_us, most_us
        self.registered = True
        self.fifo: deque[bytes] = deque(maxlen=FIFO_WORDS)

    def ioctl(self, name: str, value: int) -> int:
        """Return the value of a question; what is set returns itself."""
        if not self.registered:
            raise DriverError(errno.ENODEV)
        if name in self.unknown:
            raise DriverError(errno.ENOTTY)
        match name:
            case "GET_FEATURES":
                receives = {"raw": CAN_REC_MODE2, "scancode": CAN_REC_SCANCODE, "transmitter": CAN_SEND_PULSE}
                return receives[self.kind] | (CAN_SET_REC_TIMEOUT if self.most_us else 0)
            case "GET_REC_MODE" | "SET_REC_MODE" if self.kind == "transmitter":
                raise DriverError(errno.ENOTTY)
            case "GET_REC_MODE":
                return self.mode
            case "SET_REC_MODE":
                if value not in ((MODE2, SCANCODE) if self.kind == "raw" else (SCANCODE,)):
                    raise DriverError(errno.EINVAL)
                self.mode = value
                return value
            case "GET_REC_TIMEOUT" if self.timeout_us:
                return self.timeout_us
            case "GET_MIN_TIMEOUT" if self.most_us:
                return self.least_us
            case "GET_MAX_TIMEOUT" if self.most_us:
                return self.most_us
            case "SET_REC_TIMEOUT" if self.most_us:
                if not self.least_us <= value <= self.most_us:
                    raise DriverError(errno.EINVAL)
                self.timeout_us = value
                return value
        raise DriverError(errno.ENOTTY)

    def read(self, length: int) -> bytes:
        """Return whole words, or whole scancodes, as many as there are and fit."""
        if self.kind == "transmitter":
            raise DriverError(errno.EINVAL)
        if not self.registered:
            raise DriverError(errno.ENODEV)
        unit = 4 if self.mode == MODE2 else SCANCODE_BYTES
        if length < unit or length % unit:
            raise DriverError(errno.EINVAL)
        if not self.fifo:
            raise DriverError(errno.EAGAIN)
        count = min(length // unit, self.read_words, len(self.fifo))
        return b"".join(self.fifo.popleft() for _ in range(count))

    def hear(self, durations_us: list[int]) -> None:
        """Put what the air carried into the file's FIFO, cut by the device's time-out."""
        if self.mode == SCANCODE:
            self.fifo.append(struct.pack("<QHHIQ", 0, 0, 9, 0, 0x45))
            return
        for us in durations_us:
            if us < 0 and self.timeout_us and -us > self.timeout_us:
                self._word(TIMEOUT_WORD | self.timeout_us)
                self._word(-us - self.timeout_us)
            else:
                self._word(-us if us < 0 else PULSE_WORD | us)

    def _word(self, word: int) -> None:
        self.fifo.append(word.to_bytes(4, "little"))


class Bed:
    """The device's file in umockdev's testbed, and a driver that answers for it."""

    def __init__(self) -> None:
        self._u = _library()
        self._bed = self._u.umockdev_testbed_new()
        self.root = ctypes.string_at(self._u.umockdev_testbed_get_root_dir(self._bed)).decode()
        self._lock = threading.Lock()
        self._driver = Driver()
        self._master = self._slave = -1
        assert self._u.umockdev_testbed_add_from_string(self._bed, DESCRIBED.encode(), None)
        os.unlink(self.root + DEVICE)  # umockdev's own node cannot go and come back under the same name
        handler = self._u.umockdev_ioctl_base_new()
        # The functions live as long as the object that holds them.
        self._calls = (_CALL(self._ioctl), _CALL(self._read))
        gobject = ctypes.CDLL("libgobject-2.0.so.0")
        for signal, call in zip((b"handle-ioctl", b"handle-read"), self._calls, strict=True):
            connect = gobject.g_signal_connect_data
            connect.argtypes = [_POINTER, ctypes.c_char_p, _CALL, _POINTER, _POINTER, ctypes.c_int]
            connect(handler, signal, call, None, None, 0)
        assert self._u.umockdev_testbed_attach_ioctl(self._bed, DEVICE.encode(), handler, None)

    def plug(self, **driver: Any) -> None:
        """Let the device appear."""
        self._driver = Driver(**driver)
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._slave, False)
        os.symlink(os.ttyname(self._slave), self.root + DEVICE)

    def unplug(self) -> None:
        """Let the device go: its file is no more, and who has it open is woken, as by the kernel."""
        with self._lock:
            self._driver.registered = False
            os.unlink(self.root + DEVICE)
            os.close(self._slave)
            os.close(self._master)

    def hear(self, durations_us: list[int]) -> None:
        """Let the device hear pulses and spaces."""
        with self._lock:
            self._driver.hear(durations_us)
            os.write(self._master, b"!")  # makes the file readable until the FIFO is empty; never handed on

    def _ioctl(self, handler: int, client: int, data: int) -> int:
        request = self._u.umockdev_ioctl_client_get_request(client)
        argument = self._u.umockdev_ioctl_client_get_arg(client)
        name = IOCTLS.get(request, hex(request))
        at = self._u.umockdev_ioctl_data_resolve(argument, 0, 4, None)
        value = int.from_bytes(self._bytes(at), "little") if request >> 30 & 1 else 0
        number = 0
        try:
            with self._lock:
                value = self._driver.ioctl(name, value)
            if request >> 30 & 2:
                self._u.umockdev_ioctl_data_update(at, 0, value.to_bytes(4, "little"), 4)
        except DriverError as error:
            number = error.args[0]
        say({"ioctl": name, "value": value, "errno": number})
        self._u.umockdev_ioctl_client_complete(client, -1 if number else 0, number)
        return 1

    def _read(self, handler: int, client: int, data: int) -> int:
        buffer = self._u.umockdev_ioctl_client_get_arg(client)
        result, number = -1, 0
        try:
            with self._lock:
                got = self._driver.read(len(self._bytes(buffer)))
                if not self._driver.fifo:
                    os.read(self._slave, 4096)
            self._u.umockdev_ioctl_data_update(buffer, 0, got, len(got))
            result = len(got)
        except DriverError as error:
            number = error.args[0]
        self._u.umockdev_ioctl_client_complete(client, result, number)
        return 1

    def _bytes(self, data: int) -> bytes:
        at, length = _POINTER(), ctypes.c_int()
        self._u.umockdev_ioctl_data_retrieve(data, ctypes.byref(at), ctypes.byref(length))
        return ctypes.string_at(at, length.value)


_POINTER = ctypes.c_void_p
_CALL = ctypes.CFUNCTYPE(ctypes.c_int, _POINTER, _POINTER, _POINTER)


def _library() -> Any:
    library = ctypes.CDLL("libumockdev.so.0")
    text, size, number = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int
    returns: dict[str, tuple[Any, ...]] = {
        "testbed_new": (_POINTER,),
        "testbed_get_root_dir": (_POINTER, _POINTER),
        "testbed_add_from_string": (number, _POINTER, text, _POINTER),
        "testbed_attach_ioctl": (number, _POINTER, text, _POINTER, _POINTER),
        "ioctl_base_new": (_POINTER,),
        "ioctl_client_get_request": (ctypes.c_ulong, _POINTER),
        "ioctl_client_get_arg": (_POINTER, _POINTER),
        "ioctl_client_complete": (None, _POINTER, ctypes.c_long, number),
        "ioctl_data_resolve": (_POINTER, _POINTER, size, size, _POINTER),
        "ioctl_data_update": (None, _POINTER, size, text, number),
        "ioctl_data_retrieve": (None, _POINTER, _POINTER, _POINTER),
    }
    for name, (result, *arguments) in returns.items():
        function: Callable[..., Any] = getattr(library, f"umockdev_{name}")
        function.restype, function.argtypes = result, arguments  # type: ignore[attr-defined]
    return library


def say(what: dict[str, Any]) -> None:
    """Write a line; ioctls are answered by another thread than orders."""
    os.write(sys.stdout.fileno(), json.dumps(what).encode() + b"\n")


def main() -> None:
    bed = Bed()
    say({"root": bed.root})
    for line in sys.stdin:
        order, values = json.loads(line)
        getattr(bed, order)(**values)
        say({"done": order})
    shutil.rmtree(bed.root)


if __name__ == "__main__":
    main()
