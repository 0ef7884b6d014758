"""Nonsense from the board: nothing falls, hangs or moves, and a person is told in either language."""

import json
import zlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from liar import GOOD, Liar, bits
from wire_bench import BareHand

from firmware_protocol import frames
from firmware_protocol import host_link as hl
from firmware_protocol import messages as m
from firmware_protocol.catalogue import LANGUAGES
from firmware_protocol.codes import FrameKind
from firmware_protocol.errors import FrameTooLongError, MessageError
from firmware_protocol.framing import cobs_encode, encode
from tablectl.table import events as ev

STANDING = bytes((0, 0) * 4)


def opened(**hello: Any) -> Liar:
    """Return a liar whose session is open, and that has heard nothing but the greeting."""
    liar = Liar(**hello)
    assert liar.link.up
    liar.wait(0.3)
    return liar


def alive(liar: Liar) -> bool:
    """Tell whether the session goes on: a ping is sent and its answer taken."""
    pings = liar.kinds().count(FrameKind.PING)
    liar.wait(3)
    return liar.link.up and liar.kinds().count(FrameKind.PING) > pings and not liar.crashes()


# --- bytes that are no frames -------------------------------------------------------------------------------

NOISE = {
    "garbage": bytes(range(1, 250)) * 20,
    "zeros": bytes(500),
    "half a frame": frames.build(FrameKind.DATA, bytes(40), 7)[:30],
    "a frame without its end": frames.build(FrameKind.DATA, bytes(40), 7)[:-1],
    "a frame of 10,000 bytes": b"\0" + b"\xaa" * 10_000 + b"\0",
    "a body longer than a frame": b"\0" + cobs_encode(bytes(120)) + b"\0",
    "a payload longer than the wire allows": encode(bytes((0x16, 7, 0, 0, 0)) + bytes(65)),
    "a kind that is none": encode(bytes((0x1F, 7, 0, 0, 0))),
    "no kind at all": encode(bytes((0x10, 7, 0, 0, 0))),
    "a later version's frame": encode(bytes((0x26, 7, 0, 0, 0)) + b"\x40\1\0\0\0"),
    "modem commands": b"AT\r\nATE0\r\n",
}


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
def test_no_noise_ends_a_session_or_moves_anything(noise: bytes) -> None:
    liar = opened()
    said = len(liar.said)
    for at in range(0, len(noise), 97):
        liar.write(noise[at : at + 97])
    assert len(liar.said) == said
    assert alive(liar)
    assert not liar.motions()


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=120), max_size=8))
def test_no_bytes_make_the_host_fall_or_order_anything(pieces: list[bytes]) -> None:
    liar = opened()
    for piece in pieces:
        liar.write(piece)
        liar.wait(0.05)
    assert alive(liar)
    assert not liar.motions()


@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(FrameKind)), st.integers(0, 5), st.binary(max_size=30)), max_size=12
    )
)
def test_no_frame_of_the_session_makes_the_host_fall(said: list[tuple[FrameKind, int, bytes]]) -> None:
    liar = opened()
    keys = 0
    for kind, sequence, payload in said:
        if kind is FrameKind.DATA and sequence < 3:
            liar.reply(payload)
        else:
            liar.say(kind, payload, sequence)
        keys += isinstance(m.parse_numbered(payload[2:]), m.KeyEvent)
        liar.wait(0.02)
    liar.wait(2)
    assert not liar.crashes()
    assert keys or not liar.motions()


replies = st.sampled_from([m.Accepted, m.Done, m.Failed, m.Unsupported, m.Status, m.Chunk, m.SensorMissed])


@settings(max_examples=150)
@given(st.lists(st.tuples(replies, st.binary(min_size=13, max_size=21)), max_size=10))
def test_no_value_in_a_reply_makes_the_host_fall_or_order_anything(
    said: list[tuple[type[m.Message], bytes]],
) -> None:
    liar = opened()
    for cls, values in said:
        size = cls.LAYOUT.size
        liar.reply(bytes((cls.NUMBER,)) + values[:size] + (STANDING if cls.TAIL else b""))
        liar.wait(0.02)
    liar.wait(2)
    assert not liar.crashes()
    assert not liar.motions()


# --- messages that say nothing ------------------------------------------------------------------------------

UNKNOWN = {
    "empty": b"",
    "a number that is none": b"\x7f\1\2\3",
    "a command from the board": m.Run(1, 0, 1, 2000).numbered(),
    "HELLO in sequence": m.Hello(1, 0).numbered(),
    "DONE cut short": m.Done(1, 0, 0, b"").numbered()[:-1],
    "ACCEPTED with too much": m.Accepted(1).numbered() + b"\0",
}


@pytest.mark.parametrize("payload", UNKNOWN.values(), ids=UNKNOWN)
def test_an_unknown_reply_is_acknowledged_counted_and_changes_nothing(payload: bytes) -> None:
    liar = opened()
    said, unknown = len(liar.said), liar.link.counters.unknown
    liar.reply(payload)
    liar.wait(0.01)
    assert liar.heard[-1].kind is FrameKind.ACK
    assert liar.heard[-1].acknowledge == liar._sequence
    assert liar.link.counters.unknown == unknown + 1
    assert len(liar.said) == said
    assert alive(liar)


@pytest.mark.parametrize(
    "message",
    [b"", b"\x7f\1", m.Run(1, 0, 1, 2000).numbered(), m.KeyEvent(0, 0, 0).numbered()[:-1]],
    ids=["empty", "a number that is none", "a command", "cut short"],
)
def test_an_unknown_event_is_acknowledged_and_the_next_one_comes(message: bytes) -> None:
    liar = opened()
    liar.say(FrameKind.EVENT, bytes((1, 1)) + message)
    if message:
        assert liar.heard[-1].kind is FrameKind.EVENT_ACK
        assert liar.heard[-1].payload == b"\1"
    liar.say(FrameKind.EVENT, bytes((2 if message else 1, 1)) + m.KeyEvent(2, 0, 0).numbered())
    assert liar.heard[-1].payload == (b"\2" if message else b"\1")
    assert not liar.motions()
    assert alive(liar)


@pytest.mark.parametrize(
    "message",
    [m.KeyEvent(len(GOOD.keys), 0, 0), m.KeyEvent(255, 0, 0), m.SensorMissed(200, 0)],
    ids=["the key behind the last", "key 255", "sensor 200"],
)
def test_an_event_of_what_was_never_described_presses_nothing(message: m.Message) -> None:
    liar = opened()
    said = len(liar.said)
    liar.say(FrameKind.EVENT, bytes((1, 1)) + message.numbered())
    assert liar.heard[-1].kind is FrameKind.EVENT_ACK
    assert len(liar.said) == said
    assert alive(liar)
    assert not liar.motions()


@pytest.mark.parametrize(
    "reply",
    [
        m.Accepted(999),
        m.Done(999, 1, 0, STANDING),
        m.Failed(999, m.FailReason.STALL, 1, 0, STANDING),
        m.Failed(999, 77, 1, 0, STANDING),
        m.Unsupported(0x20, 99),
    ],
    ids=repr,
)
def test_an_answer_to_what_was_never_asked_changes_nothing(reply: m.Message) -> None:
    liar = opened()
    state = liar.host.controller.state
    liar.reply(reply)
    assert alive(liar)
    assert liar.host.controller.state == state
    assert not [s for s in liar.said if isinstance(s, ev.FaultRaised)]
    assert not liar.motions()


# --- answers said more than once ----------------------------------------------------------------------------


def home(times: int) -> Liar:
    """Let a panel key start homing on a board that says each of its answers so many times."""

    def answer(liar: Liar, message: m.Message) -> None:
        if isinstance(message, m.Stroke):
            for _ in range(times):
                liar.reply(m.Accepted(message.op))
            for _ in range(times):
                liar.reply(m.Done(message.op, 10, bits(), STANDING))

    liar = Liar(answer=answer, sensors=0)
    liar.wait(0.5)
    for number, phase in ((1, m.Phase.DOWN), (2, m.Phase.UP)):
        liar.say(FrameKind.EVENT, bytes((number, 1)) + m.KeyEvent(0, phase, 0).numbered())
        liar.wait(0.2)
    liar.wait(5)
    return liar


def test_an_answer_said_three_times_counts_once() -> None:
    once, thrice = home(1), home(3)
    assert once.motions(), "homing moves something"
    assert thrice.motions() == once.motions()
    assert thrice.host.controller.state == once.host.controller.state == "rest"
    assert not thrice.crashes()


# --- counts of another table --------------------------------------------------------------------------------

LENGTHS = [0, 1, 7, 9, 16]


def refused_counts(liar: Liar, length: int) -> None:
    """Hold what must be: refused, told in both languages, nothing ordered."""
    told = liar.fault()
    assert told["code"] == "E14"
    for lang in LANGUAGES:
        line = told["text"][lang][1]
        assert (str(length) in line, "4" in line) == (True, True)
    assert not liar.link.up
    assert not liar.motions()
    assert not liar.crashes()


@pytest.mark.parametrize("length", LENGTHS)
def test_a_greeting_that_counts_other_mouths_opens_nothing(length: int) -> None:
    liar = Liar(counts=bytes(length))
    liar.wait(2)
    assert not [s for s in liar.said if isinstance(s, ev.StateChanged) and s.new != "fault"]
    refused_counts(liar, length)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", ["STATUS", "DONE", "FAILED"])
def test_a_board_that_counts_other_mouths_than_it_has_is_refused(kind: str, length: int) -> None:
    liar = opened()
    counts = bytes(length)
    match kind:
        case "STATUS":
            liar.say(FrameKind.STATUS, m.Status(1, 0, counts).payload())
        case "DONE":
            liar.reply(m.Done(1, 1, 0, counts))
        case _:
            liar.reply(m.Failed(1, 1, 1, 0, counts))
    refused_counts(liar, length)
    assert FrameKind.STOP_ALL in liar.kinds(), "what moves is stopped"


@pytest.mark.parametrize("length", LENGTHS)
def test_a_stop_is_believed_whatever_it_counts(length: int) -> None:
    liar = opened(counts=bytes((5, 4) * 4))
    told = stop(liar, length)
    assert told.reason == m.StopReason.WIRED
    assert "stop.line" in told.state.sensors
    assert (told.state.taken, told.state.stored) == ((5,) * 4, (4,) * 4), "the counts that were known"
    assert not any(told.state.unsure)
    assert liar.fault()["code"] == "E17"


def test_a_stop_that_counts_other_mouths_leaves_every_store_in_doubt_where_nothing_is_known() -> None:
    liar = opened()
    liar.host.session._newest = None
    told = stop(liar, 3)
    assert told.state.unsure == (True,) * 4
    assert told.state.stored == (63,) * 4


def stop(liar: Liar, length: int) -> ev.Stopped:
    """Say the wired stop with so many bytes of counts; return what the session tells."""
    sensors = 1 << GOOD.sensors.index("stop.line")
    stopped = m.Stopped(m.StopReason.WIRED, 1, 0, 5_000, sensors, bytes(length))
    liar.write(frames.build_plain(stopped, liar._session))
    (told,) = [t for t in liar.told if isinstance(t, ev.Stopped)]
    assert not liar.crashes()
    return told


def test_an_order_whose_answer_was_not_believed_is_told_as_unknown() -> None:
    liar = opened()
    (panel,) = [c for c in liar.commands if isinstance(c, m.Panel)]
    liar.reply(m.Done(panel.op, 1, 0, bytes(3)))
    (lost,) = [t for t in liar.told if isinstance(t, ev.LinkLost)]
    assert lost.unknown == (panel.op,)
    assert not [t for t in liar.told if isinstance(t, ev.Done)]


# --- greetings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 2, 15])
def test_a_board_of_another_major_version_is_refused_and_the_person_told_both(version: int) -> None:
    liar = Liar()
    liar.give(hl.Closed())
    liar._welcome = lambda nonce: liar.write(encode(bytes((version << 4 | FrameKind.HELLO_ACK, 0, 0, 0, 0))))
    liar.give(hl.Opened())
    told = liar.fault()
    assert told["code"] == "E14"
    for lang in LANGUAGES:
        assert str(version) in told["text"][lang][1]
    liar.wait(5)
    assert not liar.motions()


@pytest.mark.parametrize("minor", [1, 255])
def test_a_board_of_a_later_minor_version_is_no_stranger(minor: int) -> None:
    assert alive(opened(minor=minor))


@pytest.mark.parametrize("minor", [1, 255])
def test_a_host_of_a_later_minor_version_is_no_stranger_to_the_board(minor: int) -> None:
    hand = BareHand()
    (ack,) = hand.write(frames.build_plain(m.Hello(7, minor)))
    assert ack.kind is FrameKind.HELLO_ACK
    hand.session = frames.session_of(1, 7)
    (accepted,) = [x for x in hand.run("drum", 0) if isinstance(x, m.Accepted)]
    assert accepted.op == 1


@pytest.mark.parametrize(
    "hello",
    [
        {"stop": 200},
        {"stop": m.StopReason.WIRED, "stop_number": 255},
        {"reset_cause": 99},
        {"uid": b"\x1b[2J\x07\n\xff\0"},
        {"keys": 255},
        {"op": 5, "part": 200},
        {"part": 13, "op": 0},
        {"sensors": 0xFFFFFFFF},
        {"clock_ms": 0xFFFFFFFF},
        {"rx_window": 0},
        {"counts": bytes((255,) * 8)},
    ],
    ids=repr,
)
def test_no_value_of_a_greeting_makes_the_host_fall_or_order_anything(hello: dict[str, Any]) -> None:
    liar = Liar(**hello)
    liar.wait(3)
    assert not liar.crashes()
    assert not liar.motions()
    assert liar.host.controller.board is None or liar.host.controller.board.uid.isprintable()


def test_a_greeting_cut_short_opens_nothing() -> None:
    liar = Liar()
    liar.give(hl.Closed())
    liar._welcome = lambda nonce: liar.write(frames.build(FrameKind.HELLO_ACK, nonce.to_bytes(4, "little")))
    liar.give(hl.Opened())
    liar.wait(5)
    assert not liar.link.up
    assert not liar.crashes()


# --- descriptions over the wire -----------------------------------------------------------------------------


def blob(**change: Any) -> bytes:
    table = json.loads(zlib.decompress(GOOD.to_bytes()))
    return zlib.compress(json.dumps(table | change).encode())


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (blob(mouths=5), "5"),
        (blob(sensors=[s for s in GOOD.sensors if s != "lift.S3.home"]), "lift.S3.home"),
        (blob(format=9), "9"),
        (b"nonsense", "zlib"),
        (zlib.compress(bytes(10_000_000)), "16384"),
    ],
    ids=["contradiction", "no sensor", "format", "no zlib", "bomb"],
)
def test_a_refused_description_is_told_to_the_person_in_both_languages(data: bytes, word: str) -> None:
    liar = Liar(data)
    liar.wait(15)
    told = liar.fault()
    assert told["code"] == "E14"
    english, chinese = (told["text"][lang][1] for lang in LANGUAGES)
    assert word in english
    assert word in chinese
    assert english != chinese
    assert not liar.motions()
    assert not liar.link.up


CHUNKS = {
    "of another place": lambda c: replace(c, offset=c.offset + 1),
    "that never end": lambda c: replace(c, total=65_535, data=bytes(50)),
    "of nothing": lambda c: replace(c, data=b""),
    "of a length of none": lambda c: replace(c, total=0),
    "that are longer than told": lambda c: replace(c, total=1),
}


@pytest.mark.parametrize("change", CHUNKS.values(), ids=CHUNKS)
def test_chunks_that_lead_nowhere_are_given_up_and_told(change: Any) -> None:
    liar = Liar()
    liar.give(hl.Closed())
    liar._blob = blob(silence_ms=701)
    honest = liar.reply
    liar.reply = lambda message: honest(change(message) if isinstance(message, m.Chunk) else message)
    liar.give(hl.Opened())
    for _ in range(40):
        liar.wait(1)
    assert not liar.link.up
    assert liar.fault()["code"] == "E14"
    assert not liar.crashes()
    assert not liar.motions()


# --- errors of our own --------------------------------------------------------------------------------------


def test_what_cannot_be_sent_is_told_in_both_languages() -> None:
    with pytest.raises(FrameTooLongError) as body:
        encode(bytes(77))
    with pytest.raises(FrameTooLongError) as payload:
        frames.build(FrameKind.DATA, bytes(65))
    with pytest.raises(MessageError) as message:
        m.Ping(-1).payload()
    for caught, word in ((body, "77"), (payload, "65"), (message, "Ping(number=-1)")):
        texts = {caught.value.told.text(lang) for lang in LANGUAGES}
        assert len(texts) == 2
        assert all(word in text for text in texts)
        assert str(caught.value) in texts
