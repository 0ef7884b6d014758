"""Checks of STOP ALL, CLEAR and of a link that loses frames; nothing moves."""

import random

from firmware_protocol import frames
from firmware_protocol import host_link as hl
from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from firmware_protocol.core import TICK
from firmware_protocol.framing import encode
from firmware_protocol.trial.check import Check, onto
from firmware_protocol.trial.hand import ANSWER_US, Hand, words

CHECKS: list[Check] = []
check = onto(CHECKS)

LOSS = 0.1
COMMANDS = 40
_PATIENCE_US = 60_000_000


@check("stop-all")
def _stop_all(hand: Hand) -> str | None:
    hand.fresh()
    stopped, came = hand.stop_all(201)
    if stopped is None or stopped.answers != 201 or stopped.reason != m.StopReason.HOST:
        return came
    again, came = hand.stop_all(202)
    return None if again and again.answers == 202 and again.stop_number == stopped.stop_number else came


@check("stop-voids")
def _stop_voids(hand: Hand) -> str | None:
    hand.fresh()
    hand.stop_all(3)
    told, came = hand.ask(hand.data(hand.panel()), m.Stopped)
    if told is None or told.answers:
        return came
    got = hand.listen(ANSWER_US, pings=False)
    return words(got) if any(isinstance(h.message, m.Done) for h in got) else None


@check("stop-in-noise")
def _stop_in_noise(hand: Hand) -> str | None:
    hand.fresh()
    stop = frames.build_plain(m.StopAll(m.StopReason.HOST, 4))
    stopped, came = hand.ask(hand.data(hand.panel())[:9] + stop + b"\x55" * 40, m.Stopped)
    return None if stopped and stopped.answers == 4 else came


@check("stop-any-version")
def _stop_any_version(hand: Hand) -> str | None:
    hand.fresh()
    body = bytes(((m.VERSION + 5) << 4 | FrameKind.STOP_ALL, 0, 0, 0, 0, m.StopReason.HOST, 5))
    stopped, came = hand.ask(encode(body), m.Stopped)
    return None if stopped and stopped.answers == 5 else came


@check("stop-proof")
def _stop_proof(hand: Hand) -> str | None:
    hand.fresh()
    hand.ask(hand.data(hand.panel()), m.Done)
    session = hand.session
    hand.write(frames.build_plain(m.StopAll(m.StopReason.HOST, 6)))
    got = hand.listen(ANSWER_US, lambda h: isinstance(h.message, m.Stopped), pings=False)
    told = [h.frame for h in got if isinstance(h.message, m.Stopped)]
    return None if told and (told[0].session, told[0].acknowledge) == (session, 1) else words(got)


@check("clear-wrong")
def _clear_wrong(hand: Hand) -> str | None:
    hand.fresh()
    stopped, came = hand.stop_all(7)
    if stopped is None:
        return came
    for clear in (
        m.Clear(m.StopReason.DOOR, stopped.stop_number),
        m.Clear(m.StopReason.HOST, stopped.stop_number + 1 & 0xFF),
    ):
        hand.write(frames.build_plain(clear))
        ack = hand.greet()
        if ack.stop != m.StopReason.HOST:
            return f"{clear} → {ack}"
    return None


@check("clear")
def _clear(hand: Hand) -> str | None:
    hand.fresh()
    stopped, came = hand.stop_all(8)
    if stopped is None:
        return came
    hand.write(frames.build_plain(m.Clear(stopped.reason, stopped.stop_number)))
    ack = hand.greet()
    return None if ack.stop == m.StopReason.NONE else str(ack)


@check("loss")
def _loss(hand: Hand) -> str | None:
    hand.fresh()
    port, rng = hand.port, random.Random(1)
    link = hl.HostLink(rng.getrandbits(32))
    done: list[int] = []
    said: list[str] = []
    given = 0
    queue: list[hl.HostEvent] = [hl.Opened()]
    end_us = port.now_us() + _PATIENCE_US
    while len(done) < COMMANDS and port.now_us() < end_us and not said:
        effects: list[hl.HostEffect] = []
        for event in queue:
            effects += link.handle(event, port.now_us())
        while link.room and given < COMMANDS and given - len(done) < 8:
            given += 1
            effects += link.handle(hl.Send(m.Panel(given, 0, 0, b"    ")), port.now_us())
        for effect in effects:
            match effect:
                case hl.Transmit(data) if rng.random() >= LOSS:
                    port.write(data)
                case hl.Incoming(m.Done(op)):
                    done.append(op)
                case hl.Down(reason, detail):
                    said.append(f"{reason} {detail}")
                case _:
                    pass
        queue = []
        due = link.next_deadline()
        if data := port.read(min(end_us, due if due is not None else end_us)):
            queue += [hl.Received(data)] * (rng.random() >= LOSS)
        elif due is not None and due <= port.now_us():
            queue.append(TICK)
    return None if done == list(range(1, COMMANDS + 1)) else "; ".join(said) or f"DONE {done}"
