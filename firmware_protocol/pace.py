"""The clock of both ends of a simulated table: real time, or a multiple of it that waits for what is real.

At twenty times real time the board's 700 ms of patience are 35 ms: less than a busy computer takes a process
off its processor for. So at a speed above 1 neither end's clock runs further than LEAD_US past the last word
of the other, nor past the oldest write that its disk has not answered: a disk is no faster at twenty times
real time. For some seconds the clock stands and waits, and only then does time go on without them; for the
other end longer than for the disk, because the other end may itself be waiting for its disk. What this
process sleeps through itself is no waiting, for nothing was read meanwhile.
At speed 1, the only one that a real board accepts, this is the plain monotonic clock.
"""

import time
from collections.abc import Callable

LEAD_US = 250_000  # more than a ping's 230 ms, far less than what links, leases and stops may take
DISK_S = 2.5
PATIENCE_S = 3.0
NAP_S = 0.25  # of a longer pause between two looks at the clock no more is taken for waiting


class PacedClock:
    """Table time in µs from 0 on; the caller reports with `heard` whenever bytes of the other end came."""

    def __init__(self, speed: float = 1.0, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.speed = speed
        self._monotonic = monotonic
        self._last_s = monotonic()
        self._table_us = 0.0
        self._awake_s = 0.0  # real time in which this process could have read
        self._heard: tuple[float, float] | None = None  # awake and table time
        self._asked: tuple[float, float] | None = None

    def now_us(self) -> int:
        """Return the time; it never goes back."""
        now_s = self._monotonic()
        gone_us = (now_s - self._last_s) * self.speed * 1_000_000
        self._awake_s += min(now_s - self._last_s, NAP_S)
        self._last_s = now_s
        for waits, patience_s in ((self._heard, PATIENCE_S), (self._asked, DISK_S)):
            if self.speed > 1 and waits is not None and self._awake_s - waits[0] < patience_s:
                gone_us = min(gone_us, max(0.0, waits[1] + LEAD_US - self._table_us))
        self._table_us += gone_us
        return int(self._table_us)

    def heard(self, at_us: int | None = None) -> None:
        """Note that the other end has spoken, now, or at the time before at which its word was taken in."""
        self.now_us()
        self._heard = (self._awake_s, self._table_us if at_us is None else at_us)

    def asked_disk(self) -> None:
        """Note that a write was given to the disk."""
        if self._asked is None:
            self.now_us()
            self._asked = (self._awake_s, self._table_us)

    def disk_answered(self) -> None:
        """Note that the disk has everything it was given."""
        self.now_us()
        self._asked = None

    def real_s(self, table_us: int) -> float:
        """Return how long a stretch of table time takes at the least."""
        return max(0, table_us) / self.speed / 1_000_000
