"""A dead end sensor: the table goes on where that is safe, and says so; where it is not, nothing moves."""

import pytest
from helpers import (
    STACKS,
    check_tiles,
    homed,
    put_in,
    refusals,
    run_for,
    run_to,
    run_until,
    stacks,
    told,
    wash,
)

from sim.lab.rig import Rig
from sim.table import PanelKey
from tablectl.table import events as ev


def hold(r: Rig, down: bool) -> None:
    r.world.post(r.world.now_us, "table", PanelKey("lift.1", down))


def homed_without(r: Rig) -> None:
    """Take RESET and a held lift key as a technician does who goes on without the sensor."""
    r.press("RESET")
    run_to(r, "unhomed", 2)
    run_for(r, 0.5)
    hold(r, True)
    run_until(r, lambda: r.controller.state not in ("unhomed", "homing"), 20)
    hold(r, False)
    run_for(r, 0.1)


@pytest.mark.parametrize("rule", ["riichi", "sc_tcy"])
@pytest.mark.parametrize("came_s", [0, 7.3])
def test_a_dead_closed_sensor_does_not_stop_the_wash_nor_spoil_a_count(rule: str, came_s: float) -> None:
    r = homed(rule)
    wash(r)
    run_to(r, "washing")
    run_for(r, came_s)
    r.table.machine.force_sensor("stacker.S2.closed", False)
    run_to(r, "rest")
    assert r.faults() == ()
    assert [(w.code, w.values) for w in told(r, ev.WarningRaised)] == [
        ("E66", {"sensor": "stacker.S2.closed"})
    ]
    assert tuple(len(s.store) // 2 for s in r.table.machine.sides) == STACKS[rule]
    check_tiles(r)


def test_a_dead_upper_sensor_is_named_and_gone_without_after_reset() -> None:
    r = homed()
    r.table.machine.force_sensor("console.up", False)
    r.press("START")
    run_to(r, "fault", 10)
    assert r.controller.fault == ev.FaultRaised("E53", {"sensor": "console.up"})
    homed_without(r)
    run_to(r, "loaded", 5)
    r.press("START")
    run_until(r, lambda: r.controller.state == "rest", 60)
    r.press("START")
    run_to(r, "open", 5)
    assert 400_000 < r.table.machine.console.angle < 600_000, "it is up"
    put_in(r)
    r.press("START")
    run_to(r, "rest")
    assert sum(len(s.store) for s in r.table.machine.sides) == 136
    assert r.faults() == ("E53",)


def test_a_dead_lower_sensor_lets_nothing_come_down_unwatched() -> None:
    r = homed()
    r.press("START")
    run_to(r, "open", 5)
    put_in(r)
    r.table.machine.force_sensor("console.down", False)
    r.press("START")
    run_to(r, "fault", 10)
    assert r.controller.fault == ev.FaultRaised("E53", {"sensor": "console.down"})
    # By remote nothing comes down.
    r.press("RESET")
    run_to(r, "unhomed", 2)
    r.press("START", held_us=1_900_000)
    run_to(r, "fault", 20)
    homed_without(r)
    assert r.controller.state == "loaded"
    assert min(r.table.machine.console.angle, 1_000_000 - r.table.machine.console.angle) < 70_000, (
        "it is down"
    )
    r.press("START")
    run_to(r, "washing", 5)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "open", 5)
    r.press("START")
    run_for(r, 1)
    assert (r.controller.state, refusals(r)[-1]) == ("open", "refuse.hold_lift_key")
    # Held to the end it comes down, and the walls rise.
    hold(r, True)
    run_to(r, "raising", 10)
    hold(r, False)
    run_until(r, lambda: stacks(r) == STACKS["riichi"], 20)
    check_tiles(r)


@pytest.mark.parametrize("held_s", [0.1, 0.6, 1.4])
def test_a_lift_key_that_is_let_go_brings_the_console_up_again(held_s: float) -> None:
    r = homed()
    r.table.machine.force_sensor("console.down", False)
    r.press("START")
    run_to(r, "open", 5)
    r.press("START")
    run_to(r, "fault", 10)
    homed_without(r)
    run_until(r, lambda: r.controller.state == "loaded", 10)
    r.press("START")
    run_to(r, "rest", 60)
    r.press("START")
    run_to(r, "open", 5)
    hold(r, True)
    run_for(r, held_s)
    hold(r, False)
    run_for(r, 0.2)
    assert r.controller.state in ("opening", "open")
    run_to(r, "open", 5)
    assert r.faults() == ("E53",)


def test_a_mended_sensor_is_used_again_after_the_power_was_off() -> None:
    r = homed()
    r.table.machine.force_sensor("console.up", False)
    r.press("START")
    run_to(r, "fault", 10)
    homed_without(r)
    assert r.controller.memory.without == ("console.up",)
    r.table.machine.force_sensor("console.up", None)
    r.table.faults.kinds["reset"].act("board")
    run_for(r, 3)
    assert r.controller.memory.without == ()


@pytest.mark.parametrize("sensor", ["stacker.S3.open", "lift.S3.home"])
def test_nothing_is_pushed_or_raised_against_a_part_that_may_not_be_home(sensor: str) -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 6)
    r.table.machine.force_sensor(sensor, False)
    run_until(r, lambda: r.controller.state in ("fault", "rest"), 120)
    if r.controller.state == "rest":
        r.press("START")
        run_to(r, "open", 5)
        r.press("START")
        run_to(r, "fault", 20)
    assert r.controller.fault is not None
    assert r.table.machine.violations == []
    check_tiles(r)
    r.table.machine.force_sensor(sensor, None)
    r.press("RESET")
    run_to(r, "unhomed", 2)
    r.press("START", held_us=1_900_000)
    run_until(r, lambda: r.controller.state in ("stopped", "loaded", "rest"), 20)


def test_a_wall_that_may_stand_is_asked_for_and_its_lift_turned_once_more() -> None:
    r = homed(sets=1)
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_for(r, 1.0)
    r.press("STOP")
    run_to(r, "unhomed", 1)
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 20)
    run_for(r, 0.5)
    assert r.shown[-1][1].display == "S1--"
    r.press("DICE")
    run_for(r, 0.5)
    assert refusals(r)[-1] == "refuse.no_walls"
    r.press("START")
    run_to(r, "rest", 30)
    assert stacks(r) == STACKS["riichi"]
    check_tiles(r)
