"""What the wire tests share: a host and a table on bad lines, and a bare hand that writes frames itself."""

from typing import Any

from firmware_protocol import frames
from firmware_protocol import host_link as hl
from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from firmware_protocol.core import TICK
from firmware_protocol.framing import Deframer
from sim.table import SimTable, TableOptions, WireIn, WireOut
from sim.wires import Line, Put, WireModel
from sim.world import World

PERFECT = WireModel()
WIRES = {
    "perfect": PERFECT,
    "bytewise": WireModel(bytewise=True),
    "delayed": WireModel(latency_us=16_000, jitter_us=20_000),
    "corrupting": WireModel(flip=0.05),
    "lossy": WireModel(drop=0.05),
    "duplicating": WireModel(duplicate=0.2),
    "reordering": WireModel(reorder=0.1),
    "all at once": WireModel.bad(0.03),
}


class Bench:
    """A `HostLink` and a simulated table that meet on two lines; what the link says is kept."""

    def __init__(self, wire: WireModel = PERFECT, seed: int = 0, table: SimTable | None = None) -> None:
        self.link = hl.HostLink(seed)
        self.table = table or SimTable(TableOptions(hands=0))
        self.world = World()
        self.said: list[Any] = []
        self.written: list[hl.Transmit] = []
        self.cut = False  # nothing comes from the board any more
        self.lines = {name: Line(wire, f"{seed}/{name}") for name in ("down", "up")}
        self.world.add("host", self.link, self._from_host)
        self.world.add("down", self.lines["down"], self._from_down)
        self.world.add("table", self.table, self._from_table)
        self.world.add("up", self.lines["up"], self._from_up)
        self.give(hl.Opened())

    def _from_host(self, effect: Any, now_us: int) -> None:
        if isinstance(effect, hl.Transmit):
            self.written.append(effect)
            self.world.post(now_us, "down", Put(effect.data, effect.urgent))
        else:
            self.said.append(effect)

    def _from_down(self, effect: Any, now_us: int) -> None:
        self.world.post(now_us, "table", WireIn(effect.data))

    def _from_table(self, effect: Any, now_us: int) -> None:
        if isinstance(effect, WireOut) and not self.cut:
            self.world.post(now_us, "up", Put(effect.data))

    def _from_up(self, effect: Any, now_us: int) -> None:
        self.world.post(now_us, "host", hl.Received(effect.data))

    def give(self, event: Any, to: str = "host") -> None:
        self.world.post(self.world.now_us, to, event)

    def order(self, message: m.Message) -> None:
        self.give(hl.Send(message))

    def run(self, seconds: float) -> None:
        self.world.run(self.world.now_us + round(seconds * 1_000_000))

    def until(self, kind: type, seconds: float = 60) -> Any:
        """Go on until something of that kind has been said."""

        def seen() -> bool:
            return any(isinstance(s, kind) for s in self.said)

        if not seen() and not self.world.run(self.world.now_us + round(seconds * 1_000_000), seen):
            raise AssertionError(f"no {kind.__name__} within {seconds} s; {self.said}")
        return next(s for s in self.said if isinstance(s, kind))

    def heard(self, kind: type) -> list[Any]:
        """Return the incoming messages of one kind."""
        return [s.message for s in self.said if isinstance(s, hl.Incoming) and isinstance(s.message, kind)]


class BareHand:
    """Writes frames to a simulated board without any link, at virtual times, and reads what comes."""

    def __init__(self, table: SimTable | None = None) -> None:
        self.table = table or SimTable(TableOptions(hands=0))
        self.now = 0
        self.session = 0
        self.sequence = 0
        self.expected = 0
        self.frames: list[frames.Frame] = []
        self._deframer = Deframer()
        self._op = 0

    @property
    def description(self) -> Any:
        return self.table.board.description

    def part(self, name: str) -> int:
        return int(self.description.part(name))

    def write(self, data: bytes) -> list[frames.Frame]:
        """Put bytes before the board now; return the frames that it writes at once."""
        return self._read(self.table.handle(WireIn(data), self.now))

    def tell(self, event: Any) -> list[frames.Frame]:
        return self._read(self.table.handle(event, self.now))

    def wait(self, us: int, ping: bool = True, acknowledge: bool = True) -> list[frames.Frame]:
        """Let time pass, with a ping each 200 ms, in steps of the table's own deadlines."""
        got: list[frames.Frame] = []
        end, next_ping = self.now + us, self.now + 200_000
        while self.now < end:
            due = self.table.next_deadline()
            self.now = min(end, next_ping if ping else end, end if due is None else max(due, self.now))
            new = self._read(self.table.handle(TICK, self.now))
            if new and acknowledge:
                new += self.acknowledge()
            if ping and self.now >= next_ping:
                next_ping += 200_000
                new += self.write(self.frame(FrameKind.PING, m.Ping(1).payload()))
            got += new
        return got

    def _read(self, effects: Any) -> list[frames.Frame]:
        got = []
        for effect in effects:
            if isinstance(effect, WireOut):
                for body in self._deframer.feed(effect.data):
                    frame = frames.parse(body)
                    assert frame is not None
                    got.append(frame)
                    if frame.kind is FrameKind.DATA and frame.sequence == self.expected:
                        self.expected = self.expected + 1 & 0xFF
        self.frames += got
        return got

    def frame(self, kind: FrameKind, payload: bytes = b"", sequence: int = 0) -> bytes:
        return frames.build(kind, payload, self.session, sequence, self.expected)

    def acknowledge(self) -> list[frames.Frame]:
        return self.write(self.frame(FrameKind.ACK))

    def hello(self, nonce: int = 7) -> m.HelloAck:
        got = self.write(frames.build_plain(m.Hello(nonce, 0)))
        ack = next(m.HelloAck.parse(f.payload) for f in got if f.kind is FrameKind.HELLO_ACK)
        assert ack is not None
        self.session = frames.session_of(ack.boot_id, nonce)
        self.sequence = self.expected = 0
        return ack

    def command(self, message: m.Message) -> list[m.Message]:
        """Send a command in sequence; return the replies that come at once, acknowledged."""
        return messages_of(self.raw_command(message.numbered()))

    def raw_command(self, payload: bytes) -> list[frames.Frame]:
        got = self.write(self.frame(FrameKind.DATA, payload, self.sequence))
        self.sequence = self.sequence + 1 & 0xFF
        return got + self.acknowledge()

    def op(self) -> int:
        self._op += 1
        return self._op

    def run(self, part: str, lease_ms: int = 2000, direction: int = 1) -> list[m.Message]:
        return self.command(m.Run(self.op(), self.part(part), direction, lease_ms))

    def stroke(self, part: str, end: m.End) -> list[m.Message]:
        return self.command(m.Stroke(self.op(), self.part(part), end))

    def fill(self, mouth: int, tiles: int, lease_ms: int = 2000) -> list[m.Message]:
        return self.command(m.Fill(self.op(), mouth, tiles, lease_ms))

    def stop_all(self, number: int = 1) -> m.Stopped:
        got = self.write(frames.build_plain(m.StopAll(m.StopReason.HOST, number)))
        stopped = next(m.Stopped.parse(f.payload) for f in got if f.kind is FrameKind.STOPPED)
        assert stopped is not None
        return stopped

    def clear(self, reason: int, number: int) -> None:
        self.write(frames.build_plain(m.Clear(reason, number)))


def messages_of(got: list[frames.Frame]) -> list[m.Message]:
    """Return the replies and events among frames."""
    found = []
    for frame in got:
        if frame.kind is FrameKind.DATA:
            found.append(m.parse_numbered(frame.payload))
        elif frame.kind is FrameKind.EVENT:
            found.append(m.parse_numbered(frame.payload[2:]))
    return [f for f in found if f is not None]


def bench(**options: Any) -> BareHand:
    """Return a hand at a table, with a session open."""
    hand = BareHand(SimTable(TableOptions(**{"hands": 0, **options})))
    hand.hello()
    return hand


def put_in(hand: BareHand, tiles: int = 136) -> None:
    """Put tiles into the drum."""
    for tile in list(hand.table.boxes[0].tiles[:tiles]):
        tile.move(hand.table.machine.drum.place)


DONE = ("Done", 0)


def failed(reason: m.FailReason) -> tuple[str, int]:
    return "Failed", reason


def ended(hand: BareHand, us: int) -> list[tuple[str, int]]:
    """Wait and return how orders ended: Done and 0, or Failed and its reason."""
    got = messages_of(hand.wait(us))
    return [(type(g).__name__, getattr(g, "reason", 0)) for g in got if isinstance(g, m.Done | m.Failed)]


def ordered(hand: BareHand, got: list[Any], us: int) -> tuple[str, int]:
    """Return how one order ended."""
    assert isinstance(got[0], m.Accepted), got
    (one,) = ended(hand, us)
    return one


def washed(hand: BareHand, side: int, tiles: int, us: int = 12_000_000) -> tuple[str, int] | None:
    """Fill one side and return how it ended, None where it goes on."""
    hand.run("drum", 5000)
    hand.fill(side - 1, tiles, 5000)
    end = hand.now + us
    while hand.now < end:
        got = messages_of(hand.wait(200_000))
        for op in (hand._op - 1, hand._op):
            hand.command(m.Renew(op, 5000))
        for one in got:
            if isinstance(one, m.Done | m.Failed) and one.op == hand._op:
                return type(one).__name__, getattr(one, "reason", 0)
    return None
