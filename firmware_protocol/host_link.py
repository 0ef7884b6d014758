"""The host's end of the link, without I/O: greeting, one session after the other, STOP ALL."""

import zlib
from enum import StrEnum

from firmware_protocol import frames, reports
from firmware_protocol.codes import MINOR, VERSION, FrameKind, StopReason
from firmware_protocol.core import Tick, earliest
from firmware_protocol.description import Description
from firmware_protocol.errors import DescriptionError
from firmware_protocol.fetch import DescriptionFetch
from firmware_protocol.framing import Deframer
from firmware_protocol.host_session import HostSession
from firmware_protocol.host_types import (
    ClearStop,
    Closed,
    Down,
    DownReason,
    EventsLost,
    Halted,
    HostEffect,
    HostEvent,
    Incoming,
    NotSent,
    NotSupported,
    Opened,
    Received,
    Send,
    StopEverything,
    Transmit,
    Up,
)
from firmware_protocol.messages import (
    Chunk,
    Clear,
    Describe,
    Hello,
    HelloAck,
    Message,
    Order,
    StopAll,
    Stopped,
)
from firmware_protocol.operations import Outcome
from firmware_protocol.texts import Told
from firmware_protocol.timing import BAUD, LineClock
from firmware_protocol.window import LinkCounters

HELLO_US = 200_000
HELLO_TRIES = 5  # with one nonce
STOP_REPEAT_US = 20_000
STOP_GIVE_UP_US = 1_000_000
CLEAR_TRIES = 5

__all__ = [
    "ClearStop", "Closed", "Down", "DownReason", "EventsLost", "Halted", "HostEffect", "HostEvent",
    "HostLink", "Incoming", "LinkCounters", "NotSent", "NotSupported", "Opened", "Outcome",
    "Received", "Send", "StopEverything", "Transmit", "Up",
]  # fmt: skip


class _State(StrEnum):
    CLOSED = "closed"
    GREETING = "greeting"
    DESCRIBING = "describing"
    UP = "up"
    STOPPING = "stopping"
    REFUSED = "refused"


class HostLink:
    """The host's end of one port. `nonce_seed` is 32 random bits of the caller's, new for each process."""

    def __init__(self, nonce_seed: int, baud: int = BAUD) -> None:
        self.counters = LinkCounters()
        self._seed = nonce_seed
        self._state = _State.CLOSED
        self._deframer = Deframer()
        self._line = LineClock(baud)
        self._fetch = DescriptionFetch()
        self._session: HostSession | None = None  # kept while stopping: the answer settles its orders
        self._hello: HelloAck | None = None
        self._described: Description | None = None
        self._nonce = 0
        self._greetings = 0
        self._hellos = 0
        self._stops = 0
        self._latch = 0  # the number of the board's stop, which CLEAR must name
        self._clearing: Clear | None = None
        self._clear_tries = 0
        self._clear_next: int | None = None  # asked for while a stop was not yet answered
        self._resend_us: int | None = None
        self._give_up_us: int | None = None
        self._now = 0
        self._out: list[HostEffect] = []

    @property
    def up(self) -> bool:
        """Tell whether a session is open."""
        return self._state is _State.UP

    @property
    def damaged(self) -> int:
        """Return how many runs of bytes were no frame."""
        return self._deframer.counters.damaged + self._deframer.counters.oversize

    @property
    def round_trip_us(self) -> int | None:
        """Return the smoothed time from a command's last byte to its acknowledgement."""
        return self._session.window.round_trip.smoothed_us if self._session else None

    @property
    def room(self) -> int:
        """Return how many more commands can be given before the queue is full."""
        return self._session.window.room if self._session and self._state is _State.UP else 0

    def handle(self, event: HostEvent, now_us: int) -> tuple[HostEffect, ...]:
        """Take one event in."""
        self._now = now_us
        self._out = []
        match event:
            case Received(data):
                for body in self._deframer.feed(data):
                    if frame := frames.parse(body):
                        self._frame(frame)
            case Send(message):
                self._command(message)
            case Tick():
                self._tick()
            case StopEverything():
                self._stop_everything()
            case ClearStop(reason):
                self._clear(reason)
            case Opened():
                if self._session:
                    self._down(DownReason.CLOSED)
                self._deframer = Deframer()
                self._line.flush()
                self._greet()
            case Closed():
                self._down(DownReason.CLOSED)
                self._state = _State.CLOSED
        return tuple(self._out)

    def next_deadline(self) -> int | None:
        """Return when the next ping, repeat or time-out is due."""
        session = self._session.next_deadline() if self._session and self._in_session else None
        return earliest(self._resend_us, self._give_up_us, self._fetch.give_up_us, session)

    @property
    def _in_session(self) -> bool:
        return self._state in (_State.UP, _State.DESCRIBING)

    # --- outgoing -------------------------------------------------------------------------------------------

    def _transmit(self, data: bytes) -> int:
        self.counters.sent += 1
        self._out.append(Transmit(data))
        if self._session:
            self._session.heartbeat.sent(self._now)
        return self._line.put(len(data), self._now)

    def _emit(self, effect: HostEffect) -> None:
        counts = getattr(effect.message, "counts", None) if isinstance(effect, Incoming) else None
        if counts is not None and self._described and len(counts) != reports.size(self._described):
            self._refuse_counts(counts, self._described)
        else:
            self._out.append(effect)

    def _refuse_counts(self, counts: bytes, described: Description) -> None:
        # What counts other mouths than it has described cannot be asked where the tiles are.
        values = {"found": len(counts), "wanted": reports.size(described)}
        values |= {"mouths": described.mouths, "sensors": len(described.sensors)}
        self._refuse(DownReason.DESCRIPTION, "description.counts", **values)

    def _command(self, message: Message) -> None:
        if self._state is _State.UP:
            self._send(message)
        elif isinstance(message, Order):
            self._out.append(NotSent(message.op))

    def _send(self, message: Message) -> None:
        if self._session and not self._session.send(message, self._now):
            self._lose(DownReason.OVERFLOW)

    def _greet(self) -> None:
        self._state = _State.GREETING
        self._greetings += 1
        parts = (self._seed, self._greetings, self._now)
        self._nonce = zlib.crc32(b"".join(n.to_bytes(8, "little") for n in parts)) or 1
        self._hellos = 0
        self._hello_again()

    def _hello_again(self) -> None:
        if self._hellos >= HELLO_TRIES:
            self._greet()  # the board may have opened and ended that session without our knowing
            return
        self._hellos += 1
        self._transmit(frames.build_plain(Hello(self._nonce, MINOR)))
        self._resend_us = self._now + HELLO_US

    def _stop_everything(self) -> None:
        # No session, window or state is asked: this works before HELLO and with a silent board.
        if self._state is _State.CLOSED:
            return
        if self._state is not _State.STOPPING:
            self._stops = self._stops % 255 + 1
            self._give_up_us = self._now + STOP_GIVE_UP_US
        self._state = _State.STOPPING
        self._fetch.stop()
        self._clearing = self._clear_next = None
        self._stop_again()

    def _stop_again(self) -> None:
        self._line.flush()
        data = frames.build_plain(StopAll(StopReason.HOST, self._stops))
        self._transmit(data)
        self._out[-1] = Transmit(data, urgent=True)
        self._resend_us = self._now + STOP_REPEAT_US

    def _clear(self, reason: int) -> None:
        if self._state is _State.CLOSED:
            return
        if self._state is _State.STOPPING:
            self._clear_next = reason  # a stop that has not been answered is not to be left yet
            return
        if self._session:
            self._down(DownReason.CLEARED)
        self._clear_next = None
        self._clearing = Clear(reason, self._latch)
        self._clear_tries = CLEAR_TRIES
        self._clear_again()

    def _clear_again(self) -> None:
        if self._clearing:
            self._clear_tries -= 1
            self._transmit(frames.build_plain(self._clearing))
            self._greet()

    def _end_session(self, acknowledge: int | None = None) -> Outcome:
        outcome = self._session.close(acknowledge, self._now) if self._session else Outcome()
        self._session = None
        self._fetch.stop()
        self._resend_us = self._give_up_us = None
        return outcome

    def _down(self, reason: DownReason, detail: Told | None = None, acknowledge: int | None = None) -> None:
        self._clearing = self._clear_next = None
        self._out.append(Down(reason, detail, self._end_session(acknowledge)))

    def _refuse(self, reason: DownReason, key: str, **values: int | str) -> None:
        self._down(reason, Told(key, values))
        self._state = _State.REFUSED

    def _lose(self, reason: DownReason, acknowledge: int | None = None) -> None:
        self._down(reason, None, acknowledge)
        self._greet()

    # --- time -----------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        now = self._now
        if self._give_up_us is not None and self._give_up_us <= now:
            self._lose(DownReason.STOP_UNANSWERED)
        elif self._resend_us is not None and self._resend_us <= now:
            if self._state is _State.STOPPING:
                self._stop_again()
            else:
                self._hello_again()
        elif self._fetch.give_up_us is not None and self._fetch.give_up_us <= now:
            self._refuse(DownReason.DESCRIPTION, "description.not_sent")
        elif self._session and self._in_session and (reason := self._session.tick(now)):
            self._lose(reason)

    # --- incoming -------------------------------------------------------------------------------------------

    def _frame(self, frame: frames.Frame) -> None:
        self.counters.received += 1
        match frame.kind:
            case FrameKind.HELLO_ACK:
                if frame.version != VERSION:
                    self._wrong_version(frame.version)
                elif ack := HelloAck.parse(frame.payload):
                    self._hello_ack(ack, frame)
            case FrameKind.STOPPED:
                if stopped := Stopped.parse(frame.payload):
                    self._stopped(stopped, frame)
            case _ if self._session and self._in_session and frame.session == self._session.number:
                self._session.take(frame, self._now)
            case _:
                self.counters.strangers += 1

    def _wrong_version(self, version: int) -> None:
        if self._state is _State.GREETING:
            self._refuse(DownReason.VERSION, "version.other", board=version, host=VERSION)

    def _hello_ack(self, ack: HelloAck, frame: frames.Frame) -> None:
        if self._state is _State.GREETING and ack.nonce == self._nonce:
            self._greeted(ack)
        elif self._session and self._hello and self._in_session:
            # A board that greets unasked has no session: it has restarted, or given ours up.
            if ack.boot_id != self._hello.boot_id:
                self._lose(DownReason.RESET)
            elif ack.nonce == 0 and frame.session == self._session.number:
                self._lose(DownReason.VOIDED, frame.acknowledge)

    def _greeted(self, ack: HelloAck) -> None:
        self._latch = ack.stop_number
        self._resend_us = None
        if self._clearing and ack.stop == self._clearing.reason and self._clear_tries:
            # The CLEAR was lost, or refused because the wired stop is still open: Up will tell.
            self._clearing = Clear(ack.stop, ack.stop_number)
            self._clear_again()
            return
        self._clearing = None
        self._hello = ack
        number = frames.session_of(ack.boot_id, ack.nonce)
        self._session = HostSession(
            number,
            ack.rx_window,
            self.counters,
            self._transmit,
            self._emit,
            self._chunk,
            self._now,
        )
        if description := self._fetch.known(ack.description_hash):
            self._up(description)
        else:
            self._state = _State.DESCRIBING
            self._send(Describe(self._fetch.begin(ack.description_hash, self._now)))

    def _up(self, description: Description) -> None:
        if self._hello and self._session:
            self._described = description
            if len(self._hello.counts) != reports.size(description):
                self._refuse_counts(self._hello.counts, description)
                return
            self._state = _State.UP
            self._session.up = True
            self.counters.sessions += 1
            self._out.append(Up(self._hello, description))

    def _stopped(self, stopped: Stopped, frame: frames.Frame) -> None:
        ours = self._session is not None and frame.session == self._session.number
        if self._state is _State.STOPPING:
            if stopped.answers != self._stops:
                return  # an earlier stop's answer: this one may not have arrived
        elif stopped.answers or not (self._in_session and ours):
            return
        self._latch = stopped.stop_number
        outcome = self._end_session(frame.acknowledge if ours else None)
        self._out.append(Halted(stopped, outcome))
        self._state = _State.GREETING
        if self._clear_next is not None:
            self._clear(self._clear_next)
        else:
            self._greet()

    def _chunk(self, chunk: Chunk) -> None:
        if self._state is not _State.DESCRIBING:
            return
        try:
            found = self._fetch.take(chunk, self._now)
        except DescriptionError as error:
            self._refuse(DownReason.DESCRIPTION, error.told.key, **error.told.values)
            return
        if isinstance(found, Description):
            self._up(found)
        elif found is not None:
            self._send(Describe(found))
