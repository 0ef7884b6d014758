"""The controller at a whole table: what keys do and do not, what stops it, what it says."""

import pytest
from helpers import (
    STACKS,
    TILES,
    S,
    api,
    check_tiles,
    homed,
    panel,
    pull_walls,
    put_in,
    refusals,
    rig,
    run_for,
    run_to,
    run_until,
    stacks,
    standing,
    told,
    wash,
)

from firmware_protocol import messages as m
from sim.lab.rig import Rig
from sim.table import PanelKey
from tablectl.table import events as ev
from tablectl.table.intents import Intent

MOTION = (m.Run, m.Stroke, m.Fill)


def moved(r: Rig) -> int:
    """Return how many moves the board has begun so far."""
    return len(r.table.board.executed)


def test_the_first_walls_do_not_take_other_than_four_starts() -> None:
    r = homed()
    for number, leads_to in enumerate(("open", "rest", "open", "washing"), 1):
        r.press("START")
        run_to(r, leads_to)
        if leads_to == "open":
            put_in(r, box=number // 2)
        assert stacks(r) == ((17, 17, 17, 17) if number == 4 else (0, 0, 0, 0))
    run_to(r, "rest")
    assert r.faults() == ()
    check_tiles(r)


def test_nothing_moves_at_power_up_until_a_person_asks_in_sight_of_the_table() -> None:
    r = rig()
    run_for(r, 5)
    r.press("START")
    run_for(r, 1)
    api(r, Intent.START)
    api(r, Intent.RESET)
    run_for(r, 5)
    assert r.controller.state == "unhomed"
    assert moved(r) == 0
    assert refusals(r) == ["refuse.person_needed", "refuse.reset"]


@pytest.mark.parametrize("way", ["held", "panel"])
def test_a_held_start_or_a_panel_key_does_not_fail_to_home(way: str) -> None:
    r = rig()
    run_for(r, 1)
    if way == "held":
        r.press("START", held_us=1_900_000)
    else:
        panel(r, "lift.2")
    run_to(r, "rest", 5)


def test_a_start_held_too_short_does_not_home() -> None:
    r = rig()
    run_for(r, 1)
    r.press("START", held_us=1_200_000)
    run_for(r, 5)
    assert r.controller.state == "unhomed"


def test_one_key_does_nothing_during_a_wash_and_says_why() -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 5)
    before = moved(r)
    r.press("START")
    run_for(r, 1)
    panel(r, "lift.1")
    assert r.controller.state == "washing"
    assert moved(r) == before
    assert refusals(r) == ["refuse.start.washing"] * 2


@pytest.mark.parametrize("way", ["remote", "panel"])
def test_forgotten_tiles_are_added_and_the_counts_kept(way: str) -> None:
    r = homed()
    wash(r, but=9)
    run_to(r, "washing")
    run_for(r, 12)
    if way == "remote":
        r.press("ADD")
    else:
        panel(r, "lift.1", "lift.2")
    run_to(r, "add_open", 10)
    kept = sum(len(s.store) + len(s.mouth.slot) + len(s.mouth.belt) for s in r.table.machine.sides)
    assert kept > 20
    put_in(r)
    before = moved(r)
    r.press("START")
    run_to(r, "rest")
    assert r.faults() == ()
    assert sum(len(s.store) for s in r.table.machine.sides) == 136
    fills = [e for e in r.table.board.executed[before:] if isinstance(e, m.Fill)]
    assert [f.tiles for f in fills] == [34] * 4, "absolute, so that what is stored counts"
    check_tiles(r)


def test_feeders_stand_within_50_ms_of_both_lift_keys_whatever_the_host_does() -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 6)
    r.world.post(r.world.now_us, "table", PanelKey("lift.1", True))
    r.world.post(r.world.now_us, "table", PanelKey("lift.2", True))
    run_for(r, 0.05)
    machine = r.table.machine
    assert not machine.drum.running
    assert all(not s.mouth.running for s in machine.sides)


def test_a_forgotten_tile_does_not_end_in_ready() -> None:
    r = homed()
    wash(r, but=1)
    run_to(r, "fault", 120)
    assert r.faults() == ("E21",)
    assert sum(told(r, ev.FaultRaised)[0].values["sides"].count(f"S{n}") for n in (1, 2, 3, 4)) == 1
    assert not r.controller.memory.stored
    check_tiles(r)


def test_a_tile_too_many_does_not_end_in_ready() -> None:
    r = homed(tiles=136)
    extra = r.table.boxes[1].tiles[0]
    r.press("START")
    run_to(r, "open")
    put_in(r)
    extra.move(r.table.machine.drum.place)
    r.press("START")
    run_to(r, "fault", 120)
    assert r.faults() == ("E24",)


def test_nothing_put_in_is_not_a_fault() -> None:
    r = homed()
    r.press("START")
    run_to(r, "open")
    r.press("START")
    run_to(r, "halting", 20)
    run_to(r, "rest", 5)
    assert r.faults() == ()
    assert not r.controller.memory.stored


def test_stop_does_not_leave_a_motor_running_and_start_goes_on_with_the_counts() -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 10)
    r.press("STOP")
    run_to(r, "unhomed", 1)
    before, at = moved(r), r.world.now_us
    run_for(r, 10)
    assert moved(r) == before, f"nothing moves after {at}"
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 10)
    r.press("START")
    run_to(r, "rest")
    assert r.faults() == ()
    assert sum(len(s.store) for s in r.table.machine.sides) == 136
    check_tiles(r)


@pytest.mark.parametrize("moment_ms", range(0, 6000, 500))
def test_a_raise_cut_at_any_moment_does_not_end_without_walls(moment_ms: int) -> None:
    r = homed(sets=1)
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_for(r, moment_ms / 1000)
    r.press("STOP")
    run_to(r, "unhomed", 1)
    r.press("START", held_us=1_900_000)
    run_until(r, lambda: r.controller.state in ("stopped", "rest"), 20)
    if r.controller.state == "stopped":
        r.press("START")
        run_to(r, "rest")
    assert stacks(r) == STACKS["riichi"]
    check_tiles(r)


@pytest.mark.parametrize("part", ["stacker.S3", "lift.S2", "console"])
@pytest.mark.parametrize("repaired", [False, True])
def test_an_unplugged_motor_does_not_end_in_standing_walls(part: str, repaired: bool) -> None:
    r = rig(hands=1, faults=(f"disconnected:{part}@0s",))
    assert r.play()
    code = {"stacker": "E31", "lift": "E41", "console": "E51"}[part.partition(".")[0]]
    assert r.faults() == (code,)
    assert stacks(r) != STACKS["riichi"]
    assert r.controller.state == "fault"
    if repaired:
        r.table.machine.motors[part].plug(True)
        r.press("RESET")
        run_to(r, "unhomed", 2)
        r.press("START", held_us=1_900_000)
        run_until(r, lambda: r.controller.state not in ("unhomed", "homing"), 20)
        assert r.play(), r.controller.state
        assert r.faults() == (code,)
        assert [h["stacks"] for h in r.table.truth()["hands"]] == [STACKS["riichi"]]
    check_tiles(r)


def test_reset_moves_nothing() -> None:
    r = rig(hands=1, faults=("disconnected:stacker.S3@0s",))
    assert r.play()
    before = moved(r)
    r.press("RESET")
    run_for(r, 1)
    assert r.controller.state == "unhomed"
    assert moved(r) == before


# --- dice ---------------------------------------------------------------------------------------------------


def test_dice_do_not_roll_while_no_walls_stand() -> None:
    r = homed()
    r.press("DICE")
    run_for(r, 1)
    wash(r)
    run_to(r, "washing")
    r.press("DICE")
    run_to(r, "rest")
    r.press("DICE")
    run_for(r, 1)
    assert told(r, ev.DiceThrown) == []
    assert refusals(r) == ["refuse.no_walls"] * 3


def test_dice_are_not_thrown_again() -> None:
    r = standing()
    for _ in range(3):
        r.press("DICE")
        run_for(r, 1)
    assert len(told(r, ev.DiceThrown)) == 1
    assert refusals(r) == ["refuse.dice_done"] * 2


def test_the_wrong_seat_does_not_throw() -> None:
    r = standing("mcr")
    r.press("DICE_SOUTH")
    run_for(r, 1)
    assert refusals(r) == ["refuse.not_your_throw"]
    panel(r, "dice.S1")
    run_for(r, 5)
    (first,) = told(r, ev.DiceThrown)
    second = (sum(first.faces) - 1) % 4
    wrong = ("DICE_EAST", "DICE_SOUTH", "DICE_WEST", "DICE_NORTH")[(second + 1) % 4]
    r.press(wrong)
    run_for(r, 1)
    assert len(told(r, ev.DiceThrown)) == 1
    panel(r, f"dice.S{second + 1}")
    run_for(r, 1)
    assert [t.seat for t in told(r, ev.DiceThrown)] == [0, second]
    assert len(told(r, ev.BreakAnnounced)) == 1


def test_the_dealers_seat_turns_with_the_dealer_but_not_the_walls() -> None:
    r = standing("sc_tcy")
    r.press("DEALER_NEXT")
    run_for(r, 1)
    panel(r, "dice.S2")
    run_for(r, 1)
    (opening,) = told(r, ev.BreakAnnounced)
    assert told(r, ev.DiceThrown)[0].seat == 1
    assert opening.side == f"S{(opening.wall + 1) % 4 + 1}"
    assert stacks(r) == STACKS["sc_tcy"]


def test_the_dealer_does_not_change_after_the_dice() -> None:
    r = standing()
    r.press("DICE")
    run_for(r, 1)
    r.press("DEALER_NEXT")
    run_for(r, 1)
    assert refusals(r) == ["refuse.dealer_after_dice"]
    assert r.controller.memory.dealer == 0


# --- sets and rules -----------------------------------------------------------------------------------------


def test_a_rule_chosen_during_a_wash_does_not_change_that_wash() -> None:
    r = homed("riichi")
    wash(r)
    run_to(r, "washing")
    r.press("RULE_NEXT")
    run_to(r, "rest")
    assert r.controller.memory.rule != "riichi"
    assert r.controller.memory.stored and r.controller.memory.stored.rule == "riichi"
    assert [w.rule for w in told(r, ev.Washed)] == ["riichi"]


def test_the_walls_of_a_stored_set_are_not_raised_with_the_console_open() -> None:
    r = homed()
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "open")
    assert stacks(r) == (0, 0, 0, 0)
    put_in(r, box=1)
    r.press("START")
    run_to(r, "raising")
    assert r.table.machine.console.on["console.down"]
    run_to(r, "washing")
    assert stacks(r) == STACKS["riichi"]


def test_walls_that_were_not_pulled_off_are_not_pushed_into() -> None:
    r = homed(sets=1)
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_to(r, "rest")
    left = [t for s in r.table.machine.sides[1:] for t in s.wall.tiles]
    for tile in left:
        tile.move(r.table.players.table)
    r.press("START")
    run_to(r, "open")
    for tile in list(r.table.players.table.tiles):
        tile.move(r.table.machine.drum.place)
    for tile in list(r.table.boxes[0].tiles):
        tile.move(r.table.machine.drum.place)
    assert len(r.table.machine.sides[0].wall) == 34
    assert len(r.table.machine.drum.place) == 102
    r.press("START")
    run_to(r, "fault", 120)
    assert r.faults() == ("E25",), "34 tiles still stand on the latches of S1"
    check_tiles(r)


def test_wash_times_are_not_other_than_the_tables_own_clock() -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    began = r.world.now_us
    run_to(r, "rest")
    (washed,) = told(r, ev.Washed)
    assert abs(washed.took_us - (r.world.now_us - began)) < 10_000
    assert 18 * S <= washed.took_us <= 39 * S


# --- link, disk, defects ------------------------------------------------------------------------------------


def test_no_motor_turns_before_its_journal_entry_is_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.lab.rig.DISK_US", 3 * S)
    r = homed()
    before = moved(r)
    r.press("START")
    run_to(r, "opening", 2)
    run_for(r, 2.5)
    assert moved(r) == before
    run_for(r, 1)
    assert moved(r) == before + 1


def test_a_slow_disk_does_not_hold_stop_or_the_leases(monkeypatch: pytest.MonkeyPatch) -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 2)
    monkeypatch.setattr("sim.lab.rig.DISK_US", 1000 * S)
    run_for(r, 6)
    assert r.table.machine.drum.running, "leases of 2 s were renewed"
    r.press("STOP")
    run_for(r, 0.3)
    assert not r.table.machine.drum.running


def test_a_host_that_falls_silent_does_not_leave_a_motor_running() -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 3)
    cut = r.world.now_us
    monkey = r.to_table.deliver
    r.to_table.deliver = lambda time_us, data: None
    run_for(r, 0.74)
    machine = r.table.machine
    assert not machine.drum.running, f"silent since {cut}"
    assert all(not s.mouth.running and not s.stacker.turning for s in machine.sides)
    r.to_table.deliver = monkey
    run_to(r, "fault", 5)
    assert r.faults()[0] in ("E10", "E12")


def test_a_wire_cut_while_moving_is_a_fault_and_at_rest_is_not() -> None:
    for moving in (True, False):
        r = homed()
        if moving:
            wash(r)
            run_to(r, "washing")
        deliver = r.to_host.deliver
        r.to_host.deliver = lambda time_us, data: None
        run_for(r, 3)
        assert r.faults() == (("E10",) if moving else ())
        assert r.controller.state == ("fault" if moving else "unhomed")
        r.to_host.deliver = deliver
        run_for(r, 2)
        check_tiles(r)


def test_a_defect_in_a_core_stops_everything_and_says_so(mocker) -> None:  # type: ignore[no-untyped-def]
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 2)
    mocker.patch.object(r.controller, "_see", side_effect=[ZeroDivisionError("boom")])
    run_for(r, 0.5)
    assert not r.table.machine.drum.running
    mocker.stopall()
    assert "ZeroDivisionError: boom" in str(told(r, ev.Crashed)[0].error)


def test_a_new_process_does_not_forget_a_stored_set() -> None:
    r = homed()
    wash(r)
    run_to(r, "rest")
    import json

    from tablectl.table.memory import Memory

    last = [j.data["memory"] for j in r.journal if "memory" in j.data][-1]
    assert Memory.from_json(json.loads(json.dumps(last))) == r.controller.memory
    assert r.controller.memory.stored


@pytest.mark.parametrize("rule", TILES)
def test_every_journal_entry_is_plain_data_with_a_number_of_its_own(rule: str) -> None:
    import json

    r = rig(rule, hands=1)
    assert r.play()
    assert [j.id for j in r.journal] == list(range(1, len(r.journal) + 1))
    for entry in r.journal:
        json.dumps(entry.data)
    kinds = {j.kind for j in r.journal}
    assert {"key", "state", "dice", "board"} <= kinds
    pull_walls(r)
