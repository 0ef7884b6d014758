"""Go-back-N: nothing twice, nothing out of order, no storm of NAKs, no early repeat, no endless wait."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_protocol import frames
from firmware_protocol.codes import FrameKind
from firmware_protocol.framing import Deframer
from firmware_protocol.timing import (
    INITIAL_RTO_US,
    MAX_RTO_US,
    MIN_RTO_US,
    PING_US,
    Heartbeat,
    LineClock,
    RoundTrip,
)
from firmware_protocol.window import ACK_US, TRIES, WINDOW, LinkCounters, Window

SESSION = 0x1234


class End:
    """One end, with everything it has put on the line."""

    def __init__(self, queue: int = 64, peer_window: int | None = None) -> None:
        self.wire: list[frames.Frame] = []
        self.counters = LinkCounters()
        self.now = 0
        self.line = LineClock()
        self.window = Window(SESSION, self._transmit, self.counters, peer_window, queue)

    def _transmit(self, data: bytes) -> int:
        (body,) = Deframer().feed(data)
        frame = frames.parse(body)
        assert frame is not None
        self.wire.append(frame)
        return self.line.put(len(data), self.now)

    def sent(self) -> list[frames.Frame]:
        """Return what was put on the line since the last call."""
        self.wire, out = [], self.wire
        return out

    def take(self, kind: FrameKind, sequence: int = 0, acknowledge: int = 0, payload: bytes = b"") -> Any:
        frame = frames.Frame(kind, 1, SESSION, sequence, acknowledge, payload)
        return self.window.take(frame, self.now)

    def tick_to(self, now: int) -> bool:
        """Go on to a time, ticking at each deadline on the way."""
        while (due := self.window.next_deadline()) is not None and due <= now:
            self.now = max(self.now, due)
            if not self.window.tick(self.now):
                return False
            assert (self.window.next_deadline() or self.now + 1) > self.now
        self.now = now
        return True


def numbers(sent: list[frames.Frame]) -> list[int]:
    return [f.sequence for f in sent if f.kind is FrameKind.DATA]


def test_no_more_than_the_window_leaves_before_an_acknowledgement() -> None:
    end = End()
    for n in range(6):
        assert end.window.send(bytes((n,)), 0)
    assert numbers(end.sent()) == [0, 1, 2, 3]
    end.take(FrameKind.ACK, acknowledge=2)
    assert numbers(end.sent()) == [4, 5]


def test_a_small_receiver_is_not_flooded() -> None:
    end = End(peer_window=60)
    for _ in range(4):
        end.window.send(bytes(15), 0)  # 27 bytes each on the wire
    assert numbers(end.sent()) == [0, 1]
    end.take(FrameKind.ACK, acknowledge=1)
    assert numbers(end.sent()) == [2]


def test_a_receiver_without_any_room_still_gets_one_frame_at_a_time() -> None:
    end = End(peer_window=0)
    end.window.send(b"a", 0)
    end.window.send(b"b", 0)
    assert numbers(end.sent()) == [0]
    end.take(FrameKind.ACK, acknowledge=1)
    assert numbers(end.sent()) == [1]


def test_the_queue_is_bounded() -> None:
    end = End(queue=10)
    taken = [end.window.send(b"x", 0) for _ in range(12)]
    assert [t is not None for t in taken] == [True] * 10 + [False] * 2
    assert end.window.room == 0


def test_an_acknowledgement_of_what_was_never_sent_changes_nothing() -> None:
    end = End()
    end.window.send(b"x", 0)
    for nonsense in (2, 5, 128, 200, 255):
        end.take(FrameKind.ACK, acknowledge=nonsense)
    assert end.window.room == 63
    end.take(FrameKind.ACK, acknowledge=1)
    assert end.window.room == 64


def test_a_pure_acknowledgement_waits_five_milliseconds_for_company() -> None:
    end = End()
    assert end.take(FrameKind.DATA, 0, payload=b"x") == b"x"
    assert not end.sent()
    assert end.window.next_deadline() == ACK_US
    end.tick_to(ACK_US)
    assert [(f.kind, f.acknowledge) for f in end.sent()] == [(FrameKind.ACK, 1)]
    assert end.take(FrameKind.DATA, 1, payload=b"y") == b"y"
    end.window.frame(FrameKind.PONG)  # any frame carries it
    assert end.window.next_deadline() is None
    assert end.sent()[0].acknowledge == 2


def test_one_gap_one_nak_then_silence_until_it_is_filled() -> None:
    end = End()
    for sequence in (1, 2, 3, 1, 2, 3):
        assert end.take(FrameKind.DATA, sequence, payload=b"x") is None
    assert [f.kind for f in end.sent()] == [FrameKind.NAK]
    assert end.take(FrameKind.DATA, 0, payload=b"x") == b"x"
    assert end.take(FrameKind.DATA, 2, payload=b"x") is None
    assert [(f.kind, f.acknowledge) for f in end.sent()] == [(FrameKind.NAK, 1)]


def test_a_nak_makes_the_sender_go_back_once_however_often_it_comes() -> None:
    end = End()
    for _ in range(4):
        end.window.send(b"x", 0)
    end.sent()
    for _ in range(3):
        end.take(FrameKind.NAK, acknowledge=1)
    assert numbers(end.sent()) == [1, 2, 3]


def test_a_duplicate_is_acknowledged_again_and_not_delivered_again() -> None:
    end = End()
    end.take(FrameKind.DATA, 0, payload=b"x")
    end.tick_to(ACK_US)
    end.sent()
    assert end.take(FrameKind.DATA, 0, payload=b"x") is None
    end.tick_to(end.now + ACK_US)
    assert [(f.kind, f.acknowledge) for f in end.sent()] == [(FrameKind.ACK, 1)]


def test_a_frame_from_nowhere_is_not_even_answered() -> None:
    end = End()
    assert end.take(FrameKind.DATA, 60, payload=b"x") is None
    end.tick_to(10_000_000)
    assert not end.sent()


def test_the_last_try_is_the_fifth_and_each_waits_twice_as_long() -> None:
    end = End()
    end.window.send(b"x", 0)
    times = []
    while end.window.tick(end.now):
        if end.sent():
            times.append(end.now)
        end.now = end.window.next_deadline() or 0
    assert len(times) == TRIES
    gaps = [b - a for a, b in zip(times, [*times[1:], end.now], strict=True)]
    wire_us = 1_129
    for gap, wanted in zip(gaps, [200_000, 400_000, 800_000, 1_000_000, 1_000_000], strict=True):
        assert wanted <= gap <= wanted + 2 * wire_us


def test_the_time_out_begins_when_the_queued_bytes_have_left() -> None:
    end = End()
    end.line.put(1_152, 0)  # 100 ms of other bytes wait in front
    end.window.send(b"x", 0)
    assert (end.window.next_deadline() or 0) >= 100_000 + INITIAL_RTO_US


def test_karn_no_sample_is_taken_from_a_frame_sent_twice() -> None:
    end = End()
    end.window.send(b"x", 0)
    end.tick_to(250_000)
    end.take(FrameKind.ACK, acknowledge=1)
    assert end.window.round_trip.smoothed_us is None
    assert end.window.round_trip.rto_us == 2 * INITIAL_RTO_US


@given(st.lists(st.integers(0, 5_000_000), min_size=1, max_size=50))
def test_the_time_out_stays_between_its_bounds(samples: list[int]) -> None:
    trip = RoundTrip()
    for sample in samples:
        trip.sample(sample)
        assert MIN_RTO_US <= trip.rto_us <= MAX_RTO_US
        trip.back_off()
        assert trip.rto_us <= MAX_RTO_US


def test_a_steady_round_trip_gives_a_short_time_out() -> None:
    trip = RoundTrip()
    for _ in range(50):
        trip.sample(8_000)
    assert trip.rto_us == MIN_RTO_US
    assert trip.smoothed_us == 8_000


def test_a_ping_is_due_when_nothing_is_sent_or_nothing_is_heard() -> None:
    beat = Heartbeat(0)
    beat.sent(200_000)
    beat.heard(100_000)
    assert beat.next_deadline() == 100_000 + PING_US
    beat.heard(210_000)
    assert beat.next_deadline() == 200_000 + PING_US
    for n in range(5):
        beat.sent(beat.next_deadline())
        assert beat.due(beat.next_deadline())
        assert beat.lost == (n == 4)


class _Pair:
    """Two ends and two lines that lose, double and reorder, in lock step."""

    def __init__(self, rng: random.Random, chance: float) -> None:
        self.ends = (End(), End())
        self._rng = rng
        self._chance = chance
        self._flying: list[tuple[int, int, int, frames.Frame]] = []
        self._count = 0

    def step(self) -> None:
        for side, end in enumerate(self.ends):
            for frame in end.sent():
                if self._rng.random() < self._chance:
                    continue
                for _ in range(2 if self._rng.random() < self._chance else 1):
                    late = self._rng.choice((0, 0, 0, 12_000)) if self._rng.random() < self._chance else 0
                    self._count += 1
                    self._flying.append((end.now + 2_000 + late, self._count, 1 - side, frame))
        self._flying.sort(key=lambda f: f[:2])

    def run(self, got: tuple[list[bytes], list[bytes]], until: int) -> bool:
        while True:
            self.step()
            dues = [e.window.next_deadline() for e in self.ends]
            times = [d for d in dues if d is not None] + [f[0] for f in self._flying[:1]]
            if not times or min(times) > until:
                for end in self.ends:
                    end.now = until
                return True
            now = max(min(times), max(e.now for e in self.ends))
            for end in self.ends:
                end.now = now
                if not end.window.tick(now):
                    return False
            while self._flying and self._flying[0][0] <= now:
                _, _, side, frame = self._flying.pop(0)
                payload = self.ends[side].window.take(frame, now)
                if payload is not None:
                    got[side].append(payload)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.02, 0.1, 0.25]), st.integers(1, 400))
def test_both_directions_deliver_once_and_in_order_past_the_wrap(
    seed: int, chance: float, count: int
) -> None:
    pair = _Pair(random.Random(seed), chance)
    got: tuple[list[bytes], list[bytes]] = ([], [])
    sent = [n.to_bytes(2, "little") for n in range(count)]
    alive, given_ = True, 0
    while alive and given_ < count:
        while given_ < count and min(e.window.room for e in pair.ends) > 0:
            for end in pair.ends:
                end.window.send(sent[given_], end.now)
            given_ += 1
        alive = pair.run(got, max(e.now for e in pair.ends) + 50_000)
    alive = alive and pair.run(got, max(e.now for e in pair.ends) + 10**8)
    for received in got:
        assert received == sent[: len(received)]
        if alive:
            assert received == sent


@pytest.mark.parametrize("start", [0, 1, 127, 128, 251, 252, 255])
def test_an_old_duplicate_is_never_new_wherever_the_ring_stands(start: int) -> None:
    end = End()
    for n in range(start):
        end.take(FrameKind.DATA, n & 0xFF, payload=b"x")
    for back in range(1, 129):
        assert end.take(FrameKind.DATA, start - back & 0xFF, payload=b"old") is None
    assert end.take(FrameKind.DATA, start & 0xFF, payload=b"new") == b"new"


def test_window_and_numbers_leave_room_for_old_duplicates() -> None:
    assert WINDOW + 128 < 256
