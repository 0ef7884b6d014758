"""What both ends of the link put into and read from a frame's header."""

import struct
import zlib
from typing import NamedTuple

from firmware_protocol.codes import FOREVER, VERSION, FrameKind
from firmware_protocol.errors import FrameTooLongError
from firmware_protocol.framing import CRC_SIZE, HEADER_SIZE, MAX_PAYLOAD, encode
from firmware_protocol.message import Message

_KINDS = {int(kind): kind for kind in FrameKind}
_HEADER = struct.Struct("<BHBB")
_OVERHEAD = HEADER_SIZE + CRC_SIZE + 3  # one COBS byte, two zeros


class Frame(NamedTuple):
    """One frame, taken apart; a tuple, because frozen dataclasses take twice as long to make."""

    kind: FrameKind
    version: int
    session: int
    sequence: int
    acknowledge: int
    payload: bytes


def build(
    kind: FrameKind, payload: bytes, session: int = 0, sequence: int = 0, acknowledge: int = 0
) -> bytes:
    """Return the wire bytes of a frame."""
    if len(payload) > MAX_PAYLOAD:
        raise FrameTooLongError("error.payload", found=len(payload), limit=MAX_PAYLOAD)
    return encode(_HEADER.pack(VERSION << 4 | kind, session, sequence, acknowledge) + payload)


def build_plain(message: Message, session: int = 0, acknowledge: int = 0) -> bytes:
    """Return the wire bytes of a message that has a frame kind of its own."""
    return build(FrameKind(message.NUMBER), message.payload(), session, 0, acknowledge)


def wire_size(payload: bytes) -> int:
    """Return how many bytes a frame with this payload takes on the wire."""
    return len(payload) + _OVERHEAD


def parse(body: bytes) -> Frame | None:
    """Take a frame apart; None where its kind is unknown, or its version is and the kind may have changed."""
    first, session, sequence, acknowledge = _HEADER.unpack_from(body)
    kind, version = _KINDS.get(first & 0x0F), first >> 4
    if kind is None or (version != VERSION and kind not in FOREVER) or len(body) > HEADER_SIZE + MAX_PAYLOAD:
        return None
    return Frame(kind, version, session, sequence, acknowledge, body[HEADER_SIZE:])


def session_of(boot_id: int, nonce: int) -> int:
    """Return the session number: 16 bits folded from both ends' random numbers, never 0."""
    return zlib.crc32(boot_id.to_bytes(4, "little") + nonce.to_bytes(4, "little")) & 0xFFFF or 1
