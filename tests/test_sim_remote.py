"""The virtual remote: pulses a real decoder takes, in the portions and at the times of the kernel."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocol.core import TICK, earliest
from sim.remote import FINGER_US, PERIOD_US, REPEAT_CODE_US, Press, Remote, frame, words
from tablectl.remote.nec import EndOfInput, Frame, NecDecoder, Reject, Repeat, Words

PULSE, TIMEOUT = 1, 3
CODES = st.tuples(st.integers(0, 0xFFFF), st.integers(0, 0xFF))


def run(remote: Remote, *presses: tuple[int, Press]) -> list[tuple[int, bytes]]:
    """Press at these times and tick until all is quiet; return each read and its time."""
    out, waiting = [], list(presses)
    while True:
        now_us = earliest(waiting[0][0] if waiting else None, remote.next_deadline())
        if now_us is None:
            return out
        event = waiting.pop(0)[1] if waiting and waiting[0][0] == now_us else TICK
        out += [(now_us, read.data) for read in remote.handle(event, now_us)]
        deadline_us = remote.next_deadline()
        assert deadline_us is None or deadline_us > now_us


def split(data: bytes) -> list[tuple[int, int]]:
    """Return the kind and the µs of each word."""
    found = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    return [(word >> 24, word & 0xFFFFFF) for word in found]


def bytes_of(user_code: int, data_code: int) -> bytes:
    low, high = user_code & 0xFF, user_code >> 8
    return bytes((low, high or low ^ 0xFF, data_code, data_code ^ 0xFF))


def decode(data: bytes) -> tuple[Frame | Repeat | Reject, ...]:
    decoder = NecDecoder()
    return decoder.handle(Words(data), 0) + decoder.handle(EndOfInput(), 0)


@given(CODES, st.floats(0.8, 1.2), st.integers(0, 1 << 32), st.integers(0, 500_000))
def test_what_the_remote_sends_always_decodes_back(
    codes: tuple[int, int], scale: float, seed: int, held_us: int
) -> None:
    reads = run(Remote(seed), (0, Press(*codes, held_us)))
    scaled = [(kind, round(us * scale)) for _, data in reads for kind, us in split(data)]
    found = decode(b"".join((kind << 24 | us).to_bytes(4, "little") for kind, us in scaled))
    assert [type(each) for each in found] == [Frame] + [Repeat] * ((held_us - 1) // PERIOD_US)
    assert isinstance(found[0], Frame)
    assert found[0].raw == bytes_of(*codes)


@given(st.lists(st.tuples(CODES, st.integers(0, 400_000)), max_size=5), st.sampled_from([125_000, 15_600]))
def test_presses_that_meet_are_queued_and_none_is_lost(
    plan: list[tuple[tuple[int, int], int]], timeout_us: int
) -> None:
    presses = [(0, Press(*codes, held_us)) for codes, held_us in plan]
    found = decode(b"".join(data for _, data in run(Remote(timeout_us=timeout_us), *presses)))
    frames = [each for each in found if isinstance(each, Frame)]
    assert [each.raw for each in frames] == [bytes_of(*codes) for codes, _ in plan]
    assert not any(isinstance(each, Reject) for each in found)
    for one, other in pairwise(frames):
        assert other.t_us - one.t_us >= PERIOD_US + FINGER_US - 1000


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    plan = [(0, Press(0x00, 0x45, 300_000)), (2_000_000, Press(0xEF00, 0x07))]
    assert run(Remote(7), *plan) == run(Remote(7), *plan) != run(Remote(8), *plan)


def test_no_word_is_zero_and_no_jitter_is_wild() -> None:
    ideal = [*frame(0x00, 0x45)]
    (_, gap_us), *sent = [word for _, data in run(Remote(3), (0, Press(0x00, 0x45))) for word in split(data)]
    assert gap_us > 0
    assert [kind for kind, _ in sent] == [*[PULSE, 0] * 33, PULSE, TIMEOUT]
    errors = [us - abs(want) for (_, us), want in zip(sent[:-1], ideal, strict=True)]
    assert max(map(abs, errors)) <= 40
    assert len(set(errors)) > 10


def test_edges_are_handed_over_15_ms_after_the_first_of_a_batch() -> None:
    reads = run(Remote(), (1000, Press(0x00, 0x45)))
    edge_us = 1000
    for at_us, data in reads[:-1]:
        first, *others = split(data)
        edge_us += first[1] if edge_us > 1000 else 0
        assert at_us == edge_us + 15_000
        edge_us += sum(us for _, us in others)
    assert split(reads[-1][1]) == [(TIMEOUT, 125_000)]
    assert reads[-1][0] == edge_us + 125_000


@pytest.mark.parametrize("timeout_us", [125_000, 15_600])
def test_after_a_timeout_come_the_space_since_and_the_whole_gap(timeout_us: int) -> None:
    reads = run(Remote(timeout_us=timeout_us), (0, Press(0, 1)), (900_000, Press(0, 2)))
    at = next(i for i, (_, data) in enumerate(reads) if split(data)[0][0] == TIMEOUT)
    timeout_at_us, next_at_us = reads[at][0], reads[at + 1][0]
    since, gap, leader, *_ = split(reads[at + 1][1])
    assert since == (0, next_at_us - timeout_at_us)
    assert gap == (0, 900_000 - (timeout_at_us - timeout_us))
    assert leader[0] == PULSE
    assert next_at_us == 900_000 + 15_000


def test_a_long_quiet_is_told_as_long_as_a_word_can_tell() -> None:
    reads = run(Remote(), (0, Press(0, 1)), (60_000_000, Press(0, 2)))
    assert max(us for _, data in reads for _, us in split(data)) == 0xFFFFFF


@given(st.lists(st.integers(0, 300_000), max_size=40))
def test_a_late_tick_loses_nothing_and_moves_no_edge(steps: list[int]) -> None:
    press = Press(0x00, 0x45, 1_000_000)
    remote, now_us, data = Remote(5), 0, b""
    remote.handle(press, 0)
    for step_us in [*steps, 20_000_000]:
        now_us += step_us
        data += b"".join(read.data for read in remote.handle(TICK, now_us))
    assert data == b"".join(read for _, read in run(Remote(5), (0, press)))
    assert remote.next_deadline() is None


@pytest.mark.parametrize("timeout_us", [125_000, 15_600])
def test_a_key_is_out_45_ms_after_its_last_pulse(timeout_us: int) -> None:
    for seed in range(50):
        remote, decoder, now_us = Remote(seed, timeout_us), NecDecoder(), 0
        remote.handle(Press(seed, 0x45, 400_000), 0)
        while (now_us := earliest(remote.next_deadline(), decoder.next_deadline()) or 0) > 0:
            heard = [*decoder.handle(TICK, now_us)]
            for read in remote.handle(TICK, now_us):
                heard += decoder.handle(Words(read.data), now_us)
            for each in heard:
                assert not isinstance(each, Reject)
                length_us = sum(map(abs, frame(seed, 0x45) if isinstance(each, Frame) else REPEAT_CODE_US))
                pulse_end_us = each.t_us - 500_000 + length_us  # the stream began with the quiet before
                assert now_us - pulse_end_us <= 45_000


def test_a_press_no_remote_can_send_is_refused() -> None:
    for codes in ((-1, 0, 0), (0x10000, 0, 0), (0, 256, 0), (0, 0, -1)):
        with pytest.raises(ValueError, match="no remote can send"):
            Press(*codes)


def test_words_of_plain_durations() -> None:
    assert words([9000, -4500]) == bytes.fromhex("28230001 94110000")
    assert words([-(1 << 30)]) == bytes.fromhex("FFFFFF00")
