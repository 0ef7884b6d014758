"""Learned times: how long each mechanism takes, and when one begins to drag."""

from dataclasses import dataclass

LEARN = 20  # strokes that make the mean; fewer say nothing
LAST = 5
DRIFT = 1.25


@dataclass(slots=True)
class _Learned:
    count: int = 0
    mean_us: float = 0.0
    last_us: tuple[int, ...] = ()
    warned: bool = False


class Timing:
    """The mean time per mechanism and kind of stroke, learned over its first strokes."""

    def __init__(self) -> None:
        self._learned: dict[str, _Learned] = {}

    def record(self, stroke: str, took_us: int) -> int | None:
        """Take in how long a stroke took; return by how many % it has slowed down, once, when it has."""
        known = self._learned.setdefault(stroke, _Learned())
        if known.count < LEARN:
            known.count += 1
            known.mean_us += (took_us - known.mean_us) / known.count
            return None
        known.last_us = (*known.last_us[-(LAST - 1) :], took_us)
        now_us = sum(known.last_us) / len(known.last_us)
        slow = len(known.last_us) == LAST and now_us > DRIFT * known.mean_us
        if slow and not known.warned:
            known.warned = True
            return round(100 * (now_us / known.mean_us - 1))
        known.warned = known.warned and slow
        return None
