"""Runs a file of checked answers against the rules: `python -m tests.rules_vectors FILE.jsonl [--kind …]`.

One line for each failure, then `N passed, N failed`; exit status 1 where any has failed, 2 where the file
cannot be read or holds nothing of what was asked for. Keys of `expected` that begin with `stated_` are the
document's own figure; what our answer has beyond `expected` is ignored.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablectl.errors import TablectlError
from tablectl.rules import beginning
from tablectl.rules.course import Drawn, Phase, Use
from tablectl.rules.deal import Deal, deal, opening, seat_of_sum
from tablectl.rules.dealer import Result, Won
from tablectl.rules.indicator import copies_left, indicators, wild_kinds
from tablectl.rules.match import Match, advance, begin, deals, swap
from tablectl.rules.model import From, Measure, RuleSet, Win
from tablectl.rules.ruleset import load
from tablectl.rules.tail import rest
from tablectl.rules.walls import LAYERS, SIDES

Answer = dict[str, Any]
ANY = "riichi"  # for what every rule set says alike


class BadVectorError(Exception):
    """A line that is no vector, or asks what cannot be."""


def _throws(rule: RuleSet, asked: Answer | None = None) -> list[list[int]]:
    asked = asked or {}
    if "dealer_roll" in asked:
        return [asked["dealer_roll"], asked["second_roll"]]
    if "rolls" in asked:
        return list(asked["rolls"])
    total, count = asked.get("sum", rule.dice.count), rule.dice.count
    if not count <= total <= 6 * count:
        raise BadVectorError(f"{count} dice cannot show {total}")
    throw = [1] * count
    for at in range(count):
        throw[at] += min(5, total - sum(throw))
    return [throw] * rule.dice.throws


def _dealt(rule: RuleSet, asked: Answer | None = None) -> Deal:
    return deal(rule, (asked or {}).get("dealer", rule.players[0]), _throws(rule, asked))


def _composition(rule: RuleSet, _: Answer) -> Answer:
    tiles = rule.tiles.composition
    counts = {"total": tiles.total, "in_play": rule.tiles.in_play, "players": len(rule.players)}
    return {**tiles.by_class(), **counts}


def _kinds(rule: RuleSet, _: Answer) -> Answer:
    tiles = rule.tiles.composition
    classes = sum(count > 0 for count in tiles.by_class().values())
    return {"total": tiles.total, "designs": tiles.designs, "classes": classes}


def _stacks(rule: RuleSet, asked: Answer) -> Answer:
    if rule.total != asked["tiles"]:
        raise BadVectorError(f"{rule.id} has {rule.total} tiles in play")
    sides = [rule.walls.stacks(side) for side in range(SIDES)]
    odd = sum(count % 2 for count in rule.wall_tiles)
    # Where a single tile is left over the document leaves the sides open: there is nothing to compare.
    return {"stacks_total": sum(sides) - odd, "leftover_tiles": odd, "per_side": None if odd else sides}


def _tiles_per_person(rule: RuleSet, _: Answer) -> Answer:
    return {"tiles": rule.wall_tiles[0], "stacks": rule.walls.stacks(0), "layers": len(LAYERS)}


def _seat_of_sum(rule: RuleSet, asked: Answer) -> Answer:
    seat = seat_of_sum(rule.players, rule.players[0], asked["sum"])
    return {
        "seat": seat,
        "seat_name": "ESWN"[seat],
        "counter_clockwise": sorted(rule.players) == [*rule.players],
    }


def _open(rule: RuleSet, asked: Answer) -> Answer:
    throws = _throws(rule, asked)
    broken = opening(rule, asked.get("dealer", rule.players[0]), throws)
    return {
        "sum1": sum(throws[0]),
        "second_thrower": broken.throwers[-1],
        "wall_seat": broken.counted_wall,
        "count": broken.passed,
        "passed_stacks": broken.passed,
        "first_stack": {"wall_seat": broken.wall, "stack": broken.stack},
    }


def _first_dealer(rule: RuleSet, asked: Answer) -> Answer:
    thrower = rule.players[0]
    return {"seat": beginning.dealer_by_die(rule, thrower, asked["die"]), "relative_to": "thrower"}


def _high_roll(rule: RuleSet, asked: Answer) -> Answer:
    best = beginning.dealer_by_highest(rule, asked["rolls"])
    return {"dealer": best[0] if len(best) == 1 else None, "again": list(best)}


def _riichi_dealer(rule: RuleSet, asked: Answer) -> Answer:
    found = beginning.dealer_by_two_throws(rule, asked["thrower"], asked["roll1"], asked["roll2"])
    return dict(zip(("temp_dealer", "dealer"), found, strict=True))


def _dice_count(rule: RuleSet, _: Answer) -> Answer:
    throwers = opening(rule, rule.players[0], _throws(rule)).throwers
    one = throwers == (0,)
    dice = rule.dice
    return {
        "dice": dice.count,
        "throws": dice.throws,
        "uses": dice.passed,
        "thrower": "dealer" if one else "both",
    }


def _throw_rules(rule: RuleSet, _: Answer) -> Answer:
    return {
        "dice": rule.dice.count,
        "throws": rule.dice.throws,
        "height_cm": list(rule.dice.height_cm) or None,
    }


def _deal(rule: RuleSet, asked: Answer) -> Answer:
    dealt = _dealt(rule, asked)
    tail = dealt.tail[0]
    grabs = {str(n): [str(p) for p in dealt.grabs[seat]] for n, seat in enumerate(rule.players)}
    turned = indicators(rule, dealt, 0, _throws(rule, asked))
    return {
        "hand_sizes": {seat: len(grab) for seat, grab in grabs.items()},
        "grabs": grabs,
        "next_draw": str(dealt.next_draw),
        "tail_stack": f"w{tail.wall}s{tail.stack}",
        "remaining": len(dealt.undealt),
        "indicator": str(turned[0]) if turned else None,
    }


def _hand_sizes(rule: RuleSet, _: Answer) -> Answer:
    dealt = _dealt(rule)
    sizes = [len(dealt.grabs[seat]) for seat in rule.players]
    return {"dealer": sizes[0], "others": sizes[1], "remaining": len(dealt.undealt)}


def _live_draws(rule: RuleSet, asked: Answer) -> Answer:
    after = rest(rule, _dealt(rule), asked.get("kongs", 0), asked.get("flowers", 0), _throws(rule))
    return {
        "total": rule.total,
        "dealt": rule.dealt,
        "indicator": len(after.indicators),
        "reserve": len(after.left),
        "live_draws": len(after.live),
        "tail_draws": len(after.replacements),
    }


def _reserve(rule: RuleSet, asked: Answer) -> Answer:
    kongs = asked.get("kongs", 0)
    left = len(rest(rule, _dealt(rule), kongs, throws=_throws(rule)).left)
    taken = kongs if rule.tail.measure is Measure.ORIGINAL else 0
    return {
        "stacks": left // 2,
        "tiles": left,
        "undrawn_tiles": left,
        "boundary_stacks_from_tail": (left + taken) // 2,
        "kong_source": rule.tail.kong,
        "last4_forced": rule.duties.forced_win_last == 4,
    }


def _source(name: str, of: Callable[[RuleSet], From]) -> Callable[[RuleSet, Answer], Answer]:
    return lambda rule, _: {name: str(of(rule))}


def _next_dealer(rule: RuleSet, asked: Answer) -> Answer:
    seats = rule.players
    if "winners" in asked:
        won = [asked["winners"]]
    else:
        won = [[n] for n in asked.get("wins_in_order", [asked["winner"]] if "winner" in asked else [])]
    discarder = asked.get("discarder")
    loser = None if discarder is None else seats[discarder]
    wins = tuple(Won(tuple(seats[n] for n in who), loser) for who in won)
    ready = frozenset(seats[n] for n in asked.get("ready", ()))
    before = Match(begin(rule, seats[0]).order, seats[asked["dealer"]], floor=asked.get("floor", 0))
    try:
        after = advance(rule, before, Result(wins, ready))
    except TablectlError as error:
        if error.key != "rules.dealer_chosen":
            raise
        return {"dealer": str(error.values["by"])}
    return {"dealer": seats.index(after.dealer), "floor": after.floor}


def _match_length(rule: RuleSet, _: Answer) -> Answer:
    repeats = rule.next_dealer.win not in (Win.NEXT_SEAT, Win.DICE, Win.RANDOM)
    told = {"rounds": rule.match.rounds, "hands": deals(rule), "repeat_dealer": repeats}
    return told | dict(rule.match.formats) | {"start_points": rule.match.start_points}


def _seat_change(rule: RuleSet, asked: Answer) -> Answer:
    before = ("east", "south", "west", "north").index(asked["before_round"])
    seats = swap(rule, tuple(asked["seats"][wind] for wind in "ESWN"), before)
    return {"seats": dict(zip("ESWN", seats, strict=True)), "dealer": seats[0]}


def _flower_order(rule: RuleSet, asked: Answer) -> Answer:
    if Phase.FLOWERS not in rule.phases.after_deal:
        return {"order": None}
    order = beginning.turn_order(rule, asked["dealer"])
    return {"order": list(order), "replacement": str(rule.tail.flower), "limit_s": rule.phases.flowers_s}


def _dingque(rule: RuleSet, asked: Answer) -> Answer:
    if Phase.DINGQUE not in rule.phases.after_deal:
        return {"choice": None}
    choice = list(beginning.dingque_choice(asked["suits_in_hand"]))
    return {"choice": choice, "forced": choice[0] if len(choice) == 1 else None}


def _exchange(rule: RuleSet, _: Answer) -> Answer:
    return {"max_exchange": None if Phase.EXCHANGE_ANY in rule.phases.after_deal else 0}


def _draw_by_kongs(rule: RuleSet, asked: Answer) -> Answer:
    return {"draw": beginning.ends_by_kongs(rule, asked["kong_players"])}


def _forced(rule: RuleSet, asked: Answer) -> Answer:
    could = asked["ready"] and asked["tile_is_winning"]
    return {"must_win": could and beginning.must_win(rule, asked["remaining"])}


def _has_wild(rule: RuleSet, _: Answer) -> Answer:
    return {"wild": None if not rule.wild.any else [*rule.wild.fixed, *map(str, rule.wild.of)]}


def _wild_of(rule: RuleSet, asked: Answer) -> Answer:
    kinds = wild_kinds(rule, asked["indicator"])
    left = copies_left(rule, kinds[0], asked["indicator"])
    return {"wild": kinds[0] if len(kinds) == 1 else list(kinds), "copies_left": left}


def _shown(rule: RuleSet, _: Answer) -> Answer:
    bonus = rule.indicator is not None and rule.indicator.use is Use.BONUS
    drawn = rule.indicator is not None and rule.indicator.drawn is Drawn.LAST
    return {
        "wild": None if not rule.wild.any else list(rule.wild.fixed),
        "bonus_tile": bonus,
        "drawn_last": drawn,
    }


def _baotou(rule: RuleSet, asked: Answer) -> Answer:
    ready = asked["wilds"] >= 1 and asked["melds"] == 4
    return {"ready_on_any": ready, "mult_if_self_draw": rule.wild.ready_on_any if ready else 1}


def _caipiao(rule: RuleSet, asked: Answer) -> Answer:
    return {"mult": rule.wild.ready_on_any ** (1 + asked["discarded_wilds"])}


def _dragon_points(rule: RuleSet, asked: Answer) -> Answer:
    return {"points": dict(enumerate(rule.wild.points)).get(asked["wilds_in_hand"])}


def _four_wilds(rule: RuleSet, asked: Answer) -> Answer:
    held = [*asked["hand_before"], asked["draw"]].count(asked["wild"])
    return {"win": rule.wild.four_win and held == 4, "any_hand": rule.wild.four_win}


def _may_discard(rule: RuleSet, _: Answer) -> Answer:
    return {"allowed": rule.wild.discard}


ANSWERS: dict[str, Callable[[RuleSet, Answer], Answer]] = {
    "baotou": _baotou,
    "caipiao": _caipiao,
    "composition": _composition,
    "deal": _deal,
    "dealer_by_high_roll": _high_roll,
    "dice_count": _dice_count,
    "dingque": _dingque,
    "dragon_points": _dragon_points,
    "draw_by_kongs": _draw_by_kongs,
    "exchange": _exchange,
    "first_dealer": _first_dealer,
    "flower_order": _flower_order,
    "flower_source": _source("flower_source", lambda rule: rule.tail.flower),
    "four_wilds": _four_wilds,
    "hand_sizes": _hand_sizes,
    "has_wild": _has_wild,
    "kinds": _kinds,
    "kong_source": _source("kong_source", lambda rule: rule.tail.kong),
    "last_tiles_forced_win": _forced,
    "live_draws": _live_draws,
    "match_length": _match_length,
    "may_discard_wild": _may_discard,
    "next_dealer": _next_dealer,
    "open": _open,
    "reserve": _reserve,
    "riichi_dealer": _riichi_dealer,
    "seat_change": _seat_change,
    "seat_of_sum": _seat_of_sum,
    "shown_tile": _shown,
    "stacks": _stacks,
    "throw_rules": _throw_rules,
    "tiles_per_person": _tiles_per_person,
    "wild_of_indicator": _wild_of,
}


@dataclass(frozen=True)
class Failure:
    """A vector that we answer otherwise: what it expects, and what we say, or why we say nothing."""

    vector: Answer
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.vector.get('id', '?')}: expected {_shown_as(self.expected)}, got {_shown_as(self.got)}"


def _shown_as(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read(lines: Iterable[str], kinds: Iterable[str] = ()) -> Iterator[Answer]:
    """Return the vectors of a file, of some kinds only; BadVectorError with the line that is none."""
    wanted = set(kinds)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            vector = json.loads(line)
            kind = vector["kind"]
            vector["input"]["op"], vector["expected"].items(), vector["ruleset"], vector["id"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadVectorError(f"line {number}: no vector ({type(error).__name__}: {error})") from error
        if not wanted or kind in wanted:
            yield vector


def check(vector: Answer) -> Failure | None:
    """Return how a vector fails, None where it passes."""
    expected = {k: v for k, v in vector["expected"].items() if not k.startswith("stated_")}
    answer = ANSWERS.get(vector["input"]["op"])
    if answer is None:
        return Failure(vector, expected, f"unsupported: {vector['input']['op']}")
    try:
        rule = load(ANY if vector["ruleset"] == "*" else vector["ruleset"])
        got = answer(rule, vector["input"])
    except (TablectlError, BadVectorError) as error:
        return Failure(vector, expected, f"error: {error}")
    except (KeyError, ValueError, TypeError, IndexError) as error:
        return Failure(vector, expected, f"impossible input: {type(error).__name__}: {error}")
    told = {key: got.get(key, "unsupported") for key in expected}
    return None if told == expected else Failure(vector, expected, told)


def _wanted(file: Path, kinds: set[str]) -> list[Answer]:
    vectors = list(read(file.read_text(encoding="utf-8").splitlines(), kinds))
    absent = sorted(kinds - {vector["kind"] for vector in vectors})
    if absent or not vectors:
        raise BadVectorError(f"no vector of {', '.join(absent) or 'any kind'}")
    return vectors


def main(arguments: list[str] | None = None) -> int:
    """Run a file and print what fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.rules_vectors", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--kind", default="", help="kinds with commas between them; all without it")
    asked = parser.parse_args(arguments)
    try:
        vectors = _wanted(asked.file, set(filter(None, asked.kind.split(","))))
    except (OSError, ValueError, BadVectorError) as error:
        print(f"{asked.file}: {error}", file=sys.stderr)
        return 2
    failures = [failure for vector in vectors if (failure := check(vector))]
    for failure in failures:
        print(failure)
    print(f"{len(vectors) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
