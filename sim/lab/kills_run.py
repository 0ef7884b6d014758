"""One run of a kill campaign: people play, something is struck, they go on until the table is ready."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.lab.kills_bench import Bench
from sim.lab.kills_judge import Look, Seen, Wrong, after, codes, judge, state_at
from sim.lab.kills_plan import Plan, S
from sim.lab.kills_strike import Struck, strike
from sim.lab.processes import LateError, wait_for
from tablectl.errors import TablectlError
from tablectl.journal.chain import Entry

LIMIT_US = 900 * S  # of table time, from the strike to a table that is ready
_LOOK_S = 0.1
_LAST_MS = 1.0
_RESTS = ("rest", "stopped", "unhomed", "fault", "loaded", "open", "add_open")
_SIDES = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run, and what was seen of it where it came to its end.

    `back_s` is how long the host took to work with what had come back.
    """

    plan: Plan
    wrong: tuple[Wrong, ...]
    seen: Seen | None = None
    back_s: float = 0.0

    @property
    def ready(self) -> bool:
        """Tell whether it ended with a set that is ready."""
        return self.seen is not None and self.seen.ready

    @property
    def struck(self) -> str:
        """Return the state of the cycle that was struck."""
        return state_at(self.seen.entries, self.seen.struck) if self.seen else "-"

    @property
    def codes(self) -> tuple[str, ...]:
        """Return the codes of the faults after the strike."""
        return codes(after(self.seen)) if self.seen else ()


def run(plan: Plan, speed: float) -> Outcome:
    """Carry one plan out in a folder of its own and judge it."""
    with tempfile.TemporaryDirectory(prefix="tablectl-kill-") as name:
        try:
            seen, back_s = _play(plan, Path(name), speed)
        except (LateError, OSError, TablectlError, ValueError) as error:
            return Outcome(plan, (Wrong("failed", {"why": f"{type(error).__name__}: {error}"}),))
    return Outcome(plan, judge(seen), seen, back_s)


def _play(plan: Plan, folder: Path, speed: float) -> tuple[Seen, float]:
    bench = Bench(plan, folder, speed)
    with bench:
        _wait_for_the_moment(bench)
        struck = strike(bench)
        way = _Way(bench)
        way.go()
        entries, losses = bench.journal(), bench.losses()
    return _seen(bench, struck, way, entries, losses), struck.back_s


def _wait_for_the_moment(bench: Bench) -> None:
    def console_has_moved() -> int:
        truth = bench.truth()
        return int(truth["time_us"]) if "stroke console" in truth["executed"] else 0

    at_us = wait_for(console_has_moved, "the first START") + bench.plan.strike_us
    while (left_us := at_us - int(bench.truth()["time_us"])) > 0:
        time.sleep(max(_LAST_MS / 1000, 0.8 * left_us / bench.speed / S))


def _seen(
    bench: Bench, struck: Struck, way: "_Way", entries: tuple[Entry, ...], losses: tuple[str, ...]
) -> Seen:
    truths = tuple(t for t in (struck.before, way.truth) if t)
    return Seen(
        bench.plan,
        way.ready,
        way.state,
        struck.last,
        struck.kept,
        struck.done,
        entries,
        tuple(motion for truth in truths for motion in truth["executed"]),
        truths,
        tuple(way.looks),
        losses,
        "".join(bench.said),
    )


class _Way:
    """The way from the strike to a table that is ready, looked at again and again."""

    def __init__(self, bench: Bench) -> None:
        self.ready = False
        self.state = ""
        self.looks: list[Look] = []
        self.truth = bench.truth()
        self._bench = bench

    def go(self) -> None:
        """Let people go on until a set is ready, or nobody would wait any longer."""
        end_us = int(self.truth["time_us"]) + LIMIT_US
        while not self.ready and int(self.truth["time_us"]) < end_us:
            time.sleep(_LOOK_S)
            self._look()

    def _look(self) -> None:
        """Hold what the daemon says against the truth, where it says the same before and after."""
        before = self._bench.status()
        self.truth = self._bench.truth()
        status = self._bench.status()
        self.state = str(status["state"])
        if _said(before) != _said(status) or self.state not in _RESTS or self.truth["driven"]:
            return
        if status["connected"] and status["stores"]:
            stored = tuple(status["stored"]["tiles"]) if status["stored"] else None
            truth = tuple(len(self.truth["places"][f"store.S{n}"]) for n in _SIDES)
            self.looks.append(Look(self.state, tuple(status["stores"]), stored, truth))
            self.ready = self.state == "rest" and stored is not None


def _said(status: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(status[key] for key in ("state", "stored", "stores", "connected"))
