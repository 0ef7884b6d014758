"""The host's end of the link, without I/O: sessions, sequence, pings, STOP ALL."""

import zlib
from dataclasses import dataclass
from enum import StrEnum

from firmware_protocol import frames
from firmware_protocol.core import Tick, earliest
from firmware_protocol.description import Description
from firmware_protocol.errors import DescriptionError
from firmware_protocol.framing import Deframer
from firmware_protocol.messages import (
    MINOR,
    VERSION,
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
    Status,
    StopAll,
    Stopped,
    StopReason,
    parse_numbered,
)

PING_US = 230_000  # no divisor of other periods, so that coincidences do not repeat
MISSED_PINGS = 4
HELLO_US = 200_000
STOP_REPEAT_US = 20_000
STOP_GIVE_UP_US = 1_000_000


# --- events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opened:
    """The port is open; begin."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The port is gone."""


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes came in."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Send:
    """Send a command in this session."""

    message: Message


@dataclass(frozen=True, slots=True)
class StopEverything:
    """Stop the whole table, ahead of everything else."""


@dataclass(frozen=True, slots=True)
class ClearStop:
    """Leave the stop that the board reported for `reason`, in a new session."""

    reason: int


# --- effects ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transmit:
    """Write bytes; `urgent` ones go ahead of everything not yet on the wire."""

    data: bytes
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Up:
    """A session is open."""

    hello: HelloAck
    description: Description


@dataclass(frozen=True, slots=True)
class Incoming:
    """A reply, event or status came; `event` is its number where it is an event."""

    message: Message
    event: int | None = None


class DownReason(StrEnum):
    """Why there is no session any more."""

    CLOSED = "closed"
    SILENT = "silent"
    RESET = "reset"
    STOP_UNANSWERED = "stop_unanswered"
    VERSION = "version"
    DESCRIPTION = "description"


@dataclass(frozen=True, slots=True)
class Down:
    """The session is over, or none can be opened."""

    reason: DownReason
    detail: str = ""


class _State(StrEnum):
    CLOSED = "closed"
    GREETING = "greeting"
    DESCRIBING = "describing"
    UP = "up"
    STOPPING = "stopping"
    REFUSED = "refused"


HostEffect = Transmit | Up | Incoming | Down
HostEvent = Opened | Closed | Received | Send | StopEverything | ClearStop | Tick


@dataclass(slots=True)
class LinkCounters:
    """What the host's end has seen since it was made."""

    sent: int = 0
    received: int = 0
    retransmitted: int = 0
    sessions: int = 0


class HostLink:
    """The host's end of one port. `nonce_seed` is 32 random bits of the caller's."""

    def __init__(self, nonce_seed: int) -> None:
        self._seed = nonce_seed
        self._state = _State.CLOSED
        self._deframer = Deframer()
        self._session = 0
        self._nonce = 0
        self._greetings = 0
        self._tx = 0
        self._rx = 0
        self._event: int | None = None
        self._hello: HelloAck | None = None
        self._blob = b""
        self._description: tuple[int, Description] | None = None
        self._boot_id: int | None = None
        self._resend_us: int | None = None
        self._give_up_us: int | None = None
        self._ping_us: int | None = None
        self._unanswered = 0
        self._pings = 0
        self._now = 0
        self._out: list[HostEffect] = []
        self.counters = LinkCounters()

    @property
    def up(self) -> bool:
        """Tell whether a session is open."""
        return self._state is _State.UP

    @property
    def damaged(self) -> int:
        """Return how many runs of bytes were no frame."""
        return self._deframer.counters.damaged + self._deframer.counters.oversize

    def handle(self, event: HostEvent, now_us: int) -> tuple[HostEffect, ...]:
        """Take one event in."""
        self._now = now_us
        self._out = []
        match event:
            case Received(data):
                for body in self._deframer.feed(data):
                    self._frame(body)
            case Send(message):
                self._send(message)
            case Tick():
                self._tick()
            case StopEverything():
                self._stop_everything()
            case ClearStop(reason):
                if self._state is not _State.CLOSED:
                    self._transmit(frames.build_plain(Clear(reason)))
                    self._greet()
            case Opened():
                self._deframer = Deframer()
                self._greet()
            case Closed():
                self._down(DownReason.CLOSED)
                self._state = _State.CLOSED
                self._resend_us = None
        return tuple(self._out)

    def next_deadline(self) -> int | None:
        """Return when the next ping, repeat or time-out is due."""
        return earliest(self._resend_us, self._give_up_us, self._ping_us)

    # --- outgoing -------------------------------------------------------------------------------------------

    def _transmit(self, data: bytes, urgent: bool = False) -> None:
        self.counters.sent += 1
        self._out.append(Transmit(data, urgent))
        if self._ping_us is not None:
            self._ping_us = self._now + PING_US

    def _send(self, message: Message) -> None:
        if self._state not in (_State.UP, _State.DESCRIBING):
            return
        self._transmit(
            frames.build(FrameKind.DATA, message.numbered(), self._session, self._tx, self._rx),
        )
        self._tx = self._tx + 1 & 0xFF

    def _greet(self) -> None:
        self._end_session()
        self._state = _State.GREETING
        self._greetings += 1
        seed = self._seed.to_bytes(4, "little") + self._greetings.to_bytes(4, "little")
        self._nonce = zlib.crc32(seed)
        self._hello_again()

    def _hello_again(self) -> None:
        self._transmit(frames.build_plain(Hello(self._nonce, MINOR)))
        self._resend_us = self._now + HELLO_US

    def _stop_everything(self) -> None:
        # No session, window or state is asked: this works before HELLO and with a silent board.
        if self._state is _State.CLOSED:
            return
        self._end_session()
        self._state = _State.STOPPING
        self._give_up_us = self._now + STOP_GIVE_UP_US
        self._stop_again()

    def _stop_again(self) -> None:
        self._transmit(frames.build_plain(StopAll(StopReason.HOST)), urgent=True)
        self._resend_us = self._now + STOP_REPEAT_US

    def _end_session(self) -> None:
        self._session = self._tx = self._rx = 0
        self._event = None
        self._unanswered = 0
        self._ping_us = self._resend_us = self._give_up_us = None

    def _down(self, reason: DownReason, detail: str = "") -> None:
        self._end_session()
        self._out.append(Down(reason, detail))

    def _tick(self) -> None:
        now = self._now
        if self._give_up_us is not None and self._give_up_us <= now:
            self._down(DownReason.STOP_UNANSWERED)
            self._greet()
        elif self._resend_us is not None and self._resend_us <= now:
            if self._state is _State.STOPPING:
                self._stop_again()
            elif self._state is _State.GREETING:
                self._hello_again()
            else:
                self._ask_description()
        if self._ping_us is not None and self._ping_us <= now:
            if self._unanswered >= MISSED_PINGS:
                self._down(DownReason.SILENT)
                self._greet()
            else:
                self._unanswered += 1
                self._pings = self._pings + 1 & 0xFFFF
                self._transmit(frames.build_plain(Ping(self._pings), self._session))

    # --- incoming -------------------------------------------------------------------------------------------

    def _frame(self, body: bytes) -> None:
        frame = frames.parse(body)
        if frame is None:
            if frames.version_of(body) != VERSION and self._state is _State.GREETING:
                self._refuse(DownReason.VERSION, str(frames.version_of(body)))
            return
        self.counters.received += 1
        self._unanswered = 0
        if frame.kind is FrameKind.HELLO_ACK:
            self._hello_ack(HelloAck.parse(frame.payload))
        elif frame.kind is FrameKind.STOPPED:
            self._stopped(Stopped.parse(frame.payload))
        elif self._session and frame.session == self._session:
            self._in_session(frame)

    def _hello_ack(self, ack: HelloAck | None) -> None:
        if ack is None:
            return
        if ack.nonce != self._nonce or self._state not in (_State.GREETING, _State.STOPPING):
            # A board that greets unasked has restarted: nothing of the session is left on its side.
            if self._session and ack.boot_id != self._boot_id:
                self._down(DownReason.RESET)
                self._greet()
            return
        if self._state is _State.STOPPING:
            return
        self._resend_us = None
        self._hello = ack
        self._boot_id = ack.boot_id
        self._session = frames.session_of(ack.boot_id, ack.nonce)
        self._ping_us = self._now + PING_US
        if self._description and self._description[0] == ack.description_hash:
            self._up(self._description[1])
        else:
            self._state = _State.DESCRIBING
            self._blob = b""
            self._ask_description()

    def _ask_description(self) -> None:
        self._send(Describe(len(self._blob)))
        self._resend_us = self._now + HELLO_US

    def _up(self, description: Description) -> None:
        if self._hello is None:
            return
        self._state = _State.UP
        self._resend_us = None
        self.counters.sessions += 1
        self._out.append(Up(self._hello, description))

    def _stopped(self, message: Stopped | None) -> None:
        if message is None:
            return
        if self._state is _State.STOPPING or self._session:
            self._out.append(Incoming(message))
            self._greet()

    def _in_session(self, frame: frames.Frame) -> None:
        match frame.kind:
            case FrameKind.DATA:
                if frame.sequence == self._rx:
                    self._rx = self._rx + 1 & 0xFF
                    self._reply(parse_numbered(frame.payload))
            case FrameKind.STATUS:
                if status := Status.parse(frame.payload):
                    self._out.append(Incoming(status))
            case FrameKind.EVENT if frame.payload:
                self._board_event(frame.payload[0], parse_numbered(frame.payload[1:]))
            case FrameKind.PONG:
                if pong := Pong.parse(frame.payload):
                    self._out.append(Incoming(pong))
            case _:
                pass

    def _reply(self, message: Message | None) -> None:
        if isinstance(message, Chunk) and self._state is _State.DESCRIBING:
            self._chunk(message)
        elif message is not None and self._state is _State.UP:
            self._out.append(Incoming(message))

    def _board_event(self, number: int, message: Message | None) -> None:
        self._transmit(frames.build_plain(EventAck(number), self._session))
        if number != self._event and message is not None and self._state is _State.UP:
            self._event = number
            self._out.append(Incoming(message, number))

    def _chunk(self, chunk: Chunk) -> None:
        if chunk.offset != len(self._blob) or self._hello is None:
            return
        self._blob += chunk.data
        if chunk.data and len(self._blob) < chunk.total:
            self._ask_description()
            return
        if zlib.crc32(self._blob) != self._hello.description_hash:
            self._refuse(DownReason.DESCRIPTION, "the board's description does not match its hash")
            return
        try:
            description = Description.from_bytes(self._blob)
        except DescriptionError as error:
            self._refuse(DownReason.DESCRIPTION, str(error))
            return
        self._description = (self._hello.description_hash, description)
        self._up(description)

    def _refuse(self, reason: DownReason, detail: str) -> None:
        self._down(reason, detail)
        self._state = _State.REFUSED
