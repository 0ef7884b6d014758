"""The simulated table's clock: real time, or a multiple of it."""

import time
from collections.abc import Callable

_SLACK_S = 0.005


class Clock:
    """Table time in µs. At a speed above 1 a process that was kept from running stands still meanwhile.

    One real millisecond is many at the table then: a pause of the whole computer must not look like a host
    that has died.
    """

    def __init__(self, speed: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._speed = speed
        self._monotonic = monotonic
        self._last_s = monotonic()
        self._table_us = 0.0

    def now_us(self, slept_s: float = 0.0) -> int:
        """Return the time; `slept_s` is how long the caller meant to wait since it asked last."""
        now_s = self._monotonic()
        gone_s = now_s - self._last_s
        self._last_s = now_s
        if self._speed > 1:
            gone_s = min(gone_s, slept_s + _SLACK_S)
        self._table_us += gone_s * self._speed * 1_000_000
        return int(self._table_us)

    def real_s(self, table_us: int) -> float:
        """Return how long a stretch of table time takes."""
        return table_us / self._speed / 1_000_000
