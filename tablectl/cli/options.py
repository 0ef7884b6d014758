"""What every command shares: language, the socket of the daemon, exit status, errors as text."""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from tablectl.errors import TablectlError
from tablectl.texts import LANGUAGES, TEXTS, language

FINE, TABLE_HAS_A_PROBLEM, ASKED_WRONGLY = 0, 1, 2
DEFAULT_SOCKET = Path("/run/tablectl/api.sock")
HELP_LANG = language()


def nobody_reads() -> None:
    """Let what is still to be printed fall on the floor: the reader of a pipe has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def text(key: str) -> str:
    """Return a help text in the language of the environment."""
    return TEXTS(key, HELP_LANG)


def command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a command whose help text is `help.<name>` and whose errors are told in the chosen language."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def guarded(lang: str, **values: Any) -> None:
            try:
                status = function(lang=lang, **values)
            except TablectlError as error:
                click.echo(error.text(lang), err=True)
                status = ASKED_WRONGLY
            sys.exit(status or FINE)

        lang = click.option(
            "--lang", type=click.Choice(LANGUAGES), default=HELP_LANG, help=text("option.lang")
        )
        key = name.replace(" ", "_")
        make = click.command(name.rpartition(" ")[2], help=text(f"help.{key}"))
        return make(lang(guarded))

    return decorate


socket_option = click.option(
    "--socket",
    "socket_path",
    type=click.Path(path_type=Path),
    default=DEFAULT_SOCKET,
    show_default=True,
    help=text("option.socket"),
)
json_option = click.option("--json", "as_json", is_flag=True, help=text("option.json"))
