"""The desk between people and the cycle: what keys ask for, and why one is not obeyed."""

from dataclasses import asdict
from typing import Any, Protocol

from tablectl.rules import ruleset, serving
from tablectl.table import console
from tablectl.table import events as ev
from tablectl.table.cycle import Cell, Refuse, State, Trigger
from tablectl.table.front import Front
from tablectl.table.hand import Hand
from tablectl.table.intents import Intent, Key, Phase
from tablectl.table.keys import Asked, Keys
from tablectl.table.memory import Memory, Standing

_DICE = (Intent.DICE, Intent.DICE_EAST, Intent.DICE_SOUTH, Intent.DICE_WEST, Intent.DICE_NORTH)
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
            misfit = self._misfit(table.memory.rule) if table.state in (State.REST, State.LOADED) else None
            if misfit:
                self._refuse(key, "refuse.rule_does_not_fit", **misfit)
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
        reason = "refuse.journal_dead" if self._table.journal_dead else self._table.hand.throw(key.intent)
        if reason:
            self._refuse(key, reason)

    def _setting(self, key: Key) -> None:
        match key.intent:
            case Intent.RULE_NEXT:
                self._choose_rule(key, 1)
            case Intent.RULE_PREVIOUS:
                self._choose_rule(key, -1)
            case Intent.DEALER_NEXT:
                self._next_dealer(key)
            case Intent.MUTE:
                table = self._table
                table.front.muted = not table.front.muted
            case Intent.POWER:
                self._power(key)
            case _:
                self._table.hand.remind(self._table.now_us)  # STATUS moves nothing

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
        table = self._table
        table.emit(ev.Refused(key.source, key.intent, reason, values))
        said = {"source": key.source, "intent": key.intent, "reason": reason, "values": values}
        table.journal("refused", said)

    def _choose_rule(self, key: Key, step: int) -> None:
        table, ids = self._table, ruleset.available()
        at = ids.index(table.memory.rule) if table.memory.rule in ids else 0
        for n in range(1, len(ids)):
            rule = ids[(at + n * step) % len(ids)]
            misfit = self._misfit(rule)
            if misfit is None:
                table.remember(rule=rule)
                # The wash under way keeps its own order.
                table.emit(ev.RuleChosen(rule, next_wash=table.memory.wash is not None))
                return
            self._refuse(key, "refuse.rule_does_not_fit", **misfit)

    def _misfit(self, rule_id: str) -> dict[str, Any] | None:
        """Return why a rule does not fit this table, as values of a text; None where it does."""
        board = self._table.board
        if board is None:
            return None
        misfit = serving.misfit(ruleset.load(rule_id), board.description.named_mouths)
        return asdict(misfit) if misfit else None

    def _next_dealer(self, key: Key) -> None:
        table, standing = self._table, self._table.hand.standing
        if standing and (standing.throws or table.hand.rolling):
            self._refuse(key, "refuse.dealer_after_dice")
            return
        players = ruleset.load(standing.order.rule if standing else table.memory.rule).players
        at = players.index(table.memory.dealer) if table.memory.dealer in players else -1
        dealer = players[(at + 1) % len(players)]
        if standing:
            standing = Standing(standing.order, dealer)
            table.hand.stand(standing)
        table.remember(dealer=dealer, standing=standing)
        table.hand.begin(table.now_us)


def _at_open_table(key: Key, door_open: bool) -> bool:
    """Tell whether both lift keys were pressed at a table whose service door is open."""
    return door_open and key.source.startswith("panel:")
