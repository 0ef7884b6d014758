"""Answers for the rules beyond the mainland: what their sources say, dealt and played out by people.

`python tests/conventions.py` prints the lines of data/conventions.jsonl. What is written here is typed from
the sources; breaks, hands and ends come from people with fingers. The program under test is not asked.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from people import CHAIRS, Game, Hand

SUITS = {"m": 36, "p": 36, "s": 36}
HONOURS = {"winds": 16, "dragons": 12}
CLASSES = ("m", "p", "s", "winds", "dragons", "flowers", "jokers", "animals")


@dataclass(frozen=True)
class Family:
    """One rule: the page that gives it, its tiles, what people agree on, and the throws that are tried."""

    rule: str
    source: str
    tiles: dict[str, int]
    game: Game
    throws: tuple[tuple[int, tuple[int, ...]], ...]  # who deals, and the faces of his one throw
    notes: dict[str, str] = field(default_factory=dict)


TWO_DICE = ((0, (1, 1)), (1, (3, 4)), (2, (6, 6)))
THREE_DICE = ((0, (1, 1, 1)), (1, (3, 4, 4)), (2, (6, 6, 6)))  # 18 stacks and more: past the corner
FLOWERS = {**SUITS, **HONOURS, "flowers": 8}
TAIL = {"kongs": "tail", "flowers": "tail"}

FAMILIES = (
    Family(
        "riichi",
        "japanesemahjong.com",
        {**SUITS, **HONOURS},
        Game((34,) * 4, kept=(14,), turned=("stack", 3, "T"), more_turned=True),
        TWO_DICE,
    ),
    Family("simple", "how234.com", FLOWERS, Game((36,) * 4, **TAIL), TWO_DICE),
    Family("hongkong", "mahjong.info.pl", FLOWERS, Game((36,) * 4, **TAIL), THREE_DICE),
    Family(
        "taiwan16",
        "4windsmj.com taiwanese",
        FLOWERS,
        Game((36,) * 4, blocks=4, ending="one", kept=(16,), **TAIL),
        THREE_DICE,
    ),
    Family(
        "american",
        "mahjlife.com art. 148",
        {**FLOWERS, "jokers": 8},
        Game((38,) * 4, broken="dealer", kongs="nowhere"),
        TWO_DICE,
    ),
    Family(
        "filipino",
        "filipinomahjong.org",
        FLOWERS,
        Game((36,) * 4, broken="facing", blocks=4, ending="one", turned=("front", 1, ""), **TAIL),
        TWO_DICE,
    ),
    Family(
        "vietnamese160",
        "mahjongpros",
        {**SUITS, **HONOURS, "flowers": 16, "jokers": 8},
        Game((40,) * 4, kept=(26,), **TAIL),
        TWO_DICE,
    ),
    Family(
        "vietnamese176",
        "mahjongpros",
        {**SUITS, **HONOURS, "flowers": 16, "jokers": 24},
        Game((44,) * 4, kept=(26,), **TAIL),
        TWO_DICE,
    ),
    Family(
        "korean",
        "wikidot korean",
        {"m": 36, "p": 36, **HONOURS, "flowers": 4},
        Game((26,) * 4, **TAIL),
        TWO_DICE,
    ),
    Family(
        "malaysian3",
        "malaysian.majs",
        {"p": 36, **HONOURS, "flowers": 12, "jokers": 4, "animals": 4},
        Game((28, 28, 28, 0), players=(0, 1, 2), **TAIL),
        TWO_DICE,
        {"tiles": "84 tiles are counted in the source; the split beside suit and honours is ours"},
    ),
    Family(
        "singapore",
        "singaporean.json",
        {**FLOWERS, "animals": 4},
        Game((38, 36, 38, 36), kept=(15,), **TAIL),
        TWO_DICE,
    ),
    Family(
        "fuzhou",
        "fuzhou.md",
        FLOWERS,
        Game((36,) * 4, blocks=4, ending="one", kept=(18,), turned=("tile", "dice", ""), **TAIL),
        TWO_DICE,
    ),
    Family(
        "tianjin",
        "tianjin.majs text",
        {**SUITS, **HONOURS},
        Game((34,) * 4, turned=("tile", "dice", "")),
        TWO_DICE,
    ),
    Family(
        "hefei",
        "hefei.majs",
        {"m": 28, "p": 28, "s": 28},
        Game((22, 20, 22, 20)),
        ((0, (1, 1)), (1, (3, 4)), (2, (6, 5)), (0, (6, 6))),  # 11 and 12: past the corner
    ),
    Family(
        "ningbo",
        "ningbo.json",
        FLOWERS,
        Game((36,) * 4, kept=(14,), turned=("front", 1, ""), **TAIL),
        TWO_DICE,
    ),
    Family(
        "sanma",
        "autotable setup-deal.ts",
        {"m": 8, "p": 36, "s": 36, **HONOURS},
        Game(
            (36, 36, 36, 0),
            players=(0, 1, 2),
            kept=(18,),
            turned=("stack", 5, "T"),
            more_turned=True,
            **TAIL,
        ),
        TWO_DICE,
    ),
)


def vectors() -> Iterator[dict[str, Any]]:
    """Return every answer, family by family."""
    for family in FAMILIES:
        yield from _tiles(family)
        for number, (dealer, faces) in enumerate(family.throws, 1):
            yield _break(family, number, dealer, faces)
        yield _deal(family, *family.throws[-1])
        for kongs in range(3):
            yield _end(family, kongs)


def _vector(family: Family, name: str, kind: str, asked: Any, expected: Any, how: str) -> dict[str, Any]:
    return {
        "id": f"{name}_{family.rule}",
        "ruleset": family.rule,
        "kind": kind,
        "input": asked,
        "expected": expected,
        "source": {"document": "web", "anchor": family.source},
        "note": family.notes.get(kind, how),
    }


def _tiles(family: Family) -> Iterator[dict[str, Any]]:
    classes = {name: family.tiles.get(name, 0) for name in CLASSES}
    total, walls = sum(classes.values()), family.game.walls
    told = {"total": total, **classes, "in_play": total, "players": len(family.game.players)}
    yield _vector(family, "tiles", "tiles", {"op": "composition"}, told, "stated: counted from the source")
    sides = {"stacks_total": sum(walls) // 2, "per_side": [n // 2 for n in walls], "leftover_tiles": 0}
    asked = {"op": "stacks", "tiles": total}
    yield _vector(family, "wall", "wall", asked, sides, "stated: stacks per side")


def _break(family: Family, number: int, dealer: int, faces: tuple[int, ...]) -> dict[str, Any]:
    hand = Hand(family.game, dealer, [sum(faces)])
    wall, stack = hand.first[1:-1].split("s")
    told = {
        "wall_seat": (hand.owner - dealer) % len(CHAIRS),
        "passed_stacks": hand.count,
        "first_stack": {"wall_seat": (int(wall) - dealer) % len(CHAIRS), "stack": int(stack)},
    }
    asked = {"op": "open", "dealer": dealer, "rolls": [list(faces)]}
    return _vector(family, f"open{number}", "dice", asked, told, "walked: stack by stack")


def _deal(family: Family, dealer: int, faces: tuple[int, ...]) -> dict[str, Any]:
    game = family.game
    hand = Hand(game, dealer, [sum(faces)])
    turned = hand.indicators(0)
    told = {
        "hand_sizes": {str(n): len(hand.hands[chair]) for n, chair in enumerate(game.players)},
        "grabs": {str(n): hand.hands[chair] for n, chair in enumerate(game.players)},
        "next_draw": hand.draws[0],
        "tail_stack": hand.tail[0][:-1],
        "remaining": len(hand.draws),
        "indicator": turned[0] if turned else None,
    }
    asked = {"op": "deal", "dealer": dealer, "rolls": [list(faces)]}
    return _vector(family, "deal", "deal", asked, told, "walked: taken tile by tile")


def _end(family: Family, kongs: int) -> dict[str, Any]:
    game, (dealer, faces) = family.game, family.throws[0]
    hand = Hand(game, dealer, [sum(faces)])
    end = hand.played_to_the_end(kongs)
    told = {
        "total": sum(game.walls),
        "dealt": sum(map(len, hand.hands.values())),
        "indicator": len(end.turned),
        "reserve": len(end.left),
        "live_draws": len(end.live),
        "tail_draws": len(end.replacements),
    }
    asked = {"op": "live_draws", "kongs": kongs, "flowers": 0}
    return _vector(family, f"live{kongs}", "deal", asked, told, "walked: drawn tile by tile")


def lines() -> list[str]:
    """Return the lines of the file."""
    return [json.dumps(vector, ensure_ascii=False) for vector in vectors()]


if __name__ == "__main__":
    print("\n".join(lines()))
