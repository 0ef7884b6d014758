"""The simulator's own truth of motors and host: what judges a run must not be blind."""

import pytest
from helpers import homed, run_for, run_to, wash

from sim.board import Board
from sim.lab.rig import Rig
from sim.table import Fault

SILENCE_US = 720_000


def washing() -> Rig:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 2)
    return r


def pulled(r: Rig) -> int:
    """Pull the cable and return how long a motor has been on since the host's last byte."""
    r.world.post(r.world.now_us, "table", Fault("unplug:wire"))
    run_for(r, 3)
    longest: int = r.table.truth()["silence"]["longest_us"]
    return longest


def test_a_board_that_stops_in_silence_is_not_called_too_late() -> None:
    r = washing()
    assert r.table.truth()["driven"] != []
    assert 600_000 < pulled(r) <= SILENCE_US
    assert r.table.truth()["driven"] == []


def test_a_motor_that_runs_on_without_a_host_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    r = washing()
    monkeypatch.setattr(Board, "_silent_at", None)
    assert pulled(r) > 1_500_000, "its lease has ended it"


def test_a_motor_that_still_runs_when_the_truth_is_asked_for_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    r = washing()
    monkeypatch.setattr(Board, "_silent_at", None)
    r.world.post(r.world.now_us, "table", Fault("unplug:wire"))
    run_for(r, 1)
    truth = r.table.truth()
    assert "drum" in truth["driven"]
    assert truth["silence"]["longest_us"] > SILENCE_US


def test_no_motion_is_left_out_of_the_truth() -> None:
    r = homed()
    assert r.table.truth()["executed"] == []
    wash(r)
    run_to(r, "washing")
    run_for(r, 1)
    fills = [f"fill conveyor.S{n}" for n in range(1, 5)]
    assert r.table.truth()["executed"] == ["stroke console", "stroke console", "run drum", *fills]
