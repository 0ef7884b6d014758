"""Checks that move nothing: framing, sessions, the reliable link, versions, description."""

import zlib

from firmware_protocol import frames, reports
from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from firmware_protocol.description import Description
from firmware_protocol.errors import DescriptionError
from firmware_protocol.framing import encode
from firmware_protocol.trial.check import Check, onto
from firmware_protocol.trial.hand import ANSWER_US, Hand, Heard, words

CHECKS: list[Check] = []
check = onto(CHECKS)

_NOISE = bytes(range(1, 256)) * 2 + b"AT\r\nATE0\r\n"


def _answers(hand: Hand, before: bytes = b"") -> str | None:
    hand.write(before + hand.ping(77))
    got = hand.listen(until=lambda h: _is_pong(h, 77))
    return None if any(_is_pong(h, 77) for h in got) else words(got)


def _is_pong(heard: Heard, number: int) -> bool:
    return isinstance(heard.message, m.Pong) and heard.message.number == number


@check("hello")
def _hello(hand: Hand) -> str | None:
    ack = hand.fresh()
    return None if ack.boot_id and ack.rx_window else str(ack)


@check("ping")
def _ping(hand: Hand) -> str | None:
    return _answers(hand)


@check("bytewise")
def _bytewise(hand: Hand) -> str | None:
    for byte in hand.ping(5):
        hand.write(bytes((byte,)))
    got = hand.listen(until=lambda h: _is_pong(h, 5))
    return None if any(_is_pong(h, 5) for h in got) else words(got)


@check("garbage")
def _garbage(hand: Hand) -> str | None:
    return _answers(hand, _NOISE)


@check("cut-frame")
def _cut(hand: Hand) -> str | None:
    return _answers(hand, hand.ping()[:7])


@check("shared-zero")
def _shared(hand: Hand) -> str | None:
    hand.write(hand.ping(6)[:-1] + hand.ping(7))
    got = hand.listen(until=lambda h: _is_pong(h, 7))
    return None if all(any(_is_pong(h, n) for h in got) for n in (6, 7)) else words(got)


@check("damaged")
def _damaged(hand: Hand) -> str | None:
    wire = hand.ping(9)
    for at in range(1, len(wire) - 1):
        hit = wire[at] ^ 0x10 or wire[at] ^ 0x20
        hand.write(wire[:at] + bytes((hit,)) + wire[at + 1 :])
    got = hand.listen(ANSWER_US, pings=False)
    pongs = [h for h in got if _is_pong(h, 9)]
    return words(pongs) if pongs else _answers(hand)


@check("hello-again")
def _hello_again(hand: Hand) -> str | None:
    hand.fresh()
    first, came = hand.ask(hand.data(hand.panel()), m.Done)
    if first is None:
        return came
    session, sequence, expected = hand.session, hand.sequence, hand.expected
    hand.greet(hand.nonce)
    hand.session, hand.sequence, hand.expected = session, sequence, expected
    second, came = hand.ask(hand.data(m.Panel(99, 0, 0, b"    ")), m.Done)
    return None if second and second.op == 99 else came


@check("hello-old")
def _hello_old(hand: Hand) -> str | None:
    hand.fresh()
    old = frames.build_plain(m.Hello(hand.nonce, m.MINOR))
    hand.fresh()
    hand.write(old)
    return _answers(hand)


@check("foreign-session")
def _foreign(hand: Hand) -> str | None:
    hand.fresh()
    stranger = frames.build(FrameKind.DATA, hand.panel().numbered(), hand.session ^ 1, 0, 0)
    told, came = hand.ask(stranger, m.HelloAck)
    if told is None or told.nonce:
        return came
    got = hand.listen(ANSWER_US)
    return words(got) if any(isinstance(h.message, m.Done) for h in got) else _answers(hand)


@check("duplicate-frame")
def _duplicate(hand: Hand) -> str | None:
    hand.fresh()
    wire = hand.data(hand.panel())
    hand.write(wire + wire)
    hand.listen(ANSWER_US // 3)
    hand.write(wire)
    got = hand.listen(ANSWER_US)
    acknowledged = any(h.frame.acknowledge == 1 for h in got)
    repeated = {h.frame.sequence for h in got if isinstance(h.message, m.Done)} - {0}
    return None if acknowledged and not repeated else words(got)


@check("one-nak")
def _one_nak(hand: Hand) -> str | None:
    hand.fresh()
    missing = hand.data(hand.panel())
    later = [hand.data(hand.panel()) for _ in range(2)]
    hand.write(later[0] + later[1] + later[0] + later[1])
    got = hand.listen(ANSWER_US // 2)
    naks = [h for h in got if h.frame.kind is FrameKind.NAK]
    if len(naks) != 1 or naks[0].frame.acknowledge != 0:
        return words(got)
    hand.write(missing + later[0] + later[1])
    got = hand.listen(ANSWER_US, lambda h: isinstance(h.message, m.Done) and h.message.op == 3)
    ops = [h.message.op for h in got if isinstance(h.message, m.Done)]
    return None if ops == [1, 2, 3] else words(got)


@check("reply-repeated")
def _repeated(hand: Hand) -> str | None:
    hand.fresh()
    hand.mute = True
    wire = hand.data(hand.panel())
    hand.write(wire)
    hand.listen(ANSWER_US, lambda h: isinstance(h.message, m.Done), pings=False)
    hand.expected = 0
    got = hand.listen(1_500_000, lambda h: isinstance(h.message, m.Done), pings=False)
    hand.mute = False
    return None if any(isinstance(h.message, m.Done) for h in got) else words(got)


@check("reply-window")
def _window(hand: Hand) -> str | None:
    hand.fresh()
    hand.mute = True
    wires = [hand.data(hand.panel()) for _ in range(7)]
    seen: set[int] = set()
    for wire in wires:
        hand.write(wire)
        hand.expected = 0
        got = hand.listen(30_000, pings=False)
        seen |= {h.frame.sequence for h in got if h.frame.kind is FrameKind.DATA}
    hand.mute = False
    return None if seen and max(seen) < 4 else f"DATA {sorted(seen)}"


@check("op-again")
def _op_again(hand: Hand) -> str | None:
    hand.fresh()
    order = hand.panel()
    first, came = hand.ask(hand.data(order), m.Done)
    if first is None:
        return came
    hand.listen(50_000)
    again, came = hand.ask(hand.data(order), m.Done)
    return None if again == first else came


@check("op-table")
def _op_table(hand: Hand) -> str | None:
    hand.fresh()
    orders = [hand.panel() for _ in range(8)]
    first = [hand.ask(hand.data(order), m.Done) for order in orders]
    hand.listen(20_000)
    for order, (done, _) in zip(orders, first, strict=True):
        again, came = hand.ask(hand.data(order), m.Done)
        if again is None or again != done:
            return came
    return None


@check("unsupported")
def _unsupported(hand: Hand) -> str | None:
    hand.fresh()
    for number, payload in (
        (0x3F, b"\x3f\1\2\3"),
        (0x20, b"\x20\1"),
        (0x41, m.Done(1, 2, 3, b"").numbered()),
    ):
        sequence = hand.sequence
        told, came = hand.ask(hand.data(payload), m.Unsupported)
        if told != m.Unsupported(number, sequence):
            return came
    done, came = hand.ask(hand.data(hand.panel()), m.Done)
    return None if done else came


@check("major-version")
def _major(hand: Hand) -> str | None:
    hand.fresh()
    session = hand.session
    body = bytes(((m.VERSION + 1) << 4 | FrameKind.HELLO, 0, 0, 0, 0)) + m.Hello(123, 0).payload()
    hand.write(encode(body))
    got = hand.listen(ANSWER_US, lambda h: h.frame.kind is FrameKind.HELLO_ACK, pings=False)
    acks = [h for h in got if isinstance(h.message, m.HelloAck) and h.frame.version == m.VERSION]
    if not acks or not isinstance(acks[0].message, m.HelloAck):
        return words(got)
    hand.session = frames.session_of(acks[0].message.boot_id, 123)
    pong, came = hand.ask(hand.ping(), m.Pong)
    hand.session = session
    return None if pong is None else came


@check("description")
def _description(hand: Hand) -> str | None:
    ack = hand.fresh()
    blob, total = b"", 1
    while len(blob) < total:
        chunk, came = hand.ask(hand.data(m.Describe(len(blob))), m.Chunk)
        if chunk is None or chunk.offset != len(blob) or not chunk.data:
            return came
        blob, total = blob + chunk.data, chunk.total
    if zlib.crc32(blob) != ack.description_hash:
        return f"CRC-32 {zlib.crc32(blob):#010x} != {ack.description_hash:#010x}"
    try:
        hand.description = Description.from_bytes(blob)
    except DescriptionError as error:
        return str(error)
    counts = len(ack.counts)
    return None if counts == reports.size(hand.description) else f"counts: {counts} bytes"


@check("bad-arguments")
def _bad_arguments(hand: Hand) -> str | None:
    hand.fresh()
    orders: tuple[m.Message, ...] = (
        m.Run(hand.op(), 254, 1, 100),
        m.Stroke(hand.op(), 254, m.End.HOME),
        m.Stroke(hand.op(), 0, 99),
        m.Fill(hand.op(), 254, 2, 100),
    )
    for order in orders:
        failed, came = hand.ask(hand.data(order), m.Failed)
        if failed is None or failed.reason != m.FailReason.BAD_ARGUMENT:
            return came
    return None
