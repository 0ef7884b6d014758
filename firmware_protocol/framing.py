"""Frames on the wire: `00 | COBS(body | CRC-32) | 00`.

    body   kind+version 1 | session 2 | sequence 1 | acknowledge 1 | payload 0…64
    CRC    CRC-32 of zlib (IEEE 802.3), little endian, over the body

COBS takes every zero out of the body, so a zero on the wire is always a frame's edge: garbage costs the
frame it hit and no other. The zero *before* a frame ends whatever noise stood there; with the closing zero
alone 0.46 % of intact frames were lost beside damaged ones, with both none. CRC-32 rather than 16 bits: at
0.4 damaged frames a second one is accepted in 340 years instead of in 45 hours.
"""

import zlib
from dataclasses import dataclass

from firmware_protocol.errors import FrameTooLongError

MAX_PAYLOAD = 64
HEADER_SIZE = 5
CRC_SIZE = 4
MAX_FRAME = 80  # before COBS; more than the header, payload and CRC need: room for a later header
_MIN_BODY = HEADER_SIZE
_MAX_BODY = MAX_FRAME - CRC_SIZE
_STEP = tuple(bytes((length + 1,)) for length in range(254))  # from a part's first byte to behind it
_INTACT = 0x2144DF1C  # the CRC-32 of anything that ends with its own CRC-32


def cobs_encode(data: bytes) -> bytes:
    """Return `data` (shorter than 254 bytes, one COBS block) without zeros, one byte longer."""
    pieces = []
    for part in data.split(b"\0"):
        pieces.append(_STEP[len(part)])
        pieces.append(part)
    return b"".join(pieces)


def cobs_decode(data: bytes) -> bytes | None:
    """Return what was encoded, or None where there is a zero or the steps do not add up."""
    if 0 in data:
        return None
    parts = []
    at, size = 0, len(data)
    while at < size:
        behind = at + data[at]
        parts.append(data[at + 1 : behind])
        at = behind
    return b"\0".join(parts) if at == size else None


def encode(body: bytes) -> bytes:
    """Return the wire bytes of one frame."""
    if len(body) > _MAX_BODY:
        raise FrameTooLongError("error.body", found=len(body), limit=_MAX_BODY)
    return b"\0%b\0" % cobs_encode(body + zlib.crc32(body).to_bytes(CRC_SIZE, "little"))


@dataclass(slots=True)
class FrameCounters:
    """What a deframer has seen; `damaged` counts runs of bytes that were no frame."""

    frames: int = 0
    damaged: int = 0
    oversize: int = 0


class Deframer:
    """Bytes in, bodies of intact frames out; holds only the bytes since the last zero."""

    def __init__(self) -> None:
        self._buffer = b""
        self._skipping = False
        self.counters = FrameCounters()

    def feed(self, data: bytes) -> list[bytes]:
        """Return the bodies that `data` completes; never raises, whatever the bytes."""
        *complete, self._buffer = (self._buffer + data).split(b"\0")
        bodies = []
        for run in complete:
            if self._skipping:
                self._skipping = False
            elif run and (body := self._check(run)) is not None:
                bodies.append(body)
        if len(self._buffer) > MAX_FRAME + 1:  # one COBS byte
            if not self._skipping:
                self.counters.oversize += 1
            self._skipping = True
            self._buffer = b""
        return bodies

    def _check(self, run: bytes) -> bytes | None:
        if len(run) > MAX_FRAME + 1:
            self.counters.oversize += 1
            return None
        raw = cobs_decode(run)
        if raw is None or len(raw) < _MIN_BODY + CRC_SIZE:
            self.counters.damaged += 1
            return None
        if zlib.crc32(raw) != _INTACT:
            self.counters.damaged += 1
            return None
        self.counters.frames += 1
        return raw[:-CRC_SIZE]
