"""Scenario files: a table, and steps in order, read strictly; a complaint names file, line and key.

A step is one action (press, panel, put_in, take_out, pull, fault, mend, door, mains, wired_stop, wait) or an
`expect` of what must hold, at once or `within` so many seconds.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim import keys
from sim.faults import FaultSpecError
from sim.lab import scenario_steps as st
from sim.model import ModelError, load
from sim.table import SimTable, TableOptions
from sim.tiles import SETS
from tablectl.errors import TablectlError
from tablectl.rules import ruleset
from tablectl.table.cycle import State
from tablectl.table.faults import catalogue
from tablectl.table.ledger import Count
from tablectl.tables import Table

FOLDER = Path(__file__).parent / "scenarios"
S = 1_000_000
TAP_US = 100_000  # how long a finger stays on a panel key
_PLACES = 4  # of the display
_DAY_S = 86_400


def shipped() -> tuple[str, ...]:
    """Return the names of the scenarios that come with the simulator."""
    return tuple(sorted(p.stem for p in FOLDER.glob("*.toml")))


def read(name: str) -> st.Scenario:
    """Read a scenario by its file, or by the name of one that comes with the simulator."""
    path = FOLDER / f"{name}.toml" if name in shipped() else Path(name)
    try:
        content = path.read_bytes()
    except OSError as error:
        known = ", ".join(shipped())
        raise TablectlError("scenario.unreadable", file=name, reason=error.strerror, known=known) from error
    return parse(content, name)


def parse(content: bytes, file: str) -> st.Scenario:
    """Check the bytes of a scenario; TablectlError says what is wrong where."""
    top = Table.parse(content, file, "scenario")
    title = top.table("title")
    texts = {lang: title.text(lang) for lang in ("en", "zh")}
    title.close()
    rule, options = _table(top.table("table"))
    if not top.has("step"):
        raise top.error("no_steps", "step")
    reader = _Reader(SimTable(options))
    steps = tuple(reader.step(each) for each in top.tables("step"))
    top.close()
    return st.Scenario(file, texts, rule, options, steps)


def _table(table: Table) -> tuple[str, TableOptions]:
    rule = _one_of(table, "rule", ruleset.available())
    name = table.text("model") if table.has("model") else "four-mouth"
    tiles = table.number("tiles", 1) if table.has("tiles") else ruleset.load(rule).total
    if tiles not in SETS:
        raise table.error("unknown_choice", "tiles", found=tiles, known=", ".join(map(str, SETS)))
    sets = table.number("sets", 1, 2) if table.has("sets") else 2
    seed = table.number("seed", 0) if table.has("seed") else 0
    table.close()
    try:
        model = load(name)
    except ModelError as error:
        raise table.error("bad_model", "model", why=error) from error
    return rule, TableOptions(tiles=tiles, sets=sets, hands=0, seed=seed, model=model)


def _one_of(table: Table, key: str, known: tuple[str, ...]) -> str:
    word = table.text(key)
    if word not in known:
        raise table.error("unknown_choice", key, found=word, known=", ".join(known))
    return word


class _Reader:
    """Reads steps for one kind of table; nothing of it moves."""

    def __init__(self, table: SimTable) -> None:
        self._faults = table.faults
        self._description = table.board.description
        self._sides = tuple(s.name for s in table.machine.sides)
        self._sets = len(table.boxes)
        self._tiles = table.options.tiles
        self._codes = tuple(e.code for e in catalogue().values() if e.severity == "stop")
        self._actions: dict[str, Callable[[Table], st.Action]] = {
            "press": lambda t: st.Press(_one_of(t, "press", keys.names()), self._held(t, 0)),
            "panel": lambda t: st.PanelPress(
                self._several(t, "panel", self._description.keys), self._held(t, TAP_US)
            ),
            "put_in": self._put_in,
            "take_out": lambda t: st.TakeOut(t.choice("take_out", st.Back)),
            "pull": self._pull,
            "fault": lambda t: st.Break(self._fault(t, "fault")),
            "mend": self._mend,
            "door": self._door,
            "mains": self._mains,
            "wired_stop": lambda t: st.WiredStop(t.choice("wired_stop", st.OpenShut) is st.OpenShut.OPEN),
            "wait": lambda t: st.Wait(_us(t, "wait")),
            "expect": self._expect,
        }
        self._wants: dict[str, Callable[[Table], Any]] = {
            "state": lambda t: t.choice("state", State),
            "fault": lambda t: _one_of(t, "fault", (st.NONE, *self._codes)),
            "display": self._display,
            "lamps": lambda t: self._several(t, "lamps", self._description.lamps),
            "dark": lambda t: self._several(t, "dark", self._description.lamps),
            "stacks": self._stacks,
            "ledger": self._ledger,
        }

    def step(self, table: Table) -> st.Step:
        """Read one step: exactly one action."""
        known = [key for key in table.keys() if key in self._actions]  # noqa: SIM118
        if len(known) != 1:
            raise table.error(
                "one_action", "", found=", ".join(table.keys()) or st.NONE, known=", ".join(self._actions)
            )
        action = self._actions[known[0]](table)
        table.close()
        return st.Step(table.line(known[0]), action)

    def _held(self, table: Table, default_us: int) -> int:
        return _us(table, "held") if table.has("held") else default_us

    def _several(self, table: Table, key: str, known: tuple[str, ...]) -> tuple[str, ...]:
        found = table.texts(key)
        for each in found:
            if each not in known:
                raise table.error("unknown_choice", key, found=each, known=", ".join(known))
        return found

    def _put_in(self, table: Table) -> st.PutIn:
        source = table.choice("put_in", st.Source)
        if source is st.Source.B and self._sets < 2:
            raise table.error("one_set", "put_in")
        return st.PutIn(source, table.number("tiles", 1, self._tiles) if table.has("tiles") else None)

    def _pull(self, table: Table) -> st.Pull:
        everything = table.at("pull") == st.ALL and table.has("pull")
        return st.Pull(self._sides if everything else self._several(table, "pull", self._sides))

    def _fault(self, table: Table, key: str) -> str:
        spec = table.text(key)
        try:
            self._faults.parse(spec)
        except FaultSpecError as error:
            raise table.error(f"bad_fault.{error.key}", key, **error.values) from error
        return spec

    def _mend(self, table: Table) -> st.Repair:
        return st.Repair(st.ALL if table.text("mend") == st.ALL else self._fault(table, "mend"))

    def _door(self, table: Table) -> st.Action:
        is_open = table.choice("door", st.OpenShut) is st.OpenShut.OPEN
        return st.Break(st.DOOR) if is_open else st.Repair(st.DOOR)

    def _mains(self, table: Table) -> st.Action:
        on = table.choice("mains", st.OnOff) is st.OnOff.ON
        return st.Repair(st.MAINS) if on else st.Break(st.MAINS)

    def _expect(self, table: Table) -> st.Expect:
        expected = table.table("expect")
        wants = {key: read(expected) for key, read in self._wants.items() if expected.has(key)}
        expected.close()
        if not wants:
            raise table.error("nothing_expected", "expect", known=", ".join(self._wants))
        if both := set(wants.get("lamps", ())) & set(wants.get("dark", ())):
            raise expected.error("lit_and_dark", "dark", lamps=", ".join(sorted(both)))
        state, fault = wants.get("state"), wants.get("fault")
        if state and fault and (state is State.FAULT) != (fault != st.NONE):
            raise expected.error("not_together", "fault", fault=fault, state=state)
        return st.Expect(wants, _us(table, "within") if table.has("within") else 0)

    def _display(self, table: Table) -> str:
        text = table.text("display")
        if len(text) > _PLACES or not text.isascii() or not text.isprintable():
            raise table.error("no_display", "display", found=text)
        return text.ljust(_PLACES)

    def _stacks(self, table: Table) -> tuple[int, ...]:
        return table.numbers("stacks", 0, max(self._description.capacity), len(self._sides))

    def _ledger(self, table: Table) -> tuple[Count, ...]:
        found = table.texts("ledger")
        if len(found) != len(self._sides):
            raise table.error("no_ledger", "ledger", found=list(found), sides=len(self._sides))
        counts = [_count(text) for text in found]
        for text, count, holds in zip(found, counts, self._description.capacity, strict=True):
            if count is None or not count.least <= count.most <= 2 * holds:
                raise table.error("no_count", "ledger", found=text, most=2 * holds)
        return tuple(c for c in counts if c)


def _us(table: Table, key: str) -> int:
    return round(S * table.seconds(key, _DAY_S))


def _count(text: str) -> Count | None:
    """Read "34", or "0-34" where the ledger is not certain."""
    least, dash, most = text.partition("-")
    if not least.isdecimal() or not (most.isdecimal() if dash else True):
        return None
    return Count(int(least), int(most or least))
