"""Serial lines that are slow, and lines that lose, damage, double or reorder what is put on them; seeded."""

import heapq
import random
from dataclasses import dataclass, field

from firmware_protocol.core import Tick
from sim.world import BYTE_NS

_OVERTAKEN_US = (2_000, 15_000)  # how much later a piece comes that others overtake


@dataclass(frozen=True, slots=True)
class Put:
    """Put bytes on the line; `urgent` ones drop what has not left yet."""

    data: bytes
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Out:
    """Bytes come out at the other end."""

    data: bytes


@dataclass(frozen=True, slots=True)
class WireModel:
    """What one direction of a line does; chances are per piece put on it, which is a frame."""

    drop: float = 0.0
    flip: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    latency_us: int = 1_000
    jitter_us: int = 0
    bytewise: bool = False

    @classmethod
    def bad(cls, chance: float) -> "WireModel":
        """Return a line that drops, flips, doubles and reorders, each with the same chance."""
        return cls(drop=chance, flip=chance, duplicate=chance, reorder=chance)


@dataclass(slots=True, order=True)
class _Piece:
    time_us: int
    order: int
    starts_ns: int = field(compare=False)
    data: bytes = field(compare=False)


class Line:
    """One direction of a serial line as a core: bytes queue, take their time and come in pieces."""

    def __init__(self, model: WireModel, seed: str) -> None:
        self.model = model
        self.pieces = 0
        self._rng = random.Random(f"{seed}/line")
        self._heap: list[_Piece] = []
        self._free_ns = 0
        self._last_us = 0

    def handle(self, event: Put | Tick, now_us: int) -> tuple[Out, ...]:
        """Take bytes, or let out what has arrived."""
        if isinstance(event, Put):
            if event.urgent:
                self._flush(now_us)
            self._put(event.data, now_us)
        out = []
        while self._heap and self._heap[0].time_us <= now_us:
            out.append(Out(heapq.heappop(self._heap).data))
        return tuple(out)

    def next_deadline(self) -> int | None:
        """Return when the next piece arrives."""
        return self._heap[0].time_us if self._heap else None

    def _put(self, data: bytes, now_us: int) -> None:
        rng, model = self._rng, self.model
        chances = [rng.random() < c for c in (model.drop, model.flip, model.duplicate, model.reorder)]
        dropped, flipped, doubled, overtaken = chances
        starts_ns = max(self._free_ns, now_us * 1000)
        self._free_ns = starts_ns + len(data) * BYTE_NS
        if dropped:
            return
        if flipped:
            data = flip_bits(data, rng)
        late_us = rng.randint(*_OVERTAKEN_US) if overtaken else 0
        if model.bytewise:
            for index in range(len(data)):
                self._plan(starts_ns + index * BYTE_NS, data[index : index + 1], late_us)
        else:
            self._plan(starts_ns, data, late_us)
        if doubled:
            self._plan(starts_ns, data, rng.randint(0, _OVERTAKEN_US[1]))

    def _plan(self, starts_ns: int, data: bytes, late_us: int) -> None:
        self.pieces += 1
        arrives_us = -(-(starts_ns + len(data) * BYTE_NS) // 1000) + self.model.latency_us
        if self.model.jitter_us:
            arrives_us = max(self._last_us, arrives_us + self._rng.randint(0, self.model.jitter_us))
            self._last_us = arrives_us
        heapq.heappush(self._heap, _Piece(arrives_us + late_us, self.pieces, starts_ns, data))

    def _flush(self, now_us: int) -> None:
        kept = []
        for piece in self._heap:
            left = max(0, now_us * 1000 - piece.starts_ns) // BYTE_NS
            if left:
                piece.data = piece.data[:left]
                kept.append(piece)
        self._heap = kept
        heapq.heapify(self._heap)
        self._free_ns = now_us * 1000


def flip_bits(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with one to three bits changed."""
    damaged = bytearray(data)
    for bit in rng.sample(range(8 * len(data)), rng.randint(1, 3)):
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def damage(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes of a frame with flipped bits, a burst of noise, or a byte lost or slipped in."""
    while True:
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0:
                found = flip_bits(data, rng)
            case 1:
                size = rng.randint(1, 8)
                found = data[:at] + rng.randbytes(size) + data[at + size :]
            case 2:
                found = data[:at] + data[at + 1 :]
            case _:
                found = data[:at] + rng.randbytes(1) + data[at:]
        if found != data:
            return found
