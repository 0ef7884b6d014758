"""What happens next inside the simulated table: a heap of times and calls."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Entry:
    """One call at one time."""

    time_us: int
    call: Callable[[], None] | None

    def cancel(self) -> None:
        """Let the call not happen."""
        self.call = None


class Agenda:
    """The calls to come; `now_us` is the time of the one that runs."""

    def __init__(self) -> None:
        self.now_us = 0
        self._heap: list[tuple[int, int, Entry]] = []  # of the same time in their order
        self._count = 0

    def at(self, time_us: int, call: Callable[[], None]) -> Entry:
        """Plan a call at a time, or right away where that has passed."""
        self._count += 1
        entry = Entry(max(time_us, self.now_us), call)
        heapq.heappush(self._heap, (entry.time_us, self._count, entry))
        return entry

    def after(self, delay_us: int, call: Callable[[], None]) -> Entry:
        """Plan a call some time from now."""
        return self.at(self.now_us + delay_us, call)

    def next_us(self) -> int | None:
        """Return the time of the next call."""
        while self._heap and self._heap[0][2].call is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run_until(self, time_us: int) -> None:
        """Make every call that is due by `time_us`, each at its own time."""
        while (due := self.next_us()) is not None and due <= time_us:
            self.now_us, _, entry = heapq.heappop(self._heap)
            if entry.call:
                entry.call()
        self.now_us = max(self.now_us, time_us)
