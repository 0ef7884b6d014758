"""Learned times: a mechanism that drags is not overlooked, one that does not is not blamed."""

from typing import Any

import pytest
from helpers import homed, run_for, run_to, told
from hypothesis import given
from hypothesis import strategies as st

from sim.table import Fault
from tablectl.table import events as ev
from tablectl.table.timing import DRIFT, LAST, LEARN, Timing


def taught(mean_us: int = 1_000_000) -> Timing:
    timing = Timing()
    for _ in range(LEARN):
        timing.record("console up", mean_us)
    return timing


@given(st.lists(st.integers(900_000, 1_150_000), max_size=80))
def test_a_mechanism_within_its_spread_is_not_blamed(strokes: list[int]) -> None:
    timing = taught()
    assert all(timing.record("console up", us).slowed is None for us in strokes)


def test_a_slow_mechanism_is_named_once_and_again_after_it_was_mended() -> None:
    timing = taught()
    slow = [timing.record("console up", 1_500_000).slowed for _ in range(LAST + 10)]
    assert slow == [None] * (LAST - 1) + [50] + [None] * 10
    assert all(timing.record("console up", 1_000_000).slowed is None for _ in range(LAST))
    again = [timing.record("console up", 1_500_000).slowed for _ in range(LAST)]
    assert sum(s is not None for s in again) == 1


def test_one_slow_stroke_is_no_drift() -> None:
    timing = taught()
    for us in [1_000_000] * LAST + [1_900_000] + [1_000_000] * LAST:
        assert timing.record("console up", us).slowed is None


@pytest.mark.parametrize(
    "kept", [{"console up": "long"}, {"console up": None}, {"console up": 0}, {"console up": [1]}, {}]
)
def test_a_kept_time_that_is_none_is_learned_anew(kept: dict[str, Any]) -> None:
    timing = Timing(kept)
    assert timing.to_json() == {}
    assert timing.record("console up", int(9_000_000 * DRIFT)).slowed is None


def test_what_was_learned_is_not_forgotten_when_the_mains_are_cut() -> None:
    r = homed()
    for _ in range(LEARN):
        r.press("START")
        run_to(r, "opening", 5)
        run_to(r, "open", 5)
        r.press("START")
        run_to(r, "closing", 5)
        run_to(r, "washing", 5)
        run_to(r, "rest", 20)
    run_for(r, 1)
    r.world.post(r.world.now_us, "table", Fault("power-cut:mains+1s"))
    run_for(r, 8)
    r.press("START", held_us=1_900_000)
    run_to(r, "rest", 10)
    assert not told(r, ev.WarningRaised)
    r.table.machine.motors["console"].delay(1_000_000)
    for _ in range(LAST):
        r.press("START")
        run_to(r, "opening", 5)
        run_to(r, "open", 9)
        r.press("START")
        run_to(r, "closing", 5)
        run_to(r, "washing", 9)
        run_to(r, "rest", 20)
    warned = told(r, ev.WarningRaised)
    assert {w.code for w in warned} == {"E65"}
    assert all(w.values["part"] == "console" and 40 <= w.values["percent"] <= 60 for w in warned)
    assert r.faults() == ()
