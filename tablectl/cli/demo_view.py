"""How the demo is shown: a picture of the table in a terminal, plain lines everywhere else."""

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tablectl.cli.demo_story import Story
from tablectl.texts import TEXTS

_LINES = 8


class Screen(Protocol):
    """Something that shows events."""

    def show(self, event: dict[str, Any]) -> None:
        """Show one event."""
        ...


def make_screen(lang: str, story: Story, stream: TextIO) -> "AbstractContextManager[Screen]":
    """Return a live picture for a terminal, plain lines for anything else."""
    return LiveScreen(lang, story, stream) if stream.isatty() else PlainScreen(lang, stream)


def describe(event: dict[str, Any], lang: str) -> str | None:
    """Return an event as one line for a person, None for one that is no news."""
    match event["event"]:
        case "StateChanged":
            said = TEXTS(f"state.{event['new']}", lang)
        case "Washed":
            said = TEXTS("demo.said_washed", lang, seconds=f"{event['took_us'] / 1_000_000:.1f}")
        case "DiceThrown":
            faces = " + ".join(map(str, event["faces"]))
            said = TEXTS("demo.said_dice", lang, faces=faces, side=f"S{event['seat'] + 1}")
        case "BreakAnnounced":
            seat = TEXTS(f"seat.{event['wall']}", lang)
            said = TEXTS("demo.said_break", lang, seat=seat, side=event["side"], stack=event["stack"])
        case "HandsServed":
            values = {"seat": TEXTS(f"seat.{event['wall']}", lang), "side": event["side"]}
            said = TEXTS("demo.said_served", lang, hand=event["hand"], stack=event["stack"], **values)
        case "FaultRaised" | "WarningRaised":
            said = event["text"][lang][0]
        case "Refused":
            said = f"{event['intent']}: {event['text'][lang]}"
        case _:
            return None
    return f"{event['time_us'] / 1_000_000:7.1f} s  {said}"


class PlainScreen:
    """One line an event."""

    def __init__(self, lang: str, stream: TextIO) -> None:
        self._lang = lang
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.flush()

    def show(self, event: dict[str, Any]) -> None:
        """Print an event that is news."""
        if said := describe(event, self._lang):
            print(said, file=self._stream, flush=True)


class LiveScreen:
    """The table from above: what is in the store of each mouth, the display, the last lines of news."""

    def __init__(self, lang: str, story: Story, stream: TextIO) -> None:
        self._lang = lang
        self._story = story
        self._news: list[str] = []
        self._display = ""
        self._live = Live(console=Console(file=stream), refresh_per_second=15, transient=False)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, event: dict[str, Any]) -> None:
        """Draw the table anew after an event."""
        if event["event"] == "Panel":
            self._display = event["display"]
        elif said := describe(event, self._lang):
            self._news = [*self._news[-(_LINES - 1) :], said]
        self._live.update(self._picture())

    def _picture(self) -> Group:
        grid = Table.grid(padding=(0, 2))
        for (mouth, full), stored in zip(self._story.ordered.items(), self._story.counts, strict=True):
            stacks, half = divmod(stored, 2)
            bar = Text("▮" * stacks + "▯" * half, style="green")
            bar.append("·" * (-(-full // 2) - stacks - half), style="dim")
            grid.add_row(mouth, bar, f"{stored}/{full}")
        state = TEXTS(f"state.{self._story.state}", self._lang) if self._story.state else ""
        head = Text.assemble((f" {self._display:4} ", "bold red on black"), "  ", state)
        return Group(Panel(Group(head, grid), title="tablectl", width=72), Text("\n".join(self._news) or " "))
