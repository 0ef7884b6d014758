"""Sequences that once ended wrong at a whole table: each is a failure that must not come back."""

import pytest
from helpers import (
    STACKS,
    S,
    api,
    check_tiles,
    homed,
    panel,
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

from firmware_protocol import frames
from firmware_protocol import messages as m
from firmware_protocol.framing import Deframer
from sim.table import Fault, PanelKey, StopLine
from tablectl.table import events as ev
from tablectl.table.intents import Intent, Phase


def ready_is_true(r) -> None:  # type: ignore[no-untyped-def]
    assert r.controller.memory.stored
    assert tuple(len(s.store) for s in r.table.machine.sides) == r.controller.memory.stored.tiles


def test_both_lift_keys_at_power_up_do_not_make_the_next_wash_empty() -> None:
    r = rig()
    panel(r, "lift.1", "lift.2")
    run_to(r, "rest", 10)
    wash(r)
    run_to(r, "rest")
    ready_is_true(r)


def test_homing_by_both_lift_keys_after_a_stop_does_not_end_in_a_false_ready() -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 6)
    r.press("STOP")
    run_to(r, "unhomed", 1)
    run_for(r, 1)
    panel(r, "lift.1", "lift.2")
    run_until(r, lambda: r.controller.state in ("stopped", "rest"), 10)
    r.press("START")
    run_to(r, "rest")
    ready_is_true(r)


def test_a_lift_key_held_since_power_on_does_not_make_the_other_one_stop_the_wash() -> None:
    r = rig()
    r.world.post(0, "table", PanelKey("lift.1", True))
    run_to(r, "rest", 10)
    wash(r)
    run_to(r, "washing")
    run_for(r, 8)
    panel(r, "lift.2")
    run_until(r, lambda: r.controller.state in ("rest", "add_open", "unhomed", "fault"))
    if r.controller.state == "rest":
        ready_is_true(r)
    assert r.faults() == ()


@pytest.mark.parametrize("moment_s", [0.5, 2.0, 3.5])
def test_the_wired_stop_during_a_raise_does_not_leave_standing_walls_in_the_books(moment_s: float) -> None:
    r = homed(sets=1)
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_for(r, moment_s)
    r.world.post(r.world.now_us, "table", StopLine(True))
    run_to(r, "fault", 2)
    assert r.faults() == ("E17",)
    assert r.controller.hand.standing is None
    r.press("DICE")
    run_for(r, 2)
    assert told(r, ev.DiceThrown) == []
    r.world.post(r.world.now_us, "table", StopLine(False))
    r.press("RESET")
    run_for(r, 1)
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 20)
    r.press("START")
    run_to(r, "rest")
    assert stacks(r) == STACKS["riichi"]
    check_tiles(r)


def test_a_board_that_has_lost_its_counts_is_not_believed_to_hold_walls() -> None:
    r = homed(sets=1)
    wash(r)
    run_to(r, "rest")
    for mouth in r.table.board._counts.of:
        mouth.taken = mouth.stored = mouth.ordered = 0
    since = len(r.shown)
    r.world.post(r.world.now_us, "table", Fault("reset:board"))
    run_for(r, 3)
    r.press("START", held_us=1_900_000)
    run_to(r, "fault", 10)
    assert r.faults() == ("E23",)
    assert stacks(r) == (0, 0, 0, 0)
    r.press("RESET")
    run_to(r, "unhomed")
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 10)
    r.press("START")
    run_to(r, "giving_up")
    run_to(r, "rest")
    # What the record knew of has come up to be taken off, and no lamp has called it a set.
    assert stacks(r) == STACKS["riichi"]
    assert not any("ready" in shown.lamps for _, shown in r.shown[since:])
    assert r.table.machine.violations == []


@pytest.mark.parametrize("lie", [-4, 20])
def test_a_board_whose_counts_cannot_be_true_is_stopped_and_named(
    lie: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    r = homed()
    wash(r)
    run_until(r, lambda: any(len(s.store) >= 30 for s in r.table.machine.sides))
    side = next(n for n, s in enumerate(r.table.machine.sides) if len(s.store) >= 30)
    counts = r.table.board._counts
    honest = counts.to_wire

    def lies() -> bytes:
        told = bytearray(honest())
        told[2 * side + 1] += lie
        return bytes(told)

    monkeypatch.setattr(type(counts), "to_wire", lambda self: lies())
    run_for(r, 0.5)
    assert r.controller.state == "fault"
    assert told(r, ev.FaultRaised)[0] == ev.FaultRaised("E27", {"side": f"S{side + 1}"})
    assert not any(m.direction for m in r.table.machine.motors.values())


@pytest.mark.parametrize("door", ["open at the start", "opened while off"])
def test_a_door_that_nobody_has_answered_for_lets_nothing_move_after_a_restart(door: str) -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 8)
    r.table.machine.open_door(True)
    run_for(r, 1)
    if door == "opened while off":
        r.press("POWER")
        run_to(r, "off", 1)
        r.table.machine.open_door(False)
        r.press("POWER")
    else:
        r.table.machine.open_door(False)
        r.world.post(r.world.now_us, "table", Fault("power-cut:mains+1s"))
        run_for(r, 8)
    run_to(r, "unhomed", 5)
    before = len(r.table.board.executed)
    r.press("START", held_us=1_900_000)
    run_for(r, 5)
    assert (r.controller.state, r.controller.fault) == ("fault", ev.FaultRaised("E18", {}))
    assert len(r.table.board.executed) == before
    r.press("RESET")
    run_for(r, 1)
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 10)


@pytest.mark.parametrize("after_s", [0.2, 0.9, 1.5, 1.9])
@pytest.mark.parametrize("state", ["opening", "closing", "add_closing"])
def test_start_while_the_console_moves_does_not_fail_to_reverse_it(state: str, after_s: float) -> None:
    r = homed()
    if state == "add_closing":
        wash(r)
        run_to(r, "washing")
        run_for(r, 5)
        r.press("ADD")
        run_to(r, "add_open", 10)
    elif state == "closing":
        r.press("START")
        run_to(r, "open")
    r.press("START")
    run_to(r, state)
    run_for(r, after_s - 0.1)
    r.press("START")
    goal = {"opening": "halting", "closing": "open", "add_closing": "add_open"}[state]
    run_to(r, goal, 15)
    up = r.table.machine.console.on["console.up"]
    assert up == (state != "opening")
    assert r.faults() == ()


def test_a_tile_too_many_can_be_taken_out_and_the_wash_goes_on() -> None:
    r = homed()
    extra = r.table.boxes[1].tiles[0]
    r.press("START")
    run_to(r, "open")
    put_in(r)
    extra.move(r.table.machine.drum.place)
    r.press("START")
    run_to(r, "fault", 120)
    r.press("RESET")
    run_for(r, 1)
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 10)
    r.press("ADD")
    run_to(r, "add_open", 15)
    drum = r.table.machine.drum.place
    assert len(drum) == 1, "what was on the belt has come back"
    drum.tiles[0].move(r.table.boxes[1])
    r.press("START")
    run_to(r, "rest")
    ready_is_true(r)
    assert r.faults() == ("E24",)


def test_a_wash_by_the_wrong_rule_can_be_given_up() -> None:
    r = homed("sc_tcy", tiles=136, sets=1)
    wash(r)
    run_to(r, "fault", 120)
    assert r.faults() == ("E24",)
    r.press("RESET")
    run_for(r, 1)
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 10)
    while r.controller.memory.rule != "riichi":
        r.press("RULE_NEXT")
        run_for(r, 1)
    r.press("START")
    run_to(r, "giving_up", 2)
    run_to(r, "rest", 30)
    assert r.controller.hand.standing is None
    assert sum(len(s.store) for s in r.table.machine.sides) == 0
    for side in r.table.machine.sides:
        side.pull_wall(r.table.players.table)
    r.press("START")
    run_to(r, "open")
    for tile in list(r.table.players.table.tiles):
        tile.move(r.table.machine.drum.place)
    r.press("START")
    run_to(r, "washing")
    run_to(r, "rest")
    ready_is_true(r)
    check_tiles(r)


def test_a_wash_that_is_being_given_up_does_not_go_on_after_a_stop() -> None:
    r = homed("sc_tcy", tiles=136, sets=1)
    wash(r)
    run_to(r, "fault", 120)
    r.press("RESET")
    run_for(r, 1)
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 10)
    while r.controller.memory.rule != "riichi":
        r.press("RULE_NEXT")
        run_for(r, 1)
    r.press("START")
    run_to(r, "giving_up", 2)
    run_until(r, lambda: any(s.wall.tiles for s in r.table.machine.sides), 20)
    r.press("STOP")
    run_to(r, "unhomed", 1)
    r.press("RULE_PREVIOUS")
    run_for(r, 1)
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 20)
    r.press("START")
    run_to(r, "giving_up", 2)
    run_to(r, "rest", 30)
    assert sum(len(s.store) for s in r.table.machine.sides) == 0
    assert r.faults() == ("E24",)


def test_stop_while_start_is_held_does_not_let_the_table_move_again() -> None:
    r = homed()
    r.press("START", held_us=5_000_000)
    run_to(r, "opening", 2)
    run_for(r, 0.4)
    api(r, Intent.STOP)
    run_for(r, 6)
    assert r.controller.state == "unhomed"


@pytest.mark.parametrize("lost", [1, 5, 10_000])
def test_lost_clears_do_not_leave_the_table_homing_for_ever(lost: int) -> None:
    r = homed()
    r.press("STOP")
    run_to(r, "unhomed", 2)
    run_for(r, 1)
    deliver, dropped = r.to_table.deliver, []

    def losing(time_us: int, data: bytes) -> None:
        bodies = Deframer().feed(data)
        clears = [b for b in bodies if (f := frames.parse(b)) and f.kind is m.FrameKind.CLEAR]
        if clears and len(dropped) < lost:
            dropped.append(data)
        else:
            deliver(time_us, data)

    r.to_table.deliver = losing
    r.press("START", held_us=1_900_000)
    run_to(r, "homing", 5)
    run_until(r, lambda: r.controller.state in ("rest", "fault"), 10)
    assert dropped, "the test lost what it wants to lose"
    assert r.controller.state == ("fault" if lost == 10_000 else "rest"), (
        "a wish to move is given up in the end"
    )


def test_an_order_without_a_session_is_refused_and_no_fault_of_the_firmware() -> None:
    r = homed()
    r.to_host.deliver = lambda time_us, data: None
    run_for(r, 3)
    r.press("START", held_us=1_900_000)
    run_for(r, 4)
    assert r.controller.state == "unhomed"
    assert "refuse.no_board" in refusals(r)
    assert r.faults() == ()


def test_stop_before_the_first_session_reaches_the_wire() -> None:
    r = rig()
    r.to_host.deliver = lambda time_us, data: None
    run_for(r, 0.5)
    sent = r.to_table.bytes_sent
    r.press("STOP")
    run_for(r, 0.3)
    assert r.to_table.bytes_sent > sent
    assert "refuse.no_board" not in refusals(r)


def test_a_stop_does_not_overtake_what_waits_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    r = homed()
    wash(r)
    run_to(r, "closing")
    monkeypatch.setattr("sim.lab.rig.DISK_US", round(0.7 * S))
    run_to(r, "washing", 5)
    run_for(r, 0.2)
    panel(r, "lift.1", "lift.2")
    run_for(r, 1.0)
    assert not r.table.machine.drum.running
    assert not any(s.mouth.running for s in r.table.machine.sides)
    assert "E15" not in r.faults()


def test_dice_are_not_shown_before_the_disk_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    r = standing()
    monkeypatch.setattr("sim.lab.rig.DISK_US", 2 * S)
    r.press("DICE")
    run_for(r, 1)
    assert told(r, ev.DiceThrown) == []
    r.press("DICE")
    run_for(r, 0.5)
    assert refusals(r) == ["refuse.dice_rolling"]
    run_for(r, 3)
    (thrown,) = told(r, ev.DiceThrown)
    entries = [j.data for j in r.journal if j.kind == "dice"]
    assert [e["faces"] for e in entries] == [list(thrown.faces)]


def test_a_dead_journal_does_not_allow_a_throw_or_a_move() -> None:
    r = standing()
    r.disk_full = True
    for key in ("DICE", "DICE", "RESET", "START"):
        r.press(key)
        run_for(r, 1)
    assert told(r, ev.DiceThrown) == []
    assert r.faults() == ("E16",)
    assert r.controller.state == "fault"
    assert refusals(r)[:2] == ["refuse.journal_dead", "refuse.journal_dead"]


def test_a_disk_with_room_again_does_not_need_the_service_started_anew() -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 10)
    r.disk_full = True
    r.press("STOP")
    run_to(r, "fault", 1)
    kept = [e.id for e in r.journal]
    r.press("RESET")
    run_for(r, 1)
    assert r.controller.state == "fault"
    r.disk_full = False
    for _ in range(2):  # the first one finds the disk well
        r.press("RESET")
        run_for(r, 1)
    assert r.controller.state == "unhomed"
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 10)
    r.press("START")
    run_to(r, "rest")
    ids = [e.id for e in r.journal]
    assert ids == list(range(1, len(ids) + 1))
    assert ids[: len(kept)] == kept
    ready_is_true(r)


def test_a_dead_journal_is_shown_where_it_is_what_keeps_the_table_from_going_on() -> None:
    r = homed()
    r.table.machine.open_door(True)
    run_to(r, "fault", 1)
    r.table.machine.open_door(False)
    run_for(r, 1)
    r.disk_full = True
    for _ in range(2):
        r.press("RESET")
        run_for(r, 1)
    assert r.shown[-1][1].display == "E16 "


def test_a_pause_is_not_counted_as_washing() -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 5)
    r.press("STOP")
    run_to(r, "unhomed", 1)
    run_for(r, 3600)
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 10)
    r.press("START")
    run_to(r, "rest")
    (washed,) = told(r, ev.Washed)
    assert 18 * S < washed.took_us < 60 * S


def test_an_exception_in_the_controller_itself_is_a_fault_and_no_finished_raise() -> None:
    r = homed(sets=1)
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_for(r, 1)
    see, r.controller._see = r.controller._see, None  # type: ignore[method-assign,assignment]
    run_for(r, 0.4)
    r.controller._see = see  # type: ignore[method-assign]
    run_to(r, "fault", 2)
    assert r.faults() == ("E19",)
    assert r.controller.hand.standing is None
    assert not any(m.direction for m in r.table.machine.motors.values())


def test_every_key_is_journaled_with_where_it_is() -> None:
    r = homed()
    panel(r, "lift.2")
    run_to(r, "open", 10)
    api(r, Intent.MUTE)
    said = [(j.data["source"], j.data["intent"]) for j in r.journal if j.kind == "key"]
    assert said == [("panel:lift.1", "START"), ("panel:lift.2", "START"), ("local:1000", "MUTE")]
    assert [j.kind for j in r.journal].count("board") == 1
    assert Phase.DOWN in [j.data["phase"] for j in r.journal if j.kind == "key"]


def test_a_journal_of_another_time_does_not_keep_the_daemon_from_starting() -> None:
    from tablectl.rules import ruleset
    from tablectl.table.memory import Memory, Standing, WashOrder, restored

    known = ruleset.available()
    order = WashOrder("chess", (1, 2, 3, 4))
    old = Memory("chess", stored=order, standing=Standing(order, 2, ((1, 2),))).to_json()
    found = restored(old, "mcr", known)
    assert (found.rule, found.stored, found.standing) == ("mcr", order, None)
    for broken in ({}, {"rule": "mcr"}, {**old, "wash": 7}, None):
        assert restored(broken, "riichi", known) == Memory("riichi")
    whole = Memory("mcr", dealer=1, standing=Standing(WashOrder("mcr", (36,) * 4), 1, ((1, 2),)))
    assert restored(whole.to_json(), "riichi", known) == whole
