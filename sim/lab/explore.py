"""Goes from abstract state to abstract state, breadth first, and looks for the way to ready from each.

A state stands for itself by the way in which it was first come to; the table is led there once, and a copy of
the process (a fork) does each of the deeds that are possible. The same setting finds the same, in the same
order, with any number of workers.
"""

import gc
import os
import pickle
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

from sim.lab import breaks
from sim.lab.bench import TICK_US, Bench
from sim.lab.person import Person, Way, codes_of, way_out, wrong_now
from sim.lab.shape import Face, Shape, shape

T = TypeVar("T")
KEYS = ("RESET", "POWER", "START-held", "START", "ADD", "STOP", "lift.1", "RULE_NEXT", "pull")
DETOUR = 3  # keys
NO_WAY, MISLEADS = "no way out", "the table misleads"
MOVE = ("START", "START-held", "ADD")


@dataclass(frozen=True, slots=True)
class Step:
    """One deed, and for how many ticks the table was left alone after it."""

    deed: str
    ticks: int

    def __str__(self) -> str:
        return f"{self.deed}/{self.ticks * TICK_US / 1e6:.1f}"


Path = tuple[Step, ...]


def read_path(text: str) -> Path:
    """Read what `str` of steps with spaces between them gives; ValueError where it is none."""
    return tuple(Step(deed, round(float(s) * 1e6 / TICK_US)) for deed, _, s in _parts(text))


def _parts(text: str) -> Iterator[tuple[str, str, str]]:
    return (word.rpartition("/") for word in text.split())


@dataclass(frozen=True, slots=True)
class Setting:
    """What is searched: the same setting finds the same."""

    rule: str = "riichi"
    tiles: int = 136
    sets: int = 2
    seed: int = 0
    faults: bool = True
    start: Path = ()
    detour: int = DETOUR


@dataclass(frozen=True, slots=True)
class Went:
    """What one deed led to: every abstract state on the way, first times only; what was wrong on it."""

    deed: str
    shapes: tuple[tuple[int, Shape], ...]
    codes: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Expanded:
    """What was found out about one state."""

    went: tuple[Went, ...]
    way: Way
    other: tuple[str, ...] | None = None  # a way that the table did not ask for


def walk(setting: Setting, path: Path) -> Bench:
    """Return the table to which a path leads."""
    bench = Bench(setting.rule, setting.tiles, setting.sets, setting.seed)
    for step in path:
        bench.do(step.deed)
        bench.look(step.ticks)
    return bench


def deeds(bench: Bench, with_faults: bool) -> list[str]:
    """Return everything that can be done now, and everything that can go wrong."""
    found = bench.can()
    key = Person().next(bench)
    key = "START" if key in ("pull", "tiles:right") else key
    moves = key in MOVE  # without a motion nothing comes of a fault
    causes = [f"{how}:{cause}" for cause in breaks.WORLD for how in ("fault", "brief")]
    if bench.still:
        causes += [f"despite:{cause}:{pressed}" for cause in breaks.WORLD for pressed in {key: 0, "POWER": 0}]
        causes += [f"despite:{fault}:{key}" for fault in breaks.STANDING if with_faults and moves]
    elif with_faults:
        causes += [f"{h}:{f}" for f in breaks.of_moving(bench.driven()) for h in ("fault", "brief")]
    return [*found, *causes]


def go(bench: Bench, deed: str) -> Went:
    """Do one thing and look at the table until it stands still."""
    announced, violations = len(bench.rig.announced), len(bench.rig.table.machine.violations)
    bench.do(deed)
    seen = {shape(bench): 0} if bench.rig.controller.connected else {}
    for ticks in bench.until_still():
        if bench.rig.controller.connected:  # without a session the desk refuses everything but STOP
            seen.setdefault(shape(bench), ticks)
    news = [e for _, e in bench.rig.announced[announced:]]
    wrong = (*bench.rig.table.machine.violations[violations:], *wrong_now(bench, news))
    shapes = tuple((at, found) for found, at in seen.items())
    return Went(deed, shapes, codes_of(news), wrong)


def expand(setting: Setting, path: Path) -> Expanded:
    """Find what can come next from a state, and its way out."""
    bench = walk(setting, path)
    went = tuple(forked(partial(go, bench, deed)) for deed in deeds(bench, setting.faults))
    way = forked(partial(way_out, bench))
    return Expanded(went, way, None if way.out else any_way(bench, way.deeds, setting.detour))


def any_way(bench: Bench, asked: tuple[str, ...], detour: int = DETOUR) -> tuple[str, ...] | None:
    """Return a way to ready with keys that the table did not ask for, None where none is found.

    Up to `detour` keys are tried at the beginning, and where doing what was asked for has led.
    """
    known: set[Shape] = set()
    for before in ((), asked):
        layer: list[tuple[str, ...]] = [before]
        for _ in range(detour):
            following = []
            for done in [(*keys, key) for keys in layer for key in KEYS]:
                found, way = forked(partial(_try, bench, done, known))
                if way is not None:
                    return way
                if found not in known:
                    known.add(found)
                    following.append(done)
            layer = following
    return None


def _try(bench: Bench, keys: tuple[str, ...], known: set[Shape]) -> tuple[Shape, tuple[str, ...] | None]:
    bench.settle()
    for key in keys:
        bench.do(key)
        bench.settle()
    found = shape(bench)
    if found in known:
        return found, None
    way = way_out(bench)
    return found, (*keys, *way.deeds) if way.out else None


def forked(call: Callable[[], T]) -> T:
    """Return what a call gives, made in a copy of this process: the table here stays as it is."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        gc.disable()  # it would touch every page of the parent's
        try:
            answer: tuple[Any, str] = (call(), "")
        except BaseException:
            answer = (None, traceback.format_exc())
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        found, error = pickle.load(pipe)
    os.waitpid(child, 0)
    if error:
        raise RuntimeError(error)
    return found  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Defect:
    """Something that must not be: what, where (a path that `walk` takes), and what was done then."""

    what: str
    where: str
    then: str


@dataclass(slots=True)
class Found:
    """What a search has come to."""

    paths: dict[Shape, Path] = field(default_factory=dict)  # how each state was first come to
    faces: set[Face] = field(default_factory=set)
    expanded: int = 0
    transitions: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    on_ways: Counter[str] = field(
        default_factory=Counter
    )  # faults that came on a way out, with nothing wrong
    longest: tuple[str, ...] = ()
    defects: list[Defect] = field(default_factory=list)

    @property
    def closed(self) -> bool:
        """Tell whether everything that was found was looked at, too."""
        return self.expanded == len(self.paths)


def explore(
    setting: Setting,
    workers: int = 1,
    most: int | None = None,
    progress: Callable[[Found], None] = lambda found: None,
) -> Found:
    """Search breadth first until nothing new is found, or `most` states were looked at."""
    found = Found()
    first = walk(setting, setting.start)
    found.paths[shape(first)] = setting.start
    found.faces.update(shape(first).faces)
    del first
    layer = [setting.start]
    with _pool(workers) as each:
        while layer:
            if most is not None:
                layer = layer[: most - found.expanded]
            following: list[Path] = []
            for path, expanded in zip(layer, each(_Expand(setting), layer), strict=True):
                following += _take_in(found, path, expanded)
                progress(found)
            layer = following
    return found


def _take_in(found: Found, path: Path, expanded: Expanded) -> list[Path]:
    new = []
    found.expanded += 1
    where, way = " ".join(map(str, path)), expanded.way
    found.on_ways.update(way.codes)
    if way.out:
        found.longest = max(found.longest, way.deeds, key=len)
    elif expanded.other is None:
        found.defects.append(Defect(NO_WAY, where, " ".join(way.deeds)))
    else:
        found.defects.append(
            Defect(MISLEADS, where, f"{' '.join(way.deeds)}; but {' '.join(expanded.other)}")
        )
    found.defects += [Defect(wrong, where, "on the way out") for wrong in way.wrong]
    for went in expanded.went:
        found.transitions += 1
        found.codes.update(went.codes)
        found.defects += [Defect(wrong, where, went.deed) for wrong in went.wrong]
        for ticks, each in went.shapes:
            if not found.faces.issuperset(each.faces):
                found.faces.update(each.faces)
                found.paths[each] = (*path, Step(went.deed, ticks))
                new.append(found.paths[each])
    return new


@dataclass(frozen=True, slots=True)
class _Expand:
    setting: Setting

    def __call__(self, path: Path) -> Expanded:
        return expand(self.setting, path)


@contextmanager
def _pool(workers: int) -> Iterator[Callable[[_Expand, list[Path]], Iterable[Expanded]]]:
    if workers == 1:
        yield map
        return
    with get_context("fork").Pool(workers, gc.freeze) as pool:
        yield pool.imap
