"""How long washes take: many of them, on the board and the mechanics alone. `python -m sim.lab.wash`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import click

from firmware_protocol import messages as m
from firmware_protocol.catalogue import LANGUAGES, language
from firmware_protocol.core import TICK
from sim.model import MachineModel, ModelError, load
from sim.table import SimTable, TableOptions
from sim.texts import TEXTS
from sim.tiles import SETS

PROBE_US = 3_000_000  # feeders run on for so long after the last stack, to find a tile too many
WITHIN_S = (18.0, 35.0)  # what makers and dealers give for a four-mouth table; of eight mouths nobody says
HAND = 13
LIMIT_US = 180_000_000
LEASE_MS = 5_000
_RENEW_US = 2_000_000
_LANG = language()


@dataclass(frozen=True, slots=True)
class Wash:
    """One wash: seconds with the probe, None where it never ended; walls are tile numbers as pushed."""

    seconds: float | None
    longest_gap_s: float
    walls: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """How values lie: percentiles, nearest rank."""

    min: float
    p5: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What many washes of one number of tiles took, in seconds."""

    tiles: int
    washes: int
    unfinished: int
    within: float  # share of all washes that took 18 to 35 s
    wash_s: Spread | None
    gap_s: Spread | None


def shares(tiles: int, mouths: int = 4) -> tuple[int, ...]:
    """Return how many tiles each mouth takes: hands where they are served, whole stacks of what is left.

    Stacks left over go to S1, S3, S2 in this order.
    """
    hands = (HAND,) * (mouths - 4)
    each, over = divmod((tiles - sum(hands)) // 2, 4)
    stacks = [each + (over > turn) for turn in (0, 2, 1, 3)]
    return (*(2 * n for n in stacks), *hands)


def wash(model: MachineModel, tiles: int, seed: int) -> Wash:
    """Wash one set that was dropped in by the order of its tiles' numbers."""
    table = SimTable(TableOptions(tiles=tiles, sets=1, hands=0, seed=seed, model=model))
    board, machine = table.board, table.machine
    for tile in list(table.boxes[0].tiles):
        tile.move(machine.drum.place)
    times: list[int] = []
    on_eye = machine.on_eye

    def note(mouth: str, peaks: tuple[int, ...], direction: int) -> None:
        times.append(table.agenda.now_us)
        on_eye(mouth, peaks, direction)

    machine.on_eye = note
    board.order(m.Run(1, board.description.part("drum"), 1, LEASE_MS))
    orders = shares(tiles, model.mouths)
    for mouth, share in enumerate(orders):
        board.order(m.Fill(2 + mouth, mouth, share, LEASE_MS))
    now = renewed = 0
    while board.moving != ("drum",) and now < LIMIT_US:
        due = table.next_deadline()
        now = renewed + _RENEW_US if due is None else min(due, renewed + _RENEW_US)
        table.handle(TICK, now)
        if now >= renewed + _RENEW_US:
            renewed = now
            for op in range(1, 2 + len(orders)):
                board.order(m.Renew(op, LEASE_MS))
    walls = tuple(tuple(t.number for t in side.store.tiles) for side in machine.sides)
    ended = tuple(len(w) for w in walls) == orders
    gap_us = max(b - a for a, b in zip([0, *times], times, strict=False))
    return Wash((now + PROBE_US) / 1e6 if ended else None, gap_us / 1e6, walls)


def summary(model: MachineModel, tiles: int, washes: int, seed: int) -> Summary:
    """Wash many times, each with a seed of its own."""
    done = [wash(model, tiles, seed + n) for n in range(washes)]
    times = [w.seconds for w in done if w.seconds is not None]
    low, high = WITHIN_S
    return Summary(
        tiles,
        washes,
        washes - len(times),
        sum(low <= t <= high for t in times) / washes,
        _spread(times),
        _spread([w.longest_gap_s for w in done]),
    )


def _spread(values: Sequence[float]) -> Spread | None:
    if not values:
        return None
    ranked = sorted(values)
    ranks = [max(0, -(-len(ranked) * percent // 100) - 1) for percent in (0, 5, 50, 95, 99, 100)]
    return Spread(*(ranked[rank] for rank in ranks))


def lines(found: Sequence[Summary], lang: str) -> list[str]:
    """Return the table that people read."""
    columns = ("min", "p5", "p50", "p95", "p99", "max")
    head = "  ".join(f"{c:>5}" for c in columns)
    out = [TEXTS("wash.head", lang), f"{'':>24}  {head}"]
    for each in found:
        for key, spread in (("time", each.wash_s), ("gap", each.gap_s)):
            if spread is not None:
                values = "  ".join(f"{v:5.1f}" for v in asdict(spread).values())
                out.append(f"{each.tiles:>4}  {TEXTS(f'wash.{key}', lang):<18}  {values}")
        low, high = WITHIN_S
        out.append(
            TEXTS(
                "wash.within", lang, tiles=each.tiles, share=f"{100 * each.within:.1f}",
                low=f"{low:.0f}", high=f"{high:.0f}", washes=each.washes,
            )
        )  # fmt: skip
        if each.unfinished:
            out.append(TEXTS("wash.unfinished", lang, tiles=each.tiles, count=each.unfinished))
    return out


@click.command(help=TEXTS("wash.about", _LANG), context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--tiles", type=click.Choice([*map(str, SETS), "all"]), default="136", help=TEXTS("wash.tiles", _LANG)
)
@click.option("--washes", type=click.IntRange(1), default=100, help=TEXTS("wash.washes", _LANG))
@click.option("--seed", type=int, default=0, help=TEXTS("wash.seed", _LANG))
@click.option("--model", metavar="FILE", default="four-mouth", help=TEXTS("sim.model", _LANG))
@click.option("--json", "as_json", is_flag=True, help=TEXTS("wash.json", _LANG))
@click.option("--lang", type=click.Choice(LANGUAGES), default=_LANG, help=TEXTS("sim.lang", _LANG))
def main(tiles: str, washes: int, seed: int, model: str, as_json: bool, lang: str) -> None:
    """Wash and print what it took; exit status 1 where a wash never ended."""
    try:
        loaded = load(model)
    except ModelError as error:
        click.echo(TEXTS("sim.bad_model", lang, why=error), err=True)
        sys.exit(2)
    numbers = list(SETS) if tiles == "all" else [int(tiles)]
    found = [summary(loaded, number, washes, seed) for number in numbers]
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found]))
    else:
        click.echo("\n".join(lines(found, lang)))
    sys.exit(1 if any(each.unfinished for each in found) else 0)


if __name__ == "__main__":
    main()
