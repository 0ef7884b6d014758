"""Hands of every rule set on the simulated table: `python -m sim.lab.deals`.

The table washes, raises and throws dice; players take, draw, make kongs and lay out flowers with their
fingers, at the tiles that truly stand. Where each tile went is held against what the rules compute.
"""

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain

import click

from firmware_protocol.catalogue import LANGUAGES, language
from sim.board.describe import describe
from sim.lab.fingers import Fingers
from sim.lab.rig import Rig, RigOptions
from sim.model import load
from sim.table import PanelKey, TableOptions
from sim.texts import TEXTS
from sim.tiles import Tile
from tablectl.rules import ruleset, serving
from tablectl.rules.course import Drawn
from tablectl.rules.deal import Deal, deal
from tablectl.rules.indicator import indicators
from tablectl.rules.model import From, Last, RuleSet, Served
from tablectl.rules.tail import rest
from tablectl.rules.walls import SIDES, Place, Walls
from tablectl.table import events as ev

LIMIT_US = 300_000_000
FOUR = "four-mouth"
_LANG = language()


@dataclass(frozen=True, slots=True)
class Played:
    """One hand, and what was wrong with it."""

    rule: str
    seed: int
    kongs: int
    flowers: int
    wrong: tuple[str, ...]


class StuckError(Exception):
    """The table did not come to where a hand begins."""


def fitting(rules: tuple[str, ...] = (), table: str = FOUR) -> tuple[str, ...]:
    """Return the rule sets that a simulated table can build walls for, of those asked for or of all."""
    mouths = describe(load(table)).named_mouths
    asked = rules or ruleset.available()
    return tuple(r for r in asked if serving.misfit(ruleset.load(r), mouths) is None)


def play(rule_id: str, seed: int, table: str = FOUR) -> Played:
    """Play one hand, and hold every tile against the computed deal."""
    rule, rng = ruleset.load(rule_id), random.Random(f"{rule_id}/{seed}")
    kongs = rng.randint(1, 4) if rule.tail.kong is not From.NONE else 0
    flowers = rng.randint(0, 4) if rule.tail.flower is From.TAIL else 0
    try:
        rig, throws = _walls(rule, seed, table)
    except StuckError as error:
        return Played(rule_id, seed, kongs, flowers, (str(error),))
    sides = rig.table.machine.sides
    walls = tuple(tuple(s.wall.tiles) for s in sides if not s.spec.hand)
    trays = [list(s.wall.tiles) for s in sides if s.spec.hand]
    dealer, standing = rig.controller.memory.dealer, rig.controller.memory.standing
    opening = rig.controller.hand.opening
    if standing is None or opening is None:
        return Played(rule_id, seed, kongs, flowers, ("nothing was announced",))
    first = (opening.wall + dealer) % SIDES, opening.stack
    fingers = Fingers(walls)
    if how := serving.served(rule, standing.order.tiles):
        computed = _undealt(rule, how, dealer, throws)
        fingers.open(*first)
        fingers.hands = {seat: trays[seat] for seat in rule.players}
        wrong = [
            f"S{seat + 1} was not served {how.hand}" for seat in rule.players if len(trays[seat]) != how.hand
        ]
    else:
        computed = deal(rule, dealer, throws)
        _take(rule, fingers, dealer, first)
        takes = opening.takes if isinstance(opening, ev.BreakAnnounced) else ()
        wrong = list(_wrong_hands(rule, computed, walls, fingers, takes))
    wrong += _differences(rule, computed, walls, fingers, throws, (kongs, flowers), rng)
    return Played(rule_id, seed, kongs, flowers, tuple(wrong))


def _undealt(rule: RuleSet, how: Served, dealer: int, throws: list[tuple[int, ...]]) -> Deal:
    """Return a deal in which nobody takes anything: the hands were served, the walls hold what is left."""
    broken = serving.opening(rule, how, dealer, throws)
    walls, first = Walls(how.tiles), ((broken.wall + dealer) % SIDES, broken.stack)
    return Deal(broken, ((),) * SIDES, walls.draw_order(*first), walls.tail_order(*first))


def _walls(rule: RuleSet, seed: int, table: str) -> tuple[Rig, list[tuple[int, ...]]]:
    """Wash and raise a set, and throw the dice; TableOptions of one set, whatever its tiles."""
    faces = tuple(kind for kind, count in rule.tiles.composition.counts for _ in range(count))
    options = TableOptions(tiles=len(faces), sets=1, hands=0, seed=seed, faces=faces, model=load(table))
    rig = Rig(RigOptions(rule.id, seed, options))
    _wait(rig, 1_000_000)
    for down in (True, False):
        rig.world.post(rig.world.now_us, "table", PanelKey("lift.1", down))
        _wait(rig, 100_000)
    _until(rig, "rest")
    rig.press("START")
    _until(rig, "open")
    for tile in list(rig.table.boxes[0].tiles):
        tile.move(rig.table.machine.drum.place)
    rig.press("START")
    _until(rig, "washing")
    _until(rig, "rest")
    rig.press("START")
    _until(rig, "raising")
    _until(rig, "rest")
    for _ in range(rule.dice.throws):
        if rig.controller.hand.opening is None:
            rig.press("DICE")
            _wait(rig, 5_000_000)
    return rig, [e.faces for _, e in rig.announced if isinstance(e, ev.DiceThrown)]


def _wait(rig: Rig, us: int) -> None:
    rig.world.run(rig.world.now_us + us)


def _until(rig: Rig, state: str) -> None:
    if not rig.world.run(rig.world.now_us + LIMIT_US, lambda: rig.controller.state == state):
        raise StuckError(f"never {state}: {rig.controller.state}, {' '.join(rig.faults())}")


def _take(rule: RuleSet, fingers: Fingers, dealer: int, first: tuple[int, int]) -> Fingers:
    """Let the players take their hands, as the rule's words say."""
    fingers.open(*first)
    at = rule.players.index(dealer)
    turn = rule.players[at:] + rule.players[:at]
    for _ in range(rule.dealing.blocks):
        for seat in turn:
            fingers.take_block(seat)
    match rule.dealing.last:
        case Last.JUMP:
            fingers.jump(turn)
        case Last.ONE_EACH:
            for seat in (*turn, dealer):
                fingers.take_one(seat)
        case Last.DEALER_STACK:
            for seat in (dealer, *turn):
                fingers.take_one(seat)
        case Last.DEALER_ONE:
            fingers.take_one(dealer)
    return fingers


def _wrong_hands(
    rule: RuleSet,
    computed: Deal,
    walls: tuple[tuple[Tile, ...], ...],
    fingers: Fingers,
    takes: tuple[tuple[str, ...], ...],
) -> Iterator[str]:
    for seat in rule.players:
        places = computed.grabs[seat]
        if [_at(walls, p) for p in places] != fingers.hands[seat]:
            yield f"S{seat + 1} took other tiles than were computed"
        if tuple(map(str, places)) != takes[seat]:
            yield f"S{seat + 1} was told other tiles than were computed"


def _differences(
    rule: RuleSet,
    computed: Deal,
    walls: tuple[tuple[Tile, ...], ...],
    fingers: Fingers,
    throws: list[tuple[int, ...]],
    replaced: tuple[int, int],
    rng: random.Random,
) -> Iterator[str]:
    kongs, flowers = replaced
    after = rest(rule, computed, kongs, flowers, throws)
    turned = [_at(walls, place) for place in indicators(rule, computed, kongs, throws)]
    for tile in turned:
        fingers.lift(tile)
    _play_on(rule, fingers, len(after.left), kongs, flowers, rng)
    if rule.indicator and rule.indicator.drawn is Drawn.LAST:
        fingers.drawn += turned
    for what, places, tiles in (
        ("drawn", after.live, fingers.drawn),
        ("replaced", after.replacements, fingers.replaced),
        ("left", after.left, fingers.left()),
    ):
        if [_at(walls, p) for p in places] != tiles:
            yield f"the tiles {what} are others than computed"
    hands = chain.from_iterable(fingers.hands.values())
    everywhere = [*hands, *fingers.drawn, *fingers.replaced, *fingers.left()]
    once = len({id(tile) for tile in everywhere}) == len(everywhere)
    if not once or len(everywhere) + len(after.indicators) != rule.total:
        yield "a tile is lost or doubled"


def _play_on(
    rule: RuleSet, fingers: Fingers, left: int, kongs: int, flowers: int, rng: random.Random
) -> None:
    """Draw to the end with kongs and flowers in between; those from the tail come before the end."""
    tail = kongs * (rule.tail.kong is From.TAIL) + flowers * (rule.tail.flower is From.TAIL)
    while tail or len(fingers.left()) > left:
        if tail and (len(fingers.left()) - tail <= left or rng.random() < 0.2):
            fingers.replace()
            tail -= 1
        else:
            fingers.draw()


def _at(walls: tuple[tuple[Tile, ...], ...], place: Place) -> Tile:
    """Return the tile that truly stands at a place; the first of a stack lies below."""
    at = 2 * (place.stack - 1)
    return walls[place.wall][at + 1 if place.layer == "T" else at]


@click.command(help=TEXTS("deals.about", _LANG), context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--rule", "rules", multiple=True, help=TEXTS("deals.rule", _LANG))
@click.option(
    "--hands", type=click.IntRange(1), default=20, show_default=True, help=TEXTS("deals.hands", _LANG)
)
@click.option(
    "--table", type=click.Choice(["four-mouth", "eight-mouth"]), default=FOUR, help=TEXTS("sim.table", _LANG)
)
@click.option("--seed", type=int, default=0, show_default=True, help=TEXTS("deals.seed", _LANG))
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help=TEXTS("deals.jobs", _LANG))
@click.option("--lang", type=click.Choice(LANGUAGES), default=_LANG, help=TEXTS("sim.lang", _LANG))
def main(rules: tuple[str, ...], hands: int, table: str, seed: int, jobs: int, lang: str) -> None:
    """Play the hands; exit status 1 where one differs."""
    asked = [(rule, seed + n, table) for rule in fitting(rules, table) for n in range(hands)]
    bad = 0
    with ProcessPoolExecutor(jobs) as pool:
        for rule in fitting(rules, table):
            of_rule = [each for each in asked if each[0] == rule]
            played = list(pool.map(play, *zip(*of_rule, strict=True)))
            wrong = [p for p in played if p.wrong]
            bad += len(wrong)
            values = {
                "rule": rule, "hands": len(played), "wrong": len(wrong),
                "kongs": sum(p.kongs for p in played), "flowers": sum(p.flowers for p in played),
            }  # fmt: skip
            click.echo(TEXTS("deals.line", lang, **values))
            for each in wrong:
                click.echo(TEXTS("deals.wrong", lang, seed=each.seed, why="; ".join(each.wrong)))
    click.echo(TEXTS("deals.sum", lang, hands=len(asked), wrong=bad))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
