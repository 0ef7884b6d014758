"""The operations under way on the board: ids, leases, time limits, and procedures made of them."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from firmware_protocol.core import earliest
from tablectl.table.cycle import Trigger
from tablectl.table.events import Command, JournalId, OpId, Verb

RENEW_US = 700_000  # the board's lease is 2 s: two renewals may be lost
STOP_LIMIT_US = 2_000_000
_LEASED = frozenset({Verb.RUN, Verb.RUN_BACK, Verb.FILL})


@dataclass(slots=True)
class Pending:
    """An operation that the board has not ended yet."""

    op: OpId
    verb: Verb
    part: str
    limit_us: int | None
    stopping: bool = False


class Operations:
    """What was ordered and has not ended. `stroke_ms` gives a part's time between its ends."""

    def __init__(self, emit: Callable[[Command], None], stroke_ms: Callable[[str], int]) -> None:
        self.after: JournalId | None = None  # the journal entry that new moves wait for
        self.pending: dict[OpId, Pending] = {}
        self._emit = emit
        self._stroke_ms = stroke_ms
        self._last_op = 0
        self._renew_us: int | None = None

    def next_op(self) -> OpId:
        """Return a fresh operation id."""
        self._last_op += 1
        return self._last_op

    def order(self, verb: Verb, part: str, now_us: int, tiles: int = 0) -> None:
        """Begin a move."""
        limit_us = None
        if verb in _LEASED:
            self._renew_us = self._renew_us or now_us + RENEW_US
        else:
            # The board ends a stroke by itself at twice its time; a board that does not is out of order.
            limit_us = now_us + 3_000 * self._stroke_ms(part) + 1_000_000
        op = self.next_op()
        self.pending[op] = Pending(op, verb, part, limit_us)
        self._emit(Command(op, verb, part, tiles, self.after))

    def stop_all_feeds(self, now_us: int) -> None:
        """Stop every move that has a lease, each for itself; their ends come as Failed."""
        for running in [p for p in self.pending.values() if p.verb in _LEASED and not p.stopping]:
            running.stopping = True
            running.limit_us = now_us + STOP_LIMIT_US
            op = self.next_op()
            self.pending[op] = Pending(op, Verb.STOP, running.part, now_us + STOP_LIMIT_US)
            self._emit(Command(op, Verb.STOP, running.part))

    def end(self, op: OpId) -> Pending | None:
        """Take an ended operation off the list; None for one that is not on it."""
        return self.pending.pop(op, None)

    def forget(self) -> None:
        """Drop everything: a STOP ALL or the end of a session has ended it."""
        self.pending.clear()
        self._renew_us = None

    def tick(self, now_us: int) -> Pending | None:
        """Renew leases that are due; return an operation whose end is overdue."""
        leased = [p for p in self.pending.values() if p.verb in _LEASED and not p.stopping]
        if not leased:
            self._renew_us = None
        elif self._renew_us is not None and self._renew_us <= now_us:
            self._renew_us = now_us + RENEW_US
            for p in leased:
                self._emit(Command(p.op, Verb.RENEW, p.part))
        for p in self.pending.values():
            if p.limit_us is not None and p.limit_us <= now_us:
                return p
        return None

    def next_deadline(self) -> int | None:
        """Return when a lease or a time limit is due."""
        return earliest(self._renew_us, *(p.limit_us for p in self.pending.values()))


Step = tuple[Verb, str]
STOP_FEEDS: Step = (Verb.STOP, "")


class Procedure:
    """Groups of strokes, one after the other; at the end of the last one a trigger."""

    def __init__(self, operations: Operations, groups: Iterable[Sequence[Step]], then: Trigger) -> None:
        self._operations = operations
        self._groups = deque(groups)
        self._then = then
        self._begun = False

    def advance(self, now_us: int) -> Trigger | None:
        """Order the next group when all that runs has ended; return the trigger when none is left."""
        # The first group waits for nothing: it may be the one that stops what runs.
        while not self._begun or not self._operations.pending:
            self._begun = True
            if not self._groups:
                return self._then
            for verb, part in self._groups.popleft():
                if (verb, part) == STOP_FEEDS:
                    self._operations.stop_all_feeds(now_us)
                else:
                    self._operations.order(verb, part, now_us)
        return None

    def next_deadline(self) -> int | None:
        """Return None: a procedure waits for nothing but its operations."""
        return None
