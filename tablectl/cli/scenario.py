"""`tablectl scenario`: scenario files on the simulated table, in a process of their own."""

import subprocess
import sys

import click

from tablectl.cli.options import command, json_option, text


@click.group("scenario", help=text("help.scenario"))
def scenario_group() -> None:
    """Hold the commands about scenarios together."""


@command("scenario run")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@json_option
def scenario_run(lang: str, files: tuple[str, ...], as_json: bool) -> int:
    """Run scenario files and say how every step went."""
    program = [sys.executable, "-m", "sim.lab.scenario", "--lang", lang]
    if as_json:
        program.append("--json")
    return subprocess.run([*program, "--", *files], check=False).returncode


scenario_group.add_command(scenario_run)
