"""The virtual remote and the receiver in the table: presses in, the words of /dev/lirc0 out.

The pulses are those of a NEC remote. The words come when, and in the portions in which, the kernel's edge
driver (gpio-ir) hands them to a reader.
"""

import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from firmware_protocol.core import Tick, earliest

PULSE, TIMEOUT = 0x0100_0000, 0x0300_0000
VALUE_MASK = 0xFF_FFFF

FRAME_LEADER_US = (9000, -4500)
REPEAT_CODE_US = (9000, -2250, 560)
MARK_US, ZERO_US, ONE_US = 560, -560, -1690
PERIOD_US = 108_000  # leader to leader while a key is held
FINGER_US = 50_000  # from the end of one press to the next: no finger is faster
JITTER_US = 40

BATCH_US = 15_000  # edges are handed over this long after the first of them
TIMEOUT_US = 125_000  # of rc-core with "lirc" alone; with its NEC decoder enabled it is 15,600
QUIET_BEFORE_US = 500_000  # how long the receiver had heard nothing when the simulation began


@dataclass(frozen=True, slots=True)
class Press:
    """A finger on a key for `held_us`; a user code above 0xFF goes out as an extended one."""

    user_code: int
    data_code: int
    held_us: int = 0

    def __post_init__(self) -> None:
        if not (0 <= self.user_code <= 0xFFFF and 0 <= self.data_code <= 0xFF and self.held_us >= 0):
            raise ValueError(f"no remote can send {self}")


@dataclass(frozen=True, slots=True)
class IrWords:
    """What one read of the receiver's device gives: 32-bit little-endian LIRC words."""

    data: bytes


def words(durations_us: Iterable[int]) -> bytes:
    """Return the LIRC words of signed µs, pulses positive and spaces negative."""
    return b"".join(_word(PULSE if us > 0 else 0, abs(us)) for us in durations_us)


def frame(user_code: int, data_code: int) -> tuple[int, ...]:
    """Return a NEC frame in signed µs, from its leader to its end pulse."""
    low, high = user_code & 0xFF, user_code >> 8
    sent = bytes((low, high or low ^ 0xFF, data_code, data_code ^ 0xFF))
    out = [*FRAME_LEADER_US]
    for byte in sent:
        for bit in range(8):  # LSB first
            out += (MARK_US, ONE_US if byte >> bit & 1 else ZERO_US)
    return (*out, MARK_US)


class Remote:
    """A remote and the kernel's side of its receiver; one press at a time, later ones wait their turn."""

    def __init__(self, seed: int = 0, timeout_us: int = TIMEOUT_US) -> None:
        self._random = random.Random(seed)
        self._timeout_us = timeout_us
        self._waiting: deque[Press] = deque()
        self._held_until_us = self._next_leader_us = self._free_at_us = 0
        self._held = False

        self._edges_us: deque[int] = deque()  # still to come, every other one ends a pulse
        self._line_up = False
        self._last_edge_us = -QUIET_BEFORE_US
        self._batch: list[bytes] = []
        self._hand_over_us: int | None = None
        self._timeout_at_us: int | None = None
        self._timed_out_us: int | None = None

    def handle(self, event: Press | Tick, now_us: int) -> tuple[IrWords, ...]:
        """Take a press or time in; return the reads that became due, in order."""
        out: list[IrWords] = []
        self._advance(now_us, out)
        if isinstance(event, Press):
            self._waiting.append(event)
            self._send(now_us)
        return tuple(out)

    def next_deadline(self) -> int | None:
        """Return when the next words are handed over, or None when all is quiet."""
        if self._hand_over_us is not None:
            return self._hand_over_us
        if self._edges_us and (self._timeout_at_us is None or self._edges_us[0] < self._timeout_at_us):
            return self._edges_us[0] + BATCH_US
        return self._timeout_at_us

    def _advance(self, now_us: int, out: list[IrWords]) -> None:
        """Let edges, batches and timeouts up to `now_us` happen in their order."""
        while True:
            edge_us = self._edges_us[0] if self._edges_us else None
            at_us = earliest(edge_us, self._hand_over_us, self._timeout_at_us)
            if at_us is None or at_us > now_us:
                return
            if at_us == edge_us:
                self._edges_us.popleft()
                self._edge(at_us)
                self._send(at_us)
            elif at_us == self._hand_over_us:
                self._hand_over(at_us, out)
            else:
                out.append(IrWords(_word(TIMEOUT, self._timeout_us)))
                self._timeout_at_us, self._timed_out_us = None, at_us

    def _send(self, now_us: int) -> None:
        """Lay down the edges of what goes on the air next, as soon as the air is free."""
        if self._edges_us:
            return
        if self._held and self._next_leader_us < self._held_until_us:
            self._lay(REPEAT_CODE_US, self._next_leader_us)
        elif self._waiting:
            press = self._waiting.popleft()
            start_us = max(now_us, self._free_at_us)
            self._held, self._held_until_us = True, start_us + press.held_us
            self._lay(frame(press.user_code, press.data_code), start_us)
        else:
            self._held = False

    def _lay(self, durations_us: Iterable[int], start_us: int) -> None:
        self._next_leader_us = start_us + PERIOD_US
        self._free_at_us = max(self._next_leader_us, self._held_until_us) + FINGER_US
        at_us = start_us
        self._edges_us.append(at_us)
        for us in durations_us:
            at_us += abs(us) + self._random.randint(-JITTER_US, JITTER_US)
            self._edges_us.append(at_us)

    def _edge(self, at_us: int) -> None:
        self._batch.append(_word(PULSE if self._line_up else 0, at_us - self._last_edge_us))
        self._line_up = not self._line_up
        self._last_edge_us, self._timeout_at_us = at_us, at_us + self._timeout_us
        if self._hand_over_us is None:
            self._hand_over_us = at_us + BATCH_US

    def _hand_over(self, at_us: int, out: list[IrWords]) -> None:
        if self._timed_out_us is not None:
            # The kernel first counts the silence from its TIMEOUT to now; the batch then has the whole gap.
            self._batch.insert(0, _word(0, at_us - self._timed_out_us))
            self._timed_out_us = None
        out.append(IrWords(b"".join(self._batch)))
        self._batch.clear()
        self._hand_over_us = None


def _word(kind: int, us: int) -> bytes:
    return (kind | min(us, VALUE_MASK)).to_bytes(4, "little")
