"""The shape that every core of the project has: events and a time in, effects out.

A core reads no clock, opens no file, starts no thread. `now_us` never decreases; after `Tick` the next
deadline lies later than `now_us`; a core is never entered again from one of its own effects.
"""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: act on every deadline that is due."""


TICK = Tick()


class Core(Protocol):
    """What a shell or the virtual world drives."""

    def handle(self, event: Any, now_us: int) -> tuple[Any, ...]:
        """Take one event in at `now_us` and return what is to be done, in order."""
        ...

    def next_deadline(self) -> int | None:
        """Return the time in µs at which a `Tick` is wanted, or None."""
        ...


def earliest(*deadlines_us: int | None) -> int | None:
    """Return the first of several deadlines, None where there is none."""
    first = None
    for due in deadlines_us:
        if due is not None and (first is None or due < first):
            first = due
    return first
