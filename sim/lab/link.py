"""Campaigns on the wire: `python -m sim.lab.link --commands 100000 --chance 0.01`, and damaged frames.

What was executed is counted in the board's own log, never by the link that is on trial.
"""

import argparse
import json
import random
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from firmware_protocol import frames
from firmware_protocol import host_link as hl
from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from firmware_protocol.description import PartKind
from firmware_protocol.framing import Deframer
from sim.table import SimTable, TableOptions, WireIn, WireOut
from sim.wires import Line, Out, Put, WireModel, damage
from sim.world import World

DEPTH = 8  # commands given and not ended: twice the window
_LIMIT_US = 24 * 3600 * 1_000_000


@dataclass(slots=True)
class LinkReport:
    """What a campaign found; `executed` is the board's log of operation ids."""

    commands: int
    executed: list[int] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    not_executed: list[int] = field(default_factory=list)
    unknown: list[int] = field(default_factory=list)
    downs: list[str] = field(default_factory=list)

    def wrong(self) -> tuple[str, ...]:
        """Return what must never be and was."""
        executed, answered = set(self.executed), set(self.answered)
        absent, unsure = set(self.not_executed), set(self.unknown)
        rules = {
            "executed twice": len(executed) == len(self.executed),
            "out of order": self.executed == sorted(self.executed),
            "answered twice": len(answered) == len(self.answered),
            "answered and not executed": answered <= executed,
            "told as not executed and executed": not absent & executed,
            "neither answered nor told": answered | absent | unsure == set(range(1, self.commands + 1)),
            "told twice": not (answered & absent or answered & unsure or absent & unsure),
        }
        return tuple(name for name, holds in rules.items() if not holds)


class _Driver:
    """The host of a campaign: gives commands as long as there are any, and never one twice."""

    def __init__(self, link: hl.HostLink, report: LinkReport, stacker: int) -> None:
        self._link = link
        self._report = report
        self._stacker = stacker
        self._given = 0
        self._open = 0
        self._up = False

    @property
    def done(self) -> bool:
        return self._given == self._report.commands and not self._open

    def handle(self, event: Any, now_us: int) -> tuple[hl.Transmit, ...]:
        out = [*self._link.handle(event, now_us)]
        self._learn(out)
        while self._up and self._open < DEPTH and self._given < self._report.commands:
            self._given += 1
            self._open += 1
            more = self._link.handle(hl.Send(m.Stroke(self._given, self._stacker, m.End.HOME)), now_us)
            self._learn(more)
            out += more
        return tuple(e for e in out if isinstance(e, hl.Transmit))

    def next_deadline(self) -> int | None:
        return self._link.next_deadline()

    def _learn(self, effects: Any) -> None:
        for effect in effects:
            match effect:
                case hl.Up():
                    self._up = True
                case hl.Incoming(m.Done(op)):
                    self._report.answered.append(op)
                    self._open -= 1
                case hl.Down(reason, _, outcome):
                    self._up, self._open = False, 0
                    self._report.downs.append(reason)
                    self._report.not_executed += outcome.not_executed
                    self._report.unknown += outcome.unknown
                case _:
                    pass


def run_commands(commands: int, model: WireModel, seed: int) -> tuple[LinkReport, dict[str, Any]]:
    """Send strokes to where the stacker is already, over a bad line; return the report and counters."""
    report = LinkReport(commands)
    table = SimTable(TableOptions(hands=0, seed=seed))
    stacker = table.board.description.part(table.board.description.names(PartKind.STACKER)[0])
    link = hl.HostLink(seed)
    driver = _Driver(link, report, stacker)
    world = World()
    lines = {name: Line(model, f"{seed}/{name}") for name in ("down", "up")}

    def from_table(effect: Any, now_us: int) -> None:
        if isinstance(effect, WireOut):
            world.post(now_us, "up", Put(effect.data))

    def from_down(effect: Out, now_us: int) -> None:
        world.post(now_us, "table", WireIn(effect.data))

    world.add("host", driver, lambda e, now_us: world.post(now_us, "down", Put(e.data, e.urgent)))
    world.add("down", lines["down"], from_down)
    world.add("table", table, from_table)
    world.add("up", lines["up"], lambda e, now_us: world.post(now_us, "host", hl.Received(e.data)))
    world.post(0, "host", hl.Opened())
    world.run(_LIMIT_US, lambda: driver.done)
    report.executed = [e.op for e in table.board.executed if isinstance(e, m.Stroke)]
    counters = {
        "seconds": round(world.now_us / 1_000_000, 1),
        "pieces": sum(line.pieces for line in lines.values()),
        "host": asdict(link.counters),
        "board": asdict(table.board.counters),
        "damaged_at_host": link.damaged,
    }
    return report, counters


def run_damaged(count: int, seed: int, share: float = 1.0) -> dict[str, int]:
    """Feed frames of which a share is damaged; count false accepts and intact frames lost beside them."""
    rng = random.Random(f"{seed}/damaged")
    deframer = Deframer()
    damaged = false_accepts = intact_lost = 0
    while damaged < count:
        sent: list[tuple[bytes, bool]] = []
        stream = b""
        while len(sent) < 100:
            payload = rng.randbytes(rng.randint(0, 64))
            wire = frames.build(FrameKind.DATA, payload, rng.randint(1, 0xFFFF), len(sent))
            hit = rng.random() < share
            sent.append((wire, hit))
            stream += damage(wire, rng) if hit else wire
            damaged += hit
        bodies = {Deframer().feed(wire)[0] for wire, _ in sent}
        got: list[bytes] = []
        while stream:
            size = rng.randint(1, 128)
            got += deframer.feed(stream[:size])
            stream = stream[size:]
        got += deframer.feed(b"\0")
        false_accepts += sum(body not in bodies for body in got)
        found = set(got)
        intact_lost += sum(Deframer().feed(wire)[0] not in found for wire, hit in sent if not hit)
    return {"damaged": damaged, "false_accepts": false_accepts, "intact_lost": intact_lost}


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for and print what was counted, as JSON."""
    parser = argparse.ArgumentParser(prog="python -m sim.lab.link", description=__doc__)
    parser.add_argument("--commands", type=int, default=0)
    parser.add_argument(
        "--chance", type=float, default=0.01, help="of drop, flip, duplicate and reorder, each"
    )
    parser.add_argument("--damaged", type=int, default=0, help="damaged frames to feed to the deframer")
    parser.add_argument("--share", type=float, default=1.0, help="of frames that are damaged")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    problems: list[str] = []
    if asked.commands:
        report, counters = run_commands(asked.commands, WireModel.bad(asked.chance), asked.seed)
        problems += report.wrong()
        sums = {k: len(v) if isinstance(v, list) else v for k, v in asdict(report).items()}
        print(json.dumps({**sums, "wrong": report.wrong(), **counters}, indent=1))
    if asked.damaged:
        found = run_damaged(asked.damaged, asked.seed, asked.share)
        problems += [k for k in ("false_accepts", "intact_lost") if found[k]]
        print(json.dumps(found))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
