"""`tablectl panel`: what display, lamps and buzzer of the table mean."""

import json

import click

from tablectl.cli.options import command, json_option
from tablectl.texts import TEXTS

_KINDS = {"display": "panel.", "lamp": "lamp.", "buzzer": "buzzer."}


@command("panel")
@json_option
def panel(lang: str, as_json: bool) -> None:
    """Print the table of display, lamps and buzzer."""
    shown = {
        kind: {key.removeprefix(family): TEXTS(key, lang) for key in TEXTS.keys() if key.startswith(family)}  # noqa: SIM118
        for kind, family in _KINDS.items()
    }
    if as_json:
        click.echo(json.dumps(shown, ensure_ascii=False))
        return
    for kind, meanings in shown.items():
        click.echo(TEXTS(f"board_part.{kind}", lang))
        for name, meaning in meanings.items():
            click.echo(f"  {name:<10} {meaning}")
