"""A measured figure with what it is held against, and the watch that tells what others took."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_IDLE = slice(3, 5)  # of the fields of /proc/stat: idle and waiting for a disk
_ALL = slice(0, 8)  # what follows is counted among these already


class Rule(StrEnum):
    """What an asked-for bound asks for."""

    LEAST = "least"
    MOST = "most"


@dataclass(frozen=True, slots=True)
class Against:
    """A bound, or a peer that was measured in the same run; `rule` where the figure has to keep to it."""

    name: str  # a key of the texts
    value: float
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure; `foreign` is the share of all processors' time that other programs took meanwhile."""

    name: str  # a key of the texts
    value: float
    unit: str
    against: tuple[Against, ...]
    foreign: float

    @property
    def kept(self) -> bool:
        """Tell whether the figure keeps to every bound that asks for something."""
        for each in self.against:
            if each.rule is Rule.LEAST and self.value < each.value:
                return False
            if each.rule is Rule.MOST and self.value > each.value:
                return False
        return True


class Watch:
    """Started when made; `processes` are children of ours whose time is our own."""

    def __init__(self, *processes: int) -> None:
        self._processes = processes
        self._start = self._read()

    def foreign(self) -> float:
        """Return the share of all processors' time since the start that went to others; 0 where unknown."""
        spent, busy, ours = (now - then for now, then in zip(self._read(), self._start, strict=True))
        return min(1.0, max(0.0, busy - ours) / spent) if spent > 0 else 0.0

    def _read(self) -> tuple[float, float, float]:
        """Return all time there was, what of it was used, and by us, in seconds."""
        try:
            line = Path("/proc/stat").read_text(encoding="ascii").partition("\n")[0]
        except OSError:
            return 0.0, 0.0, 0.0
        ticks = [int(field) for field in line.split()[1:]]
        total, idle = sum(ticks[_ALL]) * _TICK_S, sum(ticks[_IDLE]) * _TICK_S
        own = os.times()
        ours = own.user + own.system + own.children_user + own.children_system
        return total, total - idle, ours + sum(cpu_s(process) for process in self._processes)


def cpu_s(process: int) -> float:
    """Return the processor time of a process that runs; once it has ended it is our own children's."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        return sum(int((t / "schedstat").read_text(encoding="ascii").split()[0]) for t in tasks) / 1e9
    except (OSError, IndexError):
        return 0.0


def resident_mib(process: int) -> float:
    """Return the resident memory of a process; 0 where the system does not tell."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(found[0]) / 1024 if found else 0.0


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile, nearest rank."""
    ranked = sorted(values)
    return ranked[max(0, -(-len(ranked) * percent // 100) - 1)]
