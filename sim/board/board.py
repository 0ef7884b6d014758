"""The simulated board: its link, session, stop, keys and status. What a firmware would do."""

from collections.abc import Callable

from firmware_protocol import board_link as bl
from firmware_protocol import messages as m
from firmware_protocol import reports
from firmware_protocol.core import Tick, earliest
from firmware_protocol.description import Description
from firmware_protocol.window import LinkCounters
from sim.agenda import Agenda
from sim.board.counts import Counts
from sim.board.describe import LIFT_KEYS, STOP_LINE
from sim.board.interlocks import Move
from sim.board.keys import Keys
from sim.board.moves import Moves, Operation
from sim.mechanics.machine import DOOR, Machine

STATUS_BUSY_US = 200_000
STATUS_REST_US = 1_000_000
FIRMWARE = 0x0001
_NO_MOVE = (0, m.NO_PART)


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
        self.executed: list[Move] = []  # every command that moved something, in order
        self._agenda = agenda
        self._machine = machine
        self._transmit = transmit
        self._show = show
        self._uid = uid
        self._link = bl.BoardLink(boot_id, description.to_bytes())
        self._bits = [(1 << i, name) for i, name in enumerate(description.sensors)]
        self._counts = Counts(description.mouths)
        self._moves = Moves(
            agenda, machine, description, self._counts, self._tells, self._ended, self._sensor_missed
        )
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
        self._missed: set[str] = set()  # end sensors that this session knows to be dead
        self._status_us: int | None = None
        machine.on_sensor = self._on_sensor

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
        return tuple(operation.part.name for operation in self._ops.values())

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
        if down and key in LIFT_KEYS and all(map(self._key_held, LIFT_KEYS)) and self._link.is_open:
            # ADD acts here, not over the wire: feeders stand within 50 ms whatever the host does, and no
            # command of a host that has not seen the keys yet starts them again.
            self._feed_held_by = self._link.event_number
            self._moves.stop_feeds()
        self._moves.lift_key(any(map(self._key_held, LIFT_KEYS)))

    def _key_held(self, key: str) -> bool:
        return bool(self._keys >> self.description.keys.index(key) & 1)

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
        self._moves.halt()
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
        if self._line_open or self._machine.tells(DOOR):
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
    def _ops(self) -> dict[int, Operation]:
        return self._moves.open

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
        tells, credible = self._tells, self._moves.credible
        return sum(bit for bit, name in self._bits if tells(name) and credible(name))

    def _tells(self, sensor: str) -> bool:
        if sensor == STOP_LINE:
            return self._line_open
        return self._machine.tells(sensor) or self._moves.whereabouts.timed(sensor)

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
        self._plain(m.Status(self._clock_ms, *self._report()))
        self._status_us = self._now + (STATUS_BUSY_US if self._ops else STATUS_REST_US)

    # --- commands -------------------------------------------------------------------------------------------

    def _command(self, message: m.Message) -> None:
        match message:
            case m.Hello(nonce, _):
                self._welcome(nonce)
            case m.StopAll(_, number):
                self._stop_all(m.StopReason.HOST, number)
            case m.Clear(stopped_for, number):
                held = self._line_open or self._machine.tells(DOOR)
                if (stopped_for, number) == (self._stop, self._stop_number) and not held:
                    self._stop = m.StopReason.NONE
            case m.Renew(op, lease_ms):
                self._moves.renew(op, lease_ms)
            case m.Panel():
                self._show(message)
                self._ended(message.op, None)
            case m.Stop(op, part) if part >= len(self.description.parts):
                self._ended(op, m.FailReason.BAD_ARGUMENT)
            case m.Stop(op, part):
                self._moves.stop(part)
                self._ended(op, None)
            case m.Run() | m.Stroke() | m.Fill() | m.Jog():
                if reason := self._refusal(message):
                    self._ended(message.op, reason)
                else:
                    self._begin(message)

    def _welcome(self, nonce: int) -> None:
        if not self._link.repeats(nonce):
            self._told_move = self._moving()
            self._cut_move = None
            self._feed_held_by = None
            self._missed.clear()
            self._moves.stop_all()
        # Sensors and counts as they are now; the move as it was, even where this ACK is asked for again.
        self._act(self._link.welcome(self._hello_ack(nonce, self._told_move)))
        self._status_us = self._now + STATUS_REST_US

    def _moving(self) -> tuple[int, int]:
        """Return operation and part of the move in progress, or of the one that a restart has cut."""
        for operation in reversed(self._ops.values()):
            return operation.op, self.description.part(operation.part.name)
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
            *self._report(),
        )

    def _report(self) -> tuple[int, bytes]:
        return reports.packed(self.description, self._sensors, self._counts.to_wire())

    def _refusal(self, move: Move) -> m.FailReason | None:
        # A technician turns one motor in the open table: no stop but the wired one is in the way of that.
        jog = isinstance(move, m.Jog) and self._stop != m.StopReason.WIRED and not self._line_open
        if self._stop and not jog:
            return m.FailReason.STOPPED
        lift_key = any(map(self._key_held, LIFT_KEYS))
        return self._moves.refusal(move, self._feed_held_by is not None, lift_key)

    def _begin(self, move: Move) -> None:
        self.executed.append(move)
        self._status_us = min(self._status_us or self._now, self._now + STATUS_BUSY_US)
        self._moves.begin(move, lambda: self._reply(m.Accepted(move.op)))

    def _ended(self, op: int, reason: m.FailReason | None) -> None:
        state = (self._clock_ms, *self._report())
        self._reply(m.Done(op, *state) if reason is None else m.Failed(op, reason, *state))

    def _sensor_missed(self, name: str) -> None:
        if name not in self._missed:
            self._missed.add(name)
            event = m.SensorMissed(self.description.sensors.index(name), self._clock_ms)
            self._act(self._link.handle(bl.Raise(event), self._now))

    def _on_sensor(self, name: str, active: bool) -> None:
        if name == DOOR:
            if active and self._alive:
                self._stop_all(m.StopReason.DOOR)
        elif self._alive:
            self._moves.on_sensor(name, active)

    def _stop_all(self, reason: m.StopReason, answers: int = 0) -> None:
        self._moves.stop_all()
        # The first reason stays, for it is what went wrong; the wired stop comes before every other.
        if not self._stop or (reason == m.StopReason.WIRED and self._stop != reason):
            self._stop = reason
            self._stop_number = self._stop_number % 255 + 1
        self._link.void_session()
        self._status_us = None
        self._plain(self._stopped(answers))

    def _stopped(self, answers: int) -> m.Stopped:
        return m.Stopped(self._stop, self._stop_number, answers, self._clock_ms, *self._report())
