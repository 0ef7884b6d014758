"""Random hands with random faults: ledger against truth, interlocks, silence, and the codes that are named.

python -m sim.lab.campaign --hands 1000 --seed 0
"""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context

import click

from firmware_protocol.catalogue import LANGUAGES, language
from sim.lab.campaign_hand import DARK, Kinds, Outcome, run_hand
from sim.model import ModelError, load
from sim.table import SimTable, TableOptions
from sim.texts import TEXTS
from tablectl.table.cycle import State

TABLE = "four-mouth"
LEAST, OF = 50, 1000  # every kind acts so often in so many hands
_LANG = language()
_CHUNK = 5


@dataclass(slots=True)
class Report:
    """What a campaign has come to; `acted` counts by kind of fault and state of the cycle."""

    kinds: tuple[str, ...]
    hands: int = 0
    ready: int = 0
    faultless: int = 0
    planned: Counter[str] = field(default_factory=Counter)
    acted: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)

    def add(self, hand: Outcome) -> None:
        """Take one hand in."""
        self.hands += 1
        self.ready += hand.ready
        self.faultless += not hand.acted
        self.planned.update(hand.planned)
        self.acted.update(hand.acted)
        self.codes.update(hand.codes)
        self.wrong += [(hand.seed, line) for line in hand.wrong]

    @property
    def by_kind(self) -> dict[str, int]:
        """Return how often each kind has acted."""
        count = Counter(kind for kind, _ in self.acted.elements())
        return {kind: count[kind] for kind in self.kinds}

    @property
    def bad_hands(self) -> int:
        """Return in how many hands something was wrong."""
        return len({seed for seed, _ in self.wrong})

    @property
    def short(self) -> bool:
        """Tell whether a long campaign has tried a kind too seldom, or fewer faults than hands."""
        counts = self.by_kind.values()
        return self.hands >= OF and (min(counts) < LEAST * self.hands // OF or sum(counts) < self.hands)


def fault_kinds(model: str = TABLE) -> Kinds:
    """Return every kind of fault with the parts of such a table that can have it."""
    table = SimTable(TableOptions(model=load(model)))
    return {name: kind.parts for name, kind in table.faults.kinds.items()}


def run(hands: int, seed: int = 0, jobs: int = 1, model: str = TABLE) -> Report:
    """Run a campaign; its outcome does not depend on the number of jobs."""
    report = Report(tuple(sorted(fault_kinds(model))))
    for hand in _outcomes(range(seed, seed + hands), jobs, model):
        report.add(hand)
    return report


def _outcomes(seeds: Iterable[int], jobs: int, model: str) -> Iterator[Outcome]:
    play = partial(_hand, model=model)
    if jobs == 1:
        yield from map(play, seeds)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(play, seeds, chunksize=_CHUNK)


def _hand(seed: int, model: str) -> Outcome:
    return run_hand(seed, fault_kinds(model), model=model)


def table(report: Report) -> list[str]:
    """Return how many faults of each kind acted in which state of the cycle."""
    columns = [s for s in (*map(str, State), DARK) if any(state == s for _, state in report.acted)]
    width = max(map(len, report.kinds))
    lines = [" ".join(["".ljust(width), *columns, "all"])]
    for kind, total in report.by_kind.items():
        cells = [str(report.acted[kind, s] or "-").rjust(len(s)) for s in columns]
        lines.append(" ".join([kind.ljust(width), *cells, str(total).rjust(3)]))
    sums = [sum(n for (_, state), n in report.acted.items() if state == s) for s in columns]
    cells = [str(n).rjust(len(s)) for n, s in zip(sums, columns, strict=True)]
    return [*lines, " ".join(["".ljust(width), *cells, str(sum(sums)).rjust(3)])]


def lines(report: Report, lang: str, with_table: bool) -> list[str]:
    """Return what people read."""
    counts = report.by_kind
    rarest = min(counts, key=lambda kind: counts[kind])

    def say(key: str, **values: object) -> str:
        return TEXTS(f"campaign.{key}", lang, **values)

    out = [
        say("hands", hands=report.hands, planned=report.planned.total(), acted=sum(counts.values()),
            faultless=report.faultless, ready=report.ready),
        say("faults", counts=", ".join(f"{k} {n}" for k, n in counts.items())),
        say("rarest", kind=rarest, count=counts[rarest]),
        say("codes", counts=", ".join(f"{k} {n}" for k, n in sorted(report.codes.items()))),
    ]  # fmt: skip
    if with_table:
        out += [say("table"), *table(report)]
    out += [f"WRONG {line}" for _, line in report.wrong]
    if report.short:
        out.append(say("short", least=LEAST, of=OF))
    out.append(say("end", passed=report.hands - report.bad_hands, failed=report.bad_hands))
    return out


def _text(key: str) -> str:
    return TEXTS(f"campaign.{key}", _LANG)


@click.command(help=_text("about"), context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--hands", type=click.IntRange(1), default=100, show_default=True, help=_text("hands_option"))
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help=_text("seed"))
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help=_text("jobs"))
@click.option("--table", "with_table", is_flag=True, help=_text("table_option"))
@click.option("--model", metavar="FILE", default=TABLE, show_default=True, help=TEXTS("sim.model", _LANG))
@click.option("--lang", type=click.Choice(LANGUAGES), default=_LANG, help=TEXTS("sim.lang", _LANG))
def main(hands: int, seed: int, jobs: int, with_table: bool, model: str, lang: str) -> None:
    """Run a campaign and print what it came to."""
    try:
        load(model)
    except ModelError as error:
        click.echo(TEXTS("sim.bad_model", lang, why=error), err=True)
        sys.exit(2)
    report = run(hands, seed, jobs, model)
    click.echo("\n".join(lines(report, lang, with_table)))
    sys.exit(1 if report.wrong or report.short else 0)


if __name__ == "__main__":
    main()
