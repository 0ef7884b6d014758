"""What this computer does with the table's software, in figures: `python -m sim.lab.figures`.

Each figure stands beside a bound, or beside a peer that was measured in the same run, and beside the share of
the processors' time that other programs took meanwhile: on a busy computer a figure says little by itself.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from firmware_protocol.catalogue import LANGUAGES, asked_language
from sim.lab import figures_daemon, figures_table, figures_wire
from sim.lab.figure import Figure
from sim.model import MachineModel, ModelError, load
from sim.texts import TEXTS

Measure = Callable[[], tuple[Figure, ...]]


def measures(quick: bool, model: MachineModel) -> tuple[Measure, ...]:
    """Return what is measured, in order; quickly: each once, which shows that it works and little else.

    `model` is the table whose washes and hands are timed.
    """
    few, play_us = quick, 20_000_000 if quick else figures_table.PLAY_US
    return (
        lambda: figures_table.nec(50 if few else 2_000, 1 if few else 10),
        lambda: figures_table.codec(50 if few else 2_000, 2 if few else 100),
        lambda: figures_wire.round_trips(50 if few else 5_000),
        lambda: figures_daemon.start_up(1 if few else 5),
        lambda: figures_daemon.at_work(2 if few else 100, 0.5 if few else 10.0),
        lambda: figures_table.washes(1 if few else 20, model),
        lambda: figures_table.virtual_speed(1 if few else 3, model, play_us),
    )


def line(figure: Figure, lang: str) -> Iterator[str]:
    """Return what a person reads of a figure."""
    yield TEXTS(
        "figures.line", lang, name=TEXTS(f"figures.name.{figure.name}", lang),
        value=_number(figure.value), unit=figure.unit, foreign=f"{100 * figure.foreign:.0f}",
    )  # fmt: skip
    for each in figure.against:
        share = figure.value / each.value if each.value else 0.0
        values = {
            "name": TEXTS(f"figures.against.{each.name}", lang),
            "value": _number(each.value), "unit": figure.unit, "share": f"{share:.3g}",
        }  # fmt: skip
        yield TEXTS(f"figures.{each.rule or 'beside'}", lang, **values)
    if not figure.kept:
        yield TEXTS("figures.missed", lang)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"


def as_json(figure: Figure) -> dict[str, Any]:
    """Return what a program reads of a figure."""
    against = [
        {
            "name": a.name,
            "value": a.value,
            "rule": a.rule,
            "share": figure.value / a.value if a.value else None,
        }
        for a in figure.against
    ]
    return {
        "name": figure.name, "value": figure.value, "unit": figure.unit, "against": against,
        "foreign_cpu": round(figure.foreign, 3), "kept": figure.kept,
    }  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; exit status 1 where a bound that was asked for is missed."""
    arguments = sys.argv[1:] if arguments is None else arguments
    lang = asked_language(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m sim.lab.figures",
        description=TEXTS("figures.about", lang),
        epilog=TEXTS("figures.example", lang),
    )
    parser.add_argument("--quick", action="store_true", help=TEXTS("figures.quick", lang))
    parser.add_argument("--json", action="store_true", help=TEXTS("figures.json", lang))
    parser.add_argument("--model", metavar="FILE", default="four-mouth", help=TEXTS("sim.model", lang))
    parser.add_argument("--lang", choices=LANGUAGES, help=TEXTS("sim.lang", lang))
    asked = parser.parse_args(arguments)
    try:
        model = load(asked.model)
    except ModelError as error:
        print(TEXTS("sim.bad_model", lang, why=error), file=sys.stderr)
        return 2
    found: list[Figure] = []
    for measure in measures(asked.quick, model):
        found += (new := measure())
        if not asked.json:
            for figure in new:
                print("\n".join(line(figure, lang)), flush=True)
    if asked.json:
        print(json.dumps([as_json(each) for each in found], indent=1))
    return 0 if all(each.kept for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
