"""Checks of what a technician does: one motor jogged, a console moved by time. Only with --motion."""

from firmware_protocol import messages as m
from firmware_protocol.description import PartKind
from firmware_protocol.trial.check import Check, NothingToTryError, onto
from firmware_protocol.trial.hand import Hand
from firmware_protocol.trial.motion import (
    STROKE_US,
    TOLERANCE_MS,
    at_each_sort_of_mouth,
    begin,
    ended,
    known,
    part,
    refused,
    stroke,
    tells,
)

CHECKS: list[Check] = []
check = onto(CHECKS)

JOG_LEASE_MS = 300
_STOP_LINE = "stop.line"


def _jog(hand: Hand, lease_ms: int, kind: PartKind = PartKind.DRUM, direction: int = 1) -> m.Jog:
    return m.Jog(hand.op(), part(hand, kind), direction, lease_ms)


def _lasted(hand: Hand, order: m.Jog, since: m.Pong, least_ms: int, most_ms: int) -> str | None:
    failed, came = ended(hand, 2_000_000)
    if failed is None or (failed.op, failed.reason) != (order.op, m.FailReason.LEASE):
        return came
    after_ms = failed.clock_ms - since.clock_ms
    return None if least_ms <= after_ms <= most_ms + TOLERANCE_MS else f"LEASE, {after_ms} ms"


@check("jog-lease", moves=True)
def _jog_lease(hand: Hand) -> str | None:
    for asked_ms, most_ms in ((150, 150), (0xFFFF, JOG_LEASE_MS)):
        hand.fresh()
        order = _jog(hand, asked_ms)
        pong, came = begin(hand, order)
        if pong is None:
            return came
        if wrong := _lasted(hand, order, pong, most_ms // 2, most_ms):
            return wrong
    return None


@check("jog-renewed", moves=True)
def _jog_renewed(hand: Hand) -> str | None:
    hand.fresh()
    order = _jog(hand, JOG_LEASE_MS)
    pong, came = begin(hand, order)
    if pong is None:
        return came
    for _ in range(4):
        again, came = hand.ask(hand.data(m.Renew(order.op, 0xFFFF)) + hand.ping(4), m.Pong)
        if again is None:
            return came
        pong = again
        hand.listen(JOG_LEASE_MS * 500)
    # It has gone on for longer than one lease, and ends one lease after the last renewal.
    return _lasted(hand, order, pong, JOG_LEASE_MS // 2, JOG_LEASE_MS)


@check("jog-arguments", moves=True)
def _jog_arguments(hand: Hand) -> str | None:
    hand.fresh()
    drum = part(hand, PartKind.DRUM)
    for index, direction in ((254, 1), (drum, 0), (drum, 2)):
        wrong = refused(hand, m.Jog(hand.op(), index, direction, 100), m.FailReason.BAD_ARGUMENT)
        if wrong:
            return wrong
    return None


@check("jog-busy", moves=True)
def _jog_busy(hand: Hand) -> str | None:
    hand.fresh()
    pong, came = begin(hand, m.Run(hand.op(), part(hand, PartKind.DRUM), 1, 1500))
    if pong is None:
        return came
    wrong = refused(hand, _jog(hand, 100, PartKind.CONVEYOR), m.FailReason.BUSY)
    hand.stop_all(20)
    return wrong


@check("jog-alone", moves=True)
def _jog_alone(hand: Hand) -> str | None:
    conveyor, stacker = part(hand, PartKind.CONVEYOR), part(hand, PartKind.STACKER)
    for second in (
        m.Run(2, conveyor, 1, 100),
        m.Jog(2, conveyor, 1, 100),
        m.Stroke(2, stacker, m.End.HOME),
        m.Jog(2, part(hand, PartKind.DRUM), -1, 100),
    ):
        hand.fresh()
        pong, came = begin(hand, _jog(hand, JOG_LEASE_MS))  # the first operation of this session
        if pong is None:
            return came
        if wrong := refused(hand, second, m.FailReason.BUSY):
            return wrong
    return None


@check("jog-stopped", moves=True)
def _jog_stopped(hand: Hand) -> str | None:
    hand.fresh()
    hand.stop_all(21)
    hand.greet()
    pong, came = begin(hand, _jog(hand, JOG_LEASE_MS))
    if pong is None:
        return came
    if wrong := refused(hand, m.Run(hand.op(), part(hand, PartKind.CONVEYOR), 1, 100), m.FailReason.STOPPED):
        return wrong
    hand.stop_all(22)
    ack = hand.greet()
    return None if ack.part == m.NO_PART and ack.stop == m.StopReason.HOST else str(ack)


@check("jog-stop-part", moves=True)
def _jog_stop_part(hand: Hand) -> str | None:
    hand.fresh()
    order = _jog(hand, JOG_LEASE_MS)
    pong, came = begin(hand, order)
    if pong is None:
        return came
    hand.write(hand.data(m.Stop(hand.op(), order.part)))
    failed, came = ended(hand, 1_000_000)
    return None if failed and (failed.op, failed.reason) == (order.op, m.FailReason.ABORTED) else came


@check("jog-tray", moves=True)
def _jog_tray(hand: Hand) -> str | None:
    return at_each_sort_of_mouth(hand, _jog_against_tray)


def _jog_against_tray(hand: Hand, mouth: str) -> str | None:
    hand.fresh()
    lift, stacker = known(hand).part(f"lift.{mouth}"), known(hand).part(f"stacker.{mouth}")
    hand.write(hand.data(m.Stroke(hand.op(), lift, m.End.TURN)))
    hand.listen(known(hand).parts[lift].stroke_ms * 250)
    hand.write(hand.data(m.Stop(hand.op(), lift)))
    hand.listen(STROKE_US, lambda h: isinstance(h.message, m.Failed))
    wrong = refused(hand, m.Jog(hand.op(), stacker, 1, 100), m.FailReason.INTERLOCK)
    last, came = stroke(hand, lift, m.End.HOME)
    return wrong or (None if isinstance(last, m.Done) else came)


@check("jog-wired", moves=True)
def _jog_wired(hand: Hand) -> str | None:
    ack = hand.fresh()
    if not tells(hand, ack, _STOP_LINE):
        raise NothingToTryError
    return refused(hand, _jog(hand, 100), m.FailReason.STOPPED)


@check("timed-arguments", moves=True)
def _timed_arguments(hand: Hand) -> str | None:
    hand.fresh()
    for kind in (PartKind.DRUM, PartKind.STACKER, PartKind.LIFT):
        for end in (m.End.HOME_TIMED, m.End.FAR_TIMED):
            order = m.Stroke(hand.op(), part(hand, kind), end)
            if wrong := refused(hand, order, m.FailReason.BAD_ARGUMENT):
                return wrong
    unknown = m.Stroke(hand.op(), part(hand, PartKind.CONSOLE), max(m.End) + 1)
    return refused(hand, unknown, m.FailReason.BAD_ARGUMENT)


@check("timed-unseen", moves=True)
def _timed_unseen(hand: Hand) -> str | None:
    hand.fresh()
    console = part(hand, PartKind.CONSOLE)
    for end, timed in ((m.End.HOME, m.End.HOME_TIMED), (m.End.FAR, m.End.FAR_TIMED)):
        last, came = stroke(hand, console, end)
        if not isinstance(last, m.Done):
            return came
        # It stands at that end itself: the other one, from which alone it may be timed, is not seen.
        if wrong := refused(hand, m.Stroke(hand.op(), console, timed), m.FailReason.INTERLOCK):
            return wrong
    last, came = stroke(hand, console, m.End.HOME)
    return None if isinstance(last, m.Done) else came


@check("timed-key", moves=True)
def _timed_key(hand: Hand) -> str | None:
    hand.fresh()
    console = part(hand, PartKind.CONSOLE)
    last, came = stroke(hand, console, m.End.FAR)
    if not isinstance(last, m.Done):
        return came
    wrong = refused(hand, m.Stroke(hand.op(), console, m.End.HOME_TIMED), m.FailReason.ABORTED)
    last, came = stroke(hand, console, m.End.HOME)
    return wrong or (None if isinstance(last, m.Done) else came)


@check("timed-up", moves=True)
def _timed_up(hand: Hand) -> str | None:
    hand.fresh()
    console = part(hand, PartKind.CONSOLE)
    last, came = stroke(hand, console, m.End.FAR_TIMED)
    if not isinstance(last, m.Done):
        return came
    wrong = None if tells(hand, last, "console.up") else came
    last, came = stroke(hand, console, m.End.HOME)
    return wrong or (None if isinstance(last, m.Done) else came)
