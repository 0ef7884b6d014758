"""`tablectl watch`: what the table does, as it does it, one line an event."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import click

from tablectl.cli import client
from tablectl.cli.options import FINE, TABLE_HAS_A_PROBLEM, command, json_option, nobody_reads, socket_option
from tablectl.cli.words import Words, printable
from tablectl.texts import TEXTS

COUNTS_S = 1.0  # counts change several times a second: a person is told no more often than this
_FEEDING = ("washing", "probing", "diagnosing")


class View:
    """Turns events into lines for a person; `now_s` is that person's clock."""

    def __init__(self, lang: str) -> None:
        self._lang = lang
        self._words = Words(lang)
        self._feeding = False
        self._counts_s: float | None = None
        self._held: str | None = None
        self.ended = ""

    def lines(self, event: dict[str, Any], now_s: float) -> list[str]:
        """Return the lines of one event, behind counts that were held back until now."""
        if event["event"] == "Counted":
            return self._count(event, now_s)
        said = self._say(event)
        return [printable(line) for line in [*self.flush(now_s), *said]] if said else []

    def flush(self, now_s: float) -> list[str]:
        """Return the counts that were held back, if any."""
        held, self._held = self._held, None
        if held:
            self._counts_s = now_s
        return [held] if held else []

    def due_s(self, now_s: float) -> float | None:
        """Return how long counts are still held back, None where there are none."""
        return None if self._held is None or self._counts_s is None else self._counts_s + COUNTS_S - now_s

    def _count(self, event: dict[str, Any], now_s: float) -> list[str]:
        if not self._feeding:
            return []
        counts = zip(event["mouths"], event["taken"], event["stored"], strict=False)
        sides = ", ".join(f"{mouth} {taken}/{stored}" for mouth, taken, stored in counts)
        self._held = self._text("watch.counted", total=sum(event["taken"]), sides=sides)
        if self._counts_s is not None and now_s < self._counts_s + COUNTS_S:
            return []
        return self.flush(now_s)

    def _text(self, key: str, **values: Any) -> str:
        return TEXTS(key, self._lang, **values)

    def _say(self, event: dict[str, Any]) -> list[str]:
        match event["event"]:
            case "Status":
                self._feeding = event["state"] in _FEEDING
                return client.status_lines(event, self._lang)
            case "StateChanged":
                self._feeding = event["new"] in _FEEDING
                return [self._text("watch.state", state=self._text(f"state.{event['new']}"))]
            case "FaultRaised":
                title, *more = event["text"][self._lang]
                return [self._text("log.kind.fault", title=title), *(f"  {line}" for line in more)]
            case "WarningRaised":
                return [self._text("log.kind.warning", title=event["text"][self._lang][0])]
            case "DiceThrown":
                faces = " ".join(map(str, event["faces"]))
                return [self._text("watch.dice", faces=faces, side=f"S{event['seat'] + 1}")]
            case "BreakAnnounced" | "HandsServed":
                return [client.opening_line(event, self._lang)]
            case "Refused":
                who = self._words.source(event["source"])
                reason = event["text"][self._lang]
                return [self._text("log.kind.refused", source=who, intent=event["intent"], reason=reason)]
            case "Washed":
                seconds = round(event["took_us"] / 1_000_000)
                return [self._text("watch.washed", rule=event["rule"], seconds=seconds)]
            case "RuleChosen":
                key = "log.change.rule" if event["next_wash"] else "watch.rule"
                return [self._text(key, value=event["rule"])]
            case "HandOver":
                wind = self._text(f"wind.{event['round_wind']}")
                over = [self._text("watch.match_over")] if event["match_over"] else []
                values = {**event, "wind": wind, "dealer": f"S{event['dealer'] + 1}"}
                return [*over, self._text("cli.status.match", **values)]
            case "SameSetWanted":
                return [self._text("watch.same_set", rule=event["rule"], tiles=event["tiles"])]
            case "InputTrouble":
                return [event["text"][self._lang]]
            case "End":
                self.ended = event["reason"]
        return []


@command("watch")
@socket_option
@json_option
def watch(lang: str, socket_path: Path, as_json: bool) -> int:
    """Show what happens until the daemon goes, or this is ended."""
    view = View(lang)
    try:
        asyncio.run(_pass_on(socket_path, view) if as_json else _tell(socket_path, view))
    except BrokenPipeError:
        nobody_reads()
        return FINE
    except KeyboardInterrupt:
        return FINE
    key = {"daemon": "watch.stopped", "slow": "watch.too_slow"}.get(view.ended, "watch.lost")
    click.echo(TEXTS(key, lang, socket=socket_path), err=True)
    return TABLE_HAS_A_PROBLEM


async def _pass_on(path: Path, view: View) -> None:
    async for event in client.events(path):
        view.lines(event, 0)
        click.echo(json.dumps(event, ensure_ascii=False))


async def _tell(path: Path, view: View) -> None:
    events = client.events(path)
    waiting = asyncio.ensure_future(_next(events))
    try:
        while True:
            due_s = view.due_s(time.monotonic())
            await asyncio.wait([waiting], timeout=None if due_s is None else max(0.0, due_s))
            lines: list[str] = []
            if not waiting.done():
                lines = view.flush(time.monotonic())
            elif (event := waiting.result()) is not None:
                lines = view.lines(event, time.monotonic())
                waiting = asyncio.ensure_future(_next(events))
            else:
                return
            for line in lines:
                click.echo(line)
    finally:
        waiting.cancel()


async def _next(events: AsyncIterator[dict[str, Any]]) -> dict[str, Any] | None:
    return await anext(events, None)
