"""The simulated board: takes commands, drives the machine, keeps the interlocks. What a firmware would do."""

from collections.abc import Callable
from dataclasses import dataclass

from firmware_protocol import board_link as bl
from firmware_protocol import messages as m
from firmware_protocol.core import Tick, earliest
from firmware_protocol.description import Description, PartKind
from firmware_protocol.window import LinkCounters
from sim.agenda import Agenda, Entry
from sim.filler import Filler
from sim.mechanics.machine import Machine

STATUS_BUSY_US = 200_000
STATUS_REST_US = 1_000_000
FIRMWARE = 0x0001
_FEEDS = (PartKind.DRUM, PartKind.CONVEYOR)


@dataclass(slots=True)
class Operation:
    """A move in progress on one part."""

    op: int
    part: int
    sensor: str = ""  # the end a stroke waits for
    leased: bool = False
    left: bool = True  # a turn has left home
    moved: bool = False
    end: Entry | None = None  # lease or time-out
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
        self._taken = [0] * description.mouths
        self._stored = [0] * description.mouths
        self._pushing = [0] * description.mouths  # tiles in the slot that a stroke under way takes along
        self._stop: int = m.StopReason.NONE
        self._stop_number = 0
        self._line_open = False  # the wired stop, wired so that a broken wire stops, too
        self._keys = 0
        self._feed_held_by: int | None = None
        self._status_us: int | None = None
        machine.on_sensor = self._on_sensor
        machine.on_eye = self._on_eye

    # --- in and out -----------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Take bytes from the wire."""
        self._act(self._link.handle(bl.Received(data), self._now))

    def press(self, key: str, down: bool) -> None:
        """Let a panel key go down or up."""
        index = self.description.keys.index(key)
        self._keys = self._keys | 1 << index if down else self._keys & ~(1 << index)
        phase = m.Phase.DOWN if down else m.Phase.UP
        self._act(self._link.handle(bl.Raise(m.KeyEvent(index, phase, self._clock_ms)), self._now))
        both = all(self._keys >> self.description.keys.index(k) & 1 for k in ("lift.1", "lift.2"))
        if down and key.startswith("lift.") and both and self._link.is_open:
            # ADD acts here, not over the wire: feeders stand within 50 ms whatever the host does, and no
            # command of a host that has not seen the keys yet starts them again.
            self._feed_held_by = self._link.event_number
            for operation in list(self._ops.values()):
                if self.description.parts[operation.part].kind in _FEEDS:
                    self._abort(operation)

    def stop_line(self, is_open: bool) -> None:
        """Open the wired stop, which cuts the motors' power whatever runs here, or close it."""
        self._line_open = is_open
        if is_open:
            self._stop_all(m.StopReason.WIRED)

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
        seen = self._machine.sensors() | {"stop.line": self._line_open}
        return sum(1 << i for i, name in enumerate(self.description.sensors) if seen.get(name))

    @property
    def _counts(self) -> bytes:
        return bytes(v for pair in zip(self._taken, self._stored, strict=True) for v in pair)

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
                    self._plain(self._stopped(0) if self._stop else self._hello_ack(0))

    def _reply(self, message: m.Message) -> None:
        self._act(self._link.handle(bl.Reply(message), self._now))

    def _plain(self, message: m.Message) -> None:
        self._act(self._link.handle(bl.Plain(message), self._now))

    def _send_status(self) -> None:
        self._plain(m.Status(self._clock_ms, self._sensors, self._counts))
        self._status_us = self._now + (STATUS_BUSY_US if self._ops else STATUS_REST_US)

    # --- commands -------------------------------------------------------------------------------------------

    def _command(self, message: m.Message) -> None:
        match message:
            case m.Hello(nonce, _):
                self._welcome(nonce)
            case m.StopAll(_, number):
                self._stop_all(m.StopReason.HOST, number)
            case m.Clear(stopped_for, number):
                if (stopped_for, number) == (self._stop, self._stop_number) and not self._line_open:
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
        ack = self._hello_ack(nonce)  # before the moves of the last session end: it names one of them
        if not self._link.repeats(nonce):
            self._feed_held_by = None
            for operation in list(self._ops.values()):
                self._fail(operation, m.FailReason.ABORTED)
        self._act(self._link.welcome(ack))
        self._status_us = self._now + STATUS_REST_US

    def _hello_ack(self, nonce: int) -> m.HelloAck:
        moving = next(reversed(self._ops.values()), None)
        return m.HelloAck(
            nonce,
            self._link.boot_id,
            m.ResetCause.POWER_ON,
            self._uid,
            m.MINOR,
            FIRMWARE,
            self._link.description_hash,
            256,
            self._keys,
            moving.op if moving else 0,
            moving.part if moving else m.NO_PART,
            self._stop,
            self._stop_number,
            self._clock_ms,
            self._sensors,
            self._counts,
        )

    def _refusal(self, message: m.Run | m.Stroke | m.Fill) -> m.FailReason | None:
        """Return why a move is not begun: the board's own interlocks, whatever the host believes."""
        if self._stop:
            return m.FailReason.STOPPED
        parts = self.description.parts
        part = self._part_of(message)
        if part is None:
            return m.FailReason.BAD_ARGUMENT
        if part in self._ops:
            return m.FailReason.BUSY
        kind, seen = parts[part].kind, self._machine.sensors()
        side = f"S{parts[part].side}"
        match message:
            case m.Run(direction=direction):
                if kind not in _FEEDS or direction not in (1, -1):
                    return m.FailReason.BAD_ARGUMENT
                if self._feed_held_by is not None:
                    return m.FailReason.ABORTED
            case m.Fill(mouth=mouth, tiles=tiles):
                if tiles > 2 * self.description.capacity[mouth] or tiles < self._taken[mouth]:
                    return m.FailReason.BAD_ARGUMENT
                if self._feed_held_by is not None:
                    return m.FailReason.ABORTED
                if not seen[f"lift.{side}.home"] or self._busy(f"stacker.{side}", f"lift.{side}"):
                    return m.FailReason.INTERLOCK
            case m.Stroke(end=end):
                return self._stroke_refusal(kind, parts[part].side, end, seen)
        return None

    def _stroke_refusal(
        self, kind: PartKind, side: int, end: int, seen: dict[str, bool]
    ) -> m.FailReason | None:
        name = f"S{side}"
        if (
            end not in _ENDINGS
            or kind in _FEEDS
            or (end == m.End.TURN) != (kind is PartKind.LIFT and end != m.End.HOME)
        ):
            return m.FailReason.BAD_ARGUMENT
        if kind is PartKind.STACKER and end == m.End.FAR and not seen[f"lift.{name}.home"]:
            return m.FailReason.INTERLOCK
        if kind is PartKind.LIFT:
            blocked = not seen[f"stacker.{name}.open"] or not seen["console.down"]
            filling = self._taken[side - 1] != self._stored[side - 1]
            if blocked or self._busy(f"stacker.{name}", "console") or (end == m.End.TURN and filling):
                return m.FailReason.INTERLOCK
        if kind is PartKind.CONSOLE and self._busy(*self.description.names(PartKind.LIFT)):
            return m.FailReason.INTERLOCK
        return None

    def _part_of(self, message: m.Run | m.Stroke | m.Fill) -> int | None:
        if isinstance(message, m.Fill):
            if message.mouth >= self.description.mouths:
                return None
            return self.description.part(f"conveyor.S{message.mouth + 1}")
        return message.part if message.part < len(self.description.parts) else None

    def _busy(self, *parts: str) -> bool:
        return any(self.description.part(p) in self._ops for p in parts)

    def _begin(self, message: m.Run | m.Stroke | m.Fill) -> None:
        part = self._part_of(message)
        if part is None:
            return
        self.executed.append(message)
        operation = self._ops[part] = Operation(message.op, part)
        self._reply(m.Accepted(message.op))
        name = self.description.parts[part].name
        match message:
            case m.Run(direction=direction, lease_ms=lease_ms):
                self._set_lease(operation, lease_ms)
                if name.startswith("conveyor."):
                    self._machine.open_gate(self.description.parts[part].side, direction > 0)
                self._machine.drive(name, direction)
            case m.Stroke(end=end):
                self._begin_stroke(operation, name, end)
            case m.Fill(mouth=mouth, tiles=tiles, lease_ms=lease_ms):
                self._set_lease(operation, lease_ms)
                operation.filler = self._filler(operation, mouth, tiles)
                operation.filler.begin(self._taken[mouth], self._stored[mouth], self._pushing[mouth])
        self._status_us = min(self._status_us or self._now, self._now + STATUS_BUSY_US)

    def _begin_stroke(self, operation: Operation, name: str, end: int) -> None:
        part = self.description.parts[operation.part]
        home, far = _ENDS[part.kind]
        operation.sensor = f"{name}.{far if end == m.End.FAR else home}"
        seen = self._machine.sensors()
        operation.left = end != m.End.TURN or not seen[operation.sensor]
        if operation.left and seen[operation.sensor]:
            self._finish(operation)
            return
        operation.end = self._agenda.after(2_000 * part.stroke_ms, lambda: self._time_out(operation))
        operation.moved = True
        backwards = part.kind is PartKind.CONSOLE and self._console_turns_back(end)
        self._machine.drive(name, -1 if backwards else 1)

    def _console_turns_back(self, end: int) -> bool:
        """Tell whether the way to the end leads back: a console stopped on its way is reversed."""
        closing, at = self._machine.console.angle >= 500_000, self._machine.console.on
        return (
            closing and not at["console.down"] if end == m.End.FAR else not closing and not at["console.up"]
        )

    def _filler(self, operation: Operation, mouth: int, tiles: int) -> Filler:
        side = mouth + 1
        return Filler(
            self._agenda,
            self._machine,
            side,
            tiles,
            stacker_ms=self.description.parts[self.description.part(f"stacker.S{side}")].stroke_ms,
            on_push=lambda count: self._set_pushing(mouth, count),
            on_done=lambda: self._finish(operation),
            on_failed=lambda: self._fail(operation, m.FailReason.TIMEOUT),
            on_aborted=lambda: self._fail(operation, m.FailReason.ABORTED),
        )

    def _set_pushing(self, mouth: int, count: int) -> None:
        self._pushing[mouth] = count

    def _set_lease(self, operation: Operation, lease_ms: int) -> None:
        if operation.end:
            operation.end.cancel()
        operation.leased = True
        lease_ms = min(lease_ms, self.description.max_lease_ms)
        operation.end = self._agenda.after(1000 * lease_ms, lambda: self._lease_out(operation))

    # --- ends -----------------------------------------------------------------------------------------------

    def _on_sensor(self, name: str, active: bool) -> None:
        kind, side, _ = (*name.split("."), "")[:3]
        if kind == "stacker":
            mouth = int(side[1:]) - 1
            if active and name.endswith(".closed"):
                self._stored[mouth] += self._pushing[mouth]
                self._pushing[mouth] = 0
            fill = self._ops.get(self.description.part(f"conveyor.{side}"))
            if fill and fill.filler:
                fill.filler.on_sensor(name, active)
        for operation in list(self._ops.values()):
            if operation.sensor == name:
                if active and operation.left:
                    self._finish(operation)
                elif not active:
                    operation.left = True

    def _on_eye(self, side: int, direction: int) -> None:
        self._taken[side - 1] += direction
        operation = self._ops.get(self.description.part(f"conveyor.S{side}"))
        if operation and operation.filler:
            operation.filler.on_tile(self._taken[side - 1])

    def _finish(self, operation: Operation) -> None:
        part = self.description.parts[operation.part]
        if part.kind is PartKind.LIFT and operation.moved:
            self._taken[part.side - 1] = self._stored[part.side - 1] = 0
        self._end(operation)
        self._done(operation.op)

    def _fail(self, operation: Operation, reason: m.FailReason) -> None:
        self._end(operation)
        self._failed(operation.op, reason)

    def _time_out(self, operation: Operation) -> None:
        self._fail(operation, m.FailReason.TIMEOUT)

    def _lease_out(self, operation: Operation) -> None:
        self._fail(operation, m.FailReason.LEASE)

    def _abort(self, operation: Operation) -> None:
        if operation.filler:
            operation.filler.stop()  # a stacker in motion finishes its stroke first
        else:
            self._fail(operation, m.FailReason.ABORTED)

    def _end(self, operation: Operation) -> None:
        part = self.description.parts[operation.part]
        self._machine.drive(part.name, 0)
        if part.kind is PartKind.CONVEYOR:
            self._machine.open_gate(part.side, False)
        if operation.end:
            operation.end.cancel()
        if operation.filler:
            self._machine.drive(f"stacker.S{part.side}", 0)
            operation.filler.close()
        self._ops.pop(operation.part, None)

    def _done(self, op: int) -> None:
        self._reply(m.Done(op, self._clock_ms, self._sensors, self._counts))

    def _failed(self, op: int, reason: m.FailReason) -> None:
        self._reply(m.Failed(op, reason, self._clock_ms, self._sensors, self._counts))

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
        return m.Stopped(self._stop, self._stop_number, answers, self._clock_ms, self._sensors, self._counts)


_ENDINGS = frozenset(int(end) for end in m.End)
_ENDS = {
    PartKind.STACKER: ("open", "closed"),
    PartKind.LIFT: ("home", "home"),
    PartKind.CONSOLE: ("down", "up"),
}
