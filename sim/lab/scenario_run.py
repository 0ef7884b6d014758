"""Runs a scenario: controller and table in one process, virtual time, one result a step."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sim.lab import scenario_steps as st
from sim.lab.rig import Rig, RigOptions
from sim.table import Fault, Mend, PanelKey, StopLine
from sim.tiles import Tile
from tablectl.service import view
from tablectl.table import ledger

S = 1_000_000
# From the end of a press to what it causes: the remote's frame, the reader's delay, the controller.
ANSWER_US = 250_000
_SAID = 8  # so much of what the table said is told of a step that failed


@dataclass(frozen=True, slots=True)
class Miss:
    """Something expected that was not so."""

    key: str
    expected: Any
    found: Any


@dataclass(frozen=True, slots=True)
class Result:
    """How a step went: when it ended, what was missed, why it could not be done (a text key)."""

    number: int
    step: st.Step
    time_us: int
    misses: tuple[Miss, ...] = ()
    impossible: str = ""

    @property
    def good(self) -> bool:
        """Tell whether the step went as it should."""
        return not self.misses and not self.impossible


class Run:
    """One scenario as it goes."""

    def __init__(self, scenario: st.Scenario) -> None:
        self.scenario = scenario
        self.rig = Rig(RigOptions(scenario.rule, scenario.table.seed, scenario.table))
        self.results: list[Result] = []
        self._given: list[str] = []

    @property
    def good(self) -> bool:
        """Tell whether every step was done and went well."""
        return len(self.results) == len(self.scenario.steps) and all(r.good for r in self.results)

    def steps(self) -> Iterator[Result]:
        """Do one step after the other; the first that fails is the last."""
        for number, step in enumerate(self.scenario.steps, 1):
            result = self._do(number, step)
            self.results.append(result)
            yield result
            if not result.good:
                return

    def said(self) -> list[dict[str, Any]]:
        """Return what the table said last, as programs see it."""
        told = [view.event(effect, at_us) for at_us, effect in self.rig.announced]
        return [e for e in told if e["event"] != "Counted" and e["event"] != "Panel"][-_SAID:]

    def _do(self, number: int, step: st.Step) -> Result:
        misses: tuple[Miss, ...] = ()
        impossible = ""
        match step.action:
            case st.Expect(wants, within_us):
                misses = self._expect(wants, within_us)
            case st.PutIn(source, count):
                impossible = self._put_in(source, count)
            case st.TakeOut(back):
                impossible = self._take_out(back)
            case st.Pull(sides):
                impossible = self._pull(sides)
            case action:
                self._act(action)
        return Result(number, step, self.rig.world.now_us, misses, impossible)

    # --- actions --------------------------------------------------------------------------------------------

    def _act(self, action: st.Action) -> None:
        match action:
            case st.Press(key, held_us):
                self.rig.press(key, held_us)
                self._pass(held_us + ANSWER_US)
            case st.PanelPress(keys, held_us):
                for down, us in ((True, held_us), (False, ANSWER_US)):
                    for key in keys:
                        self._tell(PanelKey(key, down))
                    self._pass(us)
            case st.Break(spec):
                self._given.append(spec)
                self._tell(Fault(spec))
            case st.Repair(spec):
                for each in self._given if spec == st.ALL else [spec]:
                    self._tell(Mend(each))
            case st.WiredStop(is_open):
                self._tell(StopLine(is_open))
            case st.Wait(us):
                self._pass(us)
            case _:
                raise TypeError(action)

    def _tell(self, event: Any) -> None:
        self.rig.world.post(self.rig.world.now_us, "table", event)
        self._pass(0)

    def _pass(self, us: int) -> None:
        self.rig.world.run(self.rig.world.now_us + us)

    def _put_in(self, source: st.Source, count: int | None) -> str:
        table = self.rig.table
        if not table.machine.console.on["console.up"]:
            return "console_not_up"
        piles = {b.name: b for b in table.boxes} | {
            "table": table.players.table,
            "floor": table.players.floor,
        }
        lies = piles[source if source in piles else f"box.{source}"].tiles
        if len(lies) < (count or 1):
            return "too_few_tiles"
        table.players.put_in(list(lies)[:count])
        return ""

    def _take_out(self, back: st.Back) -> str:
        table = self.rig.table
        if not table.machine.console.on["console.up"]:
            return "console_not_up"
        found = [t for t in table.machine.drum.place.tiles if back in (st.Back.ALL, t.back)]
        _move(found, table.players.table)
        return "" if found else "no_such_tile"

    def _pull(self, sides: tuple[str, ...]) -> str:
        machine = self.rig.table.machine
        if not all(machine.side(name).wall.tiles for name in sides):
            return "no_wall"
        for name in sides:
            machine.side(name).pull_wall(self.rig.table.players.table)
        return ""

    # --- expectations ---------------------------------------------------------------------------------------

    def _expect(self, wants: dict[str, Any], within_us: int) -> tuple[Miss, ...]:
        looks = [(key, _LOOKS[key], wanted) for key, wanted in wants.items()]

        def holds() -> bool:
            return all(_meets(key, wanted, look(self.rig)) for key, look, wanted in looks)

        if within_us and not holds():
            self.rig.world.run(self.rig.world.now_us + within_us, holds)
        found = [(key, wanted, look(self.rig)) for key, look, wanted in looks]
        misses = [Miss(*each) for each in found if not _meets(*each)]
        if "ledger" in wants and not misses:
            misses = [*_untrue(self.rig)]
        return tuple(misses)


def _move(tiles: list[Tile], place: Any) -> None:
    for tile in tiles:
        tile.move(place)


def _meets(key: str, wanted: Any, found: Any) -> bool:
    if key == "lamps":
        return set(wanted) <= set(found)
    if key == "dark":
        return not set(wanted) & set(found)
    return bool(wanted == found)


def _state(rig: Rig) -> str:
    return str(rig.controller.state) if rig.powered else ""


def _fault(rig: Rig) -> str:
    fault = rig.controller.fault
    return fault.code if fault and rig.powered else st.NONE


def _display(rig: Rig) -> str:
    return rig.shown[-1][1].display if rig.shown and rig.powered else ""


def _lamps(rig: Rig) -> tuple[str, ...]:
    return rig.shown[-1][1].lamps if rig.shown and rig.powered else ()


def _stacks(rig: Rig) -> tuple[int, ...]:
    """Count the walls on their latches in the simulator's own tiles; half a stack counts as one."""
    return tuple(-(-len(s.wall) // 2) for s in rig.table.machine.sides)


def _ledger(rig: Rig) -> tuple[ledger.Count, ...]:
    table = rig.controller
    if table.board is None or not rig.powered:
        return ()
    return ledger.stores(table.seen, table.board.description.capacity, table.memory.disturbed)


def _untrue(rig: Rig) -> Iterator[Miss]:
    """Yield where the host's ledger does not hold what lies in the simulator's stores."""
    for side, count in zip(rig.table.machine.sides, _ledger(rig), strict=True):
        if not count.least <= len(side.store) <= count.most:
            yield Miss(f"ledger {side.name}", len(side.store), count)


_LOOKS: dict[str, Callable[[Rig], Any]] = {
    "state": _state,
    "fault": _fault,
    "display": _display,
    "lamps": _lamps,
    "dark": _lamps,
    "stacks": _stacks,
    "ledger": _ledger,
}
