"""A hand that writes bare frames to a board and reads what comes, without any link in between."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from firmware_protocol import frames
from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from firmware_protocol.description import Description
from firmware_protocol.framing import Deframer
from firmware_protocol.trial.port import Port

ANSWER_US = 300_000  # for what a board does at once; generous, for ports behind USB hubs and busy computers
PING_US = 200_000
_M = TypeVar("_M", bound=m.Message)


class SilentBoardError(Exception):
    """The board does not answer a greeting: nothing else can be tried."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One frame from the board; `message` is None where it has none or it is unknown."""

    frame: frames.Frame
    message: m.Message | None
    at_us: int

    def __str__(self) -> str:
        if self.message is not None:
            return str(self.message)
        return f"{self.frame.kind.name}(acknowledge={self.frame.acknowledge})"


class Hand:
    """One board on one port. Acknowledges what comes in sequence, unless `mute`."""

    def __init__(self, port: Port, seed: int) -> None:
        self.port = port
        self.mute = False
        self.session = 0
        self.sequence = 0
        self.expected = 0
        self.nonce = 0
        self.ack: m.HelloAck | None = None
        self.description: Description | None = None
        self._rng = random.Random(seed)
        self._deframer = Deframer()
        self._op = 0

    # --- frames ---------------------------------------------------------------------------------------------

    def frame(self, kind: FrameKind, payload: bytes = b"", sequence: int = 0) -> bytes:
        """Return a frame of this session."""
        return frames.build(kind, payload, self.session, sequence, self.expected)

    def data(self, message: m.Message | bytes) -> bytes:
        """Return the next DATA frame in sequence."""
        payload = message if isinstance(message, bytes) else message.numbered()
        made = self.frame(FrameKind.DATA, payload, self.sequence)
        self.sequence = self.sequence + 1 & 0xFF
        return made

    def ping(self, number: int = 1) -> bytes:
        """Return a ping."""
        return self.frame(FrameKind.PING, m.Ping(number).payload())

    def write(self, data: bytes) -> None:
        """Write bytes."""
        self.port.write(data)

    def listen(
        self, us: int = ANSWER_US, until: Callable[[Heard], bool] | None = None, pings: bool = True
    ) -> list[Heard]:
        """Return what comes within a time, or up to the frame for which `until` holds."""
        got: list[Heard] = []
        now = self.port.now_us()
        end, ping = now + us, now + PING_US
        while now < end:
            data = self.port.read(min(end, ping) if pings else end)
            now = self.port.now_us()
            heard = (self._hear(body, now) for body in self._deframer.feed(data))
            got += [h for h in heard if h is not None]
            if until is not None and any(until(h) for h in got):
                return got
            if pings and now >= ping:
                ping = now + PING_US
                self.write(self.ping())
        return got

    def _hear(self, body: bytes, now_us: int) -> Heard | None:
        frame = frames.parse(body)
        if frame is None:
            return None
        message: m.Message | None = None
        if frame.kind is FrameKind.DATA:
            message = m.parse_numbered(frame.payload)
            if frame.session == self.session and frame.sequence == self.expected:
                self.expected = self.expected + 1 & 0xFF
            if not self.mute:
                self.write(self.frame(FrameKind.ACK))
        elif frame.kind is FrameKind.EVENT:
            message = m.parse_numbered(frame.payload[2:])
            self.write(self.frame(FrameKind.EVENT_ACK, frame.payload[:1]))
        elif frame.kind in m.REGISTRY:
            message = m.REGISTRY[frame.kind].parse(frame.payload)
        return Heard(frame, message, now_us)

    # --- what most checks do --------------------------------------------------------------------------------

    def ask(self, data: bytes, kind: type[_M], us: int = ANSWER_US) -> tuple[_M | None, str]:
        """Write, and return the first message of a kind that comes; beside it, in words, all that came."""
        self.write(data)
        got = self.listen(us, lambda h: isinstance(h.message, kind))
        found = next((h.message for h in got if isinstance(h.message, kind)), None)
        return found, words(got)

    def greet(self, nonce: int | None = None, tries: int = 3) -> m.HelloAck:
        """Open a session."""
        self.nonce = nonce or self._rng.getrandbits(32) or 1
        hello = frames.build_plain(m.Hello(self.nonce, m.MINOR))
        for _ in range(tries):
            self.write(hello)
            got = self.listen(ANSWER_US, self._is_welcome, pings=False)
            for heard in got:
                if self._is_welcome(heard) and isinstance(heard.message, m.HelloAck):
                    self.ack = heard.message
                    self.session = frames.session_of(heard.message.boot_id, self.nonce)
                    self.sequence = self.expected = 0
                    self._op = 0
                    return heard.message
        raise SilentBoardError

    def _is_welcome(self, heard: Heard) -> bool:
        return isinstance(heard.message, m.HelloAck) and heard.message.nonce == self.nonce

    def fresh(self) -> m.HelloAck:
        """Open a new session, with no stop latched where it can be cleared."""
        self.mute = False
        ack = self.greet(tries=15)  # a board may need 3 s after the port was opened
        if ack.stop:
            self.write(frames.build_plain(m.Clear(ack.stop, ack.stop_number)))
            ack = self.greet()
        return ack

    def op(self) -> int:
        """Return a new operation id."""
        self._op += 1
        return self._op

    def panel(self) -> m.Panel:
        """Return an order that moves nothing."""
        return m.Panel(self.op(), 0, 0, b"    ")

    def stop_all(self, number: int) -> tuple[m.Stopped | None, str]:
        """Stop everything; return the answer."""
        return self.ask(frames.build_plain(m.StopAll(m.StopReason.HOST, number)), m.Stopped)


def words(got: list[Heard]) -> str:
    """Return what came, in words that need no translation."""
    return "; ".join(str(h) for h in got) or "–"
