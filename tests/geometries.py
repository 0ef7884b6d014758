"""What people are told of the rule sets, and which of them are one game at the table."""

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

from people import Game

from tablectl.rules.course import Drawn, Indicator, Lies
from tablectl.rules.model import From, Last, Measure, PassedBy, RuleSet, WallBy
from tablectl.rules.ruleset import available, load


def rolls(rule: RuleSet) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Return every way in which the dice of a rule may fall."""
    throw = tuple(itertools.product(range(1, 7), repeat=rule.dice.count))
    yield from itertools.product(throw, repeat=rule.dice.throws)


def turned(indicator: Indicator | None) -> tuple[str, str | int, str] | None:
    if indicator is None:
        return None
    where = {Lies.FRONT: "front", Lies.TAIL_STACK: "stack", Lies.TAIL_TILE: "tile"}[indicator.lies]
    return where, indicator.at if isinstance(indicator.at, int) else "dice", "T" if indicator.upper else "B"


def game_of(rule: RuleSet) -> Game:
    """Tell people what a rule set says."""
    source = {From.TAIL: "tail", From.FRONT: "front", From.NONE: "nowhere"}
    return Game(
        walls=rule.wall_tiles,
        players=rule.players,
        broken={
            WallBy.SEAT_OF_SUM: "counted",
            WallBy.SECOND_THROWER: "thrower",
            WallBy.DEALER: "dealer",
            WallBy.OPPOSITE: "facing",
        }[rule.dice.wall],
        passed={PassedBy.SUM: "last", PassedBy.TOTAL: "all"}[PassedBy(str(rule.dice.passed))],
        blocks=rule.dealing.blocks,
        ending={
            Last.JUMP: "jump",
            Last.ONE_EACH: "each",
            Last.DEALER_STACK: "stack",
            Last.DEALER_ONE: "one",
        }[rule.dealing.last],
        kongs=source[rule.tail.kong],
        flowers=source[rule.tail.flower],
        kept=rule.tail.keep,
        line=rule.tail.measure is Measure.ORIGINAL,
        turned=turned(rule.indicator),
        more_turned=rule.indicator is not None and rule.indicator.per_kong,
        turned_last=rule.indicator is not None and rule.indicator.drawn is Drawn.LAST,
    )


def geometries() -> dict[str, list[str]]:
    """Return the rule sets by what the table does: those that differ in words only are tried once."""
    alike: dict[Any, list[str]] = {}
    for rule in map(load, available()):
        dice = dataclasses.replace(rule.dice, height_cm=())
        key = (game_of(rule), dice, rule.dealing, rule.duties.max_kongs)
        alike.setdefault(key, []).append(rule.id)
    return {"+".join(ids): ids for ids in alike.values()}


GEOMETRIES = geometries()
