"""Every state that controller and simulated table can come to, and the way to ready from each.

python -m sim.lab.search
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path as File

import click

from firmware_protocol.catalogue import LANGUAGES, Catalogue, language
from sim.lab.bench import Bench
from sim.lab.explore import DETOUR, Found, Setting, explore, read_path, walk
from sim.lab.person import codes_of, way_out
from sim.lab.shape import shape
from tablectl.table.cycle import State
from tablectl.table.faults import catalogue

TEXTS = Catalogue(File(__file__).parent.parent / "texts.toml")
PROGRESS_S = 10
_LANG = language()


def lines(found: Found, setting: Setting, lang: str) -> Iterator[str]:
    """Return what a search has come to, as people read it."""
    cycle = Counter(shape.cycle for shape in found.paths)
    yield TEXTS(
        "search.size", lang, sets=setting.sets, states=len(found.paths), looked=found.expanded,
        transitions=found.transitions,
    )  # fmt: skip
    yield TEXTS("search.closed" if found.closed else "search.not_closed", lang)
    yield TEXTS("search.states", lang, states=_counts(cycle), none=_missing(set(State), set(cycle)))
    yield TEXTS(
        "search.codes", lang, codes=_counts(found.codes), none=_missing(set(catalogue()), set(found.codes))
    )
    yield TEXTS("search.on_ways", lang, codes=_counts(found.on_ways) or "-")
    yield TEXTS("search.longest", lang, steps=len(found.longest), way=" ".join(found.longest))
    for defect in found.defects:
        yield TEXTS("search.defect", lang, what=defect.what, where=defect.where, then=defect.then)
    yield TEXTS("search.defects", lang, count=len(found.defects))


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


def _missing(all_: set[str], seen: set[str]) -> str:
    return ", ".join(sorted(map(str, all_ - seen))) or "-"


def replay(setting: Setting, path: str) -> Iterator[str]:
    """Walk a path once more and go on as the table asks; one line a step."""
    bench = walk(setting, ())
    yield _now(bench, "", 0)
    for step in read_path(path):
        told = len(bench.rig.announced)
        bench.do(step.deed)
        bench.look(step.ticks)
        yield _now(bench, str(step), told)
    told = len(bench.rig.announced)
    way = way_out(bench)
    yield _now(bench, " ".join(way.deeds), told)


def _now(bench: Bench, deed: str, told: int) -> str:
    found = shape(bench)
    codes = " ".join(codes_of(e for _, e in bench.rig.announced[told:]))
    stores = [len(s.store) for s in bench.rig.table.machine.sides]
    words = (*found.sets, *found.rules, *found.switches, *found.board, *found.tiles)
    at = f"{bench.rig.world.now_us / 1e6:7.1f} s"
    return f"{at}  {deed}  [{bench.display}]  {found.cycle}  {codes}  stores {stores}  {', '.join(words)}"


@click.command(
    help=TEXTS("search.about", _LANG, detour=DETOUR), context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--sets", type=click.Choice(["1", "2", "all"]), default="all", help=TEXTS("search.sets", _LANG))
@click.option("--faults/--no-faults", default=True, show_default=True, help=TEXTS("search.faults", _LANG))
@click.option("--most", type=click.IntRange(1), help=TEXTS("search.most", _LANG))
@click.option(
    "--workers", type=click.IntRange(1), default=2, show_default=True, help=TEXTS("search.workers", _LANG)
)
@click.option("--seed", type=int, default=0, show_default=True, help=TEXTS("search.seed", _LANG))
@click.option("--replay", "path", metavar="PATH", help=TEXTS("search.replay", _LANG))
@click.option("--lang", type=click.Choice(LANGUAGES), default=_LANG, help=TEXTS("sim.lang", _LANG))
def main(
    sets: str, faults: bool, most: int | None, workers: int, seed: int, path: str | None, lang: str
) -> None:
    """Search and print what was found; exit status 1 where there is a defect."""
    settings = [
        Setting(sets=n, seed=seed, faults=faults) for n in ((1, 2) if sets == "all" else (int(sets),))
    ]
    if path is not None:
        try:
            read_path(path)
        except ValueError:
            click.echo(TEXTS("search.bad_path", lang, path=path), err=True)
            sys.exit(2)
        for line in replay(settings[-1], path):
            click.echo(line)
        return
    defects = 0
    for setting in settings:
        found = explore(setting, workers, most, _Progress(lang))
        defects += len(found.defects)
        for line in lines(found, setting, lang):
            click.echo(line)
    sys.exit(1 if defects else 0)


class _Progress:
    """Says from time to time how far a search is, with the defects that are new."""

    def __init__(self, lang: str) -> None:
        self._lang = lang
        self._said = time.monotonic()

    def __call__(self, found: Found) -> None:
        if time.monotonic() - self._said < PROGRESS_S:
            return
        self._said = time.monotonic()
        click.echo(
            TEXTS(
                "search.progress", self._lang, looked=found.expanded, states=len(found.paths),
                transitions=found.transitions, count=len(found.defects),
            ),
            err=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
