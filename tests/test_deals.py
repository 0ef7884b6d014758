"""Hands of every rule at the simulated table: where players took each tile is where the rules say it lay."""

import dataclasses
from typing import Any

import pytest
from click.testing import CliRunner

from sim.lab import deals
from tablectl.rules import ruleset


@pytest.mark.parametrize("rule", deals.fitting())
def test_no_player_takes_another_tile_than_was_computed(rule: str) -> None:
    played = deals.play(rule, seed=1)
    assert played.wrong == ()


@pytest.mark.parametrize("rule", ["riichi", "taiwan16", "mcr", "sanma"])
def test_an_eight_mouth_table_does_not_serve_or_build_other_than_was_computed(rule: str) -> None:
    assert deals.play(rule, 1, "eight-mouth").wrong == ()


def test_no_rule_that_fits_is_left_out() -> None:
    assert set(ruleset.available()) - set(deals.fitting()) == {"vietnamese176"}, "22 stacks a side"


def test_a_deal_that_is_one_stack_off_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = deals.deal

    def shifted(*asked: Any) -> Any:
        dealt = honest(*asked)
        every = [*dealt.undealt[-2:], *dealt.grabs[0]]
        return dataclasses.replace(dealt, grabs=(tuple(every[: len(dealt.grabs[0])]), *dealt.grabs[1:]))

    monkeypatch.setattr(deals, "deal", shifted)
    assert "S1 took other tiles than were computed" in deals.play("riichi", 1).wrong


def test_a_tail_that_is_drawn_from_the_front_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = deals.rest

    def wrong(*asked: Any) -> Any:
        after = honest(*asked)
        return dataclasses.replace(after, replacements=after.live[: len(after.replacements)])

    monkeypatch.setattr(deals, "rest", wrong)
    assert "the tiles replaced are others than computed" in deals.play("riichi", 1).wrong


def test_the_command_does_not_call_a_wrong_hand_right() -> None:
    told = CliRunner().invoke(deals.main, ["--rule", "sc_tcy", "--hands", "2", "--jobs", "1"])
    assert told.exit_code == 0, told.output
    assert told.output.endswith("2 hands, 0 wrong\n")
