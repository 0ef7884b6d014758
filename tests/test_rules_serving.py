"""What each mouth is ordered to hold: hands where the rule serves them and they fit, else whole walls."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocol.description import Mouth
from tablectl.rules import ruleset, serving
from tablectl.rules.deal import opening
from tablectl.rules.model import RuleSet, Served, StartBy

RIICHI = ruleset.load("riichi")
NAMES = ("S1", "S2", "S3", "S4", "H1", "H2", "H3", "H4")


def mouths(wall: int = 20, hand: int = 8, names: tuple[str, ...] = NAMES) -> tuple[Mouth, ...]:
    return tuple(Mouth.named(name, hand if name.startswith("H") else wall) for name in names)


def served(rule: RuleSet, **change: object) -> RuleSet:
    assert rule.served
    return replace(rule, served=replace(rule.served, **change))  # type: ignore[arg-type]


def test_a_table_of_walls_alone_is_not_ordered_to_serve() -> None:
    four = mouths(names=NAMES[:4])
    assert serving.orders(RIICHI, four) == (34, 34, 34, 34)
    assert serving.served(RIICHI, (34, 34, 34, 34)) is None


def test_the_walls_of_a_served_hand_are_not_another_than_those_of_the_tables_in_japan() -> None:
    order = serving.orders(RIICHI, mouths())
    assert order == (20, 20, 22, 22, 13, 13, 13, 13)  # 10, 10, 11 and 11 stacks, 4 × 13 tiles
    assert serving.served(RIICHI, order) is RIICHI.served


@pytest.mark.parametrize("rule_id", ["mcr", "sc_tcy"])
def test_a_rule_that_serves_nothing_does_not_fill_a_hand(rule_id: str) -> None:
    rule = ruleset.load(rule_id)
    order = serving.orders(rule, mouths())
    assert order == (*rule.wall_tiles, 0, 0, 0, 0)
    assert serving.served(rule, order) is None


@pytest.mark.parametrize("names", list(permutations(NAMES, 8))[:: 8 * 7 * 6 * 5])
def test_no_order_of_the_mouths_gives_a_side_the_tiles_of_another(names: tuple[str, ...]) -> None:
    ordered = dict(zip(names, serving.orders(RIICHI, mouths(names=names)), strict=True))
    assert ordered == {"S1": 20, "S2": 20, "S3": 22, "S4": 22} | dict.fromkeys(NAMES[4:], 13)
    assert serving.served(RIICHI, tuple(ordered.values())) is RIICHI.served


def test_hands_that_do_not_fit_are_built_into_the_walls() -> None:
    assert serving.orders(RIICHI, mouths(hand=7))[4:] == (13,) * 4, "13 tiles are six stacks and a half"
    short = mouths(hand=6)
    assert serving.orders(RIICHI, short) == (34, 34, 34, 34, 0, 0, 0, 0)
    assert serving.misfit(RIICHI, short) is None


def test_a_rule_that_fits_only_with_its_hands_served_is_not_refused() -> None:
    low = mouths(wall=11)
    assert serving.misfit(RIICHI, low) is None
    assert serving.orders(RIICHI, low) == (20, 20, 22, 22, 13, 13, 13, 13)
    found = serving.misfit(RIICHI, mouths(wall=10))
    assert found == serving.Misfit("riichi", wanted=17, side="S1", holds=10)


def test_a_rule_of_more_stacks_than_a_side_holds_is_refused_with_the_side() -> None:
    four = (*mouths(wall=18, names=NAMES[:1]), *mouths(wall=17, names=NAMES[1:4]))
    assert serving.misfit(ruleset.load("mcr"), four) == serving.Misfit("mcr", wanted=18, side="S2", holds=17)
    assert serving.misfit(RIICHI, four) is None


@given(st.sampled_from(ruleset.available()), st.integers(1, 31), st.integers(1, 31), st.sampled_from([4, 8]))
def test_no_tile_is_ordered_twice_or_not_at_all_and_none_into_a_store_that_is_too_small(
    rule_id: str, wall: int, hand: int, count: int
) -> None:
    rule, table = ruleset.load(rule_id), mouths(wall, hand, NAMES[:count])
    order = serving.orders(rule, table)
    fits = all(-(-tiles // 2) <= mouth.stacks for tiles, mouth in zip(order, table, strict=True))
    assert sum(order) == rule.total
    assert fits == (serving.misfit(rule, table) is None)
    hands = {tiles for tiles, mouth in zip(order, table, strict=True) if mouth.hand}
    assert hands in (set(), {0}, {rule.dealing.hand})


# --- where play begins --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dealer", range(4))
def test_play_does_not_begin_elsewhere_than_at_the_dealers_first_stack(dealer: int) -> None:
    order = serving.orders(RIICHI, mouths())
    assert RIICHI.served
    assert serving.next_thrower(RIICHI, order, dealer, ()) is None
    at = serving.opening(RIICHI, RIICHI.served, dealer, ())
    assert (at.wall, at.stack, at.throwers) == (0, 1, ())


@pytest.mark.parametrize(
    ("dealer", "passed", "wall", "stack"),
    [(0, 9, 0, 10), (0, 10, 3, 1), (3, 10, 0, 11), (3, 11, 3, 1), (1, 20, 2, 1)],
)
def test_stacks_that_are_passed_are_not_those_of_whole_walls(
    dealer: int, passed: int, wall: int, stack: int
) -> None:
    """Walls of 10, 10, 11 and 11 stacks; from the dealer's on to his left neighbour's."""
    rule = served(RIICHI, passed=passed)
    assert rule.served
    at = serving.opening(rule, rule.served, dealer, ())
    assert (at.wall, at.stack) == (wall, stack)


def test_dice_that_a_rule_wants_all_the_same_count_the_served_walls() -> None:
    rule = served(RIICHI, start=StartBy.DICE)
    assert rule.served
    order = serving.orders(rule, mouths())
    assert serving.next_thrower(rule, order, 2, ()) == 2
    assert serving.next_thrower(rule, order, 2, ((6, 6),)) is None
    at = serving.opening(rule, rule.served, 0, ((6, 6),))
    # Twelve is the dealer's left neighbour; of his 11 stacks one too few, so it is the next wall's second.
    assert (at.wall, at.stack) == (2, 2)
    whole = opening(rule, 0, ((6, 6),))
    assert (whole.wall, whole.stack) == (3, 13)


def test_whole_walls_on_a_table_that_could_serve_are_broken_by_dice() -> None:
    order = serving.orders(RIICHI, mouths(hand=6))
    assert serving.served(RIICHI, order) is None
    assert serving.next_thrower(RIICHI, order, 1, ()) == 1


def test_two_players_are_not_served_four_hands() -> None:
    rule = replace(
        RIICHI,
        players=(0, 2),
        wall_tiles=(68, 0, 68, 0),
        served=Served(13, (55, 0, 55, 0), StartBy.DEALER, 0),
    )
    order = serving.orders(rule, mouths(wall=31))
    assert order == (55, 0, 55, 0, 13, 0, 13, 0)
    assert serving.served(rule, order) is rule.served
