"""What goes into the board's end of the link and what comes out of it."""

from dataclasses import dataclass

from firmware_protocol.core import Tick
from firmware_protocol.message import Message


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes came in."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """Send a message of this session, in sequence."""

    message: Message


@dataclass(frozen=True, slots=True)
class Plain:
    """Send a message in a frame of its own kind, without sequence."""

    message: Message


@dataclass(frozen=True, slots=True)
class Raise:
    """Send an event until the host acknowledges it."""

    message: Message


@dataclass(frozen=True, slots=True)
class Transmit:
    """Write bytes."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Command:
    """A command came, in sequence and for the first time; or STOP ALL, CLEAR or HELLO, which have none."""

    message: Message


@dataclass(frozen=True, slots=True)
class EventTaken:
    """The host has seen every event up to this number."""

    number: int


@dataclass(frozen=True, slots=True)
class NoSession:
    """The host speaks in a session that is not open: answer with STOPPED or HELLO_ACK of nonce 0."""


BoardLinkEvent = Received | Reply | Plain | Raise | Tick
BoardLinkEffect = Transmit | Command | EventTaken | NoSession
