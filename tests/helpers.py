"""What several tests share: rigs that stand ready, and independent words on what is right."""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from sim.lab.rig import Rig, RigOptions
from sim.table import PanelKey, TableOptions
from tablectl.table import events as ev
from tablectl.table.intents import Intent, Key, Phase

S = 1_000_000

# Stacks per machine side as the rule documents give them, written down here independently of the rule files.
STACKS = {"riichi": (17, 17, 17, 17), "sc_tcy": (14, 13, 14, 13), "mcr": (18, 18, 18, 18)}
TILES = {"riichi": 136, "sc_tcy": 108, "mcr": 144}


def rig(rule: str = "riichi", entropy_seed: int = 0, trace: Any = None, **table: Any) -> Rig:
    """Return a whole table at its power-up; nobody plays unless `hands` says so."""
    table = {"tiles": TILES[rule], "hands": 0, "play_us": 2 * S, **table}
    return Rig(RigOptions(rule, entropy_seed, TableOptions(**table)), trace)


def run_until(r: Rig, stop: Callable[[], bool], limit_s: float = 120) -> None:
    """Run until something holds; fail with the state where it never does."""
    assert r.world.run(r.world.now_us + round(limit_s * S), stop), (
        f"in vain: {r.controller.state}, faults {r.faults()}, display {r.shown[-1:]}"
    )


def run_to(r: Rig, state: str, limit_s: float = 120) -> None:
    """Run until the cycle is in a state."""
    run_until(r, lambda: r.controller.state == state, limit_s)


def run_for(r: Rig, seconds: float) -> None:
    """Let time pass."""
    r.world.run(r.world.now_us + round(seconds * S))


def panel(r: Rig, *keys: str) -> None:
    """Press panel keys together, then let go."""
    for down in (True, False):
        for key in keys:
            r.world.post(r.world.now_us, "table", PanelKey(key, down))
        run_for(r, 0.1)


def api(r: Rig, intent: Intent, source: str = "local:1000") -> None:
    """Press a key through the programming interface."""
    r.world.post(r.world.now_us, "host", Key(source, intent, Phase.DOWN))
    run_for(r, 0.05)


def homed(rule: str = "riichi", **table: Any) -> Rig:
    """Return a table that has found its positions."""
    r = rig(rule, **table)
    run_for(r, 1)
    panel(r, "lift.1")
    run_to(r, "rest")
    return r


def put_in(r: Rig, box: int = 0, but: int = 0) -> None:
    """Push a box of tiles into the open table, all but some."""
    tiles = list(r.table.boxes[box].tiles)
    for tile in tiles[but:]:
        tile.move(r.table.machine.drum.place)


def wash(r: Rig, box: int = 0, but: int = 0) -> None:
    """Open, push a set in and close."""
    r.press("START")
    run_to(r, "open")
    put_in(r, box, but)
    r.press("START")
    run_to(r, "closing")


def pull_walls(r: Rig) -> None:
    """Take the standing walls off the latches."""
    for side in r.table.machine.sides:
        for tile in list(side.wall.tiles):
            tile.move(r.table.players.table)


def standing(rule: str = "riichi", **table: Any) -> Rig:
    """Return a table whose first walls stand, with nothing in the drum."""
    r = homed(rule, sets=1, **table)
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_to(r, "rest")
    return r


def stacks(r: Rig) -> tuple[int, ...]:
    """Return the stacks of the walls on their latches, from the simulator's own tiles."""
    return tuple(-(-len(s.wall) // 2) for s in r.table.machine.sides)


def check_tiles(r: Rig) -> None:
    """Every tile is in exactly one place, and none is lost or doubled."""
    where = Counter(id(t) for p in r.table.places() for t in p.tiles)
    assert where == Counter(id(t) for t in r.table.tiles)
    for place in r.table.places():
        for tile in place.tiles:
            assert tile.place is place
    assert r.table.machine.violations == []


def told(r: Rig, kind: type) -> list[Any]:
    """Return the announcements of one kind so far."""
    return [e for _, e in r.announced if isinstance(e, kind)]


def refusals(r: Rig) -> list[str]:
    """Return why keys were not obeyed so far."""
    return [e.reason for e in told(r, ev.Refused)]


def permuted(faces: tuple[str, ...], seed: int) -> tuple[str, ...]:
    """Return the same tiles with their faces exchanged."""
    mixed = list(faces)
    random.Random(seed).shuffle(mixed)
    return tuple(mixed)
