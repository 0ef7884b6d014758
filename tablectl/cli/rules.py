"""`tablectl rules`: the rule sets, and what dice make of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tablectl.cli.columns import aligned
from tablectl.cli.options import command, json_option, text
from tablectl.cli.picture_file import write_picture
from tablectl.cli.rules_hand import (
    break_facts,
    break_words,
    check_complete,
    check_replaced,
    deal_facts,
    deal_words,
    read_dealer,
    read_throws,
)
from tablectl.cli.rules_show import facts, full_facts, of, page, stacks_of, title_page
from tablectl.rules.deal import deal, opening
from tablectl.rules.grabs import grabs
from tablectl.rules.model import RuleSet, Title
from tablectl.rules.picture import View, draw
from tablectl.rules.ruleset import listed, load, load_any, numbered
from tablectl.rules.tail import rest
from tablectl.texts import TEXTS

_COLUMNS = ("id", "number", "status", "tiles", "players", "stacks", "hand", "name")


@click.group("rules", help=text("help.rules"))
def rules() -> None:
    """Hold the commands about rule sets together."""


@command("rules list")
@json_option
def rules_list(lang: str, as_json: bool) -> None:
    """List the rule sets."""
    every = [load_any(rule_id) for rule_id in listed()]
    if as_json:
        _print_json([{**facts(found, lang), "number": number(found.id)} for found in every])
        return
    rows = [[TEXTS(f"rule_page.column.{name}", lang) for name in _COLUMNS]]
    for rule in every:
        if isinstance(rule, RuleSet):
            status = TEXTS(f"rule_page.in_list.{rule.status}", lang)
            told = {
                **facts(rule, lang),
                "number": number(rule.id),
                "status": status,
                "stacks": "/".join(stacks_of(rule)),
            }
            rows.append([str(told[name]) for name in _COLUMNS])
    titles = [each for each in every if isinstance(each, Title)]
    reasons = [[title.id, of(title.names, lang), of(title.reason, lang)] for title in titles]
    click.echo("\n".join([*aligned(rows), "", TEXTS("rule_page.titles", lang), *aligned(reasons)]))


def number(rule_id: str) -> int | None:
    """Return the number that chooses a rule set with digit keys; None of a mere title."""
    return numbered().index(rule_id) + 1 if rule_id in numbered() else None


@command("rules show")
@click.argument("rule_id", metavar="ID")
@json_option
def rules_show(lang: str, rule_id: str, as_json: bool) -> None:
    """Show a rule set as a page."""
    found = load_any(rule_id)
    if as_json:
        _print_json(full_facts(found, lang))
        return
    click.echo("\n".join(title_page(found, lang) if isinstance(found, Title) else page(found, lang)))


def _hand_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--svg", type=click.Path(path_type=Path), metavar="FILE", help=text("option.svg")),
        json_option,
        click.option("--dealer", metavar="SEAT", help=text("option.dealer")),
        click.option("--dice", multiple=True, metavar="FACES", help=text("option.dice")),
        click.argument("rule_id", metavar="ID"),
    ):
        function = option(function)
    return function


@command("rules break")
@_hand_options
def rules_break(
    lang: str, rule_id: str, dice: tuple[str, ...], dealer: str | None, as_json: bool, svg: Path | None
) -> None:
    """Say where the walls are broken."""
    rule = load(rule_id)
    seat, throws = read_dealer(rule, dealer), read_throws(dice)
    check_complete(rule, seat, throws)
    view = View(rule, seat, throws, opening(rule, seat, throws), lang)
    _tell(view, svg, break_facts(view) if as_json else break_words(view))


@command("rules deal")
@_hand_options
@click.option("--kongs", type=int, default=0, metavar="N", help=text("option.kongs"))
@click.option("--flowers", type=int, default=0, metavar="N", help=text("option.flowers"))
def rules_deal(
    lang: str,
    rule_id: str,
    dice: tuple[str, ...],
    dealer: str | None,
    kongs: int,
    flowers: int,
    as_json: bool,
    svg: Path | None,
) -> None:
    """Say who takes which tiles."""
    rule = load(rule_id)
    seat, throws = read_dealer(rule, dealer), read_throws(dice)
    check_complete(rule, seat, throws)
    check_replaced(rule, kongs, flowers)
    dealt = deal(rule, seat, throws)
    after = rest(rule, dealt, kongs, flowers, throws)
    view = View(rule, seat, throws, dealt.opening, lang, dealt, grabs(rule, seat, dealt), after)
    _tell(view, svg, deal_facts(view, kongs, flowers) if as_json else deal_words(view))


def _tell(view: View, svg: Path | None, told: dict[str, Any] | list[str]) -> None:
    """Write the picture first, so that nothing is told where it cannot be written."""
    if svg:
        write_picture(svg, draw(view))
    if isinstance(told, dict):
        _print_json(told)
        return
    if svg:
        told = [*told, TEXTS("rule_hand.picture", view.lang, file=svg)]
    click.echo("\n".join(told))


def _print_json(told: object) -> None:
    click.echo(json.dumps(told, ensure_ascii=False))


for each in (rules_list, rules_show, rules_break, rules_deal):
    rules.add_command(each)
