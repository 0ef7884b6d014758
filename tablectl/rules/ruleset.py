"""From a rule file to a checked `RuleSet`; nothing is guessed and nothing ignored."""

import json
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from tablectl.errors import TablectlError
from tablectl.rules.model import (
    Dealing,
    Dice,
    Draw,
    From,
    Last,
    Measure,
    Names,
    PassedBy,
    RuleSet,
    Served,
    Source,
    StartBy,
    Succession,
    Tail,
    TileSet,
    Unstated,
    WallBy,
    Win,
)
from tablectl.rules.tiles import composition
from tablectl.rules.walls import SIDES
from tablectl.tables import Table

__all__ = ["RuleSet", "available", "load", "parse"]

DATA = Path(__file__).parent / "data"

Section = TypeVar("Section")


def available() -> tuple[str, ...]:
    """Return the id of every rule set there is a file for."""
    return tuple(sorted(file.stem for file in DATA.glob("*.toml")))


@cache
def load(rule_id: str) -> RuleSet:
    """Return the rule set of that id."""
    if rule_id not in (known := available()):
        raise TablectlError("rules.unknown_rule", id=rule_id, known=", ".join(known))
    file = DATA / f"{rule_id}.toml"
    return parse(file.read_bytes(), file.name)


def parse(content: bytes, file: str) -> RuleSet:
    """Read a rule file; `file` is its name, told in errors and equal to the id."""
    top = Table.parse(content, file, "rules")
    rule_id = top.text("id")
    if f"{rule_id}.toml" != file:
        raise TablectlError("rules.wrong_id", file=file, id=rule_id)
    rule = RuleSet(
        id=rule_id,
        names=_section(top, "names", lambda t: Names(t.text("en"), t.text("zh"))),
        source=_section(top, "source", lambda t: Source(t.text("document"), t.text("anchor"))),
        tiles=_section(top, "tiles", _tiles),
        players=_section(top, "seats", _players),
        wall_tiles=_section(top, "wall", _wall),
        dice=_section(top, "dice", _dice),
        dealing=_section(top, "deal", _dealing),
        tail=_section(top, "tail", _tail),
        next_dealer=_section(top, "next_dealer", _succession),
        served=_section(top, "served", _served) if top.has("served") else None,
        # Last, so that a key which is not there is told as such rather than as a reason without its value.
        unstated=_section(top, "unstated", lambda t: _unstated(t, top)) if top.has("unstated") else (),
    )
    top.close()
    _check_sums(rule, file)
    return rule


def _section(top: Table, key: str, read: Callable[[Table], Section]) -> Section:
    table = top.table(key)
    section = read(table)
    table.close()
    return section


def _unstated(table: Table, top: Table) -> tuple[Unstated, ...]:
    entries = []
    for path, why in table.pairs().items():
        if (chosen := top.at(path)) is None:
            raise TablectlError("rules.unstated_path", file=table.file, path=path)
        entries.append(Unstated(path, json.dumps(chosen, ensure_ascii=False, default=str), why))
    return tuple(entries)


def _tiles(table: Table) -> TileSet:
    where = f"{table.file} [{table.path('set')}]"
    return TileSet(
        composition(table.texts("set"), where),
        table.number("in_play", 1),
        table.number("left_in_drum", 0) if table.has("left_in_drum") else 0,
    )


def _players(table: Table) -> tuple[int, ...]:
    players = table.numbers("players", 0, SIDES - 1)
    if len(players) < 2 or any(a >= b for a, b in pairwise(players)):
        raise TablectlError("rules.players", file=table.file, found=list(players))
    return players


def _wall(table: Table) -> tuple[int, int, int, int]:
    s1, s2, s3, s4 = table.numbers("tiles", 0, length=SIDES)
    return s1, s2, s3, s4


def _dice(table: Table) -> Dice:
    dice = Dice(
        table.number("count", 1, 3),
        table.number("throws", 1, 2),
        table.choice("wall", WallBy),
        table.choice_or_number("passed", PassedBy, 0),
    )
    if dice.wall is WallBy.SECOND_THROWER and dice.throws < 2:
        raise TablectlError("rules.second_thrower", file=table.file)
    return dice


def _dealing(table: Table) -> Dealing:
    return Dealing(table.number("hand", 1), table.number("blocks", 0), table.choice("last", Last))


def _tail(table: Table) -> Tail:
    return Tail(
        table.choice("kong", From),
        table.choice("flower", From),
        table.choice("measure", Measure) if table.has("measure") else Measure.LEFT,
        table.numbers("keep", 0),
    )


def _served(table: Table) -> Served:
    s1, s2, s3, s4 = table.numbers("tiles", 0, length=SIDES)
    start = table.table("start")
    by = start.choice("seat", StartBy)
    passed = start.number("passed", 0) if by is StartBy.DEALER else 0
    start.close()
    return Served(table.number("hand", 1), (s1, s2, s3, s4), by, passed)


def _succession(table: Table) -> Succession:
    win = table.choice("win", Win)
    # "The first winner" names nobody when one discard makes several: such a file has to say.
    multi = table.choice("multi", Win) if win is Win.FIRST_WINNER or table.has("multi") else win
    return Succession(win, multi, table.choice("draw", Draw))


def _check_sums(rule: RuleSet, file: str) -> None:
    tiles, walls = rule.tiles, rule.wall_tiles
    if tiles.in_play + tiles.left_in_drum != tiles.composition.total:
        raise TablectlError(
            "rules.set_sum",
            file=file,
            set=tiles.composition.total,
            in_play=tiles.in_play,
            left=tiles.left_in_drum,
        )
    if rule.total != tiles.in_play:
        raise TablectlError(
            "rules.wall_sum", file=file, walls=list(walls), wall=rule.total, in_play=tiles.in_play
        )
    for seat in rule.players:
        if not walls[seat]:
            raise TablectlError("rules.wall_empty", file=file, seat=seat, side=seat + 1)
    others = rule.dealing.takers(len(rule.players)).count(1)
    if others != rule.dealing.hand:
        raise TablectlError("rules.hand_sum", file=file, hand=rule.dealing.hand, taken=others)
    if (served := rule.served) and served.hand != rule.dealing.hand:
        raise TablectlError("rules.served_hand", file=file, served=served.hand, hand=rule.dealing.hand)
    if served and (makes := sum(served.tiles) + served.hand * len(rule.players)) != rule.total:
        raise TablectlError("rules.served_sum", file=file, served=makes, walls=rule.total)
    if (undealt := rule.total - rule.dealt) <= (kept := max(rule.tail.keep)):
        raise TablectlError("rules.tail_sum", file=file, dealt=rule.dealt, undealt=undealt, kept=kept)
