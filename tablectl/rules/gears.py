"""The gears (档位) of a table: walls of so many tiles, whatever is played with them."""

import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path

from tablectl.errors import TablectlError
from tablectl.rules.model import Names, RuleSet, TileSet
from tablectl.rules.tiles import Composition
from tablectl.rules.walls import SIDES

PREFIX = "gear_"
_FILE = Path(__file__).parent / "gears.toml"


@cache
def gears() -> dict[int, tuple[int, int, int, int]]:
    """Return the tiles of each side, by the gear's number."""
    walls = tomllib.loads(_FILE.read_text(encoding="utf-8"))["walls"]
    return {int(number): (w[0], w[1], w[2], w[3]) for number, w in walls.items()}


def gear_id(number: int) -> str:
    """Return the id by which a gear stands in place of a rule set; TablectlError where there is none."""
    if number not in gears():
        raise TablectlError("rules.no_gear", number=number, known=", ".join(map(str, gears())))
    return f"{PREFIX}{number}"


def as_rule(gear: str, like: RuleSet) -> RuleSet:
    """Return a gear as a rule set that says nothing but how the walls are built and broken.

    Dice and break are those of `like`; how the tiles are taken is the players' business.
    """
    text = gear.removeprefix(PREFIX)
    number = int(text) if text.isdecimal() else 0
    gear_id(number)
    walls = gears()[number]
    total = sum(walls)
    return replace(
        like,
        id=gear,
        names=Names(f"Gear {number}: {total} tiles", f"档位 {number}：{total} 张"),
        tiles=TileSet(Composition(()), total, 0),
        players=tuple(seat for seat in range(SIDES) if walls[seat]),
        wall_tiles=walls,
        unstated=(),
        gear=number,
    )
