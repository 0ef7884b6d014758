"""What the checks that move share: parts by kind, one run of the drum, one stroke, one refusal.

Times are taken from the board's own clock: between PONG and the end of a move, whatever the port delays.
"""

from collections.abc import Callable

from firmware_protocol import messages as m
from firmware_protocol import reports
from firmware_protocol.description import Description, PartKind
from firmware_protocol.trial.hand import Hand, Heard, words

TOLERANCE_MS = 60
STROKE_US = 15_000_000


def known(hand: Hand) -> Description:
    """Return the board's description."""
    if hand.description is None:
        raise LookupError("no description")
    return hand.description


def part(hand: Hand, kind: PartKind, index: int = 0) -> int:
    """Return the id of a part of a kind."""
    return known(hand).part(known(hand).names(kind)[index])


def tells(hand: Hand, report: reports.Report, sensor: str) -> bool:
    """Tell whether a sensor is active in a report of the board's."""
    bits = reports.sensor_bits(known(hand), report)
    return bool(bits >> known(hand).sensors.index(sensor) & 1)


def begin(hand: Hand, order: m.Run | m.Jog) -> tuple[m.Pong | None, str]:
    """Begin a move that ends with its lease; return the board's clock just before, and what came."""
    hand.write(hand.ping(3) + hand.data(order))
    got = hand.listen(until=lambda h: h.message == m.Accepted(order.op))
    pong = next((h.message for h in got if isinstance(h.message, m.Pong)), None)
    accepted = any(h.message == m.Accepted(order.op) for h in got)
    return pong if accepted else None, words(got)


def run(hand: Hand, lease_ms: int) -> tuple[int, m.Pong | None, str]:
    """Run the drum; return its operation, the board's clock just before, and what came."""
    order = m.Run(hand.op(), part(hand, PartKind.DRUM), 1, lease_ms)
    return order.op, *begin(hand, order)


def ended(hand: Hand, us: int, pings: bool = True) -> tuple[m.Failed | None, str]:
    """Return the failure with which a move ends, and what came."""
    got = hand.listen(us, lambda h: isinstance(h.message, m.Failed | m.Done | m.Stopped), pings)
    return next((h.message for h in got if isinstance(h.message, m.Failed)), None), words(got)


def stroke(hand: Hand, index: int, end: m.End) -> tuple[m.Message | None, str]:
    """Order a stroke; return how it ended, and what came."""
    op = hand.op()
    hand.write(hand.data(m.Stroke(op, index, end)))

    def ends(heard: Heard) -> bool:
        return isinstance(heard.message, m.Done | m.Failed) and heard.message.op == op

    got = hand.listen(STROKE_US, ends)
    return next((h.message for h in got if ends(h)), None), words(got)


def refused(hand: Hand, order: m.Message, reason: m.FailReason) -> str | None:
    """Return None where an order fails for that reason, else what came."""
    failed, came = hand.ask(hand.data(order), m.Failed)
    return None if failed and failed.reason == reason else came


def at_each_sort_of_mouth(hand: Hand, run: Callable[[Hand, str], str | None]) -> str | None:
    """Try something at a mouth that builds a wall and, where there are any, at one that serves a hand."""
    firsts = {mouth.hand: mouth.name for mouth in reversed(known(hand).named_mouths)}
    for name in firsts.values():
        if came := run(hand, name):
            return f"{name}: {came}"
    return None
