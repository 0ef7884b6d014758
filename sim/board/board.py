"""The simulated board: takes commands, drives the machine, keeps the interlocks. What a firmware would do."""

from collections.abc import Callable
from dataclasses import dataclass

from firmware_protocol import board_link as bl
from firmware_protocol import messages as m
from firmware_protocol.core import Tick, earliest
from firmware_protocol.description import Description, Part, PartKind
from firmware_protocol.window import LinkCounters
from sim.agenda import Agenda, Entry
from sim.board.counts import Counts
from sim.board.describe import STOP_LINE
from sim.board.filler import BELT_US, Filler
from sim.board.interlocks import FEEDS, Interlocks, Move
from sim.board.keys import Keys
from sim.board.stroke import Stroke
from sim.mechanics.machine import DOOR, Machine

STATUS_BUSY_US = 200_000
STATUS_REST_US = 1_000_000
FIRMWARE = 0x0001
_NO_MOVE = (0, m.NO_PART)
_NEAR = 20  # a stack leaves the slot within 1/20 of the stroke before the stacker's closed end


@dataclass(slots=True)
class Operation:
    """A move in progress on one part."""

    op: int
    part: int
    since_us: int = 0
    back: bool = False  # a belt that runs backwards
    leased: bool = False
    lease: Entry | None = None
    stroke: Stroke | None = None
    filler: Filler | None = None


class Board:
    """One board. `transmit` writes bytes to the wire; `show` is called with what the panel shows."""

    def __init__(
        self,
        agenda: Agenda,
        machine: Machine,
        description: Description,
        boot_id: int,
        uid: bytes,
        transmit: Callable[[bytes], None],
        show: Callable[[m.Panel], None],
    ) -> None:
        self.description = description
        self.executed: list[m.Message] = []  # every command that moved something, in order
        self._agenda = agenda
        self._machine = machine
        self._transmit = transmit
        self._show = show
        self._uid = uid
        self._link = bl.BoardLink(boot_id, description.to_bytes())
        self._ops: dict[int, Operation] = {}
        self._counts = Counts(description.mouths)
        self._beyond: set[str] = set()  # parts that have passed their far end since they were home
        self._interlocks = Interlocks(description, self._counts, self._seen, lambda: tuple(self._ops))
        self._contacts = Keys(agenda, self._press)
        self._reset_cause = m.ResetCause.POWER_ON
        self._stop: int = m.StopReason.NONE
        self._stop_number = 0
        self._line_open = False  # the wired stop, wired so that a broken wire stops, too
        self._alive = True  # it has power
        self._cut_move: tuple[int, int] | None = None  # operation and part that were cut by a restart
        self._told_move = _NO_MOVE  # what HELLO_ACK of this session has told
        self._keys = 0
        self._feed_held_by: int | None = None
        self._status_us: int | None = None
        machine.on_sensor = self._on_sensor
        machine.on_eye = self._on_eye
        machine.on_stall = self._on_stall

    # --- in and out -----------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take bytes from the wire."""
        self._act(self._link.handle(bl.Received(data), self._now))

    def order(self, message: m.Message) -> None:
        """Carry out a command as if a host had sent it; of a host that never spoke no silence is heard."""
        self._command(message)

    @property
    def moving(self) -> tuple[str, ...]:
        """Return the parts on which a move is in progress."""
        return tuple(self.description.parts[part].name for part in self._ops)

    def contact(self, key: str, closed: bool) -> None:
        """Let the contact of a panel key close or open; ValueError where there is no such key."""
        if key not in self.description.keys:
            raise ValueError(f"no key {key!r}; there are {', '.join(self.description.keys)}")
        self._contacts.contact(key, closed)

    def _press(self, key: str, down: bool) -> None:
        index = self.description.keys.index(key)
        self._keys = self._keys | 1 << index if down else self._keys & ~(1 << index)
        if not self._alive:
            return
        phase = m.Phase.DOWN if down else m.Phase.UP
        self._act(self._link.handle(bl.Raise(m.KeyEvent(index, phase, self._clock_ms)), self._now))
        both = all(self._keys >> self.description.keys.index(k) & 1 for k in ("lift.1", "lift.2"))
        if down and key.startswith("lift.") and both and self._link.is_open:
            # ADD acts here, not over the wire: feeders stand within 50 ms whatever the host does, and no
            # command of a host that has not seen the keys yet starts them again.
            self._feed_held_by = self._link.event_number
            for operation in list(self._ops.values()):
                if self.description.parts[operation.part].kind in FEEDS:
                    self._abort(operation)

    def stop_line(self, is_open: bool) -> None:
        """Open the wired stop, which cuts the motors' power whatever runs here, or close it."""
        self._line_open = is_open
        self._machine.power(not is_open, "wired stop")
        if is_open and self._alive:
            self._stop_all(m.StopReason.WIRED)

    def halt(self) -> None:
        """Lose the power: every output is off, nothing is said of it."""
        self._alive = False
        if self._ops:
            self._cut_move = self._moving()
        for operation in list(self._ops.values()):
            self._drop(operation)
        for part in self.description.parts:
            self._machine.drive(part.name, 0)
        self._status_us = None

    def restart(self, boot_id: int, cause: m.ResetCause) -> None:
        """Start anew: only the counts and the move that was cut outlive it."""
        if not self._alive and cause != m.ResetCause.POWER_ON:
            return  # without power nothing restarts
        self.halt()
        self._alive = True
        self._link = bl.BoardLink(boot_id, self.description.to_bytes())
        self._reset_cause = cause
        self._stop = m.StopReason.NONE
        if self._line_open or self._seen()[DOOR]:
            self._stop = m.StopReason.WIRED if self._line_open else m.StopReason.DOOR
            self._stop_number = self._stop_number % 255 + 1
        self._keys = sum(1 << self.description.keys.index(k) for k in self._contacts.held())
        self._feed_held_by = None

    def tick(self) -> None:
        """Do what is due: silence, status, repeats."""
        now = self._now
        if self._silent_at is not None and self._silent_at <= now:
            self._stop_all(m.StopReason.SILENCE)
        self._act(self._link.handle(Tick(), now))
        if self._status_us is not None and self._status_us <= now:
            self._send_status()

    def next_deadline(self) -> int | None:
        """Return when `tick` is wanted."""
        return earliest(self._link.next_deadline(), self._status_us, self._silent_at)

    @property
    def counters(self) -> LinkCounters:
        """Return what the board's end of the link has seen."""
        return self._link.counters

    @property
    def _now(self) -> int:
        return self._agenda.now_us

    @property
    def _clock_ms(self) -> int:
        return self._now // 1000 & 0xFFFFFFFF

    @property
    def _silent_at(self) -> int | None:
        if not self._ops or self._link.last_heard_us is None:
            return None
        return self._link.last_heard_us + self.description.silence_ms * 1000

    @property
    def _sensors(self) -> int:
        seen = self._seen()
        return sum(1 << i for i, name in enumerate(self.description.sensors) if seen[name])

    def _seen(self) -> dict[str, bool]:
        return self._machine.sensors() | {STOP_LINE: self._line_open}

    def _act(self, effects: tuple[bl.BoardLinkEffect, ...]) -> None:
        for effect in effects:
            match effect:
                case bl.Transmit(data):
                    self._transmit(data)
                case bl.Command(message):
                    self._command(message)
                case bl.EventTaken():
                    if self._feed_held_by is not None and not self._link.waits_for(self._feed_held_by):
                        self._feed_held_by = None
                case bl.NoSession():
                    self._plain(self._stopped(0) if self._stop else self._hello_ack(0, self._moving()))

    def _reply(self, message: m.Message) -> None:
        self._act(self._link.handle(bl.Reply(message), self._now))

    def _plain(self, message: m.Message) -> None:
        self._act(self._link.handle(bl.Plain(message), self._now))

    def _send_status(self) -> None:
        self._plain(m.Status(self._clock_ms, self._sensors, self._counts.to_wire()))
        self._status_us = self._now + (STATUS_BUSY_US if self._ops else STATUS_REST_US)

    # --- commands -------------------------------------------------------------------------------------------

    def _command(self, message: m.Message) -> None:
        match message:
            case m.Hello(nonce, _):
                self._welcome(nonce)
            case m.StopAll(_, number):
                self._stop_all(m.StopReason.HOST, number)
            case m.Clear(stopped_for, number):
                held = self._line_open or self._seen()[DOOR]
                if (stopped_for, number) == (self._stop, self._stop_number) and not held:
                    self._stop = m.StopReason.NONE
            case m.Renew(op, lease_ms):
                for operation in self._ops.values():
                    if operation.op == op and operation.leased:
                        self._set_lease(operation, lease_ms)
            case m.Panel():
                self._show(message)
                self._done(message.op)
            case m.Stop(op, part) if part >= len(self.description.parts):
                self._failed(op, m.FailReason.BAD_ARGUMENT)
            case m.Stop(op, part):
                if part in self._ops:
                    self._abort(self._ops[part])
                self._done(op)
            case m.Run() | m.Stroke() | m.Fill():
                if reason := self._refusal(message):
                    self._failed(message.op, reason)
                else:
                    self._begin(message)

    def _welcome(self, nonce: int) -> None:
        if not self._link.repeats(nonce):
            self._told_move = self._moving()
            self._cut_move = None
            self._feed_held_by = None
            for operation in list(self._ops.values()):
                self._fail(operation, m.FailReason.ABORTED)
        # Sensors and counts as they are now; the move as it was, even where this ACK is asked for again.
        self._act(self._link.welcome(self._hello_ack(nonce, self._told_move)))
        self._status_us = self._now + STATUS_REST_US

    def _moving(self) -> tuple[int, int]:
        """Return operation and part of the move in progress, or of the one that a restart has cut."""
        for operation in reversed(self._ops.values()):
            return operation.op, operation.part
        return self._cut_move or _NO_MOVE

    def _hello_ack(self, nonce: int, move: tuple[int, int]) -> m.HelloAck:
        return m.HelloAck(
            nonce,
            self._link.boot_id,
            self._reset_cause,
            self._uid,
            m.MINOR,
            FIRMWARE,
            self._link.description_hash,
            256,
            self._keys,
            *move,
            self._stop,
            self._stop_number,
            self._clock_ms,
            self._sensors,
            self._counts.to_wire(),
        )

    def _refusal(self, move: Move) -> m.FailReason | None:
        if self._stop:
            return m.FailReason.STOPPED
        return self._interlocks.refusal(move, self._feed_held_by is not None)

    def _begin(self, move: Move) -> None:
        part = self._interlocks.part_of(move)
        if part is None:
            return
        if part in self._ops:
            self._fail(self._ops[part], m.FailReason.ABORTED)
        self.executed.append(move)
        operation = self._ops[part] = Operation(move.op, part, self._now)
        self._reply(m.Accepted(move.op))
        described = self.description.parts[part]
        self._status_us = min(self._status_us or self._now, self._now + STATUS_BUSY_US)
        match move:
            case m.Run(direction=direction, lease_ms=lease_ms):
                self._set_lease(operation, lease_ms)
                operation.back = direction < 0
                if described.kind is PartKind.CONVEYOR:
                    self._machine.open_gate(described.side, direction > 0)
                    self._counts.feeds(described.side - 1, direction)
                self._machine.drive(described.name, direction)
            case m.Stroke(end=end):
                if described.kind is PartKind.STACKER and end == m.End.FAR:
                    self._begin_push(described)
                if end == m.End.TURN and self._seen()[f"{described.name}.home"]:
                    self._counts.lift_starts(described.side - 1)
                operation.stroke = Stroke(
                    self._agenda,
                    self._machine,
                    described,
                    end,
                    described.name in self._beyond,
                    lambda reason: self._stroke_ended(operation, reason),
                )
                operation.stroke.begin()
                if described.kind is PartKind.LIFT:
                    self._counts.of[described.side - 1].lifting = part in self._ops
            case m.Fill(mouth=mouth, tiles=tiles, lease_ms=lease_ms):
                self._set_lease(operation, lease_ms)
                self._counts.of[mouth].ordered = tiles
                self._counts.feeds(mouth, 1)
                operation.filler = Filler(
                    self._agenda,
                    self._machine,
                    self._counts,
                    mouth,
                    tiles,
                    stroke_ms=self.description.parts[
                        self.description.part(f"stacker.S{mouth + 1}")
                    ].stroke_ms,
                    on_done=lambda: self._finish(operation),
                    on_failed=lambda reason: self._fail(operation, reason),
                )
                operation.filler.begin()

    def _stroke_ended(self, operation: Operation, reason: m.FailReason | None) -> None:
        part, stroke = self.description.parts[operation.part], operation.stroke
        if reason is None and part.kind is PartKind.LIFT and stroke and stroke.moved:
            self._counts.lift_turned(part.side - 1, straight=not stroke.reversed)
        if reason is None:
            self._finish(operation)
        else:
            self._fail(operation, reason)

    def _set_lease(self, operation: Operation, lease_ms: int) -> None:
        if operation.lease:
            operation.lease.cancel()
        operation.leased = True
        lease_ms = min(lease_ms, self.description.max_lease_ms)
        operation.lease = self._agenda.after(
            1000 * lease_ms, lambda: self._fail(operation, m.FailReason.LEASE)
        )

    # --- ends -----------------------------------------------------------------------------------------------

    def _on_sensor(self, name: str, active: bool) -> None:
        part, _, end = name.rpartition(".")
        kind, _, side = part.partition(".")
        if name == DOOR:
            if active and self._alive:
                self._stop_all(m.StopReason.DOOR)
            return
        if not self._alive:
            return
        self._count(kind, side, end, active)
        if active and end in ("closed", "up"):
            self._beyond.add(part)
        elif active and end in ("open", "down"):
            self._beyond.discard(part)
        for operation in list(self._ops.values()):
            described = self.description.parts[operation.part]
            if operation.filler and f"S{described.side}" == side:
                operation.filler.on_sensor(name, active)
            elif operation.stroke and described.name == part:
                operation.stroke.on_sensor(name, active)

    def _count(self, kind: str, side: str, end: str, active: bool) -> None:
        if kind == "slot" and end == "full" and not active:
            if self._machine.motors[f"stacker.{side}"].direction:
                self._counts.stack_leaves(int(side[1:]) - 1, self._now)
        elif kind == "stacker" and active and end == "closed":
            part = self.description.parts[self.description.part(f"stacker.{side}")]
            full = self._seen()[f"slot.{side}.full"]
            feeding = self._machine.motors[f"conveyor.{side}"].direction > 0
            near_us = 1000 * part.stroke_ms // _NEAR
            self._counts.stacker_closed(int(side[1:]) - 1, self._now, near_us, full, feeding)
        elif kind == "stacker" and active:
            self._counts.stacker_open(int(side[1:]) - 1, self._seen()[f"slot.{side}.full"])
            moving = self._ops.get(self.description.part(f"stacker.{side}"))
            if moving and moving.stroke and moving.stroke.end == m.End.FAR:
                self._begin_push(self.description.parts[moving.part])  # it goes all the way round

    def _begin_push(self, stacker: Part) -> None:
        side = f"S{stacker.side}"
        if self._seen()[f"stacker.{side}.open"]:
            self._counts.pushes(stacker.side - 1, False, self._seen()[f"slot.{side}.full"])

    def _on_eye(self, side: int, peaks: tuple[int, ...], direction: int) -> None:
        threshold = self._machine.model.eye.threshold_mv
        seen = sum(1 for peak in peaks if peak > threshold)
        if not seen:
            return
        self._counts.saw_tiles(side - 1, seen, direction)
        operation = self._ops.get(self.description.part(f"conveyor.S{side}"))
        if operation and operation.filler:
            operation.filler.on_tile()

    def _on_stall(self, name: str) -> None:
        kind, _, side = name.partition(".")
        for operation in list(self._ops.values()):
            described = self.description.parts[operation.part]
            if operation.stroke and described.name == name:
                operation.stroke.on_stall()
            elif operation.filler and f"S{described.side}" == side and kind in ("stacker", "conveyor"):
                stacker = kind == "stacker"
                self._fail(operation, m.FailReason.STALL if stacker else m.FailReason.FEED_STALL)
            elif described.name == name:
                self._fail(operation, m.FailReason.STALL)

    def _finish(self, operation: Operation) -> None:
        self._end(operation)
        self._done(operation.op)

    def _fail(self, operation: Operation, reason: m.FailReason) -> None:
        self._drop(operation)
        self._failed(operation.op, reason)

    def _abort(self, operation: Operation) -> None:
        if operation.filler:
            operation.filler.stop()  # a stacker in motion finishes its stroke first
        else:
            self._fail(operation, m.FailReason.ABORTED)

    def _drop(self, operation: Operation) -> None:
        """Take a move off the list, whatever it has come to; a lift that was turning is in doubt."""
        part = self.description.parts[operation.part]
        if part.kind is PartKind.LIFT and operation.stroke and operation.stroke.moved:
            self._counts.lift_in_doubt(part.side - 1, operation.stroke.reversed)
        self._end(operation)

    def _end(self, operation: Operation) -> None:
        part = self.description.parts[operation.part]
        self._ops.pop(operation.part, None)
        if part.kind is PartKind.CONVEYOR and operation.back and self._now - operation.since_us >= BELT_US:
            seen, slot = self._seen(), f"slot.S{part.side}"
            self._counts.belt_is_empty(part.side - 1, seen[f"{slot}.first"], seen[f"{slot}.full"])
        self._machine.drive(part.name, 0)
        if part.kind is PartKind.CONVEYOR:
            self._machine.open_gate(part.side, False)
        elif part.kind is PartKind.LIFT:
            self._counts.of[part.side - 1].lifting = False
        if operation.lease:
            operation.lease.cancel()
        if operation.filler:
            self._machine.drive(f"stacker.S{part.side}", 0)
            operation.filler.close()
        if operation.stroke:
            operation.stroke.close()

    def _done(self, op: int) -> None:
        self._reply(m.Done(op, self._clock_ms, self._sensors, self._counts.to_wire()))

    def _failed(self, op: int, reason: m.FailReason) -> None:
        self._reply(m.Failed(op, reason, self._clock_ms, self._sensors, self._counts.to_wire()))

    def _stop_all(self, reason: m.StopReason, answers: int = 0) -> None:
        for operation in list(self._ops.values()):
            self._fail(operation, m.FailReason.ABORTED)
        for part in self.description.parts:
            self._machine.drive(part.name, 0)
        # The first reason stays, for it is what went wrong; the wired stop comes before every other.
        if not self._stop or (reason == m.StopReason.WIRED and self._stop != reason):
            self._stop = reason
            self._stop_number = self._stop_number % 255 + 1
        self._link.void_session()
        self._status_us = None
        self._plain(self._stopped(answers))

    def _stopped(self, answers: int) -> m.Stopped:
        return m.Stopped(
            self._stop, self._stop_number, answers, self._clock_ms, self._sensors, self._counts.to_wire()
        )
