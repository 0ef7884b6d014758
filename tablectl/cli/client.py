"""Commands that talk to a running daemon: press, status."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import click

from tablectl.cli.options import FINE, TABLE_HAS_A_PROBLEM, command, json_option, socket_option, text
from tablectl.errors import TablectlError
from tablectl.rules import gears, ruleset
from tablectl.table.intents import Intent
from tablectl.texts import TEXTS


@asynccontextmanager
async def session(path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """Open a client session to the daemon's socket."""
    try:
        async with aiohttp.ClientSession(
            "http://tablectl", connector=aiohttp.UnixConnector(path=str(path))
        ) as each:
            yield each
    except aiohttp.ClientConnectorError as error:
        raise TablectlError("service.no_daemon", socket=path, reason=error.strerror) from error
    except (aiohttp.ClientError, TimeoutError) as error:
        raise TablectlError("service.gone", socket=path, reason=str(error) or type(error).__name__) from error


async def get_status(path: Path) -> dict[str, Any]:
    """Return the daemon's status."""
    async with session(path) as daemon, daemon.get("/v1/status") as answer:
        found: dict[str, Any] = await answer.json()
        return found


async def post_press(path: Path, intent: str) -> dict[str, Any]:
    """Press a key and return whether it was accepted."""
    async with session(path) as daemon, daemon.post("/v1/press", json={"intent": intent}) as answer:
        found: dict[str, Any] = await answer.json()
        return found


async def post(path: Path, target: str, body: dict[str, Any]) -> dict[str, Any]:
    """Ask the daemon for something and return whether it was accepted."""
    async with session(path) as daemon, daemon.post(target, json=body) as answer:
        found: dict[str, Any] = await answer.json()
        return found


async def events(path: Path) -> AsyncIterator[dict[str, Any]]:
    """Yield the daemon's events, its status first, until it ends the stream or goes."""
    async with session(path) as daemon, daemon.get("/v1/events", timeout=aiohttp.ClientTimeout()) as answer:
        lines = aiter(answer.content)
        while True:
            try:
                line = await anext(lines)
            except (StopAsyncIteration, aiohttp.ClientError):  # the latter where the daemon was killed
                return
            yield json.loads(line)


@command("press")
@click.argument("intent", type=click.Choice(list(Intent), case_sensitive=False))
@socket_option
@json_option
def press(lang: str, intent: Intent, socket_path: Path, as_json: bool) -> int:
    """Press a key of the table."""
    answer = asyncio.run(post_press(socket_path, intent))
    if as_json:
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        for refused in answer["refused"]:
            click.echo(refused["text"][lang], err=True)
        if answer["accepted"]:
            click.echo(TEXTS("cli.pressed", lang, intent=intent))
    return FINE if answer["accepted"] else TABLE_HAS_A_PROBLEM


def _told(answer: dict[str, Any], lang: str, as_json: bool, accepted: str) -> int:
    if as_json:
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        for refused in answer["refused"]:
            click.echo(refused["text"][lang], err=True)
        if answer["accepted"]:
            click.echo(accepted)
    return FINE if answer["accepted"] else TABLE_HAS_A_PROBLEM


@command("rule")
@click.argument("rule_id", metavar="ID")
@socket_option
@json_option
def rule(lang: str, rule_id: str, socket_path: Path, as_json: bool) -> int:
    """Choose the rule of the next wash."""
    ruleset.load(rule_id)
    answer = asyncio.run(post(socket_path, "/v1/rule", {"rule": rule_id}))
    return _told(answer, lang, as_json, TEXTS("cli.rule_chosen", lang, rule=rule_id))


@command("gear")
@click.argument("number", type=int)
@socket_option
@json_option
def gear(lang: str, number: int, socket_path: Path, as_json: bool) -> int:
    """Choose the gear of the next wash."""
    gears.gear_id(number)
    answer = asyncio.run(post(socket_path, "/v1/rule", {"gear": number}))
    told = TEXTS("cli.gear_chosen", lang, gear=number, tiles=sum(gears.gears()[number]))
    return _told(answer, lang, as_json, told)


@command("hand")
@click.option("--winner", "winners", multiple=True, metavar="SEAT", help=text("option.winner"))
@click.option("--from", "discarder", metavar="SEAT", help=text("option.discarder"))
@click.option("--draw", is_flag=True, help=text("option.draw"))
@click.option("--ready", multiple=True, metavar="SEAT", help=text("option.ready"))
@socket_option
@json_option
def hand(
    lang: str,
    winners: tuple[str, ...],
    discarder: str | None,
    draw: bool,
    ready: tuple[str, ...],
    socket_path: Path,
    as_json: bool,
) -> int:
    """Say how the hand ended, and hear who deals next."""
    if draw == bool(winners):
        raise TablectlError("cli.hand_how")
    seats = [read_seat(seat) for seat in winners]
    if discarder is not None:
        wins = [{"winners": seats, "discarder": read_seat(discarder)}]
    else:
        wins = [{"winners": [seat], "discarder": None} for seat in seats]
    body = {"wins": wins, "ready": [read_seat(seat) for seat in ready]}
    answer = asyncio.run(post(socket_path, "/v1/hand", body))
    if not answer["accepted"] or as_json:
        return _told(answer, lang, as_json, "")
    click.echo("\n".join(match_lines(asyncio.run(get_status(socket_path)), lang)))
    return FINE


def read_seat(text: str) -> int:
    """Return a machine seat that people write as S1 to S4."""
    name = text.strip().upper()
    if name not in ("S1", "S2", "S3", "S4"):
        raise TablectlError("cli.seat", found=text)
    return int(name[1]) - 1


@command("status")
@socket_option
@json_option
def status(lang: str, socket_path: Path, as_json: bool) -> int:
    """Show how the table is."""
    found = asyncio.run(get_status(socket_path))
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
    else:
        for line in status_lines(found, lang):
            click.echo(line)
    return TABLE_HAS_A_PROBLEM if found["fault"] or found["board"] is None else FINE


def status_lines(found: dict[str, Any], lang: str) -> list[str]:
    """Return a status as lines for a person."""
    lines = [TEXTS("cli.status.state", lang, state=found["state_text"][lang])]
    if fault := found["fault"]:
        lines += fault["text"][lang]
    lines.append(
        TEXTS(
            "cli.status.rule", lang, rule=found["rule"], dealer=f"S{found['dealer'] + 1}", sets=found["sets"]
        )
    )
    lines += match_lines(found, lang)
    if board := found["board"]:
        lines.append(TEXTS("cli.status.board", lang, **board))
    else:
        lines.append(TEXTS("cli.status.no_board", lang))
    lines.append(_port_line(found["port"], lang))
    if stores := found["stores"]:
        sides = ", ".join(f"{mouth}: {count}" for mouth, count in zip(found["mouths"], stores, strict=True))
        lines.append(TEXTS("cli.status.stores", lang, sides=sides))
    if opening := found["break"]:
        lines.append(opening_line(opening, lang))
    lines.append(TEXTS("cli.status.link", lang, **found["link"]))
    lines.append(TEXTS("cli.status.remote", lang, **found["remote"]))
    if deaf := found["remote"]["why_closed"]:
        lines.append(deaf["text"][lang])
    return lines


def match_lines(found: dict[str, Any], lang: str) -> list[str]:
    """Return where the match stands, where one is played."""
    lines = []
    if match := found["match"]:
        wind = TEXTS(f"wind.{match['round_wind']}", lang)
        values = {**match, "wind": wind, "dealer": f"S{match['dealer'] + 1}"}
        lines.append(TEXTS("cli.status.match", lang, **values))
    if found["same_set"]:
        lines.append(TEXTS("cli.status.same_set", lang))
    return lines


def opening_line(opening: dict[str, Any], lang: str) -> str:
    """Return where play begins, by a break or where hands were served."""
    values = {"side": opening["side"], "stack": opening["stack"]}
    if "hand" in opening:
        return TEXTS("cli.status.served", lang, hand=opening["hand"], **values)
    return TEXTS("cli.status.break", lang, **values)


def _port_line(port: dict[str, Any], lang: str) -> str:
    path = port["path"] or port["wanted"]
    why = "" if port["state"] == "up" or not port["why_closed"] else port["why_closed"]["text"][lang]
    parts = (TEXTS("cli.status.port", lang, path=path, tries=port["tries"]), why, port["next"][lang])
    return " ".join(part for part in parts if part)
