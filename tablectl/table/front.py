"""The front of the table: what display, lamps and buzzer show now."""

from typing import Protocol

from firmware_protocol.description import Mouth
from tablectl.table import events as ev
from tablectl.table import panel
from tablectl.table.cycle import State
from tablectl.table.hand import Hand
from tablectl.table.memory import Memory
from tablectl.table.technician import Technician

STREAK_LAMPS = 5  # 连庄灯
_HAND_STATES = (State.REST, State.WASHING, State.PROBING, State.DIAGNOSING)


class Shown(Protocol):
    """What of the controller people see."""

    memory: Memory
    fault: ev.FaultRaised | None
    seen: ev.BoardState | None
    hand: Hand

    @property
    def state(self) -> State:
        """Return where the cycle is."""
        ...

    @property
    def prompt(self) -> str | None:
        """Return what is asked for, or is being typed."""
        ...

    @property
    def mouths(self) -> tuple[Mouth, ...]:
        """Return the mouths of the table."""
        ...

    @property
    def technician(self) -> Technician | None:
        """Return technician mode, where the table is in it."""
        ...


class Front:
    """Keeps what the board's panel shows, so that only changes are sent."""

    def __init__(self, table: Shown) -> None:
        self.muted = False
        self._table = table
        self._shown: tuple[str, tuple[str, ...]] | None = None
        self._buzzer_ms = 0

    def beep(self, ms: int) -> None:
        """Let the buzzer sound."""
        self._buzzer_ms = ms

    def forget(self) -> None:
        """Let all be shown anew: a board that was away shows nothing of it."""
        self._shown = None

    def change(self) -> tuple[str, tuple[str, ...], int] | None:
        """Return display, lamps and buzzer (ms) where they are not what is shown."""
        now = (self.display(), self.lamps())
        buzzer_ms = 0 if self.muted else self._buzzer_ms
        self._buzzer_ms = 0
        if self._shown == now and not buzzer_ms:
            return None
        self._shown = now
        return *now, buzzer_ms

    def display(self) -> str:
        """Return what the display shows."""
        table = self._table
        if table.state is State.FAULT and table.fault:
            return table.fault.code.ljust(4)
        if table.prompt:
            return table.prompt
        if table.state in _HAND_STATES and (word := table.hand.word()):
            return word
        if table.state is State.REST and table.memory.stored:
            return panel.READY
        if table.state is State.WASHING and table.seen:
            return panel.count(sum(table.seen.taken))
        if table.state is State.TECHNICIAN and table.technician:
            return panel.part(table.technician.chosen[0])
        if table.state is State.STOPPED and table.memory.raising and table.seen and any(table.seen.unsure):
            return panel.unknown_wall(table.mouths[table.seen.unsure.index(True)].name)
        if table.state in (State.OPENING, State.OPEN) and table.memory.leftover:
            return panel.SAME
        return panel.WORDS.get(table.state, "    ")

    def lamps(self) -> tuple[str, ...]:
        """Return the lamps that are lit."""
        table = self._table
        ready = table.state is State.REST and table.memory.stored is not None
        lit = {"ready": ready, "reset": table.state in (State.UNHOMED, State.FAULT, State.TECHNICIAN)}
        lit[f"dealer.S{table.memory.dealer + 1}"] = table.state is not State.OFF
        if table.hand.pointing and table.hand.opening:
            lit[f"dealer.{table.hand.opening.side}"] = True  # the wall to break
        play = table.memory.play
        for n in range(1, STREAK_LAMPS + 1):
            lit[f"streak.{n}"] = play is not None and play.match.streak >= n
        return tuple(name for name, on in lit.items() if on)
