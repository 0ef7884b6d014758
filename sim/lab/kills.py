"""Kill the daemon, the simulated table, lircd, the cable, the board, each at random moments of a hand.

python -m sim.lab.kills --moments 50 --seed 0 --jobs 2
"""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import click

from firmware_protocol.catalogue import LANGUAGES, language
from sim.lab.kills_plan import Kind, plan
from sim.lab.kills_run import Outcome, run
from sim.lab.lircd import missing
from sim.texts import TEXTS

SPEED = 20.0
MOMENTS = 50
_LANG = language()


@dataclass(slots=True)
class Report:
    """What became of the runs of one kind."""

    kind: Kind
    speed: float
    runs: list[Outcome] = field(default_factory=list)

    @property
    def wrong(self) -> list[Outcome]:
        """Return the runs in which something was wrong."""
        return [each for each in self.runs if each.wrong]

    def lines(self, lang: str) -> Iterator[str]:
        """Return what people read."""
        on_the_way = Counter(code for each in self.runs for code in each.codes)
        struck = Counter(each.struck for each in self.runs)
        yield TEXTS(
            "kills.kind", lang, kind=TEXTS(f"kills.kinds.{self.kind}", lang), moments=len(self.runs),
            ready=sum(each.ready for each in self.runs), codes=_counts(on_the_way),
            back=f"{max(each.back_s for each in self.runs):.1f}", states=_counts(struck),
        )  # fmt: skip
        for each in self.wrong:
            for wrong in each.wrong:
                what = TEXTS(f"kills.wrong.{wrong.key}", lang, **wrong.values)
                yield TEXTS("kills.wrong_run", lang, run=self._name(each), what=what)
            yield TEXTS("kills.again", lang, command=self.again(each))

    def again(self, each: Outcome) -> str:
        """Return the command that repeats one run."""
        seed = each.plan.seed
        return f"python -m sim.lab.kills --kind {self.kind} --moments 1 --seed {seed} --speed {self.speed:g}"

    def _name(self, each: Outcome) -> str:
        drawn = each.plan
        return f"{drawn.kind} {drawn.seed} {drawn.rule} {drawn.strike_us / 1e6:.1f}s {each.struck}"


def campaign(
    kinds: Iterable[Kind], moments: int, seed: int = 0, jobs: int = 1, speed: float = SPEED
) -> Iterator[Report]:
    """Run a campaign, each run with a seed of its own; a kind's report comes as soon as it is complete."""
    kinds = list(kinds)
    plans = [plan(kind, seed + n) for kind in kinds for n in range(moments)]
    pool = ThreadPoolExecutor(jobs)  # the work is done by processes of their own
    try:
        outcomes = pool.map(lambda each: run(each, speed), plans)
        for kind in kinds:
            yield Report(kind, speed, [next(outcomes) for _ in range(moments)])
    finally:
        pool.shutdown(cancel_futures=True)  # who ends it waits for the runs that have begun, no more


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in sorted(counted.items())) or "-"


def _text(key: str) -> str:
    return TEXTS(f"kills.{key}", _LANG)


@click.command(help=_text("about"), context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--kind", "kinds", type=click.Choice([*map(str, Kind)]), multiple=True, help=_text("kind_option")
)
@click.option("--moments", type=click.IntRange(1), default=MOMENTS, show_default=True, help=_text("moments"))
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help=_text("seed"))
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, help=_text("jobs"))
@click.option(
    "--speed",
    type=click.FloatRange(0.1, 20),
    default=SPEED,
    show_default=True,
    help=TEXTS("sim.speed", _LANG),
)
@click.option("--lang", type=click.Choice(LANGUAGES), default=_LANG, help=TEXTS("sim.lang", _LANG))
def main(kinds: Sequence[str], moments: int, seed: int, jobs: int, speed: float, lang: str) -> None:
    """Run a campaign and print what it came to."""
    chosen = [kind for kind in Kind if kind in kinds or not kinds]
    if Kind.LIRCD in chosen and (lacks := missing()):
        click.echo(TEXTS("kills.no_lircd", lang, lacks=lacks), err=True)
        sys.exit(2)
    failed = total = 0
    for report in campaign(chosen, moments, seed, jobs, speed):
        failed, total = failed + len(report.wrong), total + len(report.runs)
        for line in report.lines(lang):
            click.echo(line)
    click.echo(TEXTS("kills.end", lang, passed=total - failed, failed=failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
