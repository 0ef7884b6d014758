"""Walls, break, deal and tail against people with fingers: every rule, every roll, every dealer."""

import cmath
import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablectl.errors import TablectlError
from tablectl.rules.deal import deal, next_thrower, opening, seat_of_sum
from tablectl.rules.model import Dealing, Dice, From, Last, Measure, PassedBy, RuleSet, WallBy
from tablectl.rules.ruleset import load
from tablectl.rules.tail import rest
from tablectl.rules.walls import Place, Walls

RULES = ("sc_tcy", "mcr", "riichi")
SEATS = range(4)


def rolls(rule: RuleSet) -> Iterator[tuple[tuple[int, ...], ...]]:
    throw = tuple(itertools.product(range(1, 7), repeat=rule.dice.count))
    yield from itertools.product(throw, repeat=rule.dice.throws)


@functools.cache
def stacks_on_the_table(tiles: tuple[int, ...]) -> tuple[tuple[complex, tuple[str, ...]], ...]:
    """Lay every stack on its spot and walk along them as seen from above, from the south side to the west."""
    spots = []
    for seat, count in enumerate(tiles):
        for number in range(1, count // 2 + count % 2 + 1):
            layers = "TB" if 2 * number <= count else "B"
            # The person at the south side looks north, so his right hand is in the east.
            spot = complex(20 - number, -20) * 1j**seat
            spots.append((spot, tuple(f"w{seat}s{number}{layer}" for layer in layers)))
    return tuple(sorted(spots, key=lambda it: -cmath.phase(it[0])))


class TableOfPeople:
    """Stacks of labelled tiles on a table top, four people round it, and their fingers.

    It knows compass points and the hands of people, and none of the formulas under test. Seat k sits at the
    south side turned k times a quarter to the left (counter-clockwise from above).
    """

    def __init__(self, tiles: tuple[int, ...]) -> None:
        self.walk = [(spot, list(pile)) for spot, pile in stacks_on_the_table(tiles)]

    def rightmost_stack(self, seat: int) -> int:
        facing = 1j * 1j**seat
        right = facing * -1j
        mine = [
            (spot * right.conjugate()).real if (spot / facing).real == -20 else -math.inf
            for spot, _ in self.walk
        ]
        return mine.index(max(mine))

    def finger(self, start: int, steps: int) -> int:
        for _ in range(steps):
            start = start + 1 if start + 1 < len(self.walk) else 0
        return start

    def take(self, finger: int, layer: str | None = None) -> list[str]:
        pile = self.walk[finger][1]
        return [pile.pop(0) for _ in range(len(pile) if layer is None else 1)]


def point_round(start: int, count: int) -> int:
    """One person is 'one'; the next to be counted sits at his right hand."""
    person = start
    for _ in range(count - 1):
        person = {0: 1, 1: 2, 2: 3, 3: 0}[person]
    return person


def played_by_hand(
    rule: RuleSet, dealer: int, throws: tuple[tuple[int, ...], ...]
) -> tuple[dict[int, list[str]], list[str], list[str]]:
    """Return hands, draws to come, and the replacements from the other end, as people would take them."""
    table = TableOfPeople(rule.wall_tiles)
    counts = [sum(throw) for throw in throws]
    owner = point_round(dealer, counts[0])
    finger = table.finger(table.rightmost_stack(owner), sum(counts))
    gap = finger
    people = [dealer, point_round(dealer, 2), point_round(dealer, 3), point_round(dealer, 4)]
    hands: dict[int, list[str]] = {person: [] for person in people}
    for _ in range(3):
        for person in people:
            for _ in range(2):
                hands[person] += table.take(finger)
                finger = table.finger(finger, 1)
    east, south, west, north = people
    second, third = table.finger(finger, 1), table.finger(finger, 2)
    hands[east] += table.take(finger, "T") + table.take(third, "T")  # 跳牌
    hands[south] += table.take(finger)
    hands[west] += table.take(second, "T")
    hands[north] += table.take(second)
    backwards: list[str] = []
    spot = gap
    for _ in table.walk:
        spot = spot - 1 if spot else len(table.walk) - 1
        backwards += table.walk[spot][1]
    draws: list[str] = []
    spot = third
    while spot != gap:
        draws += table.walk[spot][1]
        spot = table.finger(spot, 1)
    return hands, draws, backwards


def names(places: tuple[Place, ...]) -> list[str]:
    return [str(place) for place in places]


@pytest.mark.parametrize("dealer", SEATS)
@pytest.mark.parametrize("rule_id", RULES)
def test_no_deal_differs_from_the_one_that_people_take_with_their_fingers(rule_id: str, dealer: int) -> None:
    rule = load(rule_id)
    for throws in rolls(rule):
        dealt = deal(rule, dealer, throws)
        hands, draws, backwards = played_by_hand(rule, dealer, throws)
        assert {seat: names(dealt.grabs[seat]) for seat in SEATS} == hands, throws
        assert names(dealt.undealt) == draws, throws
        assert names(dealt.tail) == backwards, throws


@pytest.mark.parametrize("dealer", SEATS)
@pytest.mark.parametrize("rule_id", RULES)
def test_no_tile_is_taken_twice_or_forgotten(rule_id: str, dealer: int) -> None:
    rule = load(rule_id)
    every = {f"w{wall}s{n // 2 + 1}{'TB'[n % 2]}" for wall in SEATS for n in range(rule.wall_tiles[wall])}
    flowers = 8 if rule.tail.flower is From.TAIL else 0
    # One throw of each sum is enough here: the deal knows sums only, which the test above has shown.
    by_sums = {tuple(map(sum, throws)): throws for throws in rolls(rule)}
    for throws in by_sums.values():
        dealt = deal(rule, dealer, throws)
        hands = [place for hand in dealt.grabs for place in hand]
        for kongs in range(5):
            after = rest(rule, dealt, kongs, flowers)
            taken = names((*hands, *after.live, *after.replacements, *after.left))
            assert len(taken) == rule.total
            assert set(taken) == every
            assert len(after.left) == rule.tail.keep[0]


@pytest.mark.parametrize("rule_id", RULES)
def test_the_dealer_never_has_another_hand_size_than_one_more(rule_id: str) -> None:
    rule = load(rule_id)
    for dealer, throws in itertools.product(SEATS, itertools.islice(rolls(rule), 36)):
        sizes = [len(hand) for hand in deal(rule, dealer, throws).grabs]
        assert sizes == [14 if seat == dealer else 13 for seat in SEATS]


@pytest.mark.parametrize("rule_id", RULES)
def test_a_break_past_the_corner_is_not_announced_on_the_counted_wall(rule_id: str) -> None:
    rule = load(rule_id)
    for dealer, throws in itertools.product(SEATS, rolls(rule)):
        broken = opening(rule, dealer, throws)
        wall, passed = (dealer + broken.counted_wall) % 4, broken.passed
        while passed >= (stacks := rule.wall_tiles[wall] // 2):
            passed -= stacks
            wall = (wall + 3) % 4
        assert ((dealer + broken.wall) % 4, broken.stack) == (wall, passed + 1)


def test_walls_do_not_turn_with_the_dealer() -> None:
    rule = load("sc_tcy")
    # Ten: the wall at the dealer's right; it has 13 stacks for dealer 0 and 14 for dealer 1, ten are passed.
    walls = [(opening(rule, dealer, [(4, 6)]).wall, deal(rule, dealer, [(4, 6)])) for dealer in SEATS]
    assert [wall for wall, _ in walls] == [1, 1, 1, 1]
    last = [max(p.stack for hand in dealt.grabs for p in hand) for _, dealt in walls]
    assert last == [14, 14, 14, 14]
    assert {str(p) for _, d in walls for hand in d.grabs for p in hand if p.stack == 14} <= {
        "w0s14T",
        "w0s14B",
        "w2s14T",
        "w2s14B",
    }


def test_in_the_competition_rules_another_than_the_named_seat_throws_second() -> None:
    rule = load("mcr")
    for dealer in SEATS:
        assert next_thrower(rule, dealer, []) == dealer
        for throw in itertools.product(range(1, 7), repeat=2):
            second = next_thrower(rule, dealer, [throw])
            assert second == point_round(dealer, sum(throw))
            assert next_thrower(rule, dealer, [throw, (1, 1)]) is None
            broken = opening(rule, dealer, [throw, (1, 1)])
            assert broken.throwers == (0, (second - dealer) % 4)
            assert broken.counted_wall == broken.throwers[1]


@pytest.mark.parametrize("rule_id", ["sc_tcy", "riichi"])
def test_one_throw_is_not_followed_by_another(rule_id: str) -> None:
    assert next_thrower(load(rule_id), 2, []) == 2
    assert next_thrower(load(rule_id), 2, [(3, 3)]) is None
    assert opening(load(rule_id), 2, [(3, 3)]).throwers == (0,)


def with_rule(**changes: Any) -> RuleSet:
    return dataclasses.replace(load("mcr"), **changes)


TAIWAN = with_rule(dice=Dice(3, 1, WallBy.SEAT_OF_SUM, PassedBy.SUM), dealing=Dealing(16, 4, Last.DEALER_ONE))


def test_sixteen_tiles_are_not_dealt_with_a_jump() -> None:
    for dealer, throws in itertools.product(SEATS, rolls(TAIWAN)):
        dealt = deal(TAIWAN, dealer, throws)
        assert [len(hand) for hand in dealt.grabs] == [17 if seat == dealer else 16 for seat in SEATS]
        order = TAIWAN.walls.draw_order(dealt.grabs[dealer][0].wall, dealt.grabs[dealer][0].stack)
        assert dealt.grabs[dealer][-1] == order[64]
        assert dealt.undealt == order[65:]


def test_without_the_jump_the_dealer_does_not_get_the_tiles_of_others() -> None:
    jump, each, stack = (
        deal(with_rule(dealing=Dealing(13, 3, last)), 0, [(2, 3), (1, 3)])
        for last in (Last.JUMP, Last.ONE_EACH, Last.DEALER_STACK)
    )
    assert jump == each  # the hands come out the same, only the hand movement differs
    assert names(stack.grabs[0][-2:]) == ["w3s16T", "w3s16B"]
    assert [str(hand[-1]) for hand in stack.grabs[1:]] == ["w3s17T", "w3s17B", "w3s18T"]
    assert stack.undealt == jump.undealt


@pytest.mark.parametrize(
    ("wall", "passed", "counted", "stacks_passed"),
    [
        (WallBy.DEALER, PassedBy.SUM, 0, 6),
        (WallBy.OPPOSITE, PassedBy.TOTAL, 2, 9),
        (WallBy.SEAT_OF_SUM, 4, 2, 4),
        (WallBy.SECOND_THROWER, PassedBy.TOTAL, 2, 9),
    ],
)
def test_no_way_to_name_the_wall_ignores_the_dealer(
    wall: WallBy, passed: PassedBy | int, counted: int, stacks_passed: int
) -> None:
    rule = with_rule(dice=Dice(2, 2, wall, passed))
    for dealer in SEATS:
        broken = opening(rule, dealer, [(1, 2), (3, 3)])
        assert (broken.counted_wall, broken.passed) == (counted, stacks_passed)


def test_two_players_are_not_counted_as_four() -> None:
    assert [seat_of_sum((0, 2), 2, total) for total in (2, 3)] == [0, 2]
    assert [seat_of_sum((0, 1, 2), 2, total) for total in (2, 3, 4)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("throws", "key"),
    [
        ([(1, 7), (1, 1)], "rules.throw_face"),
        ([(0, 1)], "rules.throw_face"),
        ([(1,), (1, 1)], "rules.throw_count"),
        ([(1, 1), (1, 1, 1)], "rules.throw_count"),
        ([(1, 1)] * 3, "rules.throw_extra"),
        ([(1, 1)], "rules.throw_missing"),
        ([], "rules.throw_missing"),
    ],
)
def test_a_wrong_throw_does_not_break_the_walls(throws: list[tuple[int, ...]], key: str) -> None:
    with pytest.raises(TablectlError) as refused:
        deal(load("mcr"), 0, throws)
    assert refused.value.key == key
    assert all(refused.value.text(lang) for lang in ("en", "zh"))
    if key != "rules.throw_missing":
        with pytest.raises(TablectlError):
            next_thrower(load("mcr"), 0, throws)


@pytest.mark.parametrize("dealer", [-1, 4])
def test_a_seat_without_a_player_does_not_deal(dealer: int) -> None:
    with pytest.raises(TablectlError, match=r"Seat -?\d does not play"):
        next_thrower(load("mcr"), dealer, [])
    with pytest.raises(TablectlError, match=r"Seat -?\d does not play"):
        deal(load("riichi"), dealer, [(1, 1)])


def test_the_line_of_a_reserve_counted_from_the_first_tail_does_not_move_with_the_kongs() -> None:
    line = dataclasses.replace(
        load("riichi").tail, kong=From.TAIL, measure=Measure.ORIGINAL, keep=(14, 14, 16, 18)
    )
    rule = dataclasses.replace(load("riichi"), tail=line)
    dealt = deal(rule, 0, [(3, 4)])
    left = [len(rest(rule, dealt, kongs).left) for kongs in range(5)]
    assert left == [14, 13, 14, 15, 14]


def test_a_kong_at_the_line_does_not_take_tiles_that_are_not_there() -> None:
    rule = dataclasses.replace(load("riichi"), tail=dataclasses.replace(load("riichi").tail, keep=(83,)))
    dealt = deal(rule, 0, [(3, 4)])
    after = rest(rule, dealt, kongs=1)
    assert (len(after.live), len(after.replacements), len(after.left)) == (0, 1, 82)


@pytest.mark.parametrize(("kongs", "flowers"), [(-1, 0), (0, -1), (90, 2)])
def test_no_replacement_comes_from_an_empty_wall(kongs: int, flowers: int) -> None:
    dealt = deal(load("mcr"), 0, [(1, 1), (1, 1)])
    with pytest.raises(TablectlError, match="cannot be replaced"):
        rest(load("mcr"), dealt, kongs, flowers)


VECTORS = st.tuples(*[st.integers(0, 45)] * 4).filter(any)


@given(VECTORS, st.integers(0, 3), st.integers(0, 200))
def test_no_vector_loses_a_tile_between_its_walls(
    tiles: tuple[int, int, int, int], wall: int, passed: int
) -> None:
    walls = Walls(tiles)
    first = walls.after(wall, passed)
    order, tail = walls.draw_order(*first), walls.tail_order(*first)
    assert len(set(order)) == len(order) == walls.total == sum(tiles)
    assert set(tail) == set(order)
    assert (order[0].wall, order[0].stack) == first
    assert [p for p in tail[::-1] if p.layer == "B"] == [p for p in order if p.layer == "B"]
    spots = [(p.wall, p.stack) for p in order]
    assert len(list(itertools.groupby(spots))) == len(set(spots)), "a stack is left and taken up again"
    for seat in SEATS:
        uppers = sum(p.wall == seat and p.layer == "T" for p in order)
        assert uppers == tiles[seat] // 2, "an odd tile does not lie below"


@given(VECTORS, st.integers(0, 3), st.integers(0, 200))
def test_fingers_and_formula_never_stop_at_different_stacks(
    tiles: tuple[int, int, int, int], wall: int, passed: int
) -> None:
    while not tiles[wall]:  # an empty side has no right end: people begin at the next wall
        wall = {0: 3, 3: 2, 2: 1, 1: 0}[wall]
    table = TableOfPeople(tiles)
    finger = table.finger(table.rightmost_stack(wall), passed)
    around = [label for _, pile in table.walk[finger:] + table.walk[:finger] for label in pile]
    assert names(Walls(tiles).draw_order(*Walls(tiles).after(wall, passed))) == around
