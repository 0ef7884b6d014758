"""`tablectl rules`: the rule sets, and what dice make of them."""

import json
from collections.abc import Callable
from difflib import get_close_matches
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
from tablectl.cli.rules_show import facts, full_facts, name_of, page, stacks_of
from tablectl.errors import TablectlError
from tablectl.rules.deal import deal, opening
from tablectl.rules.grabs import grabs
from tablectl.rules.model import RuleSet
from tablectl.rules.picture import View, draw
from tablectl.rules.ruleset import available, load
from tablectl.rules.tail import rest
from tablectl.texts import TEXTS

_COLUMNS = ("id", "tiles", "players", "stacks", "hand", "name")


@click.group("rules", help=text("help.rules"))
def rules() -> None:
    """Hold the commands about rule sets together."""


@command("rules list")
@json_option
def rules_list(lang: str, as_json: bool) -> None:
    """List the rule sets."""
    every = [load(rule_id) for rule_id in available()]
    if as_json:
        _print_json([facts(rule, lang) for rule in every])
        return
    rows = [[TEXTS(f"rule_page.column.{name}", lang) for name in _COLUMNS]]
    for rule in every:
        told = {**facts(rule, lang), "stacks": "/".join(stacks_of(rule))}
        rows.append([str(told[name]) for name in _COLUMNS])
    click.echo("\n".join(aligned(rows)))


@command("rules show")
@click.argument("rule_id", metavar="ID")
@json_option
def rules_show(lang: str, rule_id: str, as_json: bool) -> None:
    """Show a rule set as a page."""
    rule = find(rule_id)
    if as_json:
        _print_json(full_facts(rule, lang))
    else:
        click.echo("\n".join(page(rule, lang)))


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
    rule = find(rule_id)
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
    rule = find(rule_id)
    seat, throws = read_dealer(rule, dealer), read_throws(dice)
    check_complete(rule, seat, throws)
    check_replaced(rule, kongs, flowers)
    dealt = deal(rule, seat, throws)
    after = rest(rule, dealt, kongs, flowers)
    view = View(rule, seat, throws, dealt.opening, lang, dealt, grabs(rule, seat, dealt), after)
    _tell(view, svg, deal_facts(view, kongs, flowers) if as_json else deal_words(view))


def find(rule_id: str) -> RuleSet:
    """Return a rule set by its id; where there is none, say which ids and names are like it."""
    known = available()
    if rule_id in known:
        return load(rule_id)
    called = {each.lower(): each for each in known}
    for rule in map(load, known):
        called |= {name_of(rule, lang).lower(): rule.id for lang in ("en", "zh")}
    like = get_close_matches(rule_id.lower(), called, n=6, cutoff=0.5)
    like += [name for name in called if len(rule_id) > 1 and rule_id.lower() in name]
    if not like:
        raise TablectlError("rule_page.unlike", id=rule_id)
    nearest = dict.fromkeys(called[name] for name in like)
    raise TablectlError("rule_page.unknown", id=rule_id, nearest=", ".join(nearest))


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
