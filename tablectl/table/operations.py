"""The operations under way on the board: ids, leases, time limits."""

from collections.abc import Callable
from dataclasses import dataclass

from firmware_protocol.core import earliest
from tablectl.table.events import Command, JournalId, OpId, Verb

RENEW_US = 700_000  # the board's lease is 2 s: two renewals may be lost
STOP_LIMIT_US = 2_000_000
DISK_LIMIT_US = 5_000_000  # an order that waits longer than this for its journal entry waits for a dead disk
JOG_RENEW_US = 100_000  # that of a jog is 300 ms
JOGS = frozenset({Verb.JOG, Verb.JOG_BACK})
LEASED = frozenset({Verb.RUN, Verb.RUN_BACK, Verb.FILL}) | JOGS


@dataclass(slots=True)
class Pending:
    """An operation that the board has not ended yet; `limit_us` counts from when it was sent."""

    op: OpId
    verb: Verb
    part: str
    ordered_us: int
    sent_us: int | None = None
    limit_us: int | None = None
    stopping: bool = False  # we have ended it, and its failure is expected

    @property
    def sent(self) -> bool:
        """Tell whether it has left for the board."""
        return self.sent_us is not None

    @property
    def mouth(self) -> str:
        """Return the mouth of its part."""
        return self.part.partition(".")[2]


class Operations:
    """What was ordered and has not ended.

    `stroke_ms` gives a part's time between its ends; `speed` is that of a simulated clock, which the disk
    knows nothing of.
    """

    def __init__(
        self, emit: Callable[[Command], None], stroke_ms: Callable[[str], int], speed: float = 1.0
    ) -> None:
        self.after: JournalId | None = None  # the journal entry that new moves wait for
        self.pending: dict[OpId, Pending] = {}
        self._emit = emit
        self._stroke_ms = stroke_ms
        self._disk_limit_us = round(DISK_LIMIT_US * speed)
        self._last_op = 0
        self._renew_us: int | None = None

    def next_op(self) -> OpId:
        """Return a fresh operation id."""
        self._last_op += 1
        return self._last_op

    def order(self, verb: Verb, part: str, now_us: int, tiles: int = 0) -> OpId:
        """Begin a move; one of the same mechanism that is under way gives way to it."""
        for other in self.pending.values():
            if other.part == part and verb not in LEASED:
                other.stopping = True
        op = self.next_op()
        self.pending[op] = Pending(op, verb, part, now_us)
        self._emit(Command(op, verb, part, tiles, self.after))
        return op

    def sent(self, op: OpId, now_us: int) -> None:
        """Note that an order has left: its time runs from now."""
        pending = self.pending.get(op)
        if pending is None or pending.sent:
            return
        pending.sent_us = now_us
        if pending.verb in LEASED:
            self._renew_us = self._renew_us or now_us + _renewal_us(pending)
        elif pending.limit_us is None:
            # The board ends a stroke by itself: out, back and out once more, each within twice its time.
            pending.limit_us = now_us + 8_000 * self._stroke_ms(pending.part) + 1_000_000

    def running(self, verb: Verb, part: str | None = None) -> list[Pending]:
        """Return what runs of a kind and is not being stopped."""
        return [
            p
            for p in self.pending.values()
            if p.verb is verb and not p.stopping and (part is None or p.part == part)
        ]

    def stop(self, running: Pending, now_us: int) -> OpId:
        """Stop one move; its end comes as a failure that is expected."""
        running.stopping = True
        running.limit_us = now_us + STOP_LIMIT_US
        op = self.next_op()
        self.pending[op] = Pending(op, Verb.STOP, running.part, now_us, limit_us=now_us + STOP_LIMIT_US)
        self._emit(Command(op, Verb.STOP, running.part))
        return op

    def stop_feeds(self, now_us: int) -> set[OpId]:
        """Stop every move that has a lease; return the ids to wait for."""
        ids = set()
        for running in [p for p in self.pending.values() if p.verb in LEASED and not p.stopping]:
            ids |= {running.op, self.stop(running, now_us)}
        return ids

    def end(self, op: OpId) -> Pending | None:
        """Take an ended operation off the list; None for one that is not on it."""
        return self.pending.pop(op, None)

    def forget(self) -> None:
        """Drop everything: a STOP ALL or the end of a session has ended it."""
        self.pending.clear()
        self._renew_us = None

    def renew(self, now_us: int) -> None:
        """Renew leases that are due."""
        leased = [p for p in self.pending.values() if p.verb in LEASED and p.sent and not p.stopping]
        if not leased:
            self._renew_us = None
        elif self._renew_us is not None and self._renew_us <= now_us:
            self._renew_us = now_us + min(map(_renewal_us, leased))
            for p in leased:
                self._emit(Command(p.op, Verb.RENEW, p.part))

    def overdue(self, now_us: int) -> Pending | None:
        """Return an operation that should have ended, or left, by now."""
        for p in self.pending.values():
            if (due_us := self._due_us(p)) is not None and due_us <= now_us:
                return p
        return None

    def next_deadline(self) -> int | None:
        """Return when a lease or a time limit is due."""
        return earliest(self._renew_us, *map(self._due_us, self.pending.values()))

    def _due_us(self, p: Pending) -> int | None:
        """Return by when a move must have ended; before it is sent, by when the disk must have let it go."""
        return p.limit_us if p.sent or p.limit_us else p.ordered_us + self._disk_limit_us


def _renewal_us(pending: Pending) -> int:
    return JOG_RENEW_US if pending.verb in JOGS else RENEW_US
