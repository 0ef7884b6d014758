"""Technician mode: a motor turns while somebody holds a key, and at no other time."""

import pytest
from helpers import (
    check_tiles,
    homed,
    panel,
    pull_walls,
    put_in,
    refusals,
    rig,
    run_for,
    run_to,
    stacks,
    told,
    wash,
)

from firmware_protocol import messages as m
from sim.lab.rig import Rig
from sim.table import Fault, PanelKey
from tablectl.table import events as ev

LEASE_US = 300_000


def turning(r: Rig) -> set[str]:
    """Return the motors that draw current: driven, and with power."""
    return {name for name, motor in r.table.machine.motors.items() if motor.current_ma}


def press(r: Rig, key: str, down: bool = True) -> None:
    r.world.post(r.world.now_us, "table", PanelKey(key, down))
    run_for(r, 0.05)


def opened(r: Rig) -> Rig:
    """Open the service door and ask for technician mode by both lift keys."""
    r.table.machine.open_door(True)
    run_to(r, "fault", 1)
    panel(r, "lift.1", "lift.2")
    run_to(r, "technician", 1)
    return r


def choose(r: Rig, name: str) -> None:
    """Step to a part by the dice keys."""
    names = [p.name for p in r.table.board.description.parts]
    for _ in range(names.index(name)):
        panel(r, "dice.S2")


def test_both_lift_keys_held_at_power_on_do_not_fail_to_begin_it() -> None:
    r = rig()
    for key in ("lift.1", "lift.2"):
        r.table.board.contact(key, True)
    r.world.post(r.world.now_us, "table", Fault("reset:board"))
    run_to(r, "technician", 5)
    assert turning(r) == set()
    panel(r, "lift.1", "lift.2")
    run_for(r, 1)
    assert r.controller.state == "technician"


def test_with_the_door_shut_both_lift_keys_do_not_begin_it() -> None:
    r = homed()
    r.table.machine.open_door(True)
    run_to(r, "fault", 1)
    r.table.machine.open_door(False)
    panel(r, "lift.1", "lift.2")
    run_for(r, 1)
    assert r.controller.state == "fault"


@pytest.mark.parametrize("part", ["drum", "conveyor.S2", "stacker.S3", "console"])
@pytest.mark.parametrize(("key", "direction"), [("lift.1", 1), ("lift.2", -1)])
def test_a_held_key_turns_its_motor_alone_and_no_longer_than_it_is_held(
    part: str, key: str, direction: int
) -> None:
    r = opened(homed())
    choose(r, part)
    press(r, key)
    for _ in range(20):
        run_for(r, 0.05)
        assert turning(r) == {part}
        assert (r.table.machine.motors[part].direction, r.table.machine.motors[part].reduced) == (
            direction,
            True,
        )
    press(r, key, False)
    run_for(r, 0.1)
    assert turning(r) == set()
    assert [e.data for e in r.journal if e.kind == "jog"] == [
        {"source": f"panel:{key}", "part": part, "direction": direction}
    ]
    run_for(r, 2)
    assert turning(r) == set()
    assert r.faults() == ("E18",)


def test_a_wire_that_is_cut_does_not_leave_a_jogged_motor_running() -> None:
    r = opened(homed())
    press(r, "lift.1")
    run_for(r, 1)
    assert turning(r) == {"drum"}
    r.world.post(r.world.now_us, "table", Fault("unplug:wire"))
    run_for(r, (LEASE_US + 50_000) / 1e6)
    assert turning(r) == set()


def test_a_program_turns_a_motor_only_in_technician_mode_and_only_while_it_asks() -> None:
    r = homed()
    jog = ev.Jog("local:1000", "lift.S2", 1)
    r.world.post(r.world.now_us, "host", jog)
    run_for(r, 1)
    assert refusals(r) == ["refuse.jog"]
    assert not any(isinstance(e, m.Jog) for e in r.table.board.executed)
    opened(r)
    for _ in range(10):
        r.world.post(r.world.now_us, "host", jog)
        run_for(r, 0.1)
        assert turning(r) == {"lift.S2"}
    run_for(r, 0.35)
    assert turning(r) == set()
    assert [e.data for e in r.journal if e.kind == "jog"] == [
        {"source": "local:1000", "part": "lift.S2", "direction": 1}
    ]
    r.world.post(r.world.now_us, "host", ev.Jog("local:1000", "roof", 1))
    run_for(r, 0.1)
    assert refusals(r)[-1] == "refuse.jog_what"
    assert turning(r) == set()
    assert [e.data["reason"] for e in r.journal if e.kind == "refused"][-1] == "refuse.jog_what"
    assert sum(e.kind == "jog" for e in r.journal) == 1


def test_opening_the_door_while_a_motor_is_jogged_does_not_leave_it_running() -> None:
    r = opened(homed())
    r.table.machine.open_door(False)
    press(r, "lift.1")
    run_for(r, 0.5)
    assert turning(r) == {"drum"}
    r.table.machine.open_door(True)
    run_for(r, 0.05)
    assert turning(r) == set()
    press(r, "lift.1", False)
    press(r, "lift.1")
    assert r.controller.state == "technician"
    assert turning(r) == {"drum"}, "the key pressed anew turns it again"


def test_nobody_leaves_technician_mode_without_a_word_on_the_tiles() -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 10)
    opened(r)
    r.press("RESET")
    run_for(r, 1)
    assert (r.controller.state, refusals(r)[-1]) == ("technician", "refuse.door_open")
    r.table.machine.open_door(False)
    run_for(r, 1)
    r.press("RESET")
    run_to(r, "unhomed", 1)
    assert not r.controller.memory.disturbed
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 10)
    r.press("START")
    run_to(r, "rest")
    assert sum(len(s.store) for s in r.table.machine.sides) == 136


@pytest.mark.parametrize("part", ["stacker.S1", "lift.S4"])
def test_a_jogged_store_is_not_taken_for_certain(part: str) -> None:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 12)
    opened(r)
    choose(r, part)
    press(r, "lift.1")
    run_for(r, 0.4)
    press(r, "lift.1", False)
    run_for(r, 1)
    side = int(part[-1]) - 1
    assert r.controller.seen is not None
    assert r.controller.seen.unsure[side]
    r.table.machine.open_door(False)
    run_for(r, 1.2)
    r.press("RESET")
    run_to(r, "unhomed", 2)
    r.press("START", held_us=1_900_000)
    run_to(r, "stopped", 15)
    pull_walls(r)  # a jogged lift has turned home with what lay on it
    r.press("START")
    run_to(r, "rest", 60)
    assert not told(r, ev.Washed)
    pull_walls(r)
    r.press("START")
    run_to(r, "open", 10)
    for tile in list(r.table.players.table.tiles):
        tile.move(r.table.machine.drum.place)
    r.press("START")
    run_to(r, "washing", 10)
    run_to(r, "rest")
    assert sum(len(s.store) for s in r.table.machine.sides) == 136
    assert stacks(r) == (0, 0, 0, 0)
    check_tiles(r)


def test_what_is_put_in_during_technician_mode_does_not_start_a_wash() -> None:
    r = opened(homed())
    put_in(r)
    for key in ("START", "ADD", "DICE"):
        r.press(key)
        run_for(r, 1)
    assert r.controller.state == "technician"
    assert turning(r) == set()
