"""A board in a test's hand: it greets a whole host as it should and then says whatever the test wants."""

import zlib
from collections import deque
from collections.abc import Callable
from typing import Any

from firmware_protocol import frames
from firmware_protocol import host_link as hl
from firmware_protocol import messages as m
from firmware_protocol.board_link import CHUNK_SIZE
from firmware_protocol.codes import FrameKind
from firmware_protocol.core import TICK
from firmware_protocol.description import Description
from firmware_protocol.framing import Deframer
from sim.board.describe import describe
from sim.lab.rig import RigOptions, make_host
from sim.model import load
from tablectl.service import view
from tablectl.table import events as ev

GOOD = describe(load("four-mouth"))
MOTION = (m.Run, m.Stroke, m.Fill, m.Jog)
SETTLED = ("console.down", "stacker.S{}.open", "lift.S{}.home")


def bits(description: Description = GOOD) -> int:
    """Return the sensors of a table that stands ready."""
    names = {pattern.format(n) for pattern in SETTLED for n in range(1, 5)}
    return sum(1 << n for n, name in enumerate(description.sensors) if name in names)


class Liar:
    """Answers HELLO and DESCRIBE; `hello` changes fields of HELLO_ACK, `answer` deals with other commands."""

    def __init__(
        self,
        blob: bytes | None = None,
        answer: Callable[["Liar", m.Message], None] = lambda liar, message: None,
        **hello: Any,
    ) -> None:
        self.told: list[Any] = []  # what the session tells the controller
        self.host = make_host(RigOptions(), self._trace)
        self.now = 0
        self.said: list[Any] = []  # what the host says to people and disk
        self.heard: list[frames.Frame] = []  # what came over the wire
        self.commands: list[m.Message] = []
        self._blob = GOOD.to_bytes() if blob is None else blob
        self._answer = answer
        self._hello = hello
        self._deframer = Deframer()
        self._events: deque[Any] = deque()
        self._busy = False
        self._session = self._sequence = self._expected = 0
        self.give(hl.Opened())

    @property
    def link(self) -> hl.HostLink:
        return self.host.session.link

    def give(self, event: Any) -> None:
        """Give the host an event, or whatever comes of one that it is at; then live with what it does."""
        self._events.append(event)
        if self._busy:
            return
        self._busy = True
        while self._events:
            for effect in self.host.handle(self._events.popleft(), self.now):
                self._live_with(effect)
        self._busy = False

    def _live_with(self, effect: Any) -> None:
        if isinstance(effect, hl.Transmit):
            for body in self._deframer.feed(effect.data):
                frame = frames.parse(body)
                assert frame
                self._hear(frame)
        else:
            self.said.append(effect)
            if isinstance(effect, ev.Journal):
                self.give(ev.Journaled(effect.id))

    def _trace(self, core: str, now_us: int, event: Any, effects: tuple[Any, ...]) -> None:
        if core == "session":
            self.told += [e for e in effects if not isinstance(e, hl.Transmit)]

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        end = self.now + round(seconds * 1_000_000)
        while (due := self.host.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.give(TICK)
        self.now = end

    def _hear(self, frame: frames.Frame) -> None:
        self.heard.append(frame)
        match frame.kind:
            case FrameKind.HELLO if hello := m.Hello.parse(frame.payload):
                self._welcome(hello.nonce)
            case FrameKind.PING if ping := m.Ping.parse(frame.payload):
                self.say(FrameKind.PONG, m.Pong(ping.number, 0).payload())
            case FrameKind.DATA if frame.sequence == self._expected:
                self._expected = self._expected + 1 & 0xFF
                message = m.parse_numbered(frame.payload)
                assert message
                if isinstance(message, m.Describe):
                    piece = self._blob[message.offset : message.offset + CHUNK_SIZE]
                    self.reply(m.Chunk(message.offset, len(self._blob), piece))
                else:
                    self.commands.append(message)
                    self._answer(self, message)
            case _:
                pass

    def _welcome(self, nonce: int) -> None:
        fields = {
            "nonce": nonce, "boot_id": 1, "reset_cause": 1, "uid": b"LIAR0001", "minor": 0, "firmware": 1,
            "description_hash": zlib.crc32(self._blob), "rx_window": 256, "keys": 0, "op": 0,
            "part": m.NO_PART, "stop": 0, "stop_number": 0, "clock_ms": 0, "sensors": bits(),
            "counts": bytes(8),
        }  # fmt: skip
        self._session = frames.session_of(1, nonce)
        self._sequence = self._expected = 0
        self.write(frames.build_plain(m.HelloAck(**{**fields, **self._hello})))

    def write(self, data: bytes) -> None:
        """Put bytes before the host."""
        self.give(hl.Received(data))

    def say(self, kind: FrameKind, payload: bytes = b"", sequence: int = 0) -> None:
        """Say a frame of this session."""
        self.write(frames.build(kind, payload, self._session, sequence, self._expected))

    def reply(self, message: m.Message | bytes) -> None:
        """Say a DATA frame whose turn it is."""
        payload = message if isinstance(message, bytes) else message.numbered()
        sequence, self._sequence = self._sequence, self._sequence + 1 & 0xFF
        self.say(FrameKind.DATA, payload, sequence)

    def motions(self) -> list[m.Message]:
        """Return what the host has ordered to move."""
        return [c for c in self.commands if isinstance(c, MOTION)]

    def kinds(self) -> list[FrameKind]:
        """Return the kinds of the frames that came."""
        return [f.kind for f in self.heard]

    def crashes(self) -> list[ev.Crashed]:
        """Return what fell inside the host."""
        return [s for s in self.said if isinstance(s, ev.Crashed)]

    def fault(self) -> dict[str, Any]:
        """Return the last fault as people are told of it."""
        raised = [s for s in self.said if isinstance(s, ev.FaultRaised)]
        return view.event(raised[-1], self.now)
