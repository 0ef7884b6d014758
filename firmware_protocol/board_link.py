"""The board's end of the link, without I/O; what a firmware's link must do, in Python."""

import zlib
from collections import deque

from firmware_protocol import frames
from firmware_protocol.board_types import (
    BoardLinkEffect,
    BoardLinkEvent,
    Command,
    EventTaken,
    NoSession,
    Plain,
    Raise,
    Received,
    Reply,
    Transmit,
)
from firmware_protocol.codes import VERSION, FrameKind
from firmware_protocol.core import Tick, earliest
from firmware_protocol.framing import Deframer
from firmware_protocol.messages import (
    COMMANDS,
    Chunk,
    Clear,
    Describe,
    Done,
    EventAck,
    Failed,
    Hello,
    HelloAck,
    Message,
    Order,
    Ping,
    Pong,
    StopAll,
    Stopped,
    Unsupported,
    parse_numbered,
)
from firmware_protocol.operations import ResultTable
from firmware_protocol.ring import REPEAT_US, EventOutbox
from firmware_protocol.timing import BAUD, LineClock
from firmware_protocol.window import LinkCounters, Window

CHUNK_SIZE = 56
QUEUE = 48  # replies
ROOM = 24  # of these must be free before a command is taken: its own two, and the ends of what runs
NONCES = 4  # a HELLO of one of these sessions that comes again is old news
NO_SESSION_US = 100_000

__all__ = [
    "BoardLink", "BoardLinkEffect", "BoardLinkEvent", "Command", "EventTaken", "NoSession", "Plain", "Raise",
    "Received", "Reply", "Transmit",
]  # fmt: skip


class BoardLink:
    """The board's end. The caller answers `Command(Hello)` with `welcome`."""

    def __init__(self, boot_id: int, description: bytes, baud: int = BAUD) -> None:
        self.boot_id = boot_id
        self.last_heard_us: int | None = None
        self.description_hash = zlib.crc32(description)
        self.counters = LinkCounters()
        self._description = description
        self._deframer = Deframer()
        self._line = LineClock(baud)
        self._window: Window | None = None
        self._ended = (0, 0)  # the session before, and how far it was received: told in STOPPED and HELLO_ACK
        self._nonces: deque[int] = deque(maxlen=NONCES)
        self._table = ResultTable()
        self._events = EventOutbox()
        self._repeat_us: int | None = None
        self._complained_us: int | None = None
        self._now = 0
        self._out: list[BoardLinkEffect] = []

    @property
    def is_open(self) -> bool:
        """Tell whether a session is open."""
        return self._window is not None

    @property
    def event_number(self) -> int:
        """Return the number that the last raised event got."""
        return self._events.last

    def waits_for(self, event_number: int) -> bool:
        """Tell whether the host has not yet acknowledged that event."""
        return self._events.holds(event_number)

    def handle(self, event: BoardLinkEvent, now_us: int) -> tuple[BoardLinkEffect, ...]:
        """Take one event in."""
        self._now = now_us
        self._out = []
        match event:
            case Received(data):
                for body in self._deframer.feed(data):
                    if frame := frames.parse(body):
                        self._frame(frame)
            case Reply(message):
                if isinstance(message, Done | Failed):
                    self._table.end(message)
                self._data(message)
            case Plain(message):
                self._plain(message)
            case Raise(message):
                self._raise(message)
            case Tick():
                self._tick()
        return tuple(self._out)

    def next_deadline(self) -> int | None:
        """Return when an acknowledgement or a repeat is due."""
        return earliest(self._repeat_us, self._window.next_deadline() if self._window else None)

    def repeats(self, nonce: int) -> bool:
        """Tell whether a HELLO is that of the open session: it is answered again and changes nothing."""
        return self._window is not None and self._nonces[-1] == nonce

    def welcome(self, ack: HelloAck) -> tuple[BoardLinkEffect, ...]:
        """Open the session of a HELLO and answer it."""
        self._out = []
        if not self.repeats(ack.nonce):
            self.void_session()
            self._nonces.append(ack.nonce)
            session = frames.session_of(self.boot_id, ack.nonce)
            self._window = Window(session, self._transmit, self.counters, queue=QUEUE)
            self._table = ResultTable()
            self._events = EventOutbox()
            self.counters.sessions += 1
        self._transmit(frames.build_plain(ack))
        return tuple(self._out)

    def void_session(self) -> None:
        """Forget the session: queues are dropped, nothing more is sent or taken in it."""
        if self._window:
            self._ended = (self._window.session, self._window.expected)
        self._window = None
        self._events.pending.clear()
        self._repeat_us = None

    # --- outgoing -------------------------------------------------------------------------------------------

    def _transmit(self, data: bytes) -> int:
        self.counters.sent += 1
        self._out.append(Transmit(data))
        return self._line.put(len(data), self._now)

    def _data(self, message: Message) -> None:
        if self._window and self._window.send(message.numbered(), self._now) is None:
            self.void_session()  # the host takes nothing any more; it will learn of it from NoSession

    def _plain(self, message: Message) -> None:
        if isinstance(message, Stopped | HelloAck):
            self._transmit(frames.build_plain(message, *self._ended))
        elif self._window:
            self._window.frame(FrameKind(message.NUMBER), message.payload())

    def _raise(self, message: Message) -> None:
        # Without a session nobody listens: HELLO_ACK will tell which keys are held.
        if self._window:
            number = self._events.add(message)
            self._send_event(self._window, number, message)
            self._repeat_us = self._repeat_us or self._now + REPEAT_US

    def _send_event(self, window: Window, number: int, message: Message) -> None:
        window.frame(FrameKind.EVENT, bytes((number, self._events.oldest)) + message.numbered())

    def _tick(self) -> None:
        window = self._window
        if window and not window.tick(self._now):
            self.void_session()
        elif window and self._repeat_us is not None and self._repeat_us <= self._now:
            for number, message in self._events.pending:
                self._send_event(window, number, message)
            self._repeat_us = self._now + REPEAT_US if self._events.pending else None

    # --- incoming -------------------------------------------------------------------------------------------

    def _frame(self, frame: frames.Frame) -> None:
        self.counters.received += 1
        message: Message | None
        match frame.kind:
            case FrameKind.STOP_ALL:
                # Before anything that stands behind it in the same bytes: the session is void from here on.
                if message := StopAll.parse(frame.payload):
                    self.void_session()
                    self._command(message)
            case FrameKind.CLEAR:
                if message := Clear.parse(frame.payload):
                    self._command(message)
            case FrameKind.HELLO:
                self._hello(Hello.parse(frame.payload), frame.version)
            case _ if self._window and frame.session == self._window.session:
                self.last_heard_us = self._now
                self._session_frame(self._window, frame)
            case FrameKind.DATA | FrameKind.PING | FrameKind.EVENT_ACK | FrameKind.ACK | FrameKind.NAK:
                self._stranger(frame)
            case _:
                self.counters.strangers += 1

    def _command(self, message: Message) -> None:
        self.last_heard_us = self._now
        self._out.append(Command(message))

    def _hello(self, hello: Hello | None, version: int) -> None:
        if hello is None:
            return
        if not self.repeats(hello.nonce):
            if hello.nonce in self._nonces:
                return  # an old HELLO must not open its session again
            if version != VERSION:
                self._out.append(NoSession())  # HELLO_ACK says which version we speak; no session is opened
                return
            self.void_session()
        self._command(hello)

    def _stranger(self, frame: frames.Frame) -> None:
        self.counters.strangers += 1
        if self._complained_us is None or self._now >= self._complained_us + NO_SESSION_US:
            self._complained_us = self._now
            self._out.append(NoSession())

    def _session_frame(self, window: Window, frame: frames.Frame) -> None:
        payload = window.take(frame, self._now, willing=window.room >= ROOM)
        if payload is not None:
            self._take(payload, frame.sequence)
        elif frame.kind is FrameKind.PING and (ping := Ping.parse(frame.payload)):
            window.frame(FrameKind.PONG, Pong(ping.number, self._now // 1000 & 0xFFFFFFFF).payload())
        elif frame.kind is FrameKind.EVENT_ACK:
            ack = EventAck.parse(frame.payload)
            if ack and self._events.acknowledge(ack.number):
                self._repeat_us = self._repeat_us if self._events.pending else None
                self._out.append(EventTaken(ack.number))

    def _take(self, payload: bytes, sequence: int) -> None:
        message = parse_numbered(payload)
        if not isinstance(message, COMMANDS):
            self.counters.unknown += 1
            self._data(Unsupported(payload[0] if payload else 0, sequence))
        elif isinstance(message, Describe):
            piece = self._description[message.offset : message.offset + CHUNK_SIZE]
            self._data(Chunk(message.offset, len(self._description), piece))
        elif isinstance(message, Order) and (answers := self._table.begin(message.op)):
            for answer in answers:
                self._data(answer)
        else:
            self._out.append(Command(message))
