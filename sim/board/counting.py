"""Counting: what eyes, slots and stackers tell becomes what the board's memory says of each mouth."""

from firmware_protocol.description import Description, Part
from sim.agenda import Agenda
from sim.board.counts import STACK, Counts, Push
from sim.board.whereabouts import Edge, Whereabouts
from sim.mechanics.machine import Machine

_NEAR = 20  # a stack leaves the slot within 1/20 of the stroke before the stacker's closed end


class Counting:
    """Looks at sensors and writes down counts; it moves nothing."""

    def __init__(
        self,
        agenda: Agenda,
        machine: Machine,
        description: Description,
        counts: Counts,
        whereabouts: Whereabouts,
    ) -> None:
        self._agenda = agenda
        self._machine = machine
        self._description = description
        self._counts = counts
        self._whereabouts = whereabouts

    def in_slot(self, side: int) -> int:
        """Return how many tiles the slot's sensors see."""
        return STACK if self._full(side) else int(self._machine.tells(f"slot.S{side}.first"))

    def slot_empties(self, side: int) -> None:
        """The slot is no longer full: a stack has left it if its stacker moves."""
        if self._machine.motors[f"stacker.S{side}"].direction:
            self._counts.stack_leaves(side - 1, self._agenda.now_us)

    def push_begins(self, side: int, alone: bool = False) -> None:
        """A stacker begins to push what lies in the slot; `alone`: that is one tile.

        It does so from its open end, or from before its closed end where nothing was on its way yet.
        """
        part = f"stacker.S{side}"
        fresh = self._counts.of[side - 1].push is Push.NOTHING and not self._whereabouts.beyond(part)
        if fresh or self._whereabouts.accepts(f"{part}.open"):
            self._counts.pushes(side - 1, alone, self._full(side))

    def stacker_arrives(self, side: int, edge: Edge) -> None:
        """A stacker is at an end; one that comes round to its open end has been closed on its way."""
        if edge.name.endswith(".closed"):
            self._closed(side, self._agenda.now_us)
        else:
            if edge.turn_us is not None:
                self._closed(side, self._agenda.now_us - edge.turn_us // 2)
            self._counts.stacker_open(side - 1, self._full(side))

    def tiles_pass(self, side: int, peaks: tuple[int, ...], direction: int) -> bool:
        """Read an eye; tell whether it saw a tile."""
        threshold = self._machine.model.eye.threshold_mv
        seen = sum(1 for peak in peaks if peak > threshold)
        if seen:
            self._counts.saw_tiles(side - 1, seen, direction)
        return bool(seen)

    def _closed(self, side: int, at_us: int) -> None:
        near_us = 1000 * self._stacker(side).stroke_ms // _NEAR
        feeding = self._machine.motors[f"conveyor.S{side}"].direction > 0
        self._counts.stacker_closed(side - 1, at_us, near_us, self._full(side), feeding)

    def _full(self, side: int) -> bool:
        return self._machine.tells(f"slot.S{side}.full")

    def _stacker(self, side: int) -> Part:
        return self._description.parts[self._description.part(f"stacker.S{side}")]
