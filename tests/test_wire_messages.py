"""Messages: what does not fit its layout is no message, and every one comes back as it went."""

import struct
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocol import messages as m
from firmware_protocol import reports
from firmware_protocol.description import Description
from firmware_protocol.errors import MessageError
from firmware_protocol.framing import MAX_PAYLOAD
from firmware_protocol.message import REGISTRY, message, parse_numbered
from firmware_protocol.soundness import MOST
from sim.board.describe import describe
from sim.model import load

_RANGES = {"B": (0, 255), "b": (-128, 127), "H": (0, 65535), "I": (0, 2**32 - 1)}


def values_of(cls: type[m.Message]) -> st.SearchStrategy[list[Any]]:
    parts: list[st.SearchStrategy[Any]] = []
    for code in cls.LAYOUT.format[1:].replace("8s", "s"):
        parts.append(st.binary(min_size=8, max_size=8) if code == "s" else st.integers(*_RANGES[code]))
    if cls.TAIL:
        parts.append(st.binary(max_size=MAX_PAYLOAD - 1 - cls.LAYOUT.size))
    return st.tuples(*parts).map(list)


messages = st.sampled_from(list(REGISTRY.values())).flatmap(
    lambda cls: values_of(cls).map(lambda values: cls(*values))
)


@given(messages)
def test_a_message_comes_back_as_it_went(sent: m.Message) -> None:
    assert parse_numbered(sent.numbered()) == sent
    assert len(sent.numbered()) <= MAX_PAYLOAD


@given(messages, st.integers(1, 40))
def test_a_message_cut_short_is_none(sent: m.Message, cut: int) -> None:
    payload = sent.payload()
    if not payload:
        return
    short = payload[: -min(cut, len(payload))]
    found = type(sent).parse(short)
    if not type(sent).TAIL or len(short) < type(sent).LAYOUT.size:
        assert found is None


@given(messages, st.binary(min_size=1, max_size=8))
def test_a_message_with_bytes_too_many_is_none(sent: m.Message, more: bytes) -> None:
    if not type(sent).TAIL:
        assert type(sent).parse(sent.payload() + more) is None


@given(st.binary(max_size=70))
def test_no_payload_raises(data: bytes) -> None:
    parse_numbered(data)


def test_a_value_out_of_range_is_an_error_of_the_caller() -> None:
    with pytest.raises(MessageError):
        m.Run(op=2**32, part=0, direction=1, lease_ms=1).payload()
    with pytest.raises(MessageError):
        m.Ping(-1).payload()


def test_every_layout_has_as_many_values_as_its_message_has_fields() -> None:
    for cls in REGISTRY.values():
        count = len(struct.unpack(cls.LAYOUT.format, bytes(cls.LAYOUT.size))) + cls.TAIL
        assert count == len(fields(cls)), cls


def test_two_messages_with_one_number_are_a_defect() -> None:
    with pytest.raises(ValueError, match="0x20"):
        message(0x20, m.Sender.HOST, "B")(m.Ping)


def widest() -> Description:
    """Return a table of eight mouths with as many sensors as a description may have."""
    known = describe(load("eight-mouth"))
    more = tuple(f"more.{n}" for n in range(MOST["sensors"] - len(known.sensors)))
    found = replace(known, sensors=known.sensors + more)
    found.check()
    return found


def test_a_table_of_eight_mouths_fits_into_every_message_that_counts() -> None:
    sensors, counts = reports.packed(widest(), 0, bytes(16))
    messages = (
        m.HelloAck(1, 2, 3, bytes(8), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, sensors, counts).payload(),
        m.Stopped(1, 2, 3, 4, sensors, counts).payload(),
        m.Status(1, sensors, counts).payload(),
        m.Done(1, 2, sensors, counts).numbered(),
        m.Failed(1, 2, 3, sensors, counts).numbered(),
    )
    assert max(map(len, messages)) <= MAX_PAYLOAD


@given(
    st.integers(0, 2**64 - 1), st.binary(min_size=16, max_size=16), st.sampled_from(["four", "eight", "64"])
)
def test_no_bit_of_a_sensor_and_no_count_is_lost_in_a_report(bits: int, counts: bytes, size: str) -> None:
    known = widest() if size == "64" else describe(load(f"{size}-mouth"))
    bits &= (1 << len(known.sensors)) - 1
    counts = counts[: 2 * known.mouths]
    report = m.Status(1, *reports.packed(known, bits, counts))
    again = m.Status.parse(report.payload())
    assert again is not None
    assert len(again.counts) == reports.size(known)
    assert reports.sensor_bits(known, again) == bits
    assert reports.mouth_counts(known, again) == counts


def test_a_board_of_at_most_32_sensors_sends_no_byte_more_than_its_counts() -> None:
    known = describe(load("four-mouth"))
    known = replace(known, sensors=known.sensors + tuple(f"more.{n}" for n in range(32 - len(known.sensors))))
    assert reports.packed(known, 2**32 - 1, bytes(8)) == (2**32 - 1, bytes(8))


def test_no_message_can_carry_a_face_of_a_tile() -> None:
    tails = {cls.__name__: fields(cls)[-1].name for cls in REGISTRY.values() if cls.TAIL}
    assert set(tails.values()) == {"counts", "display", "data"}
