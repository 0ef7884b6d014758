"""Framing: garbage costs the frame it hit and no other, and nothing from outside raises."""

import random
import zlib

import pytest
from cobs import cobs as peer
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocol import frames
from firmware_protocol.codes import FrameKind
from firmware_protocol.errors import FrameTooLongError
from firmware_protocol.framing import MAX_FRAME, Deframer, cobs_decode, cobs_encode, encode
from sim.lab.link import run_damaged

bodies = st.binary(min_size=5, max_size=69)
# Zeros are what framing is about; random bytes alone have few.
zeroish = st.lists(st.sampled_from(b"\0\0\0\1\2\xff"), max_size=80).map(bytes)


def deframe(stream: bytes, cuts: list[int]) -> list[bytes]:
    deframer = Deframer()
    found: list[bytes] = []
    for size in cuts:
        found += deframer.feed(stream[:size])
        stream = stream[size:]
    return found + deframer.feed(stream)


@given(st.binary(max_size=80) | zeroish)
def test_cobs_is_the_cobs_of_everybody_else(data: bytes) -> None:
    assert cobs_encode(data) == peer.encode(data)
    assert cobs_decode(cobs_encode(data)) == data == peer.decode(peer.encode(data))


@given(st.binary(max_size=80) | zeroish)
def test_no_zero_inside_a_frame_and_one_byte_more(data: bytes) -> None:
    assert 0 not in cobs_encode(data)
    assert len(cobs_encode(data)) == len(data) + 1


@given(st.binary(max_size=90).map(lambda d: d.replace(b"\0", b"\1")))
def test_what_the_peer_cannot_decode_is_refused_here_too(data: bytes) -> None:
    try:
        wanted = peer.decode(data)
    except peer.DecodeError:
        wanted = None
    found = cobs_decode(data)
    if data and wanted is not None:
        assert found == wanted
    elif data:
        assert found is None


@given(zeroish.filter(lambda d: 0 in d))
def test_a_zero_inside_is_no_code_and_no_endless_loop(data: bytes) -> None:
    assert cobs_decode(data) is None


@given(st.lists(bodies, max_size=6), st.lists(st.integers(0, 40), max_size=40))
def test_chunking_changes_nothing(sent: list[bytes], cuts: list[int]) -> None:
    assert deframe(b"".join(encode(b) for b in sent), cuts) == sent


@given(st.binary(max_size=600) | zeroish, st.lists(st.integers(0, 90), max_size=20))
def test_no_bytes_raise_and_memory_is_bounded(noise: bytes, cuts: list[int]) -> None:
    deframer = Deframer()
    for size in [*cuts, len(noise)]:
        deframer.feed(noise[:size])
        noise = noise[size:]
        assert len(deframer._buffer) <= MAX_FRAME + 1


@given(st.binary(max_size=300), bodies, st.binary(max_size=300))
def test_noise_before_and_behind_costs_no_frame(before: bytes, body: bytes, behind: bytes) -> None:
    assert body in Deframer().feed(before + encode(body) + behind + b"\0")


def test_a_frame_may_share_its_zero_with_the_next() -> None:
    one, two = encode(b"first"), encode(b"second")
    assert Deframer().feed(one + two[1:]) == [b"first", b"second"]


def test_a_long_run_without_a_zero_is_counted_once_and_skipped() -> None:
    deframer = Deframer()
    for _ in range(1000):
        assert deframer.feed(b"\xaa" * 64) == []
    assert deframer.feed(encode(b"hello")) == [b"hello"]
    assert deframer.counters.oversize == 1


def test_every_bit_and_every_cut_of_a_frame_is_noticed() -> None:
    wire = frames.build(FrameKind.PING, b"\1\0", 0x1234)
    for bit in range(8 * len(wire)):
        hit = bytearray(wire)
        hit[bit // 8] ^= 1 << bit % 8
        found = Deframer().feed(bytes(hit) + b"\0")
        assert found in ([], [Deframer().feed(wire)[0]])  # the edges may be hit without harm
    for cut in range(1, len(wire) - 1):
        assert Deframer().feed(wire[:cut] + b"\0") == []


def test_a_frame_too_long_for_the_wire_is_refused_by_the_sender() -> None:
    with pytest.raises(FrameTooLongError):
        encode(bytes(77))
    with pytest.raises(FrameTooLongError):
        frames.build(FrameKind.DATA, bytes(65))


def test_a_payload_longer_than_the_wire_allows_is_no_frame() -> None:
    body = bytes((0x16, 1, 0, 0, 0)) + bytes(65)
    assert Deframer().feed(encode(body)) == [body]
    assert frames.parse(body) is None


@given(bodies)
def test_taking_a_frame_apart_never_raises(body: bytes) -> None:
    frames.parse(body)


def test_the_checksum_is_zlibs_little_endian() -> None:
    body = bytes((0x17, 0x34, 0x12, 0, 0, 1, 0))
    raw = cobs_decode(encode(body)[1:-1])
    assert raw == body + zlib.crc32(body).to_bytes(4, "little")


@pytest.mark.parametrize("share", [1.0, 0.1])
def test_damaged_frames_are_never_accepted_and_their_neighbours_never_lost(share: float) -> None:
    found = run_damaged(round(20_000 * min(1, 2 * share)), seed=3, share=share)
    assert found["false_accepts"] == found["intact_lost"] == 0


def test_boot_noise_and_modem_commands_do_no_harm() -> None:
    noise = random.Random(1).randbytes(4096) + b"AT\r\nATE0\r\n" + b"\x7e\x7e~boot v1\n"
    assert Deframer().feed(noise + encode(b"after") + noise)[-1:] == [b"after"]
