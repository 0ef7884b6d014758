"""How long STOP ALL takes to the wire: `python -m sim.lab.stop`.

The real session and port write into a pty. Once a session is open its far end falls silent and takes nothing:
the window is full, commands wait behind it, and in half of the trials every output buffer is full, too. The
time runs from the call until the frame has been read at the far end; beside it stands a bare write of as many
bytes into the same pty. Stops during which other programs had the processor are counted apart: what they cost
says nothing of this code, and on a busy computer it is all that a p99 would say.
"""

import argparse
import asyncio
import json
import os
import select
import sys
import time
import tty
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from firmware_protocol import frames
from firmware_protocol import host_link as hl
from firmware_protocol.catalogue import LANGUAGES, Catalogue, asked_language
from firmware_protocol.codes import FrameKind
from firmware_protocol.core import TICK
from firmware_protocol.framing import Deframer
from sim.table import SimTable, TableOptions, WireIn, WireOut
from tablectl.board import port_types as pt
from tablectl.board.port import BUFFER_BYTES, Port
from tablectl.board.session import BoardSession
from tablectl.table import events as ev

TEXTS = Catalogue(Path(__file__).parent.parent / "texts.toml")
BOUND_US = 1_000
WAITING = 40  # commands: the window and many behind it
DISTURBED_US = 100
_STOP_BYTES = 14
_REST_S = 0.005  # a daemon sleeps until a key is pressed; one that has just worked is put behind others
_LATE_MS = 1  # what comes so long after the frame came behind it
_PATIENCE_MS = 5_000  # for the frame
_GREETING_S = 20


@dataclass(frozen=True, slots=True)
class Trial:
    """One STOP ALL; `left` bytes given before it could be read in front of it, `dropped` never came."""

    took_us: float
    written_us: float  # until the system had the frame; the rest is its own way through the pty
    bare_us: float
    waited_us: float  # of it, ready to run while others ran
    left: int
    dropped: int
    wrong: str = ""  # what must never be and was: a key of the texts


@dataclass(frozen=True, slots=True)
class Summary:
    """What the trials with one state of the buffers found."""

    buffers: str
    trials: int
    disturbed: int
    p50_us: float  # of the trials that were not disturbed, if there are any
    p99_us: float
    max_us: float
    share: float  # of the bound, at p99
    written_p99_us: float
    all_p99_us: float
    bare_p50_us: float
    bare_p99_us: float
    dropped: int  # bytes, in the trial with the fewest
    wrong: tuple[str, ...]


class _Line:
    """The host's end of a pty with a simulated board at the other one, which can fall silent."""

    def __init__(self, master: int, slave: int) -> None:
        self.port = Port(self.report)
        self.path = os.ttyname(slave)
        self.session = BoardSession(0)
        self.table = SimTable(TableOptions(hands=0))
        self.given = bytearray()  # to the port, since the board fell silent
        self.open = False
        self._op = 0
        self._master = master
        self._slave = slave
        self._readable = select.poll()
        self._readable.register(master, select.POLLIN)

    def now_us(self) -> int:
        return time.monotonic_ns() // 1_000

    def report(self, event: Any) -> None:
        """Take what the port reports."""
        match event:
            case pt.PortOpened():
                self.give(hl.Opened())
            case pt.PortLost():
                self.give(hl.Closed())
            case hl.Received():
                self.give(event)
            case _:
                pass

    def give(self, event: Any) -> None:
        """Give the session an event and carry its effects out, as the daemon does."""
        for effect in self.session.handle(event, self.now_us()):
            match effect:
                case hl.Transmit(data, urgent):
                    self.given += data
                    self.port.write(data, urgent)
                case ev.Hello():
                    self.open = True
                case _:
                    pass

    async def greet(self) -> None:
        """Let the board answer until a session is open."""
        self.open = False
        end = time.monotonic() + _GREETING_S
        while not self.open:
            self._turn()
            await asyncio.sleep(0)
            if time.monotonic() > end:
                raise TimeoutError("no session on this pty")

    def _turn(self) -> None:
        if data := self._read(0):
            self._from_table(WireIn(data))
        if (due := self.table.next_deadline()) is not None and due <= self.now_us():
            self._from_table(TICK)
        if (due := self.session.next_deadline()) is not None and due <= self.now_us():
            self.give(TICK)

    def _from_table(self, event: Any) -> None:
        for effect in self.table.handle(event, self.now_us()):
            if isinstance(effect, WireOut):
                os.write(self._master, effect.data)

    def order(self) -> None:
        """Give a command that waits for the far end."""
        self._op += 1
        self.give(ev.Command(self._op, ev.Verb.STROKE_HOME, "stacker.S1"))

    def fill_buffers(self) -> None:
        """Write frames until the kernel takes none and the port's own buffer has no room for another."""
        frame = frames.build(FrameKind.DATA, bytes(range(64)), 1)
        while self.port.waiting + 2 * len(frame) < BUFFER_BYTES:
            self.given += frame
            self.port.write(frame)

    def bare_us(self) -> float:
        """Return how long as many bytes take that are written by nobody but this computer."""
        start = time.perf_counter_ns()
        os.write(self._slave, bytes(_STOP_BYTES))
        came = 0
        while came < _STOP_BYTES:
            came += len(self._read(_PATIENCE_MS))
        return (time.perf_counter_ns() - start) / 1_000

    def stop(self, bare_us: float) -> Trial:
        """Stop everything, read until the frame is there, and tell what stood before and behind it."""
        before = bytes(self.given)
        came = b""
        waited = waited_us()
        start = time.perf_counter_ns()
        self.give(ev.StopAll())
        written_us = (time.perf_counter_ns() - start) / 1_000
        stop = bytes(self.given[len(before) :])
        while stop not in came and (data := self._read(_PATIENCE_MS)):
            came += data
        took_us = (time.perf_counter_ns() - start) / 1_000
        waited = waited_us() - waited
        while data := self._read(_LATE_MS):
            came += data
        self._from_table(WireIn(stop))  # it listens again, and answers
        return Trial(took_us, written_us, bare_us, waited, *_judge(before, came, stop))

    def _read(self, wait_ms: int) -> bytes:
        """Return what can be read at the far end, at once or as soon as something can."""
        return os.read(self._master, 65_536) if self._readable.poll(wait_ms) else b""


def waited_us() -> float:
    """Return how long this thread has ever waited for a processor; 0 where the system does not tell."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1]) / 1_000
    except (OSError, IndexError):
        return 0.0


def _judge(before: bytes, came: bytes, stop: bytes) -> tuple[int, int, str]:
    """Return how many bytes came first, how many were dropped, and what is wrong about it."""
    (body,) = Deframer().feed(stop)
    frame = frames.parse(body)
    left, found, behind = came.partition(stop)
    wrong = ""
    if frame is None or frame.kind is not FrameKind.STOP_ALL:
        wrong = "sent"
    elif not found:
        wrong = "lost"
    elif behind:
        wrong = "behind"
    elif not before.startswith(left):
        wrong = "before"
    return len(left), len(before) - len(left), wrong


@asynccontextmanager
async def _line() -> AsyncIterator[_Line]:
    master, slave = os.openpty()
    tty.setraw(slave)
    line = _Line(master, slave)
    line.port.do(pt.OpenPort(1, line.path))
    try:
        yield line
    finally:
        await line.port.end()
        os.close(master)
        os.close(slave)


async def trials(count: int, full: bool) -> list[Trial]:
    """Stop `count` times with a silent far end; `full`: with every output buffer full."""
    found = []
    async with _line() as line:
        await line.greet()
        for _ in range(count):
            await asyncio.sleep(_REST_S)
            bare_us = line.bare_us()
            line.given.clear()
            for _ in range(WAITING):
                line.order()
            if full:
                line.fill_buffers()
            await asyncio.sleep(_REST_S)
            found.append(line.stop(bare_us))
            await line.greet()
    return found


def summary(buffers: str, found: Sequence[Trial]) -> Summary:
    """Sum trials up."""
    undisturbed = [t for t in found if t.waited_us < DISTURBED_US]
    p50, p99, most = _percentiles([t.took_us for t in undisturbed or found])
    _, written_p99, _ = _percentiles([t.written_us for t in undisturbed or found])
    _, all_p99, _ = _percentiles([t.took_us for t in found])
    bare_p50, bare_p99, _ = _percentiles([t.bare_us for t in found])
    return Summary(
        buffers,
        trials=len(found),
        disturbed=len(found) - len(undisturbed),
        p50_us=p50,
        p99_us=p99,
        max_us=most,
        share=p99 / BOUND_US,
        written_p99_us=written_p99,
        all_p99_us=all_p99,
        bare_p50_us=bare_p50,
        bare_p99_us=bare_p99,
        dropped=min(t.dropped for t in found),
        wrong=tuple(sorted({t.wrong for t in found if t.wrong})),
    )


def _percentiles(values: Sequence[float]) -> tuple[float, ...]:
    ranked = sorted(values)
    return tuple(ranked[-(-len(ranked) * percent // 100) - 1] for percent in (50, 99, 100))


def lines(found: Sequence[Summary], lang: str) -> Iterator[str]:
    """Return what a person reads of the figures."""
    for each in found:
        yield TEXTS(
            "stop.line", lang, buffers=TEXTS(f"stop.{each.buffers}", lang), dropped=each.dropped,
            p50=f"{each.p50_us:.0f}", p99=f"{each.p99_us:.0f}", max=f"{each.max_us:.0f}",
            share=f"{each.share:.3f}", bound=BOUND_US,
        )  # fmt: skip
        yield TEXTS(
            "stop.more", lang, trials=each.trials, disturbed=each.disturbed, limit=DISTURBED_US,
            written=f"{each.written_p99_us:.0f}",
            all99=f"{each.all_p99_us:.0f}", bare50=f"{each.bare_p50_us:.0f}",
            bare99=f"{each.bare_p99_us:.0f}",
        )  # fmt: skip
        for wrong in each.wrong:
            yield TEXTS(f"stop.wrong.{wrong}", lang)


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; exit status 1 where the p99 is above the bound, or anything came out of order."""
    arguments = sys.argv[1:] if arguments is None else arguments
    lang = asked_language(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m sim.lab.stop",
        description=TEXTS("stop.about", lang),
        epilog=TEXTS("stop.example", lang),
    )
    parser.add_argument("--trials", type=_positive, default=1_000, help=TEXTS("stop.trials", lang))
    parser.add_argument("--json", action="store_true", help=TEXTS("stop.json", lang))
    parser.add_argument("--lang", choices=LANGUAGES, help=TEXTS("sim.lang", lang))
    asked = parser.parse_args(arguments)
    found = [
        summary(name, asyncio.run(trials(asked.trials, full)))
        for name, full in (("empty", False), ("full", True))
    ]
    if asked.json:
        print(json.dumps([asdict(each) for each in found], indent=1))
    else:
        print("\n".join(lines(found, lang)))
    return 1 if any(each.share > 1 or each.wrong for each in found) else 0


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


if __name__ == "__main__":
    sys.exit(main())
