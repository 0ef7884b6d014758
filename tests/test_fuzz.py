"""Keys in any order at any moment: nothing false is called ready, nothing runs on, there is a way on."""

import random
from collections.abc import Callable

import pytest
from helpers import api, check_tiles, panel, pull_walls, put_in, rig, run_for, told

from sim.lab.rig import Rig
from tablectl.table import events as ev
from tablectl.table.intents import Intent

KEYS = (
    "START",
    "START",
    "START",
    "ADD",
    "STOP",
    "RESET",
    "DICE",
    "RULE_NEXT",
    "DEALER_NEXT",
    "POWER",
    "MUTE",
)
PANEL = (("lift.1",), ("lift.2",), ("lift.1", "lift.2"), ("dice.S1",))
WAITS_S = (0.01, 0.05, 0.3, 1, 2, 3, 5, 9, 15, 25)
STILL = ("unhomed", "fault", "open", "rest", "stopped", "loaded", "add_open", "off")
# What keys alone can bring about: too many or too few tiles for the rule that somebody chose, a wall that
# nobody took off. Anything else is a defect.
OF_KEYS = {"E21", "E24", "E25", "E41"}


def motors_run(r: Rig) -> bool:
    return any(m.direction for m in r.table.machine.motors.values())


def act(r: Rig, rng: random.Random) -> None:
    """Do one thing that people do."""
    what = rng.random()
    if what < 0.55:
        key = rng.choice(KEYS)
        r.press(key, rng.choice([0, 0, 0, 1_900_000]) if key == "START" else 0)
    elif what < 0.7:
        panel(r, *rng.choice(PANEL))
    elif what < 0.78:
        api(r, rng.choice(list(Intent)))
    if r.controller.state in ("open", "add_open") and rng.random() < 0.8:
        full = [n for n, box in enumerate(r.table.boxes) if box.tiles]
        if full:
            put_in(r, full[0])
    if rng.random() < 0.5:
        pull_walls(r)


def check(r: Rig) -> None:
    """Hold what must hold at every moment."""
    controller = r.controller
    if controller.state == "rest" and controller.memory.stored:
        assert tuple(len(s.store) for s in r.table.machine.sides) == controller.memory.stored.tiles
    if controller.state in STILL and not controller.moving:
        state = controller.state
        run_for(r, 0.3)
        if controller.state == state and not controller.moving:
            assert not motors_run(r), f"a motor runs in {state}"
    assert told(r, ev.Crashed) == []
    assert set(r.faults()) <= OF_KEYS
    check_tiles(r)


def lead_out(r: Rig) -> None:
    """Press what the display asks for until the table rests; tiles that lie about go in."""
    steps: dict[str, Callable[[], object]] = {
        "fault": lambda: r.press("RESET"),
        "off": lambda: r.press("POWER"),
        "unhomed": lambda: r.press("START", 1_900_000),
    }
    for _ in range(25):
        state = r.controller.state
        if state in ("rest", "open"):
            return
        wash = r.controller.memory.wash
        if state == "stopped" and wash and wash.rule != "riichi":
            # The tiles on this table are those of riichi: the wash is given up for the right rule.
            while r.controller.memory.rule != "riichi":
                r.press("RULE_NEXT")
                run_for(r, 1)
            r.press("START")
        elif state == "stopped" and r.faults() and r.faults()[-1] in ("E21", "E24", "E25"):
            r.press("ADD")
        elif state == "add_open":
            balance(r)
            r.press("START")
        elif state in steps:
            steps[state]()
        elif state in ("stopped", "loaded"):
            r.press("START")
        run_for(r, 8 if state in steps else 30)
        pull_walls(r)
    pytest.fail(
        f"no way out of {r.controller.state}, display {r.shown[-1][1].display}, faults {r.faults()[-3:]}"
    )


def balance(r: Rig) -> None:
    """Let people take out what is too much and put in what is missing, as the order of the wash wants it."""
    order = r.controller.memory.wash
    assert order
    inside = [
        t for s in r.table.machine.sides for p in (s.mouth.belt, s.mouth.slot, s.store) for t in p.tiles
    ]
    drum, table = r.table.machine.drum.place, r.table.players.table
    while drum.tiles and len(inside) + len(drum) > sum(order.tiles):
        drum.tiles[-1].move(table)
    outside = [t for p in (table, *r.table.boxes) for t in p.tiles]
    for tile in outside[: sum(order.tiles) - len(inside) - len(drum)]:
        tile.move(drum)


@pytest.mark.parametrize("seed", range(150))
def test_no_order_of_keys_leads_to_a_false_ready_a_running_motor_or_a_dead_end(seed: int) -> None:
    rng = random.Random(seed)
    r = rig(sets=rng.choice([1, 2]), seed=seed)
    run_for(r, 0.6)
    if seed % 3:
        r.press("START", held_us=1_900_000)
        run_for(r, 2.5)
    for _ in range(rng.randrange(4, 28)):
        act(r, rng)
        run_for(r, rng.choice(WAITS_S))
        check(r)
    lead_out(r)
    check(r)
