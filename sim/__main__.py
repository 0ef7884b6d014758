"""`python -m sim`: the simulated table as a program."""

import signal
import sys
from pathlib import Path

import click

from firmware_protocol.catalogue import LANGUAGES, language
from sim.faults import FaultSpecError
from sim.model import ModelError, load, names
from sim.process import Process, ProcessOptions
from sim.table import TableOptions
from sim.texts import TEXTS
from sim.tiles import MOST_TILES

_LANG = language()


def _text(key: str) -> str:
    return TEXTS(f"sim.{key}", _LANG)


def _walls(value: str | None, mouths: int) -> tuple[int, ...]:
    """Return the tiles of each wall, and hand, as players know them; none where they mend nothing."""
    if value is None:
        return ()
    numbers = value.split(",")
    if len(numbers) != mouths or not all(n.isdecimal() for n in numbers):
        said = TEXTS("sim.bad_walls", _LANG, found=value, mouths=mouths)
        raise click.BadParameter(said, param_hint="--repair")
    return tuple(map(int, numbers))


@click.command(help=_text("about"), context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--pty", type=click.Path(path_type=Path), required=True, help=_text("pty"))
@click.option("--lirc", type=click.Path(path_type=Path), help=_text("lirc"))
@click.option("--control", type=click.Path(path_type=Path), help=_text("control"))
@click.option("--table", type=click.Choice(names()), default="four-mouth", help=_text("table"))
@click.option("--model", metavar="FILE", help=_text("model"))
@click.option("--speed", type=click.FloatRange(0.1, 20), default=1.0, help=_text("speed"))
@click.option("--seed", type=int, default=0, help=_text("seed"))
@click.option("--tiles", type=click.IntRange(2, MOST_TILES), default=136, help=_text("tiles"))
@click.option("--sets", type=click.IntRange(1, 2), default=2, help=_text("sets"))
@click.option("--hands", type=click.IntRange(0), default=0, help=_text("hands"))
@click.option("--play-s", type=click.FloatRange(0), default=20.0, help=_text("play_s"))
@click.option("--repair", metavar="N,N,N,N", help=_text("repair"))
@click.option("--fault", "faults", multiple=True, help=_text("fault"))
@click.option("--lang", type=click.Choice(LANGUAGES), default=_LANG, help=_text("lang"))
def main(
    pty: Path,
    lirc: Path | None,
    control: Path | None,
    table: str,
    model: str | None,
    speed: float,
    seed: int,
    tiles: int,
    sets: int,
    hands: int,
    play_s: float,
    repair: str | None,
    faults: tuple[str, ...],
    lang: str,
) -> None:
    """Start the simulated table and serve until it is told to end."""
    try:
        machine = load(model or table)
        options = TableOptions(
            tiles=tiles,
            sets=sets,
            hands=hands,
            play_us=round(play_s * 1_000_000),
            seed=seed,
            faults=faults,
            repair=bool(repair),
            complete=_walls(repair, machine.mouths),
            model=machine,
        )
        process = Process(ProcessOptions(pty, lirc, control, speed), options, boot_id=seed & 0xFFFFFFFF)
    except FaultSpecError as error:
        click.echo(TEXTS("sim.bad_fault", lang, why=error.text(lang)), err=True)
        sys.exit(2)
    except ModelError as error:
        click.echo(TEXTS("sim.bad_model", lang, why=error), err=True)
        sys.exit(2)
    except OSError as error:
        click.echo(TEXTS("sim.no_path", lang, path=error.filename or pty, why=error.strerror), err=True)
        sys.exit(2)
    signal.signal(signal.SIGTERM, lambda *_: process.end())
    signal.signal(signal.SIGINT, lambda *_: process.end())
    click.echo(TEXTS("sim.ready", lang, pty=pty))
    sys.stdout.flush()
    process.run()


if __name__ == "__main__":
    main()
