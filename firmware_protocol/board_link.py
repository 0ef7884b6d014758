"""The board's end of the link, without I/O; what a firmware's link must do, in Python."""

import zlib
from dataclasses import dataclass

from firmware_protocol import frames
from firmware_protocol.core import Tick
from firmware_protocol.framing import Deframer
from firmware_protocol.messages import (
    Chunk,
    Clear,
    Describe,
    EventAck,
    FrameKind,
    Hello,
    HelloAck,
    Message,
    Ping,
    Pong,
    StopAll,
    Unsupported,
    parse_numbered,
)

CHUNK_SIZE = 56
EVENT_REPEAT_US = 100_000
_EVENT_QUEUE = 16


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
    """A command came in, in sequence; or STOP ALL, CLEAR and HELLO, which have none."""

    message: Message


@dataclass(frozen=True, slots=True)
class EventTaken:
    """The host has seen every event up to this number."""

    number: int


BoardLinkEvent = Received | Reply | Plain | Raise | Tick
BoardLinkEffect = Transmit | Command | EventTaken


class BoardLink:
    """The board's end. The caller answers `Command(Hello)` with `welcome`."""

    def __init__(self, boot_id: int, description: bytes) -> None:
        self.boot_id = boot_id
        self.last_heard_us: int | None = None
        self.description_hash = zlib.crc32(description)
        self._description = description
        self._deframer = Deframer()
        self._session = 0
        self._tx = 0
        self._rx = 0
        self._events: list[tuple[int, Message]] = []
        self._event_number = 0
        self._repeat_us: int | None = None
        self._now = 0
        self._out: list[BoardLinkEffect] = []

    @property
    def event_number(self) -> int:
        """Return the number that the last raised event got."""
        return self._event_number

    def handle(self, event: BoardLinkEvent, now_us: int) -> tuple[BoardLinkEffect, ...]:
        """Take one event in."""
        self._now = now_us
        self._out = []
        match event:
            case Received(data):
                for body in self._deframer.feed(data):
                    self._frame(body)
            case Reply(message):
                if self._session:
                    self._data(message)
            case Plain(message):
                self._out.append(Transmit(frames.build_plain(message, self._session)))
            case Raise(message):
                self._event_number = self._event_number % 255 + 1
                self._events = [*self._events[-(_EVENT_QUEUE - 1) :], (self._event_number, message)]
                self._send_events()
            case Tick():
                if self._repeat_us is not None and self._repeat_us <= now_us:
                    self._send_events()
        return tuple(self._out)

    def next_deadline(self) -> int | None:
        """Return when an unacknowledged event is to be repeated."""
        return self._repeat_us

    def welcome(self, ack: HelloAck) -> tuple[BoardLinkEffect, ...]:
        """Open the session of a HELLO and answer it."""
        self._session = frames.session_of(self.boot_id, ack.nonce)
        self._tx = self._rx = 0
        self._events = []
        self._repeat_us = None
        return (Transmit(frames.build_plain(ack)),)

    def void_session(self) -> None:
        """Forget the session: queues are dropped, nothing more is sent or taken in it."""
        self._session = 0
        self._events = []
        self._repeat_us = None

    def _data(self, message: Message) -> None:
        frame = frames.build(FrameKind.DATA, message.numbered(), self._session, self._tx, self._rx)
        self._tx = self._tx + 1 & 0xFF
        self._out.append(Transmit(frame))

    def _send_events(self) -> None:
        for number, message in self._events:
            payload = bytes((number,)) + message.numbered()
            self._out.append(Transmit(frames.build(FrameKind.EVENT, payload, self._session)))
        self._repeat_us = self._now + EVENT_REPEAT_US if self._events else None

    def _frame(self, body: bytes) -> None:
        frame = frames.parse(body)
        if frame is None:
            return
        message: Message | None
        match frame.kind:
            case FrameKind.STOP_ALL:
                message = StopAll.parse(frame.payload)
            case FrameKind.CLEAR:
                message = Clear.parse(frame.payload)
            case FrameKind.HELLO:
                message = Hello.parse(frame.payload)
            case _ if frame.session == self._session and self._session:
                self.last_heard_us = self._now
                self._in_session(frame)
                return
            case _:
                return
        if message is not None:
            self.last_heard_us = self._now
            self._out.append(Command(message))

    def _in_session(self, frame: frames.Frame) -> None:
        if frame.kind is FrameKind.DATA and frame.sequence == self._rx:
            self._rx = self._rx + 1 & 0xFF
            message = parse_numbered(frame.payload)
            if isinstance(message, Describe):
                piece = self._description[message.offset : message.offset + CHUNK_SIZE]
                self._data(Chunk(message.offset, len(self._description), piece))
            elif message is not None:
                self._out.append(Command(message))
            elif frame.payload:
                self._data(Unsupported(frame.payload[0]))
        elif frame.kind is FrameKind.PING and (ping := Ping.parse(frame.payload)):
            pong = Pong(ping.number, self._now // 1000 & 0xFFFFFFFF)
            self._out.append(Transmit(frames.build_plain(pong, self._session)))
        elif frame.kind is FrameKind.EVENT_ACK and (ack := EventAck.parse(frame.payload)):
            self._events = [e for e in self._events if _after(e[0], ack.number)]
            self._repeat_us = self._repeat_us if self._events else None
            self._out.append(EventTaken(ack.number))


def _after(number: int, acknowledged: int) -> bool:
    """Tell whether an event number lies after another on the ring 1…255."""
    return 0 < (number - acknowledged) % 255 < 128
