"""Go-back-N for the DATA frames of one session; both ends use the same, one for both directions.

A frame carries its own sequence and, as every frame of a session does, the number of the next DATA frame that
its sender expects. What is out of order is dropped: the other end goes back and sends from there.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from firmware_protocol import frames
from firmware_protocol.codes import FrameKind
from firmware_protocol.core import earliest
from firmware_protocol.timing import RoundTrip

WINDOW = 4  # of 256 numbers: an old duplicate is never taken for a new frame
ACK_US = 5_000  # an answer that comes within this time carries the acknowledgement
TRIES = 5
QUEUE = 64  # frames, in the window and behind it: what an end may owe is bounded


@dataclass(slots=True)
class LinkCounters:
    """What one end of a link has seen since it was made."""

    sent: int = 0
    received: int = 0
    retransmitted: int = 0
    timeouts: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    naks_sent: int = 0
    naks_received: int = 0
    strangers: int = 0  # frames of another session
    unknown: int = 0  # messages that this end does not know
    events_lost: int = 0
    sessions: int = 0


@dataclass(slots=True)
class Entry:
    """One frame to be sent, and how far it has come."""

    sequence: int
    payload: bytes
    departed_us: int | None = None  # None: it has not left
    resent: bool = False
    acknowledged: bool = False


class Window:
    """The sequenced frames of one session. `transmit(wire bytes)` returns when the last of them leaves."""

    def __init__(
        self,
        session: int,
        transmit: Callable[[bytes], int],
        counters: LinkCounters,
        peer_window: int | None = None,
        queue: int = QUEUE,
    ) -> None:
        self.session = session
        self.round_trip = RoundTrip()
        self._transmit = transmit
        self._counters = counters
        self._peer_window = peer_window
        self._queue_limit = queue
        self._queue: deque[Entry] = deque()
        self._in_flight = 0  # how many of the queue's first entries have left
        self._next = 0
        self._expected = 0
        self._rejecting = False
        self._went_back = False
        self._tries = 1
        self._timeout_us: int | None = None
        self._ack_us: int | None = None

    @property
    def expected(self) -> int:
        """Return the sequence of the next DATA frame from the other end: what is acknowledged."""
        return self._expected

    @property
    def room(self) -> int:
        """Return how many more frames the queue takes."""
        return self._queue_limit - len(self._queue)

    def next_deadline(self) -> int | None:
        """Return when an acknowledgement or a repeat is due."""
        return earliest(self._ack_us, self._timeout_us)

    # --- sending --------------------------------------------------------------------------------------------

    def send(self, payload: bytes, now_us: int) -> Entry | None:
        """Queue a DATA frame and send what the window allows; None where the queue is full."""
        if not self.room:
            return None
        entry = Entry(self._next, payload)
        self._next = self._next + 1 & 0xFF
        self._queue.append(entry)
        self._pump(now_us)
        return entry

    def frame(self, kind: FrameKind, payload: bytes = b"") -> int:
        """Send an unsequenced frame of this session; it carries the acknowledgement, too."""
        self._ack_us = None
        return self._transmit(frames.build(kind, payload, self.session, 0, self._expected))

    def _pump(self, now_us: int) -> None:
        while self._in_flight < min(WINDOW, len(self._queue)) and self._fits():
            self._put(self._queue[self._in_flight], now_us)
            self._in_flight += 1

    def _fits(self) -> bool:
        # One frame may always be on its way, or a board that announces no room would never be heard from.
        if self._peer_window is None or not self._in_flight:
            return True
        flying = [self._queue[i] for i in range(self._in_flight + 1)]
        return sum(frames.wire_size(e.payload) for e in flying) <= self._peer_window

    def _put(self, entry: Entry, now_us: int) -> None:
        self._ack_us = None
        data = frames.build(FrameKind.DATA, entry.payload, self.session, entry.sequence, self._expected)
        if entry.departed_us is not None:
            entry.resent = True
            self._counters.retransmitted += 1
        entry.departed_us = self._transmit(data)
        if self._timeout_us is None or entry is self._queue[0]:
            self._timeout_us = max(now_us, entry.departed_us) + self.round_trip.rto_us

    def _go_back(self, now_us: int) -> None:
        for index in range(self._in_flight):
            self._put(self._queue[index], now_us)

    # --- receiving ------------------------------------------------------------------------------------------

    def take(self, frame: frames.Frame, now_us: int, willing: bool = True) -> bytes | None:
        """Take a frame of this session in; return the payload of a DATA frame whose turn it is.

        An end that is not `willing` treats DATA as lost: the other one sends it again.
        """
        self.acknowledge(frame.acknowledge, now_us)
        self._pump(now_us)
        if frame.kind is FrameKind.NAK:
            self._counters.naks_received += 1
            # One NAK, one repeat: a duplicate of it must not start another.
            if self._in_flight and frame.acknowledge == self._queue[0].sequence and not self._went_back:
                self._went_back = True
                self._go_back(now_us)
        elif frame.kind is FrameKind.DATA:
            return self._data(frame, now_us, willing)
        return None

    def acknowledge(self, number: int, now_us: int) -> None:
        """Take an acknowledgement in: everything before `number` has arrived."""
        if not self._queue:
            return
        count = number - self._queue[0].sequence & 0xFF
        if not 0 < count <= self._in_flight:
            return  # old news, or nonsense
        for _ in range(count):
            entry = self._queue.popleft()
            entry.acknowledged = True
        if not entry.resent and entry.departed_us is not None:
            self.round_trip.sample(max(0, now_us - entry.departed_us))
        self._in_flight -= count
        self._tries = 1
        self._went_back = False
        self._timeout_us = None
        if self._in_flight:
            departed = self._queue[0].departed_us or now_us
            self._timeout_us = max(now_us, departed) + self.round_trip.rto_us

    def _data(self, frame: frames.Frame, now_us: int, willing: bool) -> bytes | None:
        ahead = frame.sequence - self._expected & 0xFF
        if ahead == 0:
            if not willing:
                return None
            self._expected = self._expected + 1 & 0xFF
            self._rejecting = False
            self._ack_us = self._ack_us or now_us + ACK_US
            return frame.payload
        if ahead >= 128:
            self._counters.duplicates += 1
            self._ack_us = self._ack_us or now_us + ACK_US
        elif ahead < WINDOW:
            self._counters.out_of_order += 1
            if not self._rejecting:
                self._rejecting = True
                self._counters.naks_sent += 1
                self.frame(FrameKind.NAK)
        return None

    # --- time -----------------------------------------------------------------------------------------------

    def tick(self, now_us: int) -> bool:
        """Do what is due; False when the last try has gone without an acknowledgement."""
        if self._timeout_us is not None and self._timeout_us <= now_us:
            self._counters.timeouts += 1
            if self._tries >= TRIES:
                self._timeout_us = None
                return False
            self._tries += 1
            self.round_trip.back_off()
            self._went_back = False
            self._go_back(now_us)
        if self._ack_us is not None and self._ack_us <= now_us:
            self.frame(FrameKind.ACK)
        return True
