"""`tablectl remote`: the remote and what is heard of it."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from tablectl.cli.options import ASKED_WRONGLY, FINE, command, json_option, text
from tablectl.errors import TablectlError
from tablectl.remote.captures import Heard, decode_file
from tablectl.texts import TEXTS


@click.group("remote", help=text("help.remote"))
def remote() -> None:
    """Hold the commands about the remote together."""


@command("remote decode")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@json_option
def decode(lang: str, files: tuple[Path, ...], as_json: bool) -> int:
    """Decode captures; a file that is none is told, and the others are decoded."""
    status = FINE
    for file in files:
        try:
            heard = list(decode_file(file))
        except TablectlError as error:
            click.echo(error.text(lang), err=True)
            status = ASKED_WRONGLY
            continue
        for each in heard:
            click.echo(json.dumps(asdict(each)) if as_json else _line(each, lang))
    return status


def _line(heard: Heard, lang: str) -> str:
    reason = TEXTS(f"remote.reason.{heard.reason}", lang) if heard.reason else ""
    return TEXTS(f"remote.heard.{heard.kind}", lang, **{**asdict(heard), "reason": reason})


remote.add_command(decode)
