"""STROKE as a board does it: to an end sensor, with a limit, back and once more where something holds it."""

from collections.abc import Callable

from firmware_protocol import messages as m
from firmware_protocol.description import Part, PartKind
from sim.agenda import Agenda, Entry
from sim.mechanics.machine import Machine

REVERSE_US = 30_000  # from a stall that was seen to the reversed motor; 50 ms are promised from its beginning
RELEASE_US = 60_000  # how far it goes back where it is held at its start, with no end to go back to
GENTLE_SHARE = 3  # the first third of a lift's or console's way goes with reduced current: hands are there
_ENDS = {
    PartKind.STACKER: ("open", "closed"),
    PartKind.LIFT: ("home", "home"),
    PartKind.CONSOLE: ("down", "up"),
}


class Stroke:
    """One stroke; `on_end` gets None when the end was reached, else why not.

    `beyond` tells that the far end was passed since the part was last home: the crank is on its way back.
    """

    def __init__(
        self,
        agenda: Agenda,
        machine: Machine,
        part: Part,
        end: int,
        beyond: bool,
        on_end: Callable[[m.FailReason | None], None],
    ) -> None:
        self._agenda = agenda
        self._machine = machine
        self._part = part
        self.end = end
        self._beyond = beyond
        self._on_end = on_end
        home, far = _ENDS[part.kind]
        self._goal = f"{part.name}.{far if end == m.End.FAR else home}"
        self._other = f"{part.name}.{home if end == m.End.FAR else far}"
        self._left = True  # a turn has left home
        self._direction = 1
        self._tries = 0
        self._retreating = False
        self._wait: Entry | None = None
        self._gentle: Entry | None = None
        self.moved = False
        self.reversed = False

    def begin(self) -> None:
        """Start; ends at once where the end is reached already."""
        seen = self._machine.sensors()
        self._left = self.end != m.End.TURN or not seen[self._goal]
        if self._left and seen[self._goal]:
            self._on_end(None)
            return
        self._direction = -1 if self._goes_back(seen) else 1
        self._go(self._direction)

    def on_sensor(self, name: str, active: bool) -> None:
        """An end sensor of this part tells something."""
        if name == self._goal and not active:
            self._left = True
        elif name == self._goal and self._left and not self._retreating:
            self._stop(None)
        elif active and self._retreating and name in (self._goal, self._other):
            self._retry()

    def on_stall(self) -> None:
        """Something holds it: console and lift give way at once, a stacker stops for the host to decide."""
        if self._part.kind is PartKind.STACKER or self._retreating:
            self._stop(m.FailReason.STALL)
        else:
            self._plan(REVERSE_US, self._retreat)

    def close(self) -> None:
        """Forget what was planned and stop the motor."""
        self._plan(None)
        self._end_gentle()
        self._machine.drive(self._part.name, 0)

    def _goes_back(self, seen: dict[str, bool]) -> bool:
        """Tell whether the way to the end leads back."""
        if self._part.kind is PartKind.CONSOLE:
            if self.end == m.End.FAR:
                return self._beyond and not seen[self._other]
            return not self._beyond and not seen[self._other]
        # Before its closed end a stacker goes back, away from the tiles: going on would push.
        return self._part.kind is PartKind.STACKER and self.end == m.End.HOME and not self._beyond

    def _go(self, direction: int) -> None:
        self.moved = True
        gentle = self._part.kind is not PartKind.STACKER
        self._machine.drive(self._part.name, direction, gentle)
        self._end_gentle()
        if gentle:
            self._gentle = self._agenda.after(
                1000 * self._part.stroke_ms // GENTLE_SHARE,
                lambda: self._machine.drive(self._part.name, direction),
            )
        self._plan(2_000 * self._part.stroke_ms, lambda: self._stop(m.FailReason.TIMEOUT))

    def _retreat(self) -> None:
        self._retreating = self.reversed = True
        seen = self._machine.sensors()
        self._go(-self._direction)
        if seen[self._goal] or seen[self._other]:
            self._plan(RELEASE_US, self._retry)

    def _retry(self) -> None:
        self._retreating = False
        self._tries += 1
        if self._tries > 1:
            self._stop(m.FailReason.STALL)
        else:
            self._left = self.end != m.End.TURN
            self._go(self._direction)

    def _stop(self, reason: m.FailReason | None) -> None:
        self.close()
        self._on_end(reason)

    def _end_gentle(self) -> None:
        if self._gentle:
            self._gentle.cancel()
            self._gentle = None

    def _plan(self, delay_us: int | None, call: Callable[[], None] = lambda: None) -> None:
        if self._wait:
            self._wait.cancel()
        self._wait = None if delay_us is None else self._agenda.after(delay_us, call)
