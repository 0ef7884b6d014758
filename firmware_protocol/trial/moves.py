"""Checks that move the table: leases, silence, interlocks. Only with --motion, and nobody's hands inside."""

from firmware_protocol import messages as m
from firmware_protocol.description import PartKind
from firmware_protocol.trial.check import Check, onto
from firmware_protocol.trial.hand import Hand, words
from firmware_protocol.trial.motion import (
    STROKE_US,
    TOLERANCE_MS,
    at_each_sort_of_mouth,
    ended,
    known,
    part,
    refused,
    run,
    stroke,
)

CHECKS: list[Check] = []
check = onto(CHECKS)


@check("motion-stopped", moves=True)
def _motion_stopped(hand: Hand) -> str | None:
    hand.fresh()
    hand.stop_all(9)
    hand.greet()
    order = m.Run(hand.op(), part(hand, PartKind.DRUM), 1, 100)
    return refused(hand, order, m.FailReason.STOPPED)


@check("lease", moves=True)
def _lease(hand: Hand) -> str | None:
    hand.fresh()
    op, pong, came = run(hand, 300)
    if pong is None:
        return came
    failed, came = ended(hand, 2_000_000)
    if failed is None or (failed.op, failed.reason) != (op, m.FailReason.LEASE):
        return came
    after_ms = failed.clock_ms - pong.clock_ms
    if abs(after_ms - 300) > TOLERANCE_MS:
        return f"LEASE, {after_ms} ms"
    hand.write(hand.data(m.Renew(op, 1000)))
    got = hand.listen(200_000)
    return None if not any(isinstance(h.message, m.Accepted) for h in got) else words(got)


@check("lease-limit", moves=True)
def _lease_limit(hand: Hand) -> str | None:
    hand.fresh()
    limit_ms = known(hand).max_lease_ms
    _, pong, came = run(hand, 0xFFFF)
    if pong is None:
        return came
    failed, came = ended(hand, limit_ms * 1000 + 1_000_000)
    if failed is None or failed.reason != m.FailReason.LEASE:
        return came
    after_ms = failed.clock_ms - pong.clock_ms
    return None if after_ms <= limit_ms + TOLERANCE_MS else f"LEASE, {after_ms} ms"


@check("busy", moves=True)
def _busy(hand: Hand) -> str | None:
    hand.fresh()
    _, pong, came = run(hand, 500)
    if pong is None:
        return came
    order = m.Run(hand.op(), part(hand, PartKind.DRUM), 1, 100)
    return refused(hand, order, m.FailReason.BUSY)


@check("stop-part", moves=True)
def _stop_part(hand: Hand) -> str | None:
    hand.fresh()
    op, pong, came = run(hand, 1500)
    if pong is None:
        return came
    hand.write(hand.data(m.Stop(hand.op(), part(hand, PartKind.DRUM))))
    failed, came = ended(hand, 1_000_000)
    return None if failed and (failed.op, failed.reason) == (op, m.FailReason.ABORTED) else came


@check("silence", moves=True)
def _silence(hand: Hand) -> str | None:
    hand.fresh()
    limit_ms = known(hand).silence_ms
    _, pong, came = run(hand, min(known(hand).max_lease_ms, 3 * limit_ms))
    if pong is None:
        return came
    hand.mute = True
    got = hand.listen(2_000 * limit_ms, lambda h: isinstance(h.message, m.Stopped), pings=False)
    hand.mute = False
    stopped = next((h.message for h in got if isinstance(h.message, m.Stopped)), None)
    if stopped is None or stopped.reason != m.StopReason.SILENCE:
        return words(got)
    # The last frame that the board heard may be the acknowledgement of ACCEPTED, a little after the ping.
    after_ms = stopped.clock_ms - pong.clock_ms
    return None if limit_ms <= after_ms <= limit_ms + 2 * TOLERANCE_MS else f"SILENCE, {after_ms} ms"


@check("hello-ends-motion", moves=True)
def _hello_ends(hand: Hand) -> str | None:
    hand.fresh()
    op, pong, came = run(hand, 1500)
    if pong is None:
        return came
    ack = hand.greet()
    if (ack.op, ack.part) != (op, part(hand, PartKind.DRUM)):
        return str(ack)
    after = hand.greet()
    return None if after.part == m.NO_PART else str(after)


@check("home", moves=True)
def _home(hand: Hand) -> str | None:
    hand.fresh()
    table = known(hand)
    for kind in (PartKind.STACKER, PartKind.CONSOLE, PartKind.LIFT):
        for name in table.names(kind):
            for _ in range(2):  # the second time it is there already
                last, came = stroke(hand, table.part(name), m.End.HOME)
                if not isinstance(last, m.Done):
                    return f"{name}: {came}"
    return None


@check("raise-under-console", moves=True)
def _raise_under_console(hand: Hand) -> str | None:
    hand.fresh()
    console = part(hand, PartKind.CONSOLE)
    last, came = stroke(hand, console, m.End.FAR)
    if not isinstance(last, m.Done):
        return came
    wrong = at_each_sort_of_mouth(hand, _raise_refused)
    last, came = stroke(hand, console, m.End.HOME)
    return wrong or (None if isinstance(last, m.Done) else came)


def _raise_refused(hand: Hand, mouth: str) -> str | None:
    order = m.Stroke(hand.op(), known(hand).part(f"lift.{mouth}"), m.End.TURN)
    return refused(hand, order, m.FailReason.INTERLOCK)


@check("raise-behind-stacker", moves=True)
def _raise_behind_stacker(hand: Hand) -> str | None:
    return at_each_sort_of_mouth(hand, _raise_behind)


def _raise_behind(hand: Hand, mouth: str) -> str | None:
    hand.fresh()
    stacker = known(hand).part(f"stacker.{mouth}")
    last, came = stroke(hand, stacker, m.End.FAR)
    if not isinstance(last, m.Done):
        return came
    wrong = _raise_refused(hand, mouth)
    last, came = stroke(hand, stacker, m.End.HOME)
    return wrong or (None if isinstance(last, m.Done) else came)


@check("push-against-tray", moves=True)
def _push_against_tray(hand: Hand) -> str | None:
    return at_each_sort_of_mouth(hand, _push_against)


def _push_against(hand: Hand, mouth: str) -> str | None:
    hand.fresh()
    stacker, lift = known(hand).part(f"stacker.{mouth}"), known(hand).part(f"lift.{mouth}")
    op = hand.op()
    hand.write(hand.data(m.Stroke(op, lift, m.End.TURN)))
    hand.listen(known(hand).parts[lift].stroke_ms * 250)
    wrong = refused(hand, m.Stroke(hand.op(), stacker, m.End.FAR), m.FailReason.INTERLOCK)
    got = hand.listen(STROKE_US, lambda h: isinstance(h.message, m.Done) and h.message.op == op)
    last = any(isinstance(h.message, m.Done) for h in got)
    return wrong or (None if last else words(got))
