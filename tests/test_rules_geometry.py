"""Walls, break, deal and tail against people with fingers: every rule, every roll, every dealer."""

import dataclasses
import functools
import itertools
from typing import Any

import pytest
from geometries import GEOMETRIES, game_of, rolls
from hypothesis import given
from hypothesis import strategies as st
from people import AT_HIS_RIGHT, Game, Hand, TableOfPeople, point_round

from tablectl.errors import TablectlError
from tablectl.rules.deal import deal, next_thrower, opening, seat_of_sum
from tablectl.rules.model import Dealing, Dice, From, Last, PassedBy, RuleSet, WallBy
from tablectl.rules.ruleset import available, load
from tablectl.rules.tail import rest
from tablectl.rules.walls import Place, Walls

SEATS = range(4)
FOUR = Game((34, 34, 34, 34))


@functools.cache
def place(label: str) -> Place:
    stack, layer = label[3:-1], label[-1]
    return Place(int(label[1]), int(stack), "T" if layer == "T" else "B")


def places(labels: Any) -> tuple[Place, ...]:
    return tuple(map(place, labels))


def test_no_rule_set_is_left_out_of_the_comparison() -> None:
    tried = [rule_id for ids in GEOMETRIES.values() for rule_id in ids]
    assert sorted(tried) == list(available())
    assert 20 < len(GEOMETRIES) < len(tried)


@pytest.mark.parametrize("name", GEOMETRIES)
def test_no_deal_and_no_end_differs_from_what_people_do_with_their_fingers(name: str) -> None:
    rule = load(GEOMETRIES[name][0])
    game, done = game_of(rule), 0
    flowers = 3 if rule.tail.flower is From.TAIL else 0

    @functools.cache
    def by_hand(dealer: int, sums: tuple[int, ...]) -> tuple[Any, ...]:
        hand = Hand(game, dealer, sums)
        hands = {seat: places(taken) for seat, taken in hand.hands.items()}
        sizes = {seat: len(taken) for seat, taken in hands.items()}
        assert sizes == {s: (rule.dealing.hand + (s == dealer)) * (s in rule.players) for s in SEATS}
        ends = {}
        for more in ((0, 0), (1, 0), (2, flowers), (3, 0), (4, flowers)):
            end = hand.played_to_the_end(*more)
            ends[more] = tuple(map(places, (end.live, end.replacements, end.left, end.turned)))
            nobodys = () if game.turned_last else end.turned
            taken = itertools.chain.from_iterable(hand.hands.values())
            gone = [*taken, *end.live, *end.replacements, *end.left, *nobodys]
            assert sorted(gone) == sorted(hand.all_tiles()), "a tile is taken twice or forgotten"
        return hands, places(hand.draws), places(hand.tail), ends

    for throws, dealer in itertools.product(rolls(rule), rule.players):
        dealt = deal(rule, dealer, throws)
        hands, draws, tail, ends = by_hand(dealer, tuple(map(sum, throws)))
        assert dict(enumerate(dealt.grabs)) == hands, throws
        assert (dealt.undealt, dealt.next_draw, dealt.tail) == (draws, draws[0], tail), throws
        for more, end in ends.items():
            after = rest(rule, dealt, *more, throws)
            assert (after.live, after.replacements, after.left, after.turned) == end, (throws, more)
            done += 1
    assert done == 5 * len(rule.players) * 6 ** (rule.dice.count * rule.dice.throws)


def names(places: tuple[Place, ...]) -> list[str]:
    return [str(place) for place in places]


@pytest.mark.parametrize("rule_id", ["sc_tcy", "mcr", "riichi", "hongkong", "american"])
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
            assert second == point_round(FOUR, dealer, sum(throw))
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
    # 一杠7，二杠8，三杠9: the line lies at 7, 7, 8, 9 stacks; each kong has taken a tile from behind it.
    rule = load("beijing")
    dealt = deal(rule, 0, [(3, 4)])
    left = [len(rest(rule, dealt, kongs).left) for kongs in range(5)]
    assert left == [14, 13, 14, 15, 14]


def test_a_kong_at_the_line_does_not_take_tiles_that_are_not_there() -> None:
    rule = load("d6_tdh")
    rule = dataclasses.replace(rule, tail=dataclasses.replace(rule.tail, keep=(83,)))
    dealt = deal(rule, 0, [(3, 4)])
    after = rest(rule, dealt, kongs=1)
    assert (len(after.live), len(after.replacements), len(after.left)) == (0, 1, 82)


def test_no_fifth_kong_is_replaced_where_there_are_four_tiles() -> None:
    dealt = deal(load("riichi"), 0, [(3, 4)])
    assert [str(tile) for tile in rest(load("riichi"), dealt, 4).replacements] == [
        "w2s7T",
        "w2s7B",
        "w2s6T",
        "w2s6B",
    ]
    with pytest.raises(TablectlError, match="no more than 4"):
        rest(load("riichi"), dealt, 5)


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
    while not tiles[wall]:  # an empty side has no right end: people begin at the wall to its owner's left
        wall = {right: left for left, right in AT_HIS_RIGHT.items()}[wall]
    table = TableOfPeople(tiles)
    finger = table.finger(table.rightmost_stack(wall), passed)
    around = [label for _, pile in table.walk[finger:] + table.walk[:finger] for label in pile]
    assert names(Walls(tiles).draw_order(*Walls(tiles).after(wall, passed))) == around
