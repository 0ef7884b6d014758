"""Learned times: how long each mechanism takes, and when one begins to drag.

The journal keeps what was learned, so that a drift over months is seen although the table is off at night.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LEARN = 20  # strokes that make the mean; fewer say nothing
LAST = 5
DRIFT = 1.25


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a stroke has shown: `slowed` down by how many %, told once; `learned`: a mean is complete."""

    slowed: int | None = None
    learned: bool = False


@dataclass(slots=True)
class _Learned:
    count: int = 0
    mean_us: float = 0.0
    last_us: tuple[int, ...] = ()
    warned: bool = False


class Timing:
    """The mean time per mechanism and kind of stroke; `kept` is what `to_json` gave before."""

    def __init__(self, kept: Mapping[str, Any] | None = None) -> None:
        self._learned = {
            stroke: _Learned(LEARN, float(mean_us))
            for stroke, mean_us in (kept or {}).items()
            if isinstance(mean_us, int | float) and mean_us > 0
        }

    def to_json(self) -> dict[str, int]:
        """Return the complete means in µs."""
        return {s: round(known.mean_us) for s, known in self._learned.items() if known.count >= LEARN}

    def record(self, stroke: str, took_us: int) -> Verdict:
        """Take in how long a stroke took."""
        known = self._learned.setdefault(stroke, _Learned())
        if known.count < LEARN:
            known.count += 1
            known.mean_us += (took_us - known.mean_us) / known.count
            return Verdict(learned=known.count == LEARN)
        known.last_us = (*known.last_us[-(LAST - 1) :], took_us)
        now_us = sum(known.last_us) / len(known.last_us)
        slow = len(known.last_us) == LAST and now_us > DRIFT * known.mean_us
        tells, known.warned = slow and not known.warned, slow
        return Verdict(slowed=round(100 * (now_us / known.mean_us - 1)) if tells else None)
