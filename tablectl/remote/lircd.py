"""The lines of lircd's socket to the same frames and repeats.

    <code, 16 hex digits> <repeats, hex> <key> <remote>

lircd reports a repeat code with no frame before it as a new press, and its lines cannot tell. Where that
matters, read the device itself (`lirc:`).
"""

import re

from tablectl.remote.nec import Decoded, Frame, Reason, Reject, Repeat, check

LINE_LIMIT_BYTES = 1024  # lircd's own packets are no longer than 256
RELEASE_SUFFIX = b"_EVUP"  # what `lircd --release` appends to a key's name: the key is up, not pressed

_EVENT = re.compile(rb"([0-9a-fA-F]{16}) ([0-9a-fA-F]+) (\S+) (\S+)")
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def raw_bytes(code: int) -> bytes:
    """Return the bytes in air order, each LSB first, of a 32-bit code that lircd writes MSB first."""
    return code.to_bytes(4, "big").translate(_MIRRORED)


class LircdReader:
    """Cut what lircd sends into lines, however it arrives, and read them; bounded in memory."""

    def __init__(self) -> None:
        self._line = b""
        self._too_long = False
        self._in_packet = False
        self._last: Frame | None = None

    def feed(self, data: bytes, now_us: int) -> tuple[Decoded, ...]:
        """Return what the whole lines of `data` report; lircd tells no times, so `now_us` is theirs."""
        *lines, rest = (self._line + data).split(b"\n")
        out: list[Decoded] = []
        for line in lines:
            if self._too_long:  # the end of a line whose beginning was thrown away
                self._too_long = False
            elif found := self._read(line.strip(), now_us):
                out.append(found)
        self._too_long = self._too_long or len(rest) > LINE_LIMIT_BYTES
        self._line = b"" if self._too_long else rest
        return tuple(out)

    def _read(self, line: bytes, now_us: int) -> Decoded | None:
        if self._in_packet or line == b"BEGIN":  # a reply, or the news that lircd has read its conf again
            self._in_packet = line != b"END"
            return None
        event = _EVENT.fullmatch(line)
        if event is None or event[3].endswith(RELEASE_SUFFIX):
            return None
        code = int(event[1], 16)
        found = check(now_us, raw_bytes(code)) if code >> 32 == 0 else Reject(now_us, Reason.NOT_NEC)
        last, self._last = self._last, found if isinstance(found, Frame) else None
        if isinstance(found, Reject) or int(event[2], 16) == 0:
            return found
        if last is None or last.raw != found.raw:
            self._last = None
            return Reject(now_us, Reason.ORPHAN_REPEAT)
        self._last = last
        return Repeat(now_us, last)
