"""Every message, with its number and layout in one table; integers are little endian.

A trailing field of type bytes takes what is left of the payload. Numbers below 0x10 travel in frames of their
own kind; the rest travel in sequenced DATA frames.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar, TypeVar

from firmware_protocol.errors import MessageError

VERSION = 1  # of the frame kinds below; another major version is refused
MINOR = 0
NO_PART = 255


class FrameKind(IntEnum):
    """The low half of a frame's first byte; the high half is VERSION. The first four never change."""

    HELLO = 1
    HELLO_ACK = 2
    STOP_ALL = 3
    STOPPED = 4
    CLEAR = 5
    DATA = 6
    PING = 7
    PONG = 8
    STATUS = 9
    EVENT = 10
    EVENT_ACK = 11


class ResetCause(IntEnum):
    """Why the board started."""

    UNKNOWN = 0
    POWER_ON = 1
    WATCHDOG = 2
    BROWN_OUT = 3
    EXTERNAL = 4


class StopReason(IntEnum):
    """Why everything was stopped; CLEAR must name it."""

    NONE = 0
    HOST = 1  # STOP ALL from the host
    SILENCE = 2  # the host was silent for longer than the board's silence_ms
    DOOR = 3
    WIRED = 4  # the wired stop line


class FailReason(IntEnum):
    """Why an operation was refused or ended without success."""

    BAD_ARGUMENT = 1
    INTERLOCK = 2
    TIMEOUT = 3  # the end sensor did not come in time
    STALL = 4
    LEASE = 5
    ABORTED = 6  # by STOP, STOP ALL, ADD or silence
    BUSY = 7
    STOPPED = 8  # everything is stopped until CLEAR
    UNSUPPORTED = 9


class End(IntEnum):
    """Where a STROKE ends."""

    HOME = 0  # stacker open, lift home, console down
    FAR = 1  # stacker closed, console up
    TURN = 2  # lift: leave home and regain it


class Phase(IntEnum):
    """What a panel key did."""

    DOWN = 0
    UP = 1


_MESSAGES: dict[int, type["Message"]] = {}
_M = TypeVar("_M", bound="type[Message]")


@dataclass(frozen=True, slots=True)
class Message:
    """The base of all messages."""

    NUMBER: ClassVar[int] = 0
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("")
    TAIL: ClassVar[bool] = False

    def payload(self) -> bytes:
        """Return the message without its number."""
        names: tuple[str, ...] = self.__slots__
        values = [getattr(self, name) for name in names]
        try:
            if self.TAIL:
                return self.LAYOUT.pack(*values[:-1]) + bytes(values[-1])
            return self.LAYOUT.pack(*values)
        except struct.error as error:
            raise MessageError(f"{self!r} cannot be sent: {error}") from error

    def numbered(self) -> bytes:
        """Return the message as it travels in a DATA or EVENT frame."""
        return bytes((self.NUMBER,)) + self.payload()

    @classmethod
    def parse(cls: type["_T"], payload: bytes) -> "_T | None":
        """Return the message, or None where the payload does not fit the layout."""
        size = cls.LAYOUT.size
        if len(payload) < size or (len(payload) > size and not cls.TAIL):
            return None
        values = cls.LAYOUT.unpack_from(payload)
        make: Any = cls
        return make(*values, payload[size:]) if cls.TAIL else make(*values)  # type: ignore[no-any-return]


_T = TypeVar("_T", bound=Message)


def _message(number: int, layout: str, tail: bool = False) -> Callable[[_M], _M]:
    def register(cls: _M) -> _M:
        cls.NUMBER, cls.LAYOUT, cls.TAIL = number, struct.Struct("<" + layout), tail
        _MESSAGES[number] = cls
        return cls

    return register


def parse_numbered(data: bytes) -> Message | None:
    """Return the message of a DATA or EVENT payload, None where it is unknown or malformed."""
    cls = _MESSAGES.get(data[0]) if data else None
    return cls.parse(data[1:]) if cls else None


# --- frames of their own kind -------------------------------------------------------------------------------


@_message(0x01, "IB")
@dataclass(frozen=True, slots=True)
class Hello(Message):
    """Host: open a session."""

    nonce: int
    minor: int


@_message(0x02, "IIB8sBHIHBIBBII", tail=True)
@dataclass(frozen=True, slots=True)
class HelloAck(Message):
    """Board: the session is open; this is who I am and how things stand.

    `stop` is the StopReason that is latched; `op` and `part` name the move in progress, as the non-volatile
    memory has it. `counts` are two bytes per mouth: tiles taken at the eye and tiles pushed into the store
    since that store was last emptied.
    """

    nonce: int
    boot_id: int
    reset_cause: int
    uid: bytes
    minor: int
    firmware: int
    description_hash: int
    rx_window: int
    keys: int
    op: int
    part: int
    stop: int
    clock_ms: int
    sensors: int
    counts: bytes


@_message(0x03, "B")
@dataclass(frozen=True, slots=True)
class StopAll(Message):
    """Host: stop everything now. No session, no sequence, no queue."""

    reason: int


@_message(0x04, "BII", tail=True)
@dataclass(frozen=True, slots=True)
class Stopped(Message):
    """Board: everything stands; the session is void."""

    reason: int
    clock_ms: int
    sensors: int
    counts: bytes


@_message(0x05, "B")
@dataclass(frozen=True, slots=True)
class Clear(Message):
    """Host: leave the stop that was made for `reason`; motion still needs a new HELLO."""

    reason: int


@_message(0x07, "H")
@dataclass(frozen=True, slots=True)
class Ping(Message):
    """Host: I am here."""

    number: int


@_message(0x08, "HI")
@dataclass(frozen=True, slots=True)
class Pong(Message):
    """Board: so am I; the answer to the ping of that number."""

    number: int
    clock_ms: int


@_message(0x09, "II", tail=True)
@dataclass(frozen=True, slots=True)
class Status(Message):
    """Board: complete sensors and counts, periodic, best effort."""

    clock_ms: int
    sensors: int
    counts: bytes


@_message(0x0B, "B")
@dataclass(frozen=True, slots=True)
class EventAck(Message):
    """Host: the board's events up to this number have arrived."""

    number: int


# --- commands, host to board --------------------------------------------------------------------------------


@_message(0x20, "IBbH")
@dataclass(frozen=True, slots=True)
class Run(Message):
    """Run a drum or conveyor (`direction` 1, or -1 to give belt tiles back) until STOP or the lease ends."""

    op: int
    part: int
    direction: int
    lease_ms: int


@_message(0x21, "IBB")
@dataclass(frozen=True, slots=True)
class Stroke(Message):
    """Move a stacker, lift or the console to an end."""

    op: int
    part: int
    end: int


@_message(0x22, "IBBH")
@dataclass(frozen=True, slots=True)
class Fill(Message):
    """Fill a mouth's store to `tiles` half-stacks, counted since it was last emptied."""

    op: int
    mouth: int
    tiles: int
    lease_ms: int


@_message(0x23, "IB")
@dataclass(frozen=True, slots=True)
class Stop(Message):
    """Stop one part (or a mouth's FILL, by its conveyor)."""

    op: int
    part: int


@_message(0x24, "IH")
@dataclass(frozen=True, slots=True)
class Renew(Message):
    """Extend the lease of a running operation; one that has ended is never started again."""

    op: int
    lease_ms: int


@_message(0x25, "IIH", tail=True)
@dataclass(frozen=True, slots=True)
class Panel(Message):
    """Set every lamp, the buzzer and the display at once."""

    op: int
    lamps: int
    buzzer_ms: int
    display: bytes


@_message(0x26, "H")
@dataclass(frozen=True, slots=True)
class Describe(Message):
    """Ask for the description from `offset` on."""

    offset: int


# --- replies, board to host ---------------------------------------------------------------------------------


@_message(0x40, "I")
@dataclass(frozen=True, slots=True)
class Accepted(Message):
    """The operation was begun."""

    op: int


@_message(0x41, "III", tail=True)
@dataclass(frozen=True, slots=True)
class Done(Message):
    """The operation ended as ordered."""

    op: int
    clock_ms: int
    sensors: int
    counts: bytes


@_message(0x42, "IBII", tail=True)
@dataclass(frozen=True, slots=True)
class Failed(Message):
    """The operation was refused or ended without success."""

    op: int
    reason: int
    clock_ms: int
    sensors: int
    counts: bytes


@_message(0x43, "HH", tail=True)
@dataclass(frozen=True, slots=True)
class Chunk(Message):
    """A piece of the description."""

    offset: int
    total: int
    data: bytes


@_message(0x44, "B")
@dataclass(frozen=True, slots=True)
class Unsupported(Message):
    """The message of that number is unknown to this board."""

    number: int


# --- events, board to host, numbered and repeated until acknowledged ----------------------------------------


@_message(0x60, "BBI")
@dataclass(frozen=True, slots=True)
class KeyEvent(Message):
    """A panel key went down or up."""

    key: int
    phase: int
    clock_ms: int
