"""`tablectl`: every command hangs here."""

import json
from pathlib import Path

import click

from tablectl import config
from tablectl.cli import client
from tablectl.cli.demo import demo
from tablectl.cli.log import log
from tablectl.cli.options import command, json_option, text
from tablectl.cli.panel import panel
from tablectl.cli.remote import remote
from tablectl.cli.rules import rules
from tablectl.cli.scenario import scenario_group
from tablectl.cli.watch import watch
from tablectl.texts import TEXTS

_FILE = click.Path(path_type=Path)


@click.group(help=text("help.tablectl"), context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tablectl")
def main() -> None:
    """Hold the commands together."""


@command("run")
@click.option("--config", "file", type=_FILE, required=True, help=text("option.config"))
@click.option("--speed", type=click.FloatRange(0.1, 20), default=1.0, help=text("option.speed"))
@click.option("--trace", type=_FILE, help=text("option.trace"))
def run(lang: str, file: Path, speed: float, trace: Path | None) -> None:
    """Run the daemon."""
    from tablectl.service.daemon import run as serve

    serve(config.load(file), speed, trace)


@click.group("config", help=text("help.config"))
def config_group() -> None:
    """Hold the commands about the configuration together."""


@command("config check")
@click.argument("file", type=_FILE)
@json_option
def config_check(lang: str, file: Path, as_json: bool) -> None:
    """Check a configuration file."""
    found = config.load(file)
    values = {"file": str(file), "port": found.port, "remote": found.remote, "rule": found.rule}
    click.echo(json.dumps(values) if as_json else TEXTS("config.fine", lang, **values))


@command("config example")
def config_example(lang: str) -> None:
    """Print a configuration to begin with."""
    click.echo(config.EXAMPLE, nl=False)


config_group.add_command(config_check)
config_group.add_command(config_example)
for each in (
    demo,
    run,
    client.press,
    client.status,
    client.rule,
    client.gear,
    client.hand,
    watch,
    log,
    panel,
    remote,
    rules,
    config_group,
    scenario_group,
):
    main.add_command(each)
