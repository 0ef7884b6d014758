"""What both ends of the link put into and read from a frame's header."""

import zlib
from dataclasses import dataclass

from firmware_protocol.framing import HEADER_SIZE, encode
from firmware_protocol.messages import VERSION, FrameKind, Message

_KINDS = {int(kind): kind for kind in FrameKind}


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, taken apart."""

    kind: FrameKind
    session: int
    sequence: int
    acknowledge: int
    payload: bytes


def build(
    kind: FrameKind, payload: bytes, session: int = 0, sequence: int = 0, acknowledge: int = 0
) -> bytes:
    """Return the wire bytes of a frame."""
    head = bytes((VERSION << 4 | kind, session & 0xFF, session >> 8, sequence, acknowledge))
    return encode(head + payload)


def build_plain(message: Message, session: int = 0) -> bytes:
    """Return the wire bytes of a message that has a frame kind of its own."""
    return build(FrameKind(message.NUMBER), message.payload(), session)


def version_of(body: bytes) -> int:
    """Return the major version that a frame's sender speaks."""
    return body[0] >> 4


def parse(body: bytes) -> Frame | None:
    """Take a frame apart; None where its kind or version is unknown."""
    kind = _KINDS.get(body[0] & 0x0F)
    if kind is None or version_of(body) != VERSION:
        return None
    return Frame(kind, body[1] | body[2] << 8, body[3], body[4], body[HEADER_SIZE:])


def session_of(boot_id: int, nonce: int) -> int:
    """Return the session number: 16 bits folded from both ends' random numbers, never 0."""
    return zlib.crc32(boot_id.to_bytes(4, "little") + nonce.to_bytes(4, "little")) & 0xFFFF or 1
