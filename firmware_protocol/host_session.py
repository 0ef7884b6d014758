"""One session as the host has it: commands, replies, events and pings until it ends."""

from collections.abc import Callable

from firmware_protocol.codes import FrameKind
from firmware_protocol.core import earliest
from firmware_protocol.frames import Frame
from firmware_protocol.host_types import DownReason, EventsLost, HostEffect, Incoming, NotSent, NotSupported
from firmware_protocol.messages import (
    Chunk,
    Done,
    EventAck,
    Failed,
    Message,
    Order,
    Ping,
    Pong,
    Sender,
    Status,
    Unsupported,
    parse_numbered,
)
from firmware_protocol.operations import OpenOrders, Outcome
from firmware_protocol.ring import EventInbox
from firmware_protocol.timing import Heartbeat
from firmware_protocol.window import LinkCounters, Window


class HostSession:
    """A session; `transmit` writes a frame, `emit` takes effects, `on_chunk` a piece of the description."""

    def __init__(
        self,
        number: int,
        rx_window: int,
        counters: LinkCounters,
        transmit: Callable[[bytes], int],
        emit: Callable[[HostEffect], None],
        on_chunk: Callable[[Chunk], None],
        now_us: int,
    ) -> None:
        self.number = number
        self.up = False  # before the description is known, nothing else is taken in
        self.heartbeat = Heartbeat(now_us)
        self.window = Window(number, transmit, counters, rx_window)
        self._counters = counters
        self._emit = emit
        self._on_chunk = on_chunk
        self._orders = OpenOrders()
        self._events = EventInbox()
        self._pings = 0

    def next_deadline(self) -> int | None:
        """Return when an acknowledgement, a repeat or a ping is due."""
        return earliest(self.window.next_deadline(), self.heartbeat.next_deadline())

    def send(self, message: Message, now_us: int) -> bool:
        """Send a command; False where the queue is full."""
        entry = self.window.send(message.numbered(), now_us)
        if isinstance(message, Order):
            if entry is None:
                self._emit(NotSent(message.op))
            else:
                self._orders.begin(message.op, message.NUMBER, entry)
        return entry is not None

    def tick(self, now_us: int) -> DownReason | None:
        """Do what is due; return why the session is lost, where it is."""
        if not self.window.tick(now_us):
            return DownReason.UNACKNOWLEDGED
        if self.heartbeat.due(now_us):
            if self.heartbeat.lost:
                return DownReason.SILENT
            self._pings = self._pings + 1 & 0xFFFF
            self.window.frame(FrameKind.PING, Ping(self._pings).payload())
        return None

    def close(self, acknowledge: int | None, now_us: int) -> Outcome:
        """End it; `acknowledge` is how far the board says it had received, None where it says nothing."""
        if acknowledge is not None:
            self.window.acknowledge(acknowledge, now_us)
        return self._orders.settle(acknowledge is not None)

    def take(self, frame: Frame, now_us: int) -> None:
        """Take a frame of this session in."""
        self.heartbeat.heard(now_us)
        payload = self.window.take(frame, now_us)
        match frame.kind:
            case FrameKind.DATA if payload is not None:
                self._reply(parse_numbered(payload))
            case FrameKind.STATUS if self.up and (status := Status.parse(frame.payload)):
                self._emit(Incoming(status))
            case FrameKind.EVENT if self.up and len(frame.payload) > 2:
                self._event(frame.payload)
            case FrameKind.PONG if pong := Pong.parse(frame.payload):
                self._emit(Incoming(pong))
            case _:
                pass

    def _reply(self, message: Message | None) -> None:
        match message:
            case Chunk():
                self._on_chunk(message)
            case Unsupported(number, sequence):
                self._counters.unknown += 1
                if (op := self._orders.of_frame(number, sequence)) is not None:
                    self._orders.end(op)
                    self._emit(NotSupported(op))
            case Message() if message.SENDER is Sender.BOARD and self.up:
                self._emit(Incoming(message))
                if isinstance(message, Done | Failed):
                    self._orders.end(message.op)
            case _:
                self._counters.unknown += 1

    def _event(self, payload: bytes) -> None:
        number, oldest = payload[0], payload[1]
        deliver, lost = self._events.take(number, oldest)
        if lost:
            self._counters.events_lost += lost
            self._emit(EventsLost(lost))
        message = parse_numbered(payload[2:])
        if not deliver:
            self._counters.duplicates += 1
        elif message is None or message.SENDER is not Sender.BOARD:
            self._counters.unknown += 1  # acknowledged all the same, or the board would repeat it for ever
        else:
            self._emit(Incoming(message, number))
        if self._events.last:
            self.window.frame(FrameKind.EVENT_ACK, EventAck(self._events.last).payload())
