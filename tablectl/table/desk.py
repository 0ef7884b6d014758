"""The desk between people and the cycle: what keys ask for, and why one is not obeyed."""

from functools import partial
from typing import Any, Protocol

from firmware_protocol.core import earliest
from tablectl.table import console, panel
from tablectl.table import events as ev
from tablectl.table.book import Book
from tablectl.table.cycle import Cell, Refuse, State, Trigger
from tablectl.table.entry import Entry
from tablectl.table.front import Front
from tablectl.table.hand import Hand
from tablectl.table.intents import Intent, Key, Phase
from tablectl.table.keys import Asked, Keys
from tablectl.table.memory import Memory
from tablectl.table.settings import Settings

_SEATS = (Intent.DICE_EAST, Intent.DICE_SOUTH, Intent.DICE_WEST, Intent.DICE_NORTH)
_DICE = (Intent.DICE, *_SEATS)
_DIGITS = tuple(Intent(f"DIGIT_{n}") for n in range(10))
_FORWARD = (Intent.RULE_NEXT, Intent.GEAR_NEXT)
_GEARS = (Intent.GEAR_NEXT, Intent.GEAR_PREVIOUS)
_CANCELS = (Intent.STOP, Intent.RESET, Intent.START, Intent.POWER)
_TRIGGERS = {Intent.ADD: Trigger.ADD, Intent.STOP: Trigger.STOP, Intent.RESET: Trigger.RESET}
_OFF_AT_ONCE = (State.OFF, State.UNHOMED, State.FAULT, State.TECHNICIAN)


class Table(Protocol):
    """What the desk sees of the controller, and asks of it."""

    memory: Memory
    fault: ev.FaultRaised | None
    board: ev.Hello | None
    seen: ev.BoardState | None
    connected: bool
    journal_dead: bool
    wishes_off: bool
    hand: Hand
    keys: Keys
    front: Front
    now_us: int

    @property
    def state(self) -> State:
        """Return where the cycle is."""
        ...

    @property
    def door_open(self) -> bool:
        """Tell whether the service door is open."""
        ...

    def emit(self, effect: Any) -> None:
        """Let an effect out."""
        ...

    def fire(self, trigger: Trigger) -> Cell:
        """Take a trigger."""
        ...

    def journal(self, kind: str, data: dict[str, Any]) -> int:
        """Write an entry down."""
        ...

    def remember(self, **changes: Any) -> None:
        """Change the memory."""
        ...

    def stop_everything(self) -> None:
        """Stop the board."""
        ...

    def show_dead_journal(self) -> None:
        """Let a dead journal cover the fault that stands: it is what keeps the table from going on."""
        ...

    def raise_fault(self, code: str, **values: Any) -> None:
        """Stop everything and say why."""
        ...


class Desk:
    """Keys in, triggers out; a key that is not obeyed is told why."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._settings = Settings(table)
        self._book = Book(table, partial(self._refused, intent="RESULT"))
        self._entry = Entry(self._book.take)

    # --- keys -----------------------------------------------------------------------------------------------

    def remote(self, key: Key) -> None:
        """Take in a key of the remote or of a program."""
        asked = self._table.keys.remote(key, self._table.state)
        if key.phase is Phase.DOWN or asked:
            self._log(key)
        if asked:
            self._ask(asked)

    def panel(self, name: str, down: bool) -> None:
        """Take in a key of the panel."""
        table = self._table
        asked = table.keys.panel(name, down, table.state, table.memory.dealer)
        if down:
            self._log(asked.key if asked else Key(f"panel:{name}", Intent.START, Phase.DOWN))
        if asked:
            self._ask(asked)

    def _log(self, key: Key) -> None:
        self._table.journal("key", {"source": key.source, "intent": key.intent, "phase": key.phase})

    def _ask(self, asked: Asked) -> None:
        key, table = asked.key, self._table
        if table.state is State.OFF and key.intent is not Intent.POWER:
            return
        if key.intent in _CANCELS:
            self._entry.cancel()
        if key.intent is Intent.STOP:
            table.stop_everything()  # before anything is asked: it works without a session, too
        if not table.connected and key.intent not in (Intent.STOP, Intent.MUTE, Intent.STATUS):
            self._refuse(key, "refuse.no_board")
        elif key.intent is Intent.START:
            self._start(asked)
        elif key.intent in _DICE:
            self._dice(key)
        elif key.intent in _TRIGGERS:
            self._trigger(key, _TRIGGERS[key.intent])
        else:
            self._setting(key)

    def _start(self, asked: Asked) -> None:
        key, table = asked.key, self._table
        if table.state is State.UNHOMED:
            # Only what is in sight of the table may cause its first motion.
            if asked.long and table.memory.disturbed:
                table.raise_fault("E18")  # the question about the door was never answered
            elif asked.long:
                self._try_sensor_anew(key)
                table.fire(Trigger.START_LONG)
            elif key.source.startswith("local:"):
                self._refuse(key, "refuse.person_needed")
        elif key.phase is not Phase.HELD:
            at_rest = table.state in (State.REST, State.LOADED)
            misfit = self._settings.misfit(table.memory.rule) if at_rest else None
            if misfit:
                self._refuse(key, misfit.reason, **misfit.values)
            else:
                self._trigger(key, Trigger.START)

    def _try_sensor_anew(self, key: Key) -> None:
        """Let a remote's START use a lower sensor that was dead: by time only a held lift key lowers it."""
        without = self._table.memory.without
        if console.LOWER in without and not key.source.startswith("panel:"):
            self._table.remember(without=tuple(s for s in without if s != console.LOWER))

    def _trigger(self, key: Key, trigger: Trigger) -> None:
        table, without = self._table, self._table.memory.without
        if trigger is Trigger.ADD and table.state is State.FAULT and _at_open_table(key, table.door_open):
            trigger = Trigger.TECHNICIAN
        if reason := console.refusal(table.state, trigger, key.source, without):
            self._refuse(key, reason)
            return
        if console.stands_instead(table.state, trigger, without):
            table.stop_everything()
            trigger = Trigger.STOP
        if trigger is Trigger.RESET and table.state in (State.FAULT, State.TECHNICIAN):
            if table.journal_dead:
                self._refuse(key, "refuse.journal_dead")
                table.show_dead_journal()
                return
            if table.memory.disturbed and not self._door_answer(key):
                return
        found = table.fire(trigger)
        if isinstance(found, Refuse):
            self._refuse(key, found.reason)

    def _door_answer(self, key: Key) -> bool:
        """Take RESET, with the door shut, as a person's word that no tile was taken out."""
        table = self._table
        if table.door_open:
            self._refuse(key, "refuse.door_open")
            return False
        table.journal("door", {"answer": "no tile was taken", "source": key.source})
        table.remember(disturbed=False)
        return True

    def _dice(self, key: Key) -> None:
        standing = self._table.memory.standing
        if self._entry.open and standing:
            if key.intent in _SEATS:
                seat = (_SEATS.index(key.intent) + standing.dealer) % 4
                self._entry.seat(key.source, seat, self._table.now_us)
            return
        reason = "refuse.journal_dead" if self._table.journal_dead else self._table.hand.throw(key.intent)
        if reason:
            self._refuse(key, reason)

    def _setting(self, key: Key) -> None:
        table = self._table
        match key.intent:
            case Intent.RULE_NEXT | Intent.RULE_PREVIOUS | Intent.GEAR_NEXT | Intent.GEAR_PREVIOUS:
                step = 1 if key.intent in _FORWARD else -1
                for unfit in self._settings.step(step, of_gears=key.intent in _GEARS):
                    self._refuse(key, unfit.reason, **unfit.values)
            case Intent.DEALER_NEXT:
                if reason := self._settings.next_dealer():
                    self._refuse(key, reason)
            case Intent.RESULT:
                self._result(key)
            case Intent.MUTE:
                table.front.muted = not table.front.muted
            case Intent.POWER:
                self._power(key)
            case intent if intent in _DIGITS:
                unfit_number = self._settings.digit(_DIGITS.index(intent), key.source, table.now_us)
                if unfit_number:
                    self._refuse(key, unfit_number.reason, **unfit_number.values)
            case _:
                table.hand.remind(table.now_us)  # STATUS moves nothing

    def _result(self, key: Key) -> None:
        """Let it be entered how the hand ended, where one stands."""
        standing = self._table.memory.standing
        if not self._entry.open and (standing is None or standing.ended):
            self._refuse(key, "refuse.hand_ended" if standing else "refuse.no_hand")
        else:
            self._entry.result(key.source, self._table.now_us)

    def choose(self, asked: ev.Choose) -> None:
        """Take in what a program chooses for the next wash."""
        self._table.journal("choice", {"source": asked.source, "rule": asked.rule})
        if unfit := self._settings.choose(asked.rule):
            self._refused(asked.source, unfit.reason, unfit.values, "RULE")

    def hand_ended(self, ended: ev.HandEnded) -> None:
        """Take in how a hand ended."""
        self._book.take(ended.source, ended.result)

    def entropy(self, id_: int, data: bytes) -> None:
        """Take in random bytes that name a dealer."""
        self._book.entropy(id_, data)

    # --- what is being entered ------------------------------------------------------------------------------

    @property
    def word(self) -> str | None:
        """Return what the display asks for, or shows of what is being typed."""
        if self._entry.asks:
            return panel.asks(self._entry.asks, self._entry.count)
        return panel.rule_number(self._settings.typed) if self._settings.typed else None

    def tick(self, now_us: int) -> None:
        """End what nobody goes on with."""
        self._entry.tick(now_us)
        if late := self._settings.tick(now_us):
            source, unfit = late
            self._refused(source, unfit.reason, unfit.values, "RULE")

    def next_deadline(self) -> int | None:
        """Return when `tick` is wanted."""
        return earliest(self._entry.next_deadline(), self._settings.next_deadline())

    def _power(self, key: Key) -> None:
        table = self._table
        if reason := console.refusal(table.state, Trigger.POWER, key.source, table.memory.without):
            self._refuse(key, reason)
            return
        table.wishes_off = table.state not in _OFF_AT_ONCE
        found = table.fire(Trigger.POWER)
        if isinstance(found, Refuse):
            table.wishes_off = False
            self._refuse(key, found.reason)

    def _refuse(self, key: Key, reason: str, **values: Any) -> None:
        self._refused(key.source, reason, values, key.intent)

    def _refused(self, source: str, reason: str, values: dict[str, Any], intent: str) -> None:
        self._table.emit(ev.Refused(source, intent, reason, values))
        said = {"source": source, "intent": intent, "reason": reason, "values": values}
        self._table.journal("refused", said)


def _at_open_table(key: Key, door_open: bool) -> bool:
    """Tell whether both lift keys were pressed at a table whose service door is open."""
    return door_open and key.source.startswith("panel:")
