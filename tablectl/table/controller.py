"""The controller: events of board, keys and disk in; orders, records and announcements out. No I/O.

One outside event per `handle`; it is first taken in as fact, then turned into triggers of the cycle, whose
own triggers drain from a short queue in the same call.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from firmware_protocol.core import Tick, earliest
from firmware_protocol.description import Mouth, PartKind
from firmware_protocol.messages import StopReason
from tablectl.rules import ruleset
from tablectl.table import events as ev
from tablectl.table import faults, panel
from tablectl.table.activity import Activity, Trouble
from tablectl.table.cycle import Cell, Cycle, State, Trigger
from tablectl.table.desk import Desk
from tablectl.table.front import Front
from tablectl.table.guards import TableGuards
from tablectl.table.hand import Hand
from tablectl.table.homing import Homing
from tablectl.table.intents import Key
from tablectl.table.keys import LIFT_KEYS, Keys
from tablectl.table.memory import Memory, Standing
from tablectl.table.operations import Operations
from tablectl.table.plausible import Plausible
from tablectl.table.states import Situation, activity, remembered
from tablectl.table.technician import Technician
from tablectl.table.timing import Timing

EXPLAIN_US = 1_000_000  # the key that made the board stop a feeder comes as an event of its own by then
_MAX_TRIGGERS = 8
_FEEDING = (State.WASHING, State.PROBING, State.DIAGNOSING)
_STANDING_STILL = (State.UNHOMED, State.FAULT, State.OFF, State.TECHNICIAN)
_DOOR = "door.open"
_STOPS = {StopReason.DOOR: "E18", StopReason.WIRED: "E17"}

Event = (
    ev.Hello | ev.Status | ev.Accepted | ev.Done | ev.Failed | ev.Stopped | ev.PanelKey | ev.SensorMissed
    | ev.Jog | ev.Sent | ev.NotSent | ev.Journaled | ev.JournalFailed | ev.Entropy | ev.LinkLost | ev.Heard
    | ev.Crashed | ev.Choose | ev.HandEnded | Key | Tick
)  # fmt: skip
Effect = (
    ev.Command | ev.StopAll | ev.ClearStop | ev.Panel | ev.Journal | ev.EntropyWanted | ev.FaultRaised
    | ev.WarningRaised | ev.Refused | ev.Washed | ev.DiceThrown | ev.BreakAnnounced | ev.HandsServed
    | ev.StateChanged | ev.Counted | ev.RuleChosen | ev.HandOver | ev.SameSetWanted
)  # fmt: skip


class Controller:
    """One table.

    `memory` is the journal's last word on its sets, `timing` on its learned times; `speed` is that of a
    simulated clock.
    """

    def __init__(
        self,
        memory: Memory,
        sets: int = 2,
        speed: float = 1.0,
        next_journal_id: int = 1,
        timing: Mapping[str, Any] | None = None,
    ) -> None:
        self.memory = memory
        self.sets = sets
        self.fault: ev.FaultRaised | None = None
        self.board: ev.Hello | None = None
        self.seen: ev.BoardState | None = None
        self.connected = False
        self.journal_dead = False
        self.wishes_off = False
        self.operations = Operations(self.emit, self._stroke_ms, speed)
        self.hand = Hand(memory.standing, self.emit, self._record_hand)
        self.keys = Keys()
        self.front = Front(self)
        self._desk = Desk(self)
        self._cycle = Cycle(TableGuards(self), State.UNHOMED)
        self._activity: Activity | None = None
        self.timing = Timing(timing)
        self._plausible: Plausible | None = None  # of this session
        self._speed = speed
        self._journal_id = next_journal_id - 1
        self._board_stop = int(StopReason.NONE)  # what CLEAR must name before anything moves
        self._unexplained_us: int | None = None
        self._washing_since_us: int | None = None
        self._queue: deque[Trigger] = deque()
        self._out: list[Effect] = []
        self.now_us = 0

    # --- the core's shape -----------------------------------------------------------------------------------

    def handle(self, event: Event, now_us: int) -> tuple[Effect, ...]:
        """Take one event in."""
        self.now_us = now_us
        self._out = []
        self._take_in(event)
        self._drain()
        self.hand.tick(now_us)
        self._desk.tick(now_us)
        self._show()
        return tuple(self._out)

    def next_deadline(self) -> int | None:
        """Return when a lease, a time limit or a timer of the state is due."""
        activity = self._activity.next_deadline() if self._activity else None
        return earliest(
            activity,
            self.operations.next_deadline(),
            self.hand.next_deadline(),
            self._desk.next_deadline(),
            self._unexplained_us,
        )

    @property
    def state(self) -> State:
        """Return where the cycle is."""
        return self._cycle.state

    @property
    def moving(self) -> bool:
        """Tell whether something was ordered to move and has not ended."""
        return bool(self.operations.pending)

    @property
    def door_open(self) -> bool:
        """Tell whether the service door is open."""
        return self.seen is not None and _DOOR in self.seen.sensors

    @property
    def prompt(self) -> str | None:
        """Return what the display asks for, or shows of what is being typed."""
        return self._desk.word

    @property
    def mouths(self) -> tuple[Mouth, ...]:
        """Return the mouths of the table, none before its board has described itself."""
        return self.board.description.named_mouths if self.board else ()

    @property
    def technician(self) -> Technician | None:
        """Return technician mode, where the table is in it."""
        return self._activity if isinstance(self._activity, Technician) else None

    # --- facts ----------------------------------------------------------------------------------------------

    def _take_in(self, event: Event) -> None:
        match event:
            case Tick():
                self._tick()
            case ev.Status(state):
                self._see(state)
            case ev.Done(op, state):
                self._see(state)
                self._ended(op, None)
            case ev.Failed(op, reason, state):
                self._see(state)
                self._ended(op, reason)
            case ev.Sent(op):
                self.operations.sent(op, self.now_us)
            case ev.NotSent(op):
                self._ended(op, "NOT_SENT")
            case Key():
                self._desk.remote(event)
            case ev.PanelKey(name, down):
                if isinstance(self._activity, Technician):
                    self.keys.note(name, down)
                    self._activity.key(name, down, self.now_us)
                else:
                    self._desk.panel(name, down)
            case ev.Jog():
                self._jog(event)
            case ev.SensorMissed(sensor):
                self._warn("E66", sensor=sensor)
            case ev.Hello():
                self._hello(event)
            case ev.Stopped(reason, state):
                self._see(state)
                self._stopped(reason)
            case ev.LinkLost(reason, detail):
                self._link_lost(reason, detail)
            case ev.Crashed(core, error):
                self._queue.clear()
                self._activity = None
                self.raise_fault("E19", detail=f"{core}: {error.strip().splitlines()[-1]}")
            case ev.JournalFailed(detail):
                self.journal_dead = True
                self.raise_fault("E16", detail=detail)
            case ev.Entropy(id_, data):
                self.hand.entropy(id_, data)
                self._desk.entropy(id_, data)
            case ev.Choose():
                self._desk.choose(event)
            case ev.HandEnded():
                self._desk.hand_ended(event)
            case ev.Heard(user_code, data_code, known):
                self.journal("heard", {"user_code": user_code, "data_code": data_code, "paired": known})
            case ev.Journaled(id_):
                self.journal_dead = False  # entries reach the disk in order: it has the lost ones as well
                self.hand.written(id_, self.now_us)
            case ev.Accepted():
                pass

    def _see(self, state: ev.BoardState) -> None:
        before, self.seen = self.seen, state
        if before is None or (before.taken, before.stored) != (state.taken, state.stored):
            names = tuple(mouth.name for mouth in self.mouths)
            self.emit(ev.Counted(state.taken, state.stored, names))
        if _DOOR in state.sensors and not self.memory.disturbed:
            self.remember(disturbed=True)
            if self.state is not State.TECHNICIAN:
                self.raise_fault("E18")
        if self._plausible and self.state not in _STANDING_STILL:
            trouble = self._plausible.contradiction(state, self.operations.pending.values())
            if trouble:
                self.raise_fault(trouble.code, **trouble.values)
        if self._activity:
            self._activity.see(state, self.now_us)

    def _tick(self) -> None:
        self.operations.renew(self.now_us)
        overdue = self.operations.overdue(self.now_us)
        if overdue is not None and not overdue.sent and overdue.limit_us is None:
            self.journal_dead = True
            self.raise_fault("E16", detail="no_answer")
        elif overdue is not None:
            self.raise_fault("E15", part=overdue.part)
        if self._unexplained_us is not None and self.now_us >= self._unexplained_us:
            self._unexplained_us = None
            if self.state in _FEEDING:
                self._stop_half_way()

    def _ended(self, op: int, reason: str | None) -> None:
        pending = self.operations.end(op)
        if pending is None:
            return
        if reason is None and pending.sent_us is not None and pending.limit_us is not None:
            self._learn(f"{pending.part} {pending.verb}", pending.part, self.now_us - pending.sent_us)
        dealt_with = self._activity.ended(pending, reason, self.now_us) if self._activity else True
        if reason is None or dealt_with or pending.stopping:
            return
        if reason == "ABORTED":
            # The board has ended it by itself. Both lift keys explain it; without an explanation in time
            # the table has been stopped half way, and nothing is taken for done.
            self._unexplained_us = self._unexplained_us or self.now_us + EXPLAIN_US
            return
        kind, far = PartKind(pending.part.partition(".")[0]), pending.verb is ev.Verb.STROKE_FAR
        code, values = faults.of_failure(kind, pending.part, reason, far)
        self._doubt(Trouble(code, values))
        self.raise_fault(code, **values)

    def _doubt(self, trouble: Trouble) -> None:
        """Remember what a fault says of the counts: a side to be counted anew, stores not to be built on."""
        side = trouble.values.get("side")
        if trouble.code == "E26" and side not in self.memory.recount:
            self.memory = self.memory.but(recount=(*self.memory.recount, side))
        if trouble.code == "E23":
            self.memory = self.memory.but(mistrust=True)

    def _learn(self, stroke: str, part: str, took_us: int) -> None:
        verdict = self.timing.record(stroke, took_us)
        if verdict.learned:
            self.journal("timing", {"timing": self.timing.to_json()})
        if verdict.slowed is not None:
            self._warn("E65", part=part, percent=verdict.slowed)

    def _warn(self, code: str, **values: Any) -> None:
        self.emit(ev.WarningRaised(code, values))
        self.journal("warning", {"code": code, **values})

    def _jog(self, asked: ev.Jog) -> None:
        """Let a program turn a motor, in technician mode only."""
        reason: str | None = "refuse.jog"
        if self.connected and self.technician:
            reason = self.technician.jog(asked.source, asked.part, asked.direction, self.now_us)
        if reason:
            refused = ev.Refused(asked.source, "JOG", reason, {"part": asked.part})
            self.emit(refused)
            said = {"source": asked.source, "intent": "JOG", "reason": reason, "values": refused.values}
            self.journal("refused", said)

    def _record_jog(self, source: str, part: str, direction: int) -> None:
        """Write down who turns what; it waits until the disk has that."""
        said = {"source": source, "part": part, "direction": direction}
        self.operations.after = self.journal("jog", said)

    def _hello(self, hello: ev.Hello) -> None:
        known = self.board
        self.board = hello
        self.connected = True
        self._board_stop = hello.stop
        self.front.forget()
        self.keys.greet(hello.keys)
        if known is None or (known.uid, known.boot_id) != (hello.uid, hello.boot_id):
            said = {"uid": hello.uid, "firmware": hello.firmware, "reset_cause": hello.reset_cause}
            self.journal("board", {**said, "table": hello.description.table})
            self._queue.append(Trigger.BOARD_RESET)
            if self.memory.without:
                self.remember(without=())  # it may have been mended while the power was off
            if set(hello.keys) >= LIFT_KEYS and self.state in (State.UNHOMED, State.FAULT):
                self._queue.append(Trigger.TECHNICIAN)  # both lift keys held at power-on, as of old
        if (memory := self.memory.of(hello.description.mouths)) is not self.memory:
            self.memory = memory
            self.hand.stand(memory.standing)
            self.remember()
        self._plausible = Plausible(hello.description)
        self._see(hello.state)
        self.hand.remind(self.now_us)
        if isinstance(self._activity, Homing):
            self._activity.greeted(hello, self.now_us)

    def _stopped(self, reason: int) -> None:
        # The board stands already: another STOP ALL would only be answered with this again.
        self.operations.forget()
        self._activity = None
        self._board_stop = reason
        if reason == StopReason.SILENCE:
            self._name_fault("E13" if self._speed > 1 else "E12", {"speed": self._speed})
        elif reason == StopReason.DOOR and self.state is State.TECHNICIAN:
            self._activity = self._begin(State.TECHNICIAN, False)  # the technician's own hand
        elif reason in list(_STOPS):
            self._name_fault(_STOPS[StopReason(reason)], {})
        elif self.state not in _STANDING_STILL:
            self._queue.append(Trigger.BOARD_RESET)

    def _link_lost(self, reason: str, detail: str) -> None:
        moving = self.moving
        self.connected = False
        self.front.forget()
        self.operations.forget()
        if reason in ("version", "description"):
            self.raise_fault("E14", detail=reason, more=detail)
        elif moving:
            self.raise_fault("E11" if reason == "reset" else "E10", detail=reason)
        elif self.state not in _STANDING_STILL:
            self._queue.append(Trigger.BOARD_RESET)

    # --- the cycle ------------------------------------------------------------------------------------------

    def fire(self, trigger: Trigger) -> Cell:
        """Take a trigger; the state has changed where the cell that it met is go."""
        old = self.state
        found = self._cycle.fire(trigger)
        if isinstance(found, tuple):
            self._enter(old, self.state)
        return found

    def _drain(self) -> None:
        for _ in range(_MAX_TRIGGERS):
            if not self._queue and self._activity:
                outcome = self._activity.advance(self.now_us)
                if isinstance(outcome, Trouble):
                    self._doubt(outcome)
                    self.raise_fault(outcome.code, **outcome.values)
                elif outcome is not None:
                    self._queue.append(outcome)
            if not self._queue:
                return
            self.fire(self._queue.popleft())
        raise RuntimeError("the cycle's own triggers do not come to rest")

    def _enter(self, old: State, new: State) -> None:
        self._activity = None
        self._unexplained_us = None
        self._time_wash(new)
        cut = self.memory.raising
        self._update_memory(old, new)
        # Written ahead: no motor of the new state turns before the disk knows of it.
        data = {"from": old, "to": new, "memory": self.memory.to_json()}
        self.operations.after = self.journal("state", data)
        self.emit(ev.StateChanged(old, new))
        if new in _STANDING_STILL:
            self.operations.forget()
            self._queue.clear()
            self.keys.forget_holds()
            self.wishes_off = False
        if old in (State.HOMING, State.STOPPED):
            self.hand.resume(self.now_us)
        self._activity = self._begin(new, cut)
        if self._activity:
            self._activity.begin(self.now_us)

    def _begin(self, new: State, cut: bool) -> Activity | None:
        if self.board is None or self.seen is None:
            return None
        at = Situation(
            self.operations,
            self.memory,
            self.seen,
            self.board,
            self._board_stop,
            cut,
            self._clear,
            self._record_jog,
        )
        return activity(new, at)

    def _update_memory(self, old: State, new: State) -> None:
        before, self.memory = self.memory, remembered(self.memory, old, new, self.mouths)
        if old is State.FAULT:
            if self.fault and self.fault.code == "E53" and new is State.UNHOMED:
                # RESET is a person's word to go on without that sensor until it is mended.
                without = {*self.memory.without, self.fault.values["sensor"]}
                self.memory = self.memory.but(without=tuple(sorted(without)))
            self.fault = None
        if self.memory.standing is not before.standing:
            self.hand.stand(self.memory.standing)
            self.hand.begin(self.now_us)
        if new is State.OPENING and (rule := self.memory.leftover):
            self.emit(ev.SameSetWanted(rule, ruleset.load(rule).tiles.left_in_drum))
        if new in (State.CLOSING, State.ADD_CLOSING):
            self.front.beep(panel.BEEP_CLOSING_MS)
        if old is State.PROBING and self.memory.stored and before.wash:
            self.emit(ev.Washed(before.wash.rule, before.washed_us))
            self.front.beep(panel.BEEP_READY_MS)

    def _time_wash(self, new: State) -> None:
        """Add up how long the wash has run: pauses are not washing, and timers shown to players are true."""
        if self._washing_since_us is not None:
            ran_us = self.now_us - self._washing_since_us
            self.memory = self.memory.but(washed_us=self.memory.washed_us + ran_us)
        self._washing_since_us = self.now_us if new in _FEEDING else None

    # --- effects --------------------------------------------------------------------------------------------

    def emit(self, effect: Effect) -> None:
        """Let an effect out."""
        self._out.append(effect)

    def journal(self, kind: str, data: dict[str, Any]) -> int:
        """Write an entry down and return its number."""
        self._journal_id += 1
        self.emit(ev.Journal(self._journal_id, kind, data))
        return self._journal_id

    def remember(self, **changes: Any) -> None:
        """Change the memory, on the disk as well."""
        self.memory = self.memory.but(**changes)
        self.journal("memory", {"memory": self.memory.to_json()})

    def stop_everything(self) -> None:
        """Stop the board, ahead of all else; homing must begin with CLEAR."""
        self.emit(ev.StopAll())
        self.operations.forget()
        self._activity = None
        self._board_stop = self._board_stop or int(StopReason.HOST)

    def raise_fault(self, code: str, **values: Any) -> None:
        """Stop everything and say why; a fault that stands is not covered by another."""
        self.stop_everything()
        self._name_fault(code, values)

    def show_dead_journal(self) -> None:
        """Let a dead journal cover the fault that stands: it is what keeps the table from going on."""
        if self.fault and self.fault.code != "E16":
            self.fault = ev.FaultRaised("E16", {"detail": "no_answer"})
            self.emit(self.fault)
            self.journal("fault", {"code": "E16", "values": self.fault.values})

    def _name_fault(self, code: str, values: dict[str, Any]) -> None:
        """Go into the fault; everything stands, or has been told to."""
        if self.state is State.FAULT or Trigger.FAILED in self._queue:
            return
        self.fault = ev.FaultRaised(code, values)
        self.emit(self.fault)
        self.journal("fault", {"code": code, "values": values, "memory": self.memory.to_json()})
        self.front.beep(panel.BEEP_FAULT_MS)
        self._queue.clear()
        self._queue.append(Trigger.FAILED)

    def _stop_half_way(self) -> None:
        self.stop_everything()
        self._queue.append(Trigger.STOP)

    def _clear(self, reason: int) -> None:
        self.emit(ev.ClearStop(reason))

    def _record_hand(self, kind: str, standing: Standing, said: dict[str, Any]) -> int:
        self.memory = self.memory.but(standing=standing)
        return self.journal(kind, {**said, "memory": self.memory.to_json()})

    def _show(self) -> None:
        if self.board is None or not self.connected:
            return
        if change := self.front.change():
            self.emit(ev.Panel(self.operations.next_op(), *change))

    def _stroke_ms(self, part: str) -> int:
        if self.board is None:
            return 0
        description = self.board.description
        return description.parts[description.part(part)].stroke_ms
