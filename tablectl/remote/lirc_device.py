"""How a kernel receiver is set up before its words are read; the numbers are those of linux/lirc.h."""

import errno
import fcntl
import os
import stat
import struct
from contextlib import suppress

from tablectl.remote.nec import GAP_US
from tablectl.remote.pulses import END_TIMEOUT_US
from tablectl.remote.trouble import Trouble, UnheardError

GET_FEATURES = 0x8004_6900
GET_MIN_TIMEOUT = 0x8004_6908
GET_MAX_TIMEOUT = 0x8004_6909
SET_REC_MODE = 0x4004_6912
SET_REC_TIMEOUT = 0x4004_6918
GET_REC_TIMEOUT = 0x8004_6924

CAN_REC_MODE2 = 0x0004_0000
CAN_REC_SCANCODE = 0x0008_0000
CAN_SET_REC_TIMEOUT = 0x1000_0000
MODE2 = 4

_UNSUPPORTED = (errno.ENOTTY, errno.ENOSYS)


def prepare(fd: int) -> None:
    """Make an open device give mode2 words; UnheardError where it never will."""
    kind = os.fstat(fd).st_mode
    if stat.S_ISFIFO(kind):
        return
    if not stat.S_ISCHR(kind):
        raise UnheardError(Trouble.NO_RECEIVER, os.strerror(errno.ENODEV))
    features = _get(fd, GET_FEATURES)
    if features is not None and not features & CAN_REC_MODE2:
        trouble = Trouble.SCANCODES if features & CAN_REC_SCANCODE else Trouble.TRANSMITTER
        raise UnheardError(trouble, f"LIRC_GET_FEATURES 0x{features:08X}")
    try:
        _set(fd, SET_REC_MODE, MODE2)
    except OSError as error:
        # A driver that knows one mode only need not let it be set.
        if features is None or error.errno not in _UNSUPPORTED:
            raise
    if features is not None and features & CAN_SET_REC_TIMEOUT:
        with suppress(OSError):  # with the time-out that there is, most remotes are heard all the same
            _lengthen_timeout(fd)


def _lengthen_timeout(fd: int) -> None:
    """Keep the kernel from ending a frame at one of the frame's own spaces.

    The time-out is the device's, for all its readers: one that our decoder can use stays as it is. The 125 ms
    are the kernel's own; its decoders bring it down to 16 ms, at which lircd loses held keys and we do not.
    """
    now_us = _get(fd, GET_REC_TIMEOUT)
    if now_us is not None and now_us >= GAP_US:
        return
    most_us = _get(fd, GET_MAX_TIMEOUT) or END_TIMEOUT_US
    least_us = _get(fd, GET_MIN_TIMEOUT) or 0
    _set(fd, SET_REC_TIMEOUT, max(least_us, min(END_TIMEOUT_US, most_us)))


def _get(fd: int, request: int) -> int | None:
    """Return what the driver answers, None where it does not know the question."""
    try:
        answer = fcntl.ioctl(fd, request, bytes(4))
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return None
        raise
    value: int = struct.unpack("I", answer)[0]
    return value


def _set(fd: int, request: int, value: int) -> None:
    fcntl.ioctl(fd, request, struct.pack("I", value))
