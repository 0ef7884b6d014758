"""The moves in progress: what begins them, what ends them, and what is said of their ends."""

from collections.abc import Callable
from dataclasses import dataclass

from firmware_protocol import messages as m
from firmware_protocol.description import Description, Part, PartKind
from sim.agenda import Agenda, Entry
from sim.board.counting import Counting
from sim.board.counts import Counts
from sim.board.filler import BELT_US, Filler
from sim.board.interlocks import FEEDS, Interlocks, Move
from sim.board.stroke import Stroke
from sim.board.whereabouts import ENDS, Edge, Whereabouts
from sim.mechanics.machine import Machine

JOG_LEASE_MS = 300  # a button that is released stops the motor within this, whatever becomes of the wire


@dataclass(slots=True)
class Operation:
    """A move in progress on one part."""

    op: int
    part: Part
    since_us: int = 0
    direction: int = 0  # of what runs until it is stopped
    jog: bool = False
    lease: Entry | None = None
    stroke: Stroke | None = None
    filler: Filler | None = None


class Moves:
    """Every move of the board; `on_end` gets an operation's id and None, or why it failed.

    `tells` gives what a sensor tells, `on_missed` gets the name of an end sensor that told nothing.
    """

    def __init__(
        self,
        agenda: Agenda,
        machine: Machine,
        description: Description,
        counts: Counts,
        tells: Callable[[str], bool],
        on_end: Callable[[int, m.FailReason | None], None],
        on_missed: Callable[[str], None],
    ) -> None:
        self.open: dict[int, Operation] = {}
        self.whereabouts = Whereabouts(agenda, machine.motors, description, machine.tells)
        self._agenda = agenda
        self._machine = machine
        self._description = description
        self._names = tuple(mouth.name for mouth in description.named_mouths)
        self._counts = counts
        self._tells = tells
        self._proved = _proved(description)
        self._on_end = on_end
        self._on_missed = on_missed
        self._counting = Counting(agenda, machine, description, counts, self.whereabouts)
        self._interlocks = Interlocks(
            description,
            counts,
            self.whereabouts,
            tells,
            lambda: {index: operation.jog for index, operation in self.open.items()},
        )
        machine.on_eye = self._on_eye
        machine.on_stall = self._on_stall
        machine.on_load = self.whereabouts.load_changed

    def believed(self, sensor: str) -> bool:
        """Return what a sensor tells, but of lifts and console no end that is not believed.

        So a host orders the stroke that proves it. Both ends at once are told as they are, to be named.
        """
        return self._tells(sensor) and self.credible(sensor)

    def credible(self, sensor: str) -> bool:
        """Tell whether a sensor that is active is believed."""
        part = self._proved.get(sensor)
        return part is None or self.whereabouts.contradicts_itself(part) or self.whereabouts.believes(sensor)

    # --- beginning ------------------------------------------------------------------------------------------

    def refusal(self, move: Move, feed_held: bool, lift_key: bool) -> m.FailReason | None:
        """Return why a move may not begin now, None where it may."""
        return self._interlocks.refusal(move, feed_held, lift_key)

    def begin(self, move: Move, accepted: Callable[[], None]) -> None:
        """Begin a move that nothing refuses; `accepted` is called when what it replaces has ended."""
        index = self._interlocks.part_of(move)
        if index is None:
            return
        if index in self.open:
            self._fail(self.open[index], m.FailReason.ABORTED)
        part = self._description.parts[index]
        operation = self.open[index] = Operation(move.op, part, self._agenda.now_us)
        accepted()
        match move:
            case m.Run():
                self._run(operation, move)
            case m.Stroke(end=end):
                self._stroke(operation, end)
            case m.Fill():
                self._fill(operation, move)
            case m.Jog():
                self._jog(operation, move)

    def _run(self, operation: Operation, move: m.Run) -> None:
        part, operation.direction = operation.part, move.direction
        self._set_lease(operation, move.lease_ms)
        if part.kind is PartKind.CONVEYOR:
            self._machine.open_gate(part.mouth, move.direction > 0)
            self._counts.feeds(self._mouth(part), move.direction)
        self._machine.drive(part.name, move.direction)

    def _stroke(self, operation: Operation, end: int) -> None:
        part, where, limit_us = operation.part, self.whereabouts, None
        if part.kind is PartKind.STACKER:
            opened = f"{part.name}.open"
            comes_round = where.there(opened) and not self._tells(opened)  # it may do so, and push
            if end == m.End.FAR or comes_round:
                self._counting.push_begins(self._mouth(part))
            if end == m.End.HOME and not where.there(f"lift.{part.mouth}.home"):
                limit_us = where.free_us(part.name, where.way_home(part.name))
        operation.stroke = Stroke(
            self._agenda,
            self._machine,
            where,
            part,
            end,
            lambda reason: self._stroke_ended(operation, reason),
            limit_us,
        )
        operation.stroke.begin(self.believed)
        if part.kind is PartKind.LIFT:
            self._counts.of[self._mouth(part)].lifting = operation in self.open.values()

    def _fill(self, operation: Operation, move: m.Fill) -> None:
        stacker = self._description.parts[self._description.part(f"stacker.{operation.part.mouth}")]
        self._set_lease(operation, move.lease_ms)
        self._counts.of[move.mouth].ordered = move.tiles
        self._counts.feeds(move.mouth, 1)
        operation.filler = Filler(
            self._agenda,
            self._machine,
            self._counts,
            self._counting,
            self.whereabouts,
            move.mouth,
            operation.part.mouth,
            move.tiles,
            stroke_ms=stacker.stroke_ms,
            on_done=lambda: self._finish(operation),
            on_failed=lambda reason: self._fail(operation, reason),
            on_missed=self._on_missed,
        )
        operation.filler.begin()

    def _jog(self, operation: Operation, move: m.Jog) -> None:
        part, operation.direction, operation.jog = operation.part, move.direction, True
        self._set_lease(operation, move.lease_ms)
        if part.kind is PartKind.CONVEYOR:
            self._counts.feeds(self._mouth(part), move.direction)
        elif part.kind is PartKind.LIFT:
            self._counts.in_doubt(self._mouth(part))
            self._counts.of[self._mouth(part)].lifting = True
        elif part.kind is PartKind.STACKER:
            self._counts.in_doubt(self._mouth(part))
            self._counting.push_begins(self._mouth(part))  # far enough back it pushes, too
        self._machine.bridge_door(part.name, True)
        self._machine.drive(part.name, move.direction, reduced=True)

    def renew(self, op: int, lease_ms: int) -> None:
        """Extend the lease of a running operation."""
        for operation in self.open.values():
            if operation.op == op and operation.lease:
                self._set_lease(operation, lease_ms)

    def _set_lease(self, operation: Operation, lease_ms: int) -> None:
        if operation.lease:
            operation.lease.cancel()
        lease_ms = min(lease_ms, JOG_LEASE_MS if operation.jog else self._description.max_lease_ms)
        operation.lease = self._agenda.after(
            1000 * lease_ms, lambda: self._fail(operation, m.FailReason.LEASE)
        )

    # --- what happens meanwhile -----------------------------------------------------------------------------

    def on_sensor(self, name: str, active: bool) -> None:
        """A sensor tells something."""
        kind, mouth = name.partition(".")[0], name.rpartition(".")[0].partition(".")[2]
        edge = self.whereabouts.told(name, active)
        if edge is not None:
            self._on_edge(edge)
        elif kind == "slot" and name.endswith(".full"):
            if not active:
                self._counting.slot_empties(self._names.index(mouth))
            elif filler := self._filler(mouth):
                filler.on_slot_full()

    def lift_key(self, held: bool) -> None:
        """A lift key was pressed or released; without one no console comes down by time."""
        for operation in list(self.open.values()):
            if not held and operation.stroke and operation.stroke.end == m.End.HOME_TIMED:
                operation.stroke.release()

    def _on_edge(self, edge: Edge) -> None:
        part = self._description.parts[self._description.part(edge.name.rpartition(".")[0])]
        filler = self._filler(part.mouth) if part.kind is PartKind.STACKER else None
        moving = next((o for o in self.open.values() if o.part is part), None)
        if part.kind is PartKind.STACKER and edge.active and edge.credible:
            self._counting.stacker_arrives(self._mouth(part), edge)
            if edge.name.endswith(".open") and moving and self._pushes(moving):
                self._counting.push_begins(self._mouth(part))  # it goes all the way round
        if filler:
            filler.on_edge(edge)
        elif moving and moving.stroke:
            moving.stroke.on_edge(edge)

    def _pushes(self, operation: Operation) -> bool:
        stroke = operation.stroke
        return operation.direction > 0 or (stroke is not None and stroke.end == m.End.FAR)

    def _mouth(self, part: Part) -> int:
        return self._names.index(part.mouth)

    def _filler(self, mouth: str) -> Filler | None:
        """Return what fills the store of a mouth now."""
        operation = self.open.get(self._description.part(f"conveyor.{mouth}"))
        return operation.filler if operation else None

    def _on_eye(self, mouth: str, peaks: tuple[int, ...], direction: int) -> None:
        seen = self._counting.tiles_pass(self._names.index(mouth), peaks, direction)
        if seen and (filler := self._filler(mouth)):
            filler.on_tile()

    def _on_stall(self, name: str) -> None:
        kind, _, mouth = name.partition(".")
        for operation in list(self.open.values()):
            if operation.stroke and operation.part.name == name:
                operation.stroke.on_stall()
            elif operation.filler and operation.part.mouth == mouth and kind in ("stacker", "conveyor"):
                stacker = kind == "stacker"
                self._fail(operation, m.FailReason.STALL if stacker else m.FailReason.FEED_STALL)
            elif operation.part.name == name:
                self._fail(operation, m.FailReason.STALL)

    # --- ends -----------------------------------------------------------------------------------------------

    def stop(self, part: int) -> None:
        """End the move of one part; a stacker in motion finishes its stroke first."""
        operation = self.open.get(part)
        if operation and operation.filler:
            operation.filler.stop()
        elif operation:
            self._fail(operation, m.FailReason.ABORTED)

    def stop_feeds(self) -> None:
        """End every move that feeds."""
        for index, operation in list(self.open.items()):
            if operation.part.kind in FEEDS:
                self.stop(index)

    def stop_all(self) -> None:
        """End every move at once."""
        for operation in list(self.open.values()):
            self._fail(operation, m.FailReason.ABORTED)
        self._all_off()

    def halt(self) -> None:
        """Lose the power: every output is off, and nothing is said of it."""
        for operation in list(self.open.values()):
            self._drop(operation)
        self._all_off()
        self.whereabouts.restart()

    def _all_off(self) -> None:
        for part in self._description.parts:
            self._machine.drive(part.name, 0)

    def _stroke_ended(self, operation: Operation, reason: m.FailReason | None) -> None:
        part, stroke = operation.part, operation.stroke
        if reason is not None:
            self._fail(operation, reason)
            return
        if part.kind is PartKind.LIFT and stroke and stroke.moved:
            self._counts.lift_turned(
                self._mouth(part), stroke.straight, self._counting.in_slot(self._mouth(part))
            )
        self._finish(operation)

    def _finish(self, operation: Operation) -> None:
        self._end(operation)
        self._on_end(operation.op, None)

    def _fail(self, operation: Operation, reason: m.FailReason) -> None:
        self._drop(operation)
        self._on_end(operation.op, reason)

    def _drop(self, operation: Operation) -> None:
        """Take a move off the list, whatever it has come to; a lift that was turning is in doubt."""
        if operation.part.kind is PartKind.LIFT and operation.stroke and operation.stroke.moved:
            self._counts.in_doubt(self._mouth(operation.part))
        self._end(operation)

    def _end(self, operation: Operation) -> None:
        part = operation.part
        self.open.pop(self._description.part(part.name), None)
        if part.kind is PartKind.CONVEYOR and self._ran_back_empty(operation):
            self._counts.belt_is_empty(self._mouth(part), self._counting.in_slot(self._mouth(part)))
        self._machine.drive(part.name, 0)
        if operation.jog:
            self._machine.bridge_door(part.name, False)
        if part.kind is PartKind.CONVEYOR:
            self._machine.open_gate(part.mouth, False)
        elif part.kind is PartKind.LIFT:
            self._counts.of[self._mouth(part)].lifting = False
        if operation.lease:
            operation.lease.cancel()
        if operation.filler:
            self._machine.drive(f"stacker.{part.mouth}", 0)
            operation.filler.close()
        if operation.stroke:
            operation.stroke.close()

    def _ran_back_empty(self, operation: Operation) -> bool:
        back = operation.direction < 0 and not operation.jog
        return back and self._agenda.now_us - operation.since_us >= BELT_US


def _proved(description: Description) -> dict[str, str]:
    """Return the end sensors that are told only where they are proved, and the part of each."""
    parts = [p for p in description.parts if p.kind in (PartKind.LIFT, PartKind.CONSOLE)]
    return {f"{part.name}.{end}": part.name for part in parts for end in ENDS[part.kind]}
