"""From a rule file to a checked `RuleSet`; nothing is guessed and nothing ignored."""

import json
from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar

from tablectl.errors import TablectlError
from tablectl.rules.course import (
    Counted,
    Drawn,
    Duties,
    FirstDealer,
    Indicator,
    Lies,
    MatchLength,
    Phase,
    Phases,
    Start,
    Use,
    Wild,
)
from tablectl.rules.layers import Read, layered
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
    Status,
    Succession,
    Tail,
    TileSet,
    Title,
    Unstated,
    WallBy,
    Win,
)
from tablectl.rules.tiles import composition, read_kinds
from tablectl.rules.walls import LAYERS, SIDES
from tablectl.tables import Table

CYCLES = ("1-9m", "1-9p", "1-9s", "z1-4", "z5-7")

Section = TypeVar("Section")


def parse(content: bytes, file: str, read: Read) -> RuleSet | Title:
    """Read a rule file; `file` is its name, told in errors and equal to the id.

    `read` gives the content of the file that this one names as its base.
    """
    top = layered(content, file, read)
    top.has("base")
    rule_id = top.text("id")
    if f"{rule_id}.toml" != file:
        raise TablectlError("rules.wrong_id", file=file, id=rule_id)
    if top.has("reason"):
        title = Title(rule_id, *_who(top), _section(top, "reason", _names))
        top.close()
        return title
    names, source = _who(top)
    rule = RuleSet(
        id=rule_id,
        names=names,
        source=source,
        tiles=_section(top, "tiles", _tiles),
        players=_section(top, "seats", _players),
        wall_tiles=_section(top, "wall", _wall),
        dice=_section(top, "dice", _dice),
        dealing=_section(top, "deal", _dealing),
        tail=_section(top, "tail", _tail),
        next_dealer=_section(top, "next_dealer", _succession),
        status=top.choice("status", Status) if top.has("status") else Status.PLAYABLE,
        missing=_section(top, "missing", _names) if top.has("missing") else None,
        duties=_section(top, "duties", _duties) if top.has("duties") else Duties(),
        indicator=_section(top, "indicator", _indicator) if top.has("indicator") else None,
        wild=_section(top, "wild", _wild) if top.has("wild") else Wild(),
        phases=_section(top, "phases", _phases) if top.has("phases") else Phases(),
        first_dealer=_section(top, "first_dealer", _first_dealer),
        match=_section(top, "match", _match) if top.has("match") else MatchLength(),
        served=_section(top, "served", _served) if top.has("served") else None,
        # Last, so that a key which is not there is told as such rather than as a reason without its value.
        unstated=_section(top, "unstated", lambda t: _unstated(t, top)) if top.has("unstated") else (),
    )
    top.close()
    _check_sums(rule, file)
    _check_course(rule, file)
    return rule


def _who(top: Table) -> tuple[Names, Source]:
    return _section(top, "names", _names), _section(top, "source", _source)


def _section(top: Table, key: str, read: Callable[[Table], Section]) -> Section:
    table = top.table(key)
    section = read(table)
    table.close()
    return section


def _unstated(table: Table, top: Table) -> tuple[Unstated, ...]:
    entries = []
    for path, why in table.pairs().items():
        if (chosen := top.at(path)) is None:
            file, line = table.place(path)
            raise TablectlError("rules.unstated_path", file=file, line=line, path=path)
        entries.append(Unstated(path, json.dumps(chosen, ensure_ascii=False, default=str), why))
    return tuple(entries)


def _names(table: Table) -> Names:
    return Names(table.text("en"), table.text("zh"))


def _source(table: Table) -> Source:
    return Source(table.text("document"), table.text("anchor"))


def _duties(table: Table) -> Duties:
    return Duties(
        table.number("forced_win_last", 1) if table.has("forced_win_last") else 0,
        table.number("end_if_kong_players", 1, SIDES) if table.has("end_if_kong_players") else 0,
        table.number("max_kongs", 1) if table.has("max_kongs") else 0,
    )


def _indicator(table: Table) -> Indicator:
    lies = table.choice("from", Lies)
    return Indicator(
        lies,
        table.choice_or_number("n", Counted, 1) if lies is not Lies.FRONT else 1,
        table.choice("half", _Half) is _Half.UPPER if lies is Lies.TAIL_STACK else True,
        table.choice("use", Use),
        table.choice("drawn", Drawn) if table.has("drawn") else Drawn.NEVER,
        table.yes("per_kong") if table.has("per_kong") else False,
    )


class _Half(StrEnum):
    UPPER = "T"
    LOWER = "B"


def _wild(table: Table) -> Wild:
    for key in ("fixed", "cycles"):
        for text in table.texts(key) if table.has(key) else ():
            read_kinds(text, _where(table, key))
    return Wild(
        of=table.numbers("of", 0, 8) if table.has("of") else (),
        fixed=table.texts("fixed") if table.has("fixed") else (),
        cycles=table.texts("cycles") if table.has("cycles") else CYCLES,
        discard=table.yes("discard") if table.has("discard") else True,
        four_win=table.yes("four_win") if table.has("four_win") else False,
        points=table.numbers("points", 0) if table.has("points") else (),
        ready_on_any=table.number("ready_on_any", 1) if table.has("ready_on_any") else 1,
    )


def _phases(table: Table) -> Phases:
    return Phases(
        table.choices("after_deal", Phase),
        table.number("flowers_s", 1) if table.has("flowers_s") else None,
    )


def _first_dealer(table: Table) -> Start:
    by = table.choice("by", FirstDealer)
    return Start(by, table.numbers("seats", 0, SIDES - 1, length=6) if by is FirstDealer.DIE else ())


def _match(table: Table) -> MatchLength:
    formats: tuple[tuple[str, int], ...] = ()
    if table.has("formats"):
        named = table.table("formats")
        formats = tuple((name, named.number(name, 1)) for name in named.keys())  # noqa: SIM118
    return MatchLength(
        table.number("rounds", 0, 8) if table.has("rounds") else 0,
        formats,
        table.number("start_points", 0) if table.has("start_points") else 0,
        table.numbers("swap", 1, 3) if table.has("swap") else (),
    )


def _tiles(table: Table) -> TileSet:
    also = table.texts("flowers_also") if table.has("flowers_also") else ()
    return TileSet(
        composition(table.texts("set"), _where(table, "set")),
        table.number("in_play", 1),
        table.number("left_in_drum", 0) if table.has("left_in_drum") else 0,
        tuple(kind for text in also for kind in read_kinds(text, _where(table, "flowers_also"))),
    )


def _where(table: Table, key: str) -> str:
    """Return the place of a key for the error that a notation in it makes."""
    file, line = table.place(key)
    return f"{file}:{line} [{table.path(key)}]"


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
        table.numbers("height_cm", 1, length=2) if table.has("height_cm") else (),
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
    floors = table.number("floor_max", 1) if table.has("floor_max") else 0
    return Succession(win, multi, table.choice("draw", Draw), floors)


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


def _check_course(rule: RuleSet, file: str) -> None:
    if (rule.status is Status.EXPERIMENTAL) != (rule.missing is not None):
        raise TablectlError("rules.missing_told", file=file, status=rule.status)
    if rule.wild.of and not (rule.indicator and rule.indicator.use is Use.WILD):
        raise TablectlError("rules.wild_of_nothing", file=file)
    if rule.indicator and isinstance(at := rule.indicator.at, int):
        undealt, tiles = rule.total - rule.dealt, len(LAYERS) if rule.indicator.lies is Lies.TAIL_STACK else 1
        if at * tiles > undealt:
            raise TablectlError("rules.indicator_far", file=file, n=at, undealt=undealt)
