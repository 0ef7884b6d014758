"""A person who wants walls: does what the table asks for, and nothing else."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sim.lab.bench import Bench
from sim.lab.shape import shape
from tablectl.rules import ruleset
from tablectl.table import events as ev
from tablectl.table.faults import catalogue

PATIENCE = 3  # so often the same is done in the same state
STEPS = 30  # more than these and nobody would call it a way out
_OPENS = ("ADD", "both lift keys", "open the table")  # so a remedy says that the console is to be opened


class Person:
    """Reads the display and does what stands there; remembers the last fault and which remedies were tried.

    A remedy of the catalogue that did not help is not tried again: then only the display is followed.
    """

    def __init__(self) -> None:
        self._fault = ""
        self._tried: set[str] = set()
        self._put = False  # tiles were put right since the console is up

    def next(self, bench: Bench) -> str:
        """Return the next deed."""
        deed = self._wish(bench)
        self._put = deed == "tiles:right" or (self._put and bench.open_wide)
        return deed

    def _wish(self, bench: Bench) -> str:
        word = bench.display
        if word[:1] == "E" and word[1:3].isdigit():
            self._fault = word[:3]
            return "RESET"
        if word.startswith("t "):
            return "RESET"  # technician mode: the door is shut again
        if not word.strip():
            return "POWER"
        if any(s.wall.tiles for s in bench.rig.table.machine.sides):
            return "pull"
        if word == "HoLd":
            return "START-held"
        if self._unfit(bench):
            return "RULE_NEXT"
        if word in ("PuSH", "Add ") and not self._put:
            return "tiles:right"
        if word == "cont" and self._fault and self._fault not in self._tried:
            self._tried.add(self._fault)
            return "ADD" if any(words in _remedy(self._fault) for words in _OPENS) else "START"
        return "START"

    def _unfit(self, bench: Bench) -> bool:
        """Tell whether the rule that is chosen is not one for this set of tiles."""
        return sum(ruleset.load(bench.rig.controller.memory.rule).wall_tiles) != bench.set_tiles


def _remedy(code: str) -> str:
    entry = catalogue().get(code)
    return entry.remedy["en"] if entry else ""


@dataclass(frozen=True, slots=True)
class Way:
    """What a person has done, whether the table was ready then, the faults and what was wrong on the way."""

    deeds: tuple[str, ...]
    out: bool
    codes: tuple[str, ...]
    wrong: tuple[str, ...]


def way_out(bench: Bench, steps: int = STEPS) -> Way:
    """Do what the table asks for until it is ready."""
    person, deeds, wrong = Person(), list[str](), list[str]()
    before: Counter[Any] = Counter()
    announced = seen = len(bench.rig.announced)
    bench.settle()
    while not bench.ready() and len(deeds) < steps:
        deeds.append(person.next(bench))
        at = (shape(bench), bench.rig.controller.memory.rule, deeds[-1])
        before[at] += 1
        if before[at] > PATIENCE:
            break
        bench.do(deeds[-1])
        bench.settle()
        wrong += wrong_now(bench, [e for _, e in bench.rig.announced[seen:]])
        seen = len(bench.rig.announced)
    codes = codes_of(e for _, e in bench.rig.announced[announced:])
    return Way(tuple(deeds), bench.ready(), codes, tuple(wrong))


def codes_of(news: Iterable[Any]) -> tuple[str, ...]:
    """Return the codes of the faults and warnings among what was announced."""
    return tuple(e.code for e in news if isinstance(e, ev.FaultRaised | ev.WarningRaised))


def wrong_now(bench: Bench, news: Iterable[Any]) -> Iterator[str]:
    """Tell what must never be, of a table that was let come to a stand."""
    yield from (f"crash {e.error.strip().splitlines()[-1]}" for e in news if isinstance(e, ev.Crashed))
    if not bench.still:
        yield f"never stands still: {bench.rig.controller.state}, motors {bench.driven()}"
    memory, stores = bench.rig.controller.memory, tuple(len(s.store) for s in bench.rig.table.machine.sides)
    if bench.rig.controller.state == "rest" and memory.stored and memory.stored.tiles != stores:
        yield f"called ready, and the stores hold {stores}"
    if sum(len(p) for p in bench.rig.table.places()) != len(bench.rig.table.tiles):
        yield "tiles lost or doubled"
