"""What a state of the cycle does: an activity orders moves, sees their ends, and comes to a trigger."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, OpId, Verb
from tablectl.table.operations import Operations, Pending


@dataclass(frozen=True, slots=True)
class Trouble:
    """An activity cannot go on; `code` stands in the fault catalogue."""

    code: str
    values: dict[str, Any] = field(default_factory=dict)


Outcome = Trigger | Trouble | None


class Activity(Protocol):
    """One activity; a new state has a new one. Moves of the state before go on where it takes them over."""

    def begin(self, now_us: int) -> None:
        """Order the first moves."""
        ...

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in sensors and counts."""
        ...

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Take in the end of a move, None for a good one; tell whether a failure is dealt with."""
        ...

    def advance(self, now_us: int) -> Outcome:
        """Go on, as far as things are; return what it came to."""
        ...

    def next_deadline(self) -> int | None:
        """Return when time alone lets it go on."""
        ...


Step = tuple[Verb, str]
STOP_FEEDS: Step = (Verb.STOP, "")


class Procedure:
    """Groups of moves, one group after the other; each ends by the board's own word on each of its moves."""

    def __init__(self, operations: Operations, groups: Iterable[Sequence[Step]], then: Trigger) -> None:
        self._operations = operations
        self._groups = deque(groups)
        self._then = then
        self._waiting: set[OpId] = set()

    def begin(self, now_us: int) -> None:
        """Order the first group; it waits for nothing, it may be the one that stops what runs."""
        self._order(now_us)

    def see(self, state: BoardState, now_us: int) -> None:
        """Look at nothing: only ends count."""

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Strike a move off; failures are nobody's to deal with here."""
        if reason is None or pending.stopping:
            self._waiting.discard(pending.op)
        return False

    def advance(self, now_us: int) -> Outcome:
        """Order the next group when the last one has ended."""
        while not self._waiting:
            if not self._groups:
                return self._then
            self._order(now_us)
        return None

    def next_deadline(self) -> int | None:
        """Return None: a procedure waits for nothing but its moves."""
        return None

    def _order(self, now_us: int) -> None:
        for verb, part in self._groups.popleft() if self._groups else ():
            if (verb, part) == STOP_FEEDS:
                self._waiting |= self._operations.stop_feeds(now_us)
            else:
                self._waiting.add(self._operations.order(verb, part, now_us))
