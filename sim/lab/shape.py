"""The abstract state of a whole table: what is different for people and for what can come next, and no more.

Left out: which tile lies where, exact counts, times, the dealer, and which of the four sides it is. What is
kept has finitely many values, so that there are finitely many states. New states of the cycle, new fields of
the memory and new switches of the controller are taken in by their kind, without a word here.

A state is looked at where one of its faces was not seen before:
* the situation: the cycle, what is remembered of the sets, mechanism, stop and tiles;
* the memory: the cycle, everything that is remembered, and the controller's switches;
* the code: the fault that stands, and what RESET asks for.
Each of these is searched in full; the product of them is not. A rule that was chosen, a wish to switch off
and the code of a fault change nothing about where tiles and mechanisms are.
"""

from dataclasses import dataclass, fields
from typing import Any

from sim.lab.bench import Bench
from tablectl.rules import ruleset

Face = tuple[str, ...]
_ANSWERED = ("disturbed", "journal_dead")  # what RESET asks for


@dataclass(frozen=True, slots=True)
class Shape:
    """One abstract state; every part of it is words."""

    cycle: str
    code: str  # of the fault that stands, empty where none does
    sets: Face  # what is remembered of the sets
    rules: Face  # which rule is wanted
    switches: Face  # what else is on in memory and controller
    board: Face
    tiles: Face

    @property
    def faces(self) -> tuple[Face, ...]:
        """Return what makes it a new one."""
        situation = ("situation", self.cycle, *self.sets, *self.board, *self.tiles)
        memory = ("memory", self.cycle, *self.sets, *self.rules, *self.switches)
        asked = (word for word in self.switches if word in _ANSWERED)
        return situation, memory, ("code", self.code, *asked)


def shape(bench: Bench) -> Shape:
    """Return the abstract state of a table."""
    controller = bench.rig.controller
    fault = controller.fault if controller.state == "fault" else None
    return Shape(
        cycle=str(controller.state),
        code=fault.code if fault else "",
        sets=_sets(controller.memory),
        rules=_rules(controller.memory, bench.set_tiles),
        switches=(*_on(_plain(controller.memory)), *_on(vars(controller))),
        board=_board(bench),
        tiles=_tiles(bench),
    )


def _plain(memory: Any) -> dict[str, Any]:
    return {f.name: getattr(memory, f.name) for f in fields(memory)}


def _on(values: dict[str, Any]) -> Face:
    return tuple(name for name, value in values.items() if value is True)


def _sets(memory: Any) -> Face:
    """Return what memory holds, but the numbers, names and answers in it."""
    words = []
    for name, value in _plain(memory).items():
        if value and name not in _ANSWERED and (value is True or not isinstance(value, int | str)):
            words.append(f"{name}:thrown" if getattr(value, "throws", ()) else name)
    return tuple(words)


def _rules(memory: Any, tiles: int) -> Face:
    words = () if sum(ruleset.load(memory.rule).wall_tiles) == tiles else ("of another set",)
    return (*words, "not of the wash") if memory.wash and memory.wash.rule != memory.rule else words


def _board(bench: Bench) -> Face:
    machine, board = bench.rig.table.machine, bench.rig.table.board
    homes = {"console": machine.console.on["console.down"]}
    for side in machine.sides:
        homes["lift"] = homes.get("lift", True) and side.lift.on[f"lift.{side.name}.home"]
        homes["stacker"] = homes.get("stacker", True) and side.stacker.on[f"stacker.{side.name}.open"]
    words = [f"{name} off home" for name, home in homes.items() if not home]
    if board._stop:
        words.append("stopped")  # latched in the board, whatever the host knows of it
    if not all(board._counts.sure(n) for n in range(board._counts.mouths)):
        words.append("unsure")
    return tuple(words)


def _tiles(bench: Bench) -> Face:
    machine = bench.rig.table.machine
    whole = bench.whole
    stores = tuple(len(s.store) for s in machine.sides)
    heads = any(s.mouth.belt.tiles or s.mouth.slot.tiles for s in machine.sides)
    words = []
    if drum := len(machine.drum.place):
        words.append("drum:too many" if drum > bench.set_tiles else "drum")
    if heads or any(stores):
        words.append("stores:all" if stores == whole and not heads else "stores:part")
    if any(s.wall.tiles for s in machine.sides):
        words.append("walls")
    return tuple(words)
