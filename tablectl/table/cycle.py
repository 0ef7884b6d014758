"""The cycle of the table: one flat state machine, built from one table of state × trigger.

Every cell is go, ignore or refuse with a reason; only the go cells reach the `transitions` library.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from transitions import Machine


class State(StrEnum):
    """Where the cycle is."""

    UNHOMED = "unhomed"
    HOMING = "homing"
    LOADED = "loaded"
    REST = "rest"
    OPENING = "opening"
    OPEN = "open"
    CLOSING = "closing"
    RAISING = "raising"
    WASHING = "washing"
    PROBING = "probing"
    DIAGNOSING = "diagnosing"
    HALTING = "halting"
    ADD_OPENING = "add_opening"
    ADD_OPEN = "add_open"
    ADD_CLOSING = "add_closing"
    STOPPED = "stopped"
    GIVING_UP = "giving_up"
    FAULT = "fault"
    TECHNICIAN = "technician"
    OFF = "off"


class Trigger(StrEnum):
    """What can move the cycle; the first seven come from keys, the rest from inside."""

    START = "start"
    START_LONG = "start_long"
    ADD = "add"
    STOP = "stop"
    RESET = "reset"
    POWER = "power"
    TECHNICIAN = "technician"
    HOMED = "homed"
    CONSOLE_UP = "console_up"
    CONSOLE_DOWN = "console_down"
    RAISED = "raised"
    FILLED = "filled"
    EMPTY = "empty"
    NO_TILE = "no_tile"
    EYE_OWN = "eye_own"
    CLEAR = "clear"
    NOTHING = "nothing"
    FAILED = "failed"
    BOARD_RESET = "board_reset"


KEY_TRIGGERS = frozenset(
    {Trigger.START, Trigger.START_LONG, Trigger.ADD, Trigger.STOP, Trigger.RESET, Trigger.POWER}
)


class Guards(Protocol):
    """What the go cells ask before they choose."""

    def unfinished(self) -> bool:
        """Tell whether a wash or a raise was cut, or stores are not to be built on."""
        ...

    def loaded(self) -> bool:
        """Tell whether the console was opened and no wash has followed."""
        ...

    def stored(self) -> bool:
        """Tell whether a washed set waits in the stores."""
        ...

    def cannot_go_on(self) -> bool:
        """Tell whether a wash that was cut is given up: another rule is wanted, or counts are lost."""
        ...

    def wash_cut(self) -> bool:
        """Tell whether a wash was cut and no raise was."""
        ...

    def raise_cut(self) -> bool:
        """Tell whether a raise was begun and not ended."""
        ...

    def power_wish(self) -> bool:
        """Tell whether the table is to be switched off when its motion is finished."""
        ...

    def raises_at_once(self) -> bool:
        """Tell whether START raises without opening: one set only, and it is stored."""
        ...


@dataclass(frozen=True, slots=True)
class Go:
    """Go to a state, where `when` (a guard's name) is empty or holds."""

    to: State
    when: str = ""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Do nothing and say why; `reason` is a text key."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ignore:
    """Do nothing; it means nothing here."""


Cell = tuple[Go, ...] | Refuse | Ignore

_S, _T = State, Trigger

_GO: dict[State, dict[Trigger, tuple[Go, ...]]] = {
    _S.UNHOMED: {
        _T.START_LONG: (Go(_S.HOMING),),
        _T.TECHNICIAN: (Go(_S.TECHNICIAN),),
        _T.POWER: (Go(_S.OFF),),
    },
    _S.HOMING: {
        _T.HOMED: (Go(_S.STOPPED, "unfinished"), Go(_S.LOADED, "loaded"), Go(_S.REST)),
    },
    _S.LOADED: {_T.START: (Go(_S.RAISING, "stored"), Go(_S.WASHING)), _T.POWER: (Go(_S.OFF),)},
    _S.REST: {_T.START: (Go(_S.RAISING, "raises_at_once"), Go(_S.OPENING)), _T.POWER: (Go(_S.OFF),)},
    _S.OPENING: {_T.CONSOLE_UP: (Go(_S.OPEN),), _T.START: (Go(_S.CLOSING),), _T.POWER: (Go(_S.CLOSING),)},
    _S.OPEN: {_T.START: (Go(_S.CLOSING),), _T.POWER: (Go(_S.CLOSING),)},
    _S.CLOSING: {
        _T.CONSOLE_DOWN: (Go(_S.OFF, "power_wish"), Go(_S.RAISING, "stored"), Go(_S.WASHING)),
        _T.START: (Go(_S.OPENING),),
    },
    _S.RAISING: {_T.RAISED: (Go(_S.OFF, "power_wish"), Go(_S.WASHING, "loaded"), Go(_S.REST))},
    _S.WASHING: {
        _T.FILLED: (Go(_S.PROBING),),
        _T.EMPTY: (Go(_S.HALTING),),
        _T.NO_TILE: (Go(_S.DIAGNOSING),),
        _T.ADD: (Go(_S.ADD_OPENING),),
    },
    _S.PROBING: {_T.CLEAR: (Go(_S.OFF, "power_wish"), Go(_S.REST)), _T.ADD: (Go(_S.ADD_OPENING),)},
    _S.DIAGNOSING: {_T.EYE_OWN: (Go(_S.WASHING),), _T.ADD: (Go(_S.ADD_OPENING),)},
    _S.HALTING: {_T.NOTHING: (Go(_S.OFF, "power_wish"), Go(_S.REST))},
    _S.ADD_OPENING: {_T.CONSOLE_UP: (Go(_S.ADD_OPEN),)},
    _S.ADD_OPEN: {_T.START: (Go(_S.ADD_CLOSING),)},
    _S.ADD_CLOSING: {_T.CONSOLE_DOWN: (Go(_S.WASHING),), _T.START: (Go(_S.ADD_OPENING),)},
    _S.STOPPED: {
        _T.START: (Go(_S.GIVING_UP, "cannot_go_on"), Go(_S.RAISING, "raise_cut"), Go(_S.WASHING)),
        # A tile too many comes out, a missing one goes in, before the wash goes on.
        _T.ADD: (Go(_S.ADD_OPENING, "wash_cut"),),
        _T.POWER: (Go(_S.OFF),),
    },
    _S.GIVING_UP: {_T.RAISED: (Go(_S.REST),)},
    _S.FAULT: {
        _T.RESET: (Go(_S.UNHOMED),),
        _T.TECHNICIAN: (Go(_S.TECHNICIAN),),
        _T.POWER: (Go(_S.OFF),),
    },
    _S.TECHNICIAN: {_T.RESET: (Go(_S.UNHOMED),), _T.POWER: (Go(_S.OFF),)},
    _S.OFF: {_T.POWER: (Go(_S.UNHOMED),)},
}
_EVERYWHERE = {
    _T.STOP: (Go(_S.UNHOMED),),
    _T.BOARD_RESET: (Go(_S.UNHOMED),),
    _T.FAILED: (Go(_S.FAULT),),
}
_IGNORED = {
    # The display asks for a held START; its first moment is no mistake.
    (_S.UNHOMED, _T.START),
    (_S.ADD_OPENING, _T.ADD),
    (_S.ADD_OPEN, _T.ADD),
    (_S.FAULT, _T.FAILED),
    (_S.UNHOMED, _T.BOARD_RESET),
    (_S.FAULT, _T.BOARD_RESET),
    (_S.FAULT, _T.STOP),
    (_S.OFF, _T.STOP),
    (_S.OFF, _T.BOARD_RESET),
    (_S.OFF, _T.START),
    (_S.OFF, _T.ADD),
    (_S.OFF, _T.RESET),
    # Remembered, and done when the motion is finished.
    *((s, _T.POWER) for s in (_S.CLOSING, _S.RAISING, _S.WASHING, _S.PROBING, _S.DIAGNOSING, _S.HALTING)),
}


def cell(state: State, trigger: Trigger) -> Cell:
    """Return what a trigger does in a state."""
    if (state, trigger) in _IGNORED:
        return Ignore()
    go = _GO[state].get(trigger) or _EVERYWHERE.get(trigger)
    if go:
        return go
    if trigger in KEY_TRIGGERS and trigger is not _T.START_LONG:
        return _refusal(state, trigger)
    return Ignore()


def _refusal(state: State, trigger: Trigger) -> Refuse:
    return Refuse(f"refuse.start.{state}" if trigger is Trigger.START else f"refuse.{trigger}")


class _Model:
    """The object that `transitions` keeps the state on."""

    state: State
    trigger: Callable[[str], bool]


class Cycle:
    """The state machine of the cycle."""

    def __init__(self, guards: Guards, initial: State) -> None:
        self._model = _Model()
        transitions = []
        for state in State:
            for trigger in Trigger:
                found = cell(state, trigger)
                if isinstance(found, tuple):
                    for go in found:
                        conditions = [getattr(guards, go.when)] if go.when else []
                        transitions.append(
                            {"trigger": trigger, "source": state, "dest": go.to, "conditions": conditions}
                        )
        Machine(
            model=self._model,
            states=list(State),
            transitions=transitions,
            initial=initial,
            auto_transitions=False,
        )

    @property
    def state(self) -> State:
        """Return where the cycle is."""
        state: State = self._model.state
        return state

    def fire(self, trigger: Trigger) -> Cell:
        """Take a trigger and return the cell that it met; the state has changed where that is go."""
        found = cell(self.state, trigger)
        if isinstance(found, tuple) and not self._model.trigger(trigger):
            return _refusal(self.state, trigger)  # none of its guards held
        return found


def mermaid() -> str:
    """Return the state diagram in Mermaid's notation, from the same table."""
    lines = ["stateDiagram-v2", f"    [*] --> {State.UNHOMED}"]
    for state in State:
        for trigger, gos in _GO[state].items():
            for go in gos:
                guard = f" [{go.when}]" if go.when else ""
                lines.append(f"    {state} --> {go.to}: {trigger}{guard}")
    lines += [
        f"    note left of {gos[0].to}: {trigger}, from any state" for trigger, gos in _EVERYWHERE.items()
    ]
    return "\n".join(lines)
