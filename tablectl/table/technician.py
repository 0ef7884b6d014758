"""Technician mode: one motor at a time, at reduced current, while somebody holds a key or a button.

The dice keys choose the part, the lift keys turn it forward and back; a program may ask for the same, again
and again as long as its button is held. The board ends a jog by itself as soon as it is not renewed.
"""

from collections.abc import Callable

from firmware_protocol.description import Description
from tablectl.table.activity import Outcome
from tablectl.table.events import BoardState, OpId, Verb
from tablectl.table.operations import Operations, Pending

HOLD_US = 300_000  # how long a program's word holds: as long as the board's lease for a jog
_DIRECTIONS = {"lift.1": 1, "lift.2": -1}
_STEPS = {"dice.S1": -1, "dice.S2": 1}


class Technician:
    """The activity of technician mode; `record` writes down who turns what before it turns."""

    def __init__(
        self, operations: Operations, description: Description, record: Callable[[str, str, int], None]
    ) -> None:
        self._operations = operations
        self._record = record
        self._parts = tuple(p.name for p in description.parts)
        self._chosen = 0
        self._by_key: str | None = None
        self._until_us: int | None = None
        self._op: OpId | None = None

    @property
    def chosen(self) -> tuple[int, str]:
        """Return number (from 1) and name of the part that the panel's keys turn."""
        return self._chosen + 1, self._parts[self._chosen]

    def begin(self, now_us: int) -> None:
        """Wait for a key."""

    def key(self, name: str, down: bool, now_us: int) -> None:
        """Take in a key of the panel."""
        if not down:
            if name == self._by_key:
                self._stop(now_us)
        elif step := _STEPS.get(name):
            self._stop(now_us)
            self._chosen = (self._chosen + step) % len(self._parts)
        elif direction := _DIRECTIONS.get(name):
            self._stop(now_us)
            self._by_key = name
            self._turn(f"panel:{name}", self._parts[self._chosen], direction, now_us)

    def jog(self, source: str, part: str, direction: int, now_us: int) -> str | None:
        """Take in that a program's button is held; return why it is not obeyed, as a text key."""
        if part not in self._parts or direction not in (1, -1):
            return "refuse.jog_what"
        verb = Verb.JOG if direction > 0 else Verb.JOG_BACK
        if not self._operations.running(verb, part):
            if self._operations.pending:
                return "refuse.jog_busy"
            self._turn(source, part, direction, now_us)
        self._by_key = None
        self._until_us = now_us + HOLD_US
        return None

    def see(self, state: BoardState, now_us: int) -> None:
        """Look at nothing: a person looks."""

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Let every end be: a motor that is held has stopped, and a person sees it."""
        if pending.op == self._op:
            self._op = self._by_key = self._until_us = None
        return True

    def advance(self, now_us: int) -> Outcome:
        """Stop what no button holds any more."""
        if self._until_us is not None and now_us >= self._until_us:
            self._stop(now_us)
        return None

    def next_deadline(self) -> int | None:
        """Return until when the last word holds."""
        return self._until_us

    def _turn(self, source: str, part: str, direction: int, now_us: int) -> None:
        self._record(source, part, direction)
        self._op = self._operations.order(Verb.JOG if direction > 0 else Verb.JOG_BACK, part, now_us)

    def _stop(self, now_us: int) -> None:
        self._by_key = self._until_us = None
        for verb in (Verb.JOG, Verb.JOG_BACK):
            for running in self._operations.running(verb):
                self._operations.stop(running, now_us)
