"""Choosing a rule or a gear: it counts for the next wash; what cannot be built is refused with the reason."""

import pytest
from helpers import api, check_tiles, homed, pull_walls, put_in, refusals, run_for, run_to, stacks, told, wash

from sim.lab.rig import Rig
from tablectl.rules import gears, ruleset
from tablectl.table import events as ev
from tablectl.table.intents import Intent


def choose(r: Rig, rule: str) -> None:
    r.world.post(r.world.now_us, "host", ev.Choose("local:1000", rule))
    run_for(r, 0.05)


def test_the_walls_of_a_gear_are_not_other_than_its_list() -> None:
    r = homed(sets=1, tiles=108)
    choose(r, "gear_19")
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_to(r, "rest")
    assert stacks(r) == (18, 18, 18, 0)
    r.press("DICE")
    run_for(r, 5)
    announced = told(r, ev.BreakAnnounced)
    assert len(announced) == 1
    assert announced[0].takes == (), "what is played in a gear nobody knows"
    check_tiles(r)


def test_no_gear_holds_another_number_of_tiles_than_tables_of_this_kind_say() -> None:
    listed = {
        2: 160, 3: 152, 4: 148, 5: 144, 6: 142, 7: 140, 8: 138, 9: 136, 10: 132, 11: 128, 12: 126, 13: 124,
        14: 120, 15: 116, 16: 112, 17: 110, 18: 108, 19: 108, 20: 104, 21: 102, 22: 102, 23: 100, 24: 96,
        25: 96, 26: 92, 27: 88, 28: 84, 29: 84, 30: 84, 31: 80, 32: 72, 33: 72, 34: 54, 35: 40, 36: 36,
        37: 36, 38: 32, 39: 137,
    }  # fmt: skip
    assert {number: sum(walls) for number, walls in gears.gears().items()} == listed
    assert len(set(gears.gears().values())) == len(listed), "two gears that are the same"


def test_a_choice_during_a_wash_does_not_change_that_wash() -> None:
    r = homed(sets=1)
    wash(r)
    run_to(r, "washing")
    choose(r, "gear_26")
    assert [(e.rule, e.next_wash) for e in told(r, ev.RuleChosen)] == [("gear_26", True)]
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_to(r, "rest")
    assert stacks(r) == (17, 17, 17, 17)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("vietnamese176", "refuse.rule_does_not_fit"),
        ("gear_1", "rules.no_gear"),
        ("gear_x", "rules.no_gear"),
        ("chess", "rules.unlike_rule"),
        ("paper", "rules.title_only"),
    ],
)
def test_what_cannot_be_built_is_refused_and_changes_nothing(rule: str, reason: str) -> None:
    r = homed()
    choose(r, rule)
    assert refusals(r) == [reason]
    assert r.controller.memory.rule == "riichi"


def test_two_digits_do_not_choose_another_rule_than_their_number() -> None:
    r = homed()
    number = ruleset.numbered().index("mcr") + 1
    for digit in f"{number:02d}":
        api(r, Intent(f"DIGIT_{digit}"))
    assert r.controller.memory.rule == "mcr"


def test_one_digit_and_a_pause_do_not_wait_for_ever() -> None:
    r = homed()
    api(r, Intent.DIGIT_1)
    assert r.shown[-1][1].display == "r 1 "
    run_for(r, 3)
    assert r.controller.memory.rule == ruleset.numbered()[0]
    for _ in "99":
        api(r, Intent.DIGIT_9)
    assert refusals(r) == ["refuse.no_rule_number"]


def test_the_gear_keys_do_not_skip_a_gear_that_fits() -> None:
    r = homed()
    choose(r, "gear_9")
    api(r, Intent.GEAR_NEXT)
    assert r.controller.memory.rule == "gear_10"
    api(r, Intent.GEAR_PREVIOUS)
    api(r, Intent.GEAR_PREVIOUS)
    assert r.controller.memory.rule == "gear_8"


# --- 71 of 136 ----------------------------------------------------------------------------------------------


def test_71_of_136_tiles_are_not_more_and_the_next_wash_does_not_take_the_other_set() -> None:
    r = homed(sets=2)
    choose(r, "g71")
    wash(r)
    run_to(r, "rest")
    assert r.faults() == ()
    drum = r.table.machine.drum.place
    assert [len(s.store) for s in r.table.machine.sides] == [36, 0, 35, 0]
    assert len(drum) == 65
    r.press("START")  # with two sets this would open the console for the other one
    run_to(r, "raising")
    run_to(r, "rest")
    assert stacks(r) == (18, 0, 18, 0)
    pull_walls(r)
    r.press("START")
    run_to(r, "open")
    assert [(e.rule, e.tiles) for e in told(r, ev.SameSetWanted)] == [("g71", 65)]
    assert r.shown[-1][1].display == "SAnE"
    for tile in list(r.table.players.table.tiles):
        tile.move(drum)
    assert len(drum) == 136
    r.press("START")
    run_to(r, "washing")
    run_to(r, "rest")
    assert [len(s.store) for s in r.table.machine.sides] == [36, 0, 35, 0]
    assert r.faults() == ()
    check_tiles(r)


def test_the_rest_of_a_set_in_the_drum_is_not_forgotten_when_the_whole_set_is_washed_next() -> None:
    r = homed(sets=2)
    choose(r, "g71")
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_to(r, "rest")
    pull_walls(r)
    choose(r, "riichi")
    r.press("START")
    run_to(r, "open")
    for tile in list(r.table.players.table.tiles):
        tile.move(r.table.machine.drum.place)
    r.press("START")
    run_to(r, "washing")
    run_to(r, "rest")
    assert [len(s.store) for s in r.table.machine.sides] == [34] * 4
    assert r.controller.memory.leftover is None
    r.press("START")  # now there are two sets again: the console opens for the other one
    run_to(r, "open")
    put_in(r, box=1)
    assert r.faults() == ()
