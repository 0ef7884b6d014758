"""Counting: what eyes, slots and stackers tell becomes what the board's memory says of each mouth."""

from firmware_protocol.description import Description, Part
from sim.agenda import Agenda
from sim.board.counts import STACK, Counts, Push
from sim.board.whereabouts import Edge, Whereabouts
from sim.mechanics.machine import Machine

_NEAR = 20  # a stack leaves the slot within 1/20 of the stroke before the stacker's closed end


class Counting:
    """Looks at sensors and writes down counts; it moves nothing. Mouths count from 0."""

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
        self._names = tuple(mouth.name for mouth in description.named_mouths)
        self._counts = counts
        self._whereabouts = whereabouts

    def in_slot(self, mouth: int) -> int:
        """Return how many tiles the slot's sensors see."""
        return STACK if self._full(mouth) else int(self._machine.tells(f"slot.{self._names[mouth]}.first"))

    def slot_empties(self, mouth: int) -> None:
        """The slot is no longer full: a stack has left it if its stacker moves."""
        if self._machine.motors[f"stacker.{self._names[mouth]}"].direction:
            self._counts.stack_leaves(mouth, self._agenda.now_us)

    def push_begins(self, mouth: int, alone: bool = False) -> None:
        """A stacker begins to push what lies in the slot; `alone`: that is one tile.

        It does so from its open end, or from before its closed end where nothing was on its way yet.
        """
        part = f"stacker.{self._names[mouth]}"
        fresh = self._counts.of[mouth].push is Push.NOTHING and not self._whereabouts.beyond(part)
        if fresh or self._whereabouts.accepts(f"{part}.open"):
            self._counts.pushes(mouth, alone, self._full(mouth))

    def stacker_arrives(self, mouth: int, edge: Edge) -> None:
        """A stacker is at an end; one that comes round to its open end has been closed on its way."""
        if edge.name.endswith(".closed"):
            self._closed(mouth, self._agenda.now_us)
        else:
            if edge.turn_us is not None:
                self._closed(mouth, self._agenda.now_us - edge.turn_us // 2)
            self._counts.stacker_open(mouth, self._full(mouth))

    def tiles_pass(self, mouth: int, peaks: tuple[int, ...], direction: int) -> bool:
        """Read an eye; tell whether it saw a tile."""
        threshold = self._machine.model.eye.threshold_mv
        seen = sum(1 for peak in peaks if peak > threshold)
        if seen:
            self._counts.saw_tiles(mouth, seen, direction)
        return bool(seen)

    def _closed(self, mouth: int, at_us: int) -> None:
        near_us = 1000 * self._stacker(mouth).stroke_ms // _NEAR
        feeding = self._machine.motors[f"conveyor.{self._names[mouth]}"].direction > 0
        self._counts.stacker_closed(mouth, at_us, near_us, self._full(mouth), feeding)

    def _full(self, mouth: int) -> bool:
        return self._machine.tells(f"slot.{self._names[mouth]}.full")

    def _stacker(self, mouth: int) -> Part:
        return self._description.parts[self._description.part(f"stacker.{self._names[mouth]}")]
