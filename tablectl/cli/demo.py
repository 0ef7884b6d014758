"""`tablectl demo`: the simulated table and the daemon as two processes, one hand, shown live."""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tablectl.cli import client
from tablectl.cli.demo_story import Story
from tablectl.cli.demo_view import Screen, make_screen
from tablectl.cli.options import FINE, TABLE_HAS_A_PROBLEM, command, json_option, text
from tablectl.errors import TablectlError
from tablectl.rules import ruleset

PLAY_S = 6.0
POLL_S = 0.05
START_LIMIT_S = 30.0
HAND_LIMIT_S = 240.0  # of table time; a hand with its washes takes about 80 s


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """What the demo plays."""

    rule: str
    table: str
    hands: int
    speed: float
    seed: int
    faults: tuple[str, ...]


@command("demo")
@click.option("--rule", default="riichi", show_default=True, help=text("option.rule"))
@click.option("--table", default="four-mouth", show_default=True, help=text("option.table"))
@click.option("--hands", type=click.IntRange(1), default=1, show_default=True, help=text("option.hands"))
@click.option(
    "--speed", type=click.FloatRange(0.1, 20), default=5.0, show_default=True, help=text("option.speed")
)
@click.option("--seed", type=int, help=text("option.seed"))
@click.option("--fault", "faults", multiple=True, help=text("option.fault"))
@json_option
def demo(
    lang: str,
    rule: str,
    table: str,
    hands: int,
    speed: float,
    seed: int | None,
    faults: tuple[str, ...],
    as_json: bool,
) -> int:
    """Play on a simulated table."""
    ruleset.load(rule)
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    options = DemoOptions(rule, table, hands, speed, seed, faults)
    story = Story(options.rule)
    with make_screen(lang, story, sys.stderr if as_json else sys.stdout) as screen:
        asyncio.run(_play(options, story, screen, lang))
    for line in story.summary(lang):
        click.echo(line, err=as_json)
    if as_json:
        click.echo(json.dumps({**story.to_json(), "seed": seed}, ensure_ascii=False))
    return FINE if story.good else TABLE_HAS_A_PROBLEM


async def _play(options: DemoOptions, story: Story, screen: Screen, lang: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tablectl-demo-") as name:
        folder = Path(name)
        async with AsyncExitStack() as stack:
            sim = await stack.enter_async_context(_program(_sim_arguments(options, folder)))
            control = _Control(*await _connect(folder / "control", sim))
            stack.callback(control.close)
            daemon = await stack.enter_async_context(_program(_daemon_arguments(options, folder)))
            _, ready = await _connect(folder / "api", daemon)
            ready.close()
            limit_s = START_LIMIT_S + options.hands * HAND_LIMIT_S / options.speed
            with suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    await _watch(folder / "api", control, story, screen, options.hands)
            story.status = await client.get_status(folder / "api")
            story.truth = await control.ask("truth")


async def _watch(api: Path, control: "_Control", story: Story, screen: Screen, hands: int) -> None:
    """Follow the daemon until the players are done and the table rests, or something is wrong."""
    reader = asyncio.create_task(_follow(api, story, screen))
    try:
        while not story.faults and not reader.done():
            story.truth = await control.ask("truth")
            if story.truth["hands_played"] >= hands and story.state == "rest":
                return
            await asyncio.sleep(POLL_S)
        if reader.done():
            await reader
    finally:
        reader.cancel()


async def _follow(api: Path, story: Story, screen: Screen) -> None:
    async for event in client.events(api):
        story.take(event)
        screen.show(event)


# --- the two processes --------------------------------------------------------------------------------------


def _sim_arguments(options: DemoOptions, folder: Path) -> list[str]:
    tiles = ruleset.load(options.rule).tiles.composition.total
    arguments = [
        "sim",
        "--table",
        options.table,
        "--pty",
        str(folder / "board"),
        "--lirc",
        str(folder / "lirc"),
    ]
    arguments += ["--control", str(folder / "control"), "--speed", str(options.speed)]
    arguments += ["--tiles", str(tiles), "--seed", str(options.seed), "--hands", str(options.hands)]
    arguments += ["--play-s", str(PLAY_S)]
    for fault in options.faults:
        arguments += ["--fault", fault]
    return arguments


def _daemon_arguments(options: DemoOptions, folder: Path) -> list[str]:
    file = folder / "tablectl.toml"
    file.write_text(
        f'[table]\nport = "{folder / "board"}"\nrule = "{options.rule}"\nsets = 2\n'
        f'[remote]\ninput = "lirc+unix:{folder / "lirc"}"\nuser_codes = ["0x00"]\nkeymap = "default"\n'
        f'[service]\nsocket = "{folder / "api"}"\njournal = "{folder / "journal.db"}"\n',
        encoding="utf-8",
    )
    return ["tablectl", "run", "--config", str(file), "--speed", str(options.speed)]


@asynccontextmanager
async def _program(arguments: list[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run one of our packages as a process; it is ended when the block is left."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.communicate(), 10)
        except TimeoutError:
            process.kill()
            await process.communicate()


async def _connect(
    path: Path, process: asyncio.subprocess.Process
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to a process's socket as soon as it listens; tell what it said where it ended instead."""
    for _ in range(int(START_LIMIT_S / 0.02)):
        try:
            return await asyncio.open_unix_connection(path, limit=1 << 20)
        except OSError:
            if process.returncode is not None:
                break
            await asyncio.sleep(0.02)
    said = await process.stderr.read() if process.stderr and process.returncode is not None else b""
    raise TablectlError("demo.not_started", said=said.decode(errors="replace").strip())


class _Control:
    """The simulated table's control socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, what: str) -> dict[str, Any]:
        """Return the answer to one command."""
        self._writer.write(json.dumps({"do": what}).encode() + b"\n")
        answer: dict[str, Any] = json.loads(await self._reader.readline())
        return answer

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()
