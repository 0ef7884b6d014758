"""The controller: events of board, keys and disk in; orders, records and announcements out. No I/O.

One outside event per `handle`; it is first taken in as fact, then turned into triggers of the cycle, whose
own triggers drain from a short queue in the same call.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from firmware_protocol.core import Tick, earliest
from firmware_protocol.description import Description, PartKind
from firmware_protocol.messages import StopReason
from tablectl.rules import ruleset
from tablectl.table import events as ev
from tablectl.table import faults, panel
from tablectl.table.cycle import Cell, Cycle, Refuse, State, Trigger
from tablectl.table.hand import Hand
from tablectl.table.intents import Intent, Key, Phase
from tablectl.table.memory import Memory, Standing, WashOrder
from tablectl.table.operations import STOP_FEEDS, Operations, Procedure, Step
from tablectl.table.panel_keys import PanelKeys
from tablectl.table.sorter import Probe, Wash

HOLD_US = 1_500_000  # START held this long, in sight of the table, may cause the first motion
_MAX_TRIGGERS = 8

Event = (
    ev.Hello | ev.Status | ev.Accepted | ev.Done | ev.Failed | ev.Stopped | ev.PanelKey | ev.Journaled
    | ev.JournalFailed | ev.Entropy | ev.LinkLost | ev.Heard | ev.Crashed | Key | Tick
)  # fmt: skip
Effect = (
    ev.Command | ev.StopAll | ev.ClearStop | ev.Panel | ev.Journal | ev.EntropyWanted | ev.FaultRaised
    | ev.Refused | ev.Washed | ev.DiceThrown | ev.BreakAnnounced | ev.StateChanged | ev.Counted
)  # fmt: skip


class Controller:
    """One table. `memory` is the journal's last word on its sets; `speed` that of a simulated clock."""

    def __init__(self, memory: Memory, sets: int = 2, speed: float = 1.0, next_journal_id: int = 1) -> None:
        self.memory = memory
        self.sets = sets
        self.fault: ev.FaultRaised | None = None
        self.board: ev.Hello | None = None
        self.state_of_board: ev.BoardState | None = None
        self._speed = speed
        self._cycle = Cycle(self, State.UNHOMED)
        self._operations = Operations(self._command, self._stroke_ms)
        self._activity: Procedure | Wash | Probe | None = None
        self._hand = Hand(memory.standing, self._emit, self._journal)
        self._keys = PanelKeys()
        self._journal_id = next_journal_id - 1
        self._wash_began_us = 0
        self._board_stop = int(StopReason.NONE)  # what CLEAR must name before anything moves
        self._wish_to_home = False
        self._shown: tuple[str, tuple[str, ...]] | None = None
        self._buzzer_ms = 0
        self._queue: deque[Trigger] = deque()
        self._out: list[Effect] = []
        self._now = 0

    # --- the core's shape -----------------------------------------------------------------------------------

    def handle(self, event: Event, now_us: int) -> tuple[Effect, ...]:
        """Take one event in."""
        self._now = now_us
        self._out = []
        self._take_in(event)
        self._drain()
        self._hand.tick(now_us)
        self._show()
        return tuple(self._out)

    def next_deadline(self) -> int | None:
        """Return when a lease, a time limit or a timer of the state is due."""
        activity = self._activity.next_deadline() if self._activity else None
        return earliest(activity, self._operations.next_deadline(), self._hand.next_deadline())

    @property
    def state(self) -> State:
        """Return where the cycle is."""
        return self._cycle.state

    @property
    def moving(self) -> bool:
        """Tell whether something was ordered to move and has not ended."""
        return bool(self._operations.pending)

    @property
    def hand(self) -> Hand:
        """Return the set that stands, its dice and its break."""
        return self._hand

    # --- guards of the cycle --------------------------------------------------------------------------------

    def unfinished(self) -> bool:
        """Tell whether a wash or a raise was cut."""
        return self.memory.wash is not None or self.memory.raising

    def loaded(self) -> bool:
        """Tell whether the console was opened and no wash has followed."""
        return self.memory.loaded

    def stored(self) -> bool:
        """Tell whether a washed set waits in the stores."""
        return self.memory.stored is not None

    def raise_cut(self) -> bool:
        """Tell whether a raise was begun and not ended."""
        return self.memory.raising

    def raises_at_once(self) -> bool:
        """Tell whether START raises without opening: one set only, and it is stored."""
        return self.sets == 1 and self.stored()

    # --- facts ----------------------------------------------------------------------------------------------

    def _take_in(self, event: Event) -> None:
        match event:
            case Tick():
                self._tick()
            case ev.Status(state):
                self._see(state)
            case ev.Done(op, state):
                self._see(state)
                self._operations.end(op)
            case ev.Failed(op, reason, state):
                self._see(state)
                self._failed(op, reason)
            case Key():
                self._key(event)
            case ev.PanelKey(name, down):
                for intent in self._keys.press(name, down, self.state, self.memory.dealer):
                    self._key(Key("panel", intent, Phase.DOWN if down else Phase.UP))
            case ev.Hello():
                self._hello(event)
            case ev.Stopped(reason, state):
                self._see(state)
                self._stopped(reason)
            case ev.LinkLost(reason, detail):
                self._link_lost(reason, detail)
            case ev.Crashed(core, error):
                self._raise_fault("E19", detail=f"{core}: {error.strip().splitlines()[-1]}")
            case ev.JournalFailed(detail):
                self._raise_fault("E16", detail=detail)
            case ev.Entropy(id_, data):
                self._hand.entropy(id_, data, self._now)
                self._remember(standing=self._hand.standing)
            case ev.Heard(user_code, data_code, known):
                self._journal("heard", {"user_code": user_code, "data_code": data_code, "paired": known})
            case ev.Accepted() | ev.Journaled():
                pass

    def _see(self, state: ev.BoardState) -> None:
        before, self.state_of_board = self.state_of_board, state
        if before is None or (before.taken, before.stored) != (state.taken, state.stored):
            self._emit(ev.Counted(state.taken, state.stored))
        if isinstance(self._activity, Wash | Probe):
            self._activity.see(state, self._now)
        if isinstance(self._activity, Probe) and (extra := self._activity.extra):
            self._raise_fault("E24", sides=_per_side(extra))

    def _tick(self) -> None:
        overdue = self._operations.tick(self._now)
        if overdue is not None:
            self._raise_fault("E15", part=overdue.part)
        if isinstance(self._activity, Wash) and (missing := self._activity.missing(self._now)):
            self._raise_fault("E21", sides=_per_side(missing))

    def _failed(self, op: int, reason: str) -> None:
        pending = self._operations.end(op)
        if pending is None or (pending.stopping and reason in ("ABORTED", "LEASE")):
            return
        if reason == "ABORTED":
            return  # the board ended it by itself; the key or the stop that made it comes as its own event
        kind, part = self._kind(pending.part), pending.part
        code, values = faults.of_failure(kind, part, reason)
        self._raise_fault(code, **values)

    def _hello(self, hello: ev.Hello) -> None:
        restarted = self.board is not None and self.board.boot_id != hello.boot_id
        self.board = hello
        self._board_stop = hello.stop
        self.state_of_board = hello.state
        self._shown = None
        if restarted:
            self._queue.append(Trigger.BOARD_RESET)
        if self.state is State.HOMING and self._wish_to_home:
            self._home(hello)

    def _stopped(self, reason: int) -> None:
        self._operations.forget()
        if reason == StopReason.SILENCE:
            self._raise_fault("E13" if self._speed > 1 else "E12", speed=self._speed)

    def _link_lost(self, reason: str, detail: str) -> None:
        moving = bool(self._operations.pending)
        self._operations.forget()
        self._shown = None
        if reason in ("version", "description"):
            self._raise_fault("E14", detail=detail or reason)
        elif moving:
            self._raise_fault("E11" if reason == "reset" else "E10", detail=reason)
        else:
            self._queue.append(Trigger.BOARD_RESET)

    # --- keys -----------------------------------------------------------------------------------------------

    def _key(self, key: Key) -> None:
        if key.phase is Phase.UP:
            return
        if key.phase is Phase.HELD:
            if key.intent is Intent.START and key.held_us >= HOLD_US and self.state is State.UNHOMED:
                self._ask(key, Trigger.START_LONG)
            return
        self._journal("key", {"source": key.source, "intent": key.intent})
        match key.intent:
            case Intent.START:
                # Only what is in sight of the table may cause its first motion: a panel key, or START held.
                if self.state is State.UNHOMED and key.source == "panel":
                    self._ask(key, Trigger.START_LONG)
                elif self.state is State.UNHOMED and key.source.startswith("local:"):
                    self._refuse(key, "refuse.person_needed")
                else:
                    self._ask(key, Trigger.START)
            case Intent.ADD | Intent.STOP | Intent.RESET:
                self._ask(key, Trigger(key.intent.lower()))
            case Intent.DICE | Intent.DICE_EAST | Intent.DICE_SOUTH | Intent.DICE_WEST | Intent.DICE_NORTH:
                if reason := self._hand.throw(key.intent):
                    self._refuse(key, reason)
            case Intent.RULE_NEXT | Intent.RULE_PREVIOUS:
                self._choose_rule(key, 1 if key.intent is Intent.RULE_NEXT else -1)
            case Intent.DEALER_NEXT:
                self._next_dealer(key)
            case Intent.POWER:
                self._refuse(key, "refuse.power")
            case Intent.MUTE | Intent.STATUS:
                pass

    def _ask(self, key: Key, trigger: Trigger) -> None:
        if self.board is None:
            self._refuse(key, "refuse.no_board")
            return
        misfit = self._misfit(self.memory.rule) if self.state in (State.REST, State.LOADED) else None
        if trigger is Trigger.START and misfit:
            self._refuse(key, "refuse.rule_does_not_fit", **misfit)
            return
        if trigger is Trigger.STOP:
            self._stop_everything()
        found = self._fire(trigger)
        if isinstance(found, Refuse):
            self._refuse(key, found.reason)

    def _refuse(self, key: Key, reason: str, **values: Any) -> None:
        self._emit(ev.Refused(key.source, key.intent, reason, values))
        self._journal("refused", {"source": key.source, "intent": key.intent, "reason": reason})

    def _choose_rule(self, key: Key, step: int) -> None:
        ids = ruleset.available()
        at = ids.index(self.memory.rule)
        for n in range(1, len(ids)):
            rule = ids[(at + n * step) % len(ids)]
            misfit = self._misfit(rule)
            if misfit is None:
                self._remember(rule=rule)  # the wash under way keeps its own order
                return
            self._refuse(key, "refuse.rule_does_not_fit", **misfit)

    def _next_dealer(self, key: Key) -> None:
        if self._hand.standing and self._hand.standing.throws:
            self._refuse(key, "refuse.dealer_after_dice")
            return
        self._remember(dealer=(self.memory.dealer + 1) % 4)
        if self._hand.standing:
            self._hand.stand(Standing(self._hand.standing.order, self.memory.dealer))
            self._remember(standing=self._hand.standing)

    # --- the cycle ------------------------------------------------------------------------------------------

    def _drain(self) -> None:
        for _ in range(_MAX_TRIGGERS):
            if not self._queue and self._activity and self.state is not State.FAULT:
                trigger = self._activity.advance(self._now)
                if trigger is not None:
                    self._queue.append(trigger)
            if not self._queue:
                return
            self._fire(self._queue.popleft())
        raise RuntimeError("the cycle's own triggers do not come to rest")

    def _fire(self, trigger: Trigger) -> Cell:
        old = self.state
        found = self._cycle.fire(trigger)
        if isinstance(found, tuple):
            self._activity = None
            self._enter(old, self.state)
        return found

    def _enter(self, old: State, new: State) -> None:
        self._update_memory(old, new)
        # Written ahead: no motor of the new state turns before the disk knows of it.
        data = {"from": old, "to": new, "memory": self.memory.to_json()}
        self._operations.after = self._journal("state", data)
        self._emit(ev.StateChanged(old, new))
        if new in (State.UNHOMED, State.FAULT):
            self._operations.forget()
            self._queue.clear()
        groups = self._groups(new)
        if groups is not None:
            self._activity = Procedure(self._operations, groups, _THEN[new])
        elif new is State.WASHING and self.memory.wash:
            self._activity = Wash(self._operations, self.memory.wash.tiles, self._now)
        elif new is State.PROBING and self.memory.wash:
            self._activity = Probe(self._operations, self.memory.wash.tiles, self._now)
        elif new is State.HOMING:
            self._begin_homing()

    def _update_memory(self, old: State, new: State) -> None:
        memory = self.memory
        match old, new:
            case _, State.UNHOMED:
                self.fault = None if old is State.FAULT else self.fault
            case _, State.OPENING:
                self._hand.stand(None)
                memory = memory.but(loaded=True, standing=None)
            case _, State.CLOSING:
                self._buzzer_ms = panel.BEEP_CLOSING_MS
            case _, State.RAISING:
                memory = memory.but(raising=True)
            case _, State.WASHING if memory.wash is None:
                memory = memory.but(wash=self._latch_order(), loaded=False)
                self._wash_began_us = self._now
            case State.PROBING, State.REST:
                memory = memory.but(wash=None, stored=memory.wash)
                if memory.stored:
                    self._emit(ev.Washed(memory.stored.rule, self._now - self._wash_began_us))
                self._buzzer_ms = panel.BEEP_READY_MS
            case State.HALTING, State.REST:
                memory = memory.but(wash=None)
            case _:
                pass
        if old is State.RAISING and new in (State.WASHING, State.REST) and memory.stored:
            standing = Standing(memory.stored, memory.dealer)
            memory = memory.but(raising=False, stored=None, standing=standing)
            self._hand.stand(standing)
        self.memory = memory

    def _groups(self, new: State) -> list[list[Step]] | None:
        """Return the strokes of a state, group after group; None where it has none."""
        up, down = (ev.Verb.STROKE_FAR, "console"), (ev.Verb.STROKE_HOME, "console")
        match new:
            case State.OPENING:
                return [[up]]
            case State.CLOSING | State.ADD_CLOSING:
                return [[down]]
            case State.ADD_OPENING:
                return [[STOP_FEEDS], [up]]
            case State.HALTING:
                return [[STOP_FEEDS]]
            case State.RAISING:
                return self._pairs(ev.Verb.STROKE_TURN, lambda n: bool(self._stored_on(n)))
            case _:
                return None

    def _pairs(self, verb: ev.Verb, wanted: Callable[[int], bool]) -> list[list[Step]]:
        """Opposite lifts move together: half the current of four at once."""
        pairs = [[(verb, f"lift.S{n}") for n in pair if wanted(n)] for pair in ((1, 3), (2, 4))]
        return [p for p in pairs if p]

    def _stored_on(self, side: int) -> int:
        return self.state_of_board.stored[side - 1] if self.state_of_board else 0

    def _latch_order(self) -> WashOrder:
        rule = ruleset.load(self.memory.rule)
        return WashOrder(rule.id, rule.wall_tiles)

    def _misfit(self, rule_id: str) -> dict[str, Any] | None:
        """Return why a rule does not fit this table, as values of a text; None where it does."""
        if self.board is None:
            return None
        rule = ruleset.load(rule_id)
        for n, (tiles, holds) in enumerate(
            zip(rule.wall_tiles, self.board.description.capacity, strict=True), 1
        ):
            if (wanted := -(-tiles // 2)) > holds:
                return {"rule": rule.id, "wanted": wanted, "side": f"S{n}", "holds": holds}
        return None

    # --- homing ---------------------------------------------------------------------------------------------

    def _begin_homing(self) -> None:
        if self.board is None:
            return
        self._wish_to_home = True
        if self._board_stop != StopReason.NONE:
            self._emit(ev.ClearStop(self._board_stop))  # the next Hello begins the homing
        else:
            self._home(self.board)

    def _home(self, hello: ev.Hello) -> None:
        if hello.stop != StopReason.NONE:
            return
        self._wish_to_home = False
        seen = (self.state_of_board or hello.state).sensors
        stackers = hello.description.names(PartKind.STACKER)
        groups: list[list[Step]] = [[(ev.Verb.STROKE_HOME, s)] for s in stackers if f"{s}.open" not in seen]
        if "console.down" not in seen:
            groups.append([(ev.Verb.STROKE_HOME, "console")])
        groups += self._pairs(ev.Verb.STROKE_HOME, lambda n: f"lift.S{n}.home" not in seen)
        self._activity = Procedure(self._operations, groups, Trigger.HOMED)

    # --- effects --------------------------------------------------------------------------------------------

    def _emit(self, effect: Effect) -> None:
        self._out.append(effect)

    def _command(self, command: ev.Command) -> None:
        self._emit(command)

    def _journal(self, kind: str, data: dict[str, Any]) -> int:
        self._journal_id += 1
        self._emit(ev.Journal(self._journal_id, kind, data))
        return self._journal_id

    def _remember(self, **changes: Any) -> None:
        self.memory = self.memory.but(**changes)
        self._journal("memory", {"memory": self.memory.to_json()})

    def _stop_everything(self) -> None:
        self._emit(ev.StopAll())
        self._operations.forget()
        self._activity = None
        self._board_stop = self._board_stop or int(StopReason.HOST)

    def _raise_fault(self, code: str, **values: Any) -> None:
        if self.state is State.FAULT:
            return
        self._stop_everything()
        self.fault = ev.FaultRaised(code, values)
        self._emit(self.fault)
        self._journal("fault", {"code": code, "values": values, "memory": self.memory.to_json()})
        self._buzzer_ms = panel.BEEP_FAULT_MS
        self._queue.appendleft(Trigger.FAILED)

    def _show(self) -> None:
        if self.board is None:
            return
        display = self._display()
        lamps = tuple(n for n, lit in self._lamps().items() if lit)
        if self._shown == (display, lamps) and not self._buzzer_ms:
            return
        self._shown = (display, lamps)
        self._emit(ev.Panel(self._operations.next_op(), display, lamps, self._buzzer_ms))
        self._buzzer_ms = 0

    def _display(self) -> str:
        if self.state is State.FAULT and self.fault:
            return self.fault.code.ljust(4)
        if (word := self._hand.word()) and self.state in (State.REST, State.WASHING, State.PROBING):
            return word
        if self.state is State.REST and self.memory.stored:
            return panel.READY
        if self.state is State.WASHING and self.state_of_board:
            return panel.count(sum(self.state_of_board.taken))
        return panel.WORDS.get(self.state, "")

    def _lamps(self) -> dict[str, bool]:
        dealers = {f"dealer.S{n + 1}": n == self.memory.dealer for n in range(4)}
        ready = self.state is State.REST and self.memory.stored is not None
        return {"ready": ready, "reset": self.state in (State.UNHOMED, State.FAULT), **dealers}

    def _stroke_ms(self, part: str) -> int:
        if self.board is None:
            return 0
        description: Description = self.board.description
        return description.parts[description.part(part)].stroke_ms

    def _kind(self, part: str) -> PartKind:
        return PartKind(part.partition(".")[0])


_THEN = {
    State.OPENING: Trigger.CONSOLE_UP,
    State.ADD_OPENING: Trigger.CONSOLE_UP,
    State.CLOSING: Trigger.CONSOLE_DOWN,
    State.ADD_CLOSING: Trigger.CONSOLE_DOWN,
    State.HALTING: Trigger.NOTHING,
    State.RAISING: Trigger.RAISED,
}


def _per_side(counts: dict[str, int]) -> str:
    return ", ".join(f"{side}: {count}" for side, count in counts.items())
