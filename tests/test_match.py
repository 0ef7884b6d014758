"""Match flow at the table: how a hand ended is entered, and nobody but the rule says who deals next."""

from typing import Any

import pytest
from helpers import S, api, refusals, run_for, standing, told

from tablectl.rules import ruleset
from tablectl.rules.dealer import Result, Won
from tablectl.table import events as ev
from tablectl.table.controller import Controller
from tablectl.table.intents import Intent
from tablectl.table.memory import Memory, Standing, WashOrder

DRAWN = Result()


def won(*winners: int, by: int | None = None) -> Result:
    return Result((Won(winners, by),))


class Table:
    """A controller whose walls stand for one hand after the other."""

    def __init__(self, rule: str, dealer: int = 0) -> None:
        self.rule = rule
        self.controller = Controller(Memory(rule, dealer))
        self.out: list[Any] = []
        self.stand()

    def stand(self) -> None:
        memory = self.controller.memory
        standing = Standing(WashOrder(self.rule, ruleset.load(self.rule).wall_tiles), memory.dealer)
        self.controller.memory = memory.but(standing=standing)
        self.controller.hand.stand(standing)

    def give(self, event: Any) -> None:
        self.out += self.controller.handle(event, self.controller.now_us + S)

    def end(self, result: Result, bytes_: bytes = b"") -> ev.HandOver:
        """End a hand and let the walls of the next one stand."""
        self.out.clear()
        self.give(ev.HandEnded("local:1000", result))
        for wanted in [e for e in self.out if isinstance(e, ev.EntropyWanted)]:
            self.give(ev.Entropy(wanted.id, bytes_))
        over = [e for e in self.out if isinstance(e, ev.HandOver)]
        assert len(over) == 1, self.out
        self.stand()
        return over[0]


def test_sixteen_hands_of_the_competition_rules_do_not_end_otherwise_than_in_four_rounds() -> None:
    table = Table("mcr", dealer=2)
    results = [won(0), won(2), DRAWN, won(1, by=3)] * 4  # whatever happens the dealer never repeats
    seen = [("E", table.controller.memory.dealer)]
    for number, result in enumerate(results, 1):
        over = table.end(result)
        assert over.match_over == (number == 16)
        assert over.streak == 0
        seen.append((over.round_wind, over.dealer))
    winds = [wind for wind in "ESWN" for _ in range(4)]
    assert seen == [*zip(winds, [2, 3, 0, 1] * 4, strict=True), ("E", 2)]


def test_a_dealer_streak_of_beijing_does_not_climb_past_its_floors() -> None:
    table = Table("beijing")
    streaks = []
    for result in (won(0), DRAWN, won(0, by=2), won(3, by=0), won(2)):
        over = table.end(result)
        play = table.controller.memory.play
        assert play
        streaks.append((over.dealer, over.streak, play.match.floor))
    assert streaks == [(0, 1, 1), (0, 2, 2), (0, 3, 2), (1, 0, 0), (2, 0, 0)]


def test_a_hand_is_not_ended_twice_nor_where_no_walls_stand() -> None:
    table = Table("riichi")
    table.give(ev.HandEnded("local:1000", won(0)))
    table.give(ev.HandEnded("local:1000", won(1)))
    assert [e.reason for e in table.out if isinstance(e, ev.Refused)] == ["refuse.hand_ended"]
    assert table.controller.memory.dealer == 0
    none = Controller(Memory("riichi"))
    out = none.handle(ev.HandEnded("local:1000", won(0)), 0)
    assert [e.reason for e in out if isinstance(e, ev.Refused)] == ["refuse.no_hand"]


@pytest.mark.parametrize("result", [won(5), won(1, by=1), won(1, 2), Result((Won(()),))])
def test_a_result_that_cannot_be_changes_nothing(result: Result) -> None:
    table = Table("riichi")
    before = table.controller.memory
    table.give(ev.HandEnded("local:1000", result))
    assert [e for e in table.out if isinstance(e, ev.Refused)]
    assert table.controller.memory == before


@pytest.mark.parametrize(
    ("rule", "bytes_", "dealer"), [("sc_qq_xz", b"\x02\x03" * 5, 2), ("sc_xindu", b"\x07" * 10, 3)]
)
def test_a_dealer_whom_chance_names_is_not_named_before_the_bytes_are_there(
    rule: str, bytes_: bytes, dealer: int
) -> None:
    # Faces 3 and 4: seven, counted from the dealer as one, is the opposite seat. The byte 7 of four is 3.
    assert Table(rule).end(won(1), bytes_).dealer == dealer


def test_what_is_known_of_the_match_does_not_get_lost_with_the_mains() -> None:
    table = Table("riichi")
    table.end(won(0))
    table.end(DRAWN)
    memory = table.controller.memory
    assert memory.play
    assert Memory.from_json(memory.to_json()) == memory


def test_another_dealer_by_hand_does_not_go_on_with_the_old_match() -> None:
    r = standing("riichi")
    api(r, Intent.RESULT)
    api(r, Intent.DICE_EAST)
    api(r, Intent.RESULT)
    api(r, Intent.RESULT)
    assert r.controller.memory.play
    api(r, Intent.DEALER_NEXT)
    assert r.controller.memory.dealer == 1
    assert r.controller.memory.play is None


def test_seat_keys_and_the_result_key_do_not_enter_another_result_than_was_pressed() -> None:
    r = standing("riichi")
    for key in ("DICE",):
        r.press(key)
        run_for(r, 40)
    api(r, Intent.RESULT)
    assert r.shown[-1][1].display == "hu 0"
    api(r, Intent.DICE_SOUTH)
    assert r.shown[-1][1].display == "hu 1"
    api(r, Intent.RESULT)
    assert r.shown[-1][1].display == "FroM"
    api(r, Intent.DICE_EAST)
    assert [e.dealer for e in told(r, ev.HandOver)] == [1]
    assert r.controller.memory.dealer == 1
    assert r.shown[-1][1].display == "E2 0"
    assert "dealer.S2" in r.shown[-1][1].lamps
    api(r, Intent.RESULT)
    assert refusals(r) == ["refuse.hand_ended"]


def test_a_repeat_does_not_leave_the_streak_lamps_dark() -> None:
    r = standing("riichi")
    api(r, Intent.RESULT)
    api(r, Intent.DICE_EAST)
    api(r, Intent.RESULT)
    api(r, Intent.RESULT)
    assert [(e.dealer, e.streak) for e in told(r, ev.HandOver)] == [(0, 1)]
    assert {"streak.1", "dealer.S1"} <= set(r.shown[-1][1].lamps)
    assert "streak.2" not in r.shown[-1][1].lamps


def test_an_entry_that_nobody_ends_does_not_stay_in_the_way() -> None:
    r = standing("riichi")
    api(r, Intent.RESULT)
    api(r, Intent.DICE_EAST)
    run_for(r, 21)
    assert r.shown[-1][1].display == "dicE"
    assert told(r, ev.HandOver) == []
    api(r, Intent.DICE_EAST)
    run_for(r, 1)
    assert told(r, ev.DiceThrown), "the seat keys throw again"
