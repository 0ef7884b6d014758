"""A match: who deals hand after hand, how often he repeats, when rounds and matches end; how it begins."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tablectl.errors import TablectlError
from tablectl.rules import beginning
from tablectl.rules.dealer import Result, Won
from tablectl.rules.indicator import copies_left, wild_kinds
from tablectl.rules.match import Match, advance, begin, deals, swap
from tablectl.rules.model import RuleSet
from tablectl.rules.ruleset import available, load
from tablectl.texts import LANGUAGES

DRAWN = Result()


def won(seat: int, discarder: int | None = None) -> Result:
    return Result((Won((seat,), discarder),))


def ready(*seats: int) -> Result:
    return Result(ready=frozenset(seats))


@contextmanager
def refused(key: str, *told: str) -> Iterator[None]:
    with pytest.raises(TablectlError) as caught:
        yield
    assert caught.value.key == key
    for lang in LANGUAGES:
        assert all(part in caught.value.text(lang) for part in told)


# --- a match ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", range(4))
def test_sixteen_hands_of_the_competition_rules_are_not_dealt_by_others(first: int) -> None:
    rule = load("mcr")
    match, seen = begin(rule, first), []
    # Whatever happens: the dealer wins, another wins, nobody does.
    for result in itertools.islice(itertools.cycle((won(first), won((first + 2) % 4, first), DRAWN)), 16):
        assert not match.over
        seen.append((match.round_wind, match.deal, match.dealer))
        match = advance(rule, match, result)
        assert (match.streak, match.floor) == (0, 0)
    assert [dealer for _, _, dealer in seen] == [(first + n) % 4 for n in range(16)]
    assert "".join(wind for wind, _, _ in seen) == "EEEESSSSWWWWNNNN"
    assert [deal for _, deal, _ in seen] == [1, 2, 3, 4] * 4
    assert match.over
    assert match.hand == 17


def test_a_streak_of_beijing_does_not_climb_past_the_second_floor() -> None:
    rule = load("beijing")
    match = begin(rule, 2)
    seen = []
    for result in (won(2), DRAWN, won(2), DRAWN, won(1, 2), DRAWN, won(0)):
        match = advance(rule, match, result)
        seen.append((match.dealer, match.streak, match.floor))
    assert seen == [(2, 1, 1), (2, 2, 2), (2, 3, 2), (2, 4, 2), (3, 0, 0), (3, 1, 1), (0, 0, 0)]
    assert match.hand == 8
    assert not match.over


HANCHAN = [  # result, then: who deals next, wind of the round, deal, repeats
    (won(0), 0, "E", 1, 1),
    (ready(0, 2), 0, "E", 1, 2),
    (won(3, 0), 1, "E", 2, 0),
    (ready(0), 2, "E", 3, 0),
    (Result((Won((2, 3), 1),)), 2, "E", 3, 1),
    (won(0, 2), 3, "E", 4, 0),
    (DRAWN, 0, "S", 1, 0),
    (won(1), 1, "S", 2, 0),
    (won(0), 2, "S", 3, 0),
    (won(2), 2, "S", 3, 1),
    (won(0), 3, "S", 4, 0),
    (won(3), 3, "S", 4, 1),
]


def test_a_half_game_of_riichi_with_repeats_does_not_end_early_or_count_them_as_deals() -> None:
    rule = load("riichi")
    match = begin(rule, 0)
    for result, *expected in HANCHAN:
        match = advance(rule, match, result)
        assert [match.dealer, match.round_wind, match.deal, match.streak] == expected
        assert not match.over
    assert match.hand == len(HANCHAN) + 1
    assert advance(rule, match, ready(0)).over
    assert not advance(rule, match, ready(0), length="full").over


def test_an_east_game_does_not_go_on_in_the_south() -> None:
    rule = load("riichi")
    match, overs = begin(rule, 1), []
    for seat in (1, 2, 3, 0):
        match = advance(rule, match, won((seat + 1) % 4), length="tonpuu")
        overs.append(match.over)
    assert overs == [False, False, False, True]
    assert deals(rule, "hanchan") == deals(rule) == 8
    with refused("rules.no_format", "zhanzhan", "hanchan"):
        deals(rule, "zhanzhan")
    with refused("rules.no_format", "sc_tcy"):
        advance(load("sc_tcy"), begin(load("sc_tcy"), 0), DRAWN, length="hanchan")


def test_three_players_are_not_counted_as_four() -> None:
    rule = load("sanma")
    match = begin(rule, 1)
    assert [match.seat_wind(seat) for seat in (1, 2, 0)] == ["E", "S", "W"]
    seen = []
    for _ in range(6):
        seen.append((match.dealer, match.round_wind, match.deal))
        match = advance(rule, match, ready())
    assert seen == [(1, "E", 1), (2, "E", 2), (0, "E", 3), (1, "S", 1), (2, "S", 2), (0, "S", 3)]
    assert match.over


def test_players_of_the_national_rules_do_not_keep_their_seats_before_the_west_round() -> None:
    rule = load("gb")
    match, people, dealt = begin(rule, 0), ("A", "B", "C", "D"), ""
    while not match.over:
        dealt += people[match.order.index(match.dealer)]
        before, match = match.round, advance(rule, match, won(0))
        if match.round != before:
            people = swap(rule, people, match.round)
    assert dealt == "ABCDABCDBADCBADC"
    assert swap(load("mcr"), ("A", "B", "C", "D"), 2) == ("A", "B", "C", "D")


@pytest.mark.parametrize("rule_id", [r for r in available() if not load(r).match.rounds])
def test_a_rule_without_rounds_does_not_leave_its_first_one_or_end(rule_id: str) -> None:
    rule = load(rule_id)
    match = begin(rule, rule.players[0])
    for n in range(20):
        winner = rule.players[(3 * n + 1) % len(rule.players)]
        match = advance(rule, match, won(winner) if n % 3 else DRAWN, chosen=rule.players[n % 2])
        assert (match.round, match.round_wind, match.over) == (0, "E", False)


def test_a_seat_wind_does_not_stay_where_the_dealer_was() -> None:
    match = Match((2, 3, 0, 1), 0)
    assert [match.seat_wind(seat) for seat in range(4)] == ["E", "S", "W", "N"]
    assert match.deal == 3


def test_a_dealer_who_is_chosen_anew_is_not_guessed() -> None:
    rule = load("sc_qq_xz")
    match = begin(rule, 0)
    assert advance(rule, match, won(3), chosen=2).dealer == 2
    assert advance(rule, match, DRAWN, chosen=0).streak == 1
    for chosen in (None, 4):
        with refused("rules.dealer_chosen", "dice", "sc_qq_xz"):
            advance(rule, match, won(3), chosen=chosen)
    with refused("rules.no_player", "4"):
        begin(rule, 4)
    with refused("rules.no_player", "1"):
        begin(load("g71"), 1)


# --- the beginning ------------------------------------------------------------------------------------------


def test_one_die_of_cixi_does_not_name_another_than_the_text_says() -> None:
    rule = load("cixi")  # 1、5自己为庄，2、6下家，3对家，4上家
    for thrower in range(4):
        named = [beginning.dealer_by_die(rule, thrower, die) for die in range(1, 7)]
        own, right, opposite, left = ((thrower + n) % 4 for n in range(4))
        assert named == [own, right, opposite, left, own, right]
    for die in (0, 7):
        with refused("rules.first_dealer", str(die)):
            beginning.dealer_by_die(rule, 0, die)
    with refused("rules.first_dealer", "hebei", "random"):
        beginning.dealer_by_die(load("hebei"), 0, 1)


@pytest.mark.parametrize(
    ("sums", "best"), [([3, 9, 4, 2], (1,)), ([7, 9, 9, 2], (1, 2)), ([5, 5, 5, 5], (0, 1, 2, 3))]
)
def test_the_highest_throw_is_not_taken_from_who_ties(sums: list[int], best: tuple[int, ...]) -> None:
    assert beginning.dealer_by_highest(load("cd_std"), sums) == best
    with refused("rules.first_dealer", "cd_std"):
        beginning.dealer_by_highest(load("cd_std"), sums[:3])


def test_two_throws_do_not_count_from_the_same_seat() -> None:
    # The thrower at S1 throws 7: the seat opposite; he throws 6: his right-hand neighbour.
    assert beginning.dealer_by_two_throws(load("riichi"), 0, (3, 4), (2, 4)) == (2, 3)
    assert beginning.dealer_by_two_throws(load("sanma"), 2, (1, 1), (1, 2)) == (0, 2)


def test_flowers_are_not_laid_out_by_others_before_the_dealer() -> None:
    assert beginning.turn_order(load("mcr"), 2) == (2, 3, 0, 1)
    assert beginning.turn_order(load("g71"), 2) == (2, 0)


def test_a_suit_that_a_player_has_is_not_given_up_where_he_has_two() -> None:
    assert beginning.dingque_choice("mps") == ("m", "p", "s")
    assert beginning.dingque_choice("sm") == ("p",)
    assert beginning.dingque_choice("s") == ("m", "p")


def test_the_last_four_tiles_are_not_five_and_not_forced_where_the_text_leaves_it_free() -> None:
    forced = [n for n in range(7) if beginning.must_win(load("sc_qq_n"), n)]
    assert forced == [1, 2, 3, 4]
    assert not any(beginning.must_win(load("sc_dq"), n) for n in range(7))


def test_kongs_of_two_players_do_not_end_a_hand_of_beijing() -> None:
    ended = [n for n in range(5) if beginning.ends_by_kongs(load("beijing"), n)]
    assert ended == [3, 4]
    assert not beginning.ends_by_kongs(load("mcr"), 4)


# --- wild tiles ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule_id", "face", "wild"),
    [
        ("cixi", "9s", ("1s",)),
        ("cixi", "z4", ("z1",)),
        ("cixi", "z7", ("z5",)),
        ("tianjin", "9p", ("9p", "1p")),
        ("tianjin", "z7", ("z7", "z5")),
        ("ningbo", "z1", ("z2",)),
        ("fuzhou", "5m", ("5m",)),
        ("american", None, ("j1",)),
        ("riichi", None, ()),
    ],
)
def test_an_indicator_does_not_name_tiles_of_another_cycle(
    rule_id: str, face: str | None, wild: tuple[str, ...]
) -> None:
    assert wild_kinds(load(rule_id), face) == wild


def test_no_face_is_taken_that_cannot_be_on_the_turned_tile() -> None:
    for face in (None, "f1", "10m", "x", ""):
        with refused("rules.indicator_kind", "cixi"):
            wild_kinds(load("cixi"), face)
    with refused("rules.indicator_kind", "ningbo", "f1"):  # a flower stands in no cycle
        wild_kinds(load("ningbo"), "f1")


def test_the_turned_tile_is_not_counted_among_the_wild_ones_in_play() -> None:
    rule: RuleSet = load("tianjin")
    assert [copies_left(rule, kind, "9p") for kind in wild_kinds(rule, "9p")] == [3, 4]
