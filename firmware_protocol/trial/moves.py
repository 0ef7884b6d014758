"""Checks that move the table: leases, silence, interlocks. Only with --motion, and nobody's hands inside.

Times are taken from the board's own clock: between PONG and the end of a move, whatever the port delays.
"""

from firmware_protocol import messages as m
from firmware_protocol.description import Description, PartKind
from firmware_protocol.trial.check import Check, onto
from firmware_protocol.trial.hand import Hand, words

CHECKS: list[Check] = []
check = onto(CHECKS)

TOLERANCE_MS = 60
_STROKE_US = 15_000_000


def _known(hand: Hand) -> Description:
    if hand.description is None:
        raise LookupError("no description")
    return hand.description


def _part(hand: Hand, kind: PartKind, index: int = 0) -> int:
    known = _known(hand)
    return known.part(known.names(kind)[index])


def _run(hand: Hand, lease_ms: int) -> tuple[int, m.Pong | None, str]:
    """Run the drum; return its operation, the board's clock just before, and what came."""
    op = hand.op()
    hand.write(hand.ping(3) + hand.data(m.Run(op, _part(hand, PartKind.DRUM), 1, lease_ms)))
    got = hand.listen(until=lambda h: h.message == m.Accepted(op))
    pong = next((h.message for h in got if isinstance(h.message, m.Pong)), None)
    accepted = any(h.message == m.Accepted(op) for h in got)
    return op, pong if accepted else None, words(got)


def _ended(hand: Hand, us: int, pings: bool = True) -> tuple[m.Failed | None, str]:
    got = hand.listen(us, lambda h: isinstance(h.message, m.Failed | m.Done | m.Stopped), pings)
    return next((h.message for h in got if isinstance(h.message, m.Failed)), None), words(got)


def _stroke(hand: Hand, part: int, end: m.End) -> tuple[m.Message | None, str]:
    op = hand.op()
    hand.write(hand.data(m.Stroke(op, part, end)))

    def ends(heard: object) -> bool:
        message = getattr(heard, "message", None)
        return isinstance(message, m.Done | m.Failed) and message.op == op

    got = hand.listen(_STROKE_US, ends)
    return next((h.message for h in got if ends(h)), None), words(got)


def _refused(hand: Hand, order: m.Message, reason: m.FailReason) -> str | None:
    failed, came = hand.ask(hand.data(order), m.Failed)
    return None if failed and failed.reason == reason else came


@check("motion-stopped", moves=True)
def _motion_stopped(hand: Hand) -> str | None:
    hand.fresh()
    hand.stop_all(9)
    hand.greet()
    order = m.Run(hand.op(), _part(hand, PartKind.DRUM), 1, 100)
    return _refused(hand, order, m.FailReason.STOPPED)


@check("lease", moves=True)
def _lease(hand: Hand) -> str | None:
    hand.fresh()
    op, pong, came = _run(hand, 300)
    if pong is None:
        return came
    failed, came = _ended(hand, 2_000_000)
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
    limit_ms = _known(hand).max_lease_ms
    _, pong, came = _run(hand, 0xFFFF)
    if pong is None:
        return came
    failed, came = _ended(hand, limit_ms * 1000 + 1_000_000)
    if failed is None or failed.reason != m.FailReason.LEASE:
        return came
    after_ms = failed.clock_ms - pong.clock_ms
    return None if after_ms <= limit_ms + TOLERANCE_MS else f"LEASE, {after_ms} ms"


@check("busy", moves=True)
def _busy(hand: Hand) -> str | None:
    hand.fresh()
    _, pong, came = _run(hand, 500)
    if pong is None:
        return came
    order = m.Run(hand.op(), _part(hand, PartKind.DRUM), 1, 100)
    return _refused(hand, order, m.FailReason.BUSY)


@check("stop-part", moves=True)
def _stop_part(hand: Hand) -> str | None:
    hand.fresh()
    op, pong, came = _run(hand, 1500)
    if pong is None:
        return came
    hand.write(hand.data(m.Stop(hand.op(), _part(hand, PartKind.DRUM))))
    failed, came = _ended(hand, 1_000_000)
    return None if failed and (failed.op, failed.reason) == (op, m.FailReason.ABORTED) else came


@check("silence", moves=True)
def _silence(hand: Hand) -> str | None:
    hand.fresh()
    limit_ms = _known(hand).silence_ms
    _, pong, came = _run(hand, min(_known(hand).max_lease_ms, 3 * limit_ms))
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
    op, pong, came = _run(hand, 1500)
    if pong is None:
        return came
    ack = hand.greet()
    if (ack.op, ack.part) != (op, _part(hand, PartKind.DRUM)):
        return str(ack)
    after = hand.greet()
    return None if after.part == m.NO_PART else str(after)


@check("home", moves=True)
def _home(hand: Hand) -> str | None:
    hand.fresh()
    known = _known(hand)
    for kind in (PartKind.STACKER, PartKind.CONSOLE, PartKind.LIFT):
        for name in known.names(kind):
            for _ in range(2):  # the second time it is there already
                ended, came = _stroke(hand, known.part(name), m.End.HOME)
                if not isinstance(ended, m.Done):
                    return f"{name}: {came}"
    return None


@check("raise-under-console", moves=True)
def _raise_under_console(hand: Hand) -> str | None:
    hand.fresh()
    console, lift = _part(hand, PartKind.CONSOLE), _part(hand, PartKind.LIFT)
    ended, came = _stroke(hand, console, m.End.FAR)
    if not isinstance(ended, m.Done):
        return came
    wrong = _refused(hand, m.Stroke(hand.op(), lift, m.End.TURN), m.FailReason.INTERLOCK)
    ended, came = _stroke(hand, console, m.End.HOME)
    return wrong or (None if isinstance(ended, m.Done) else came)


@check("raise-behind-stacker", moves=True)
def _raise_behind_stacker(hand: Hand) -> str | None:
    hand.fresh()
    stacker, lift = _part(hand, PartKind.STACKER), _part(hand, PartKind.LIFT)
    ended, came = _stroke(hand, stacker, m.End.FAR)
    if not isinstance(ended, m.Done):
        return came
    wrong = _refused(hand, m.Stroke(hand.op(), lift, m.End.TURN), m.FailReason.INTERLOCK)
    ended, came = _stroke(hand, stacker, m.End.HOME)
    return wrong or (None if isinstance(ended, m.Done) else came)


@check("push-against-tray", moves=True)
def _push_against_tray(hand: Hand) -> str | None:
    hand.fresh()
    stacker, lift = _part(hand, PartKind.STACKER), _part(hand, PartKind.LIFT)
    op = hand.op()
    hand.write(hand.data(m.Stroke(op, lift, m.End.TURN)))
    hand.listen(_known(hand).parts[lift].stroke_ms * 250)
    wrong = _refused(hand, m.Stroke(hand.op(), stacker, m.End.FAR), m.FailReason.INTERLOCK)
    got = hand.listen(_STROKE_US, lambda h: isinstance(h.message, m.Done) and h.message.op == op)
    ended = any(isinstance(h.message, m.Done) for h in got)
    return wrong or (None if ended else words(got))
