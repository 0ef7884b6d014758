"""STROKE as a board does it: to an end sensor, with a limit, back and once more where something holds it."""

from collections.abc import Callable

from firmware_protocol import messages as m
from firmware_protocol.description import Part, PartKind
from sim.agenda import Agenda, Entry
from sim.board.interlocks import TIMED
from sim.board.whereabouts import ENDS, START_US, Edge, Whereabouts
from sim.mechanics.machine import Machine

REVERSE_US = 30_000  # from a stall that was seen to the reversed motor; 50 ms are promised from its beginning
RELEASE_US = 60_000  # how far it goes back where it is held at its start, with no end to go back to
GENTLE_SHARE = 3  # the first third of a lift's or console's way goes with reduced current: hands are there
LEAVE_SHARE = 5  # a motor that turns has left its end within a fifth of a stroke, however slow it is
LOOK_US = 100_000  # whether a motor that drew nothing draws something now
_FAR = (m.End.FAR, m.End.FAR_TIMED)


class Stroke:
    """One stroke; `on_end` gets None when the end was reached, else why not.

    `limit_us` bounds one that begins between its ends and must not come too far where a sensor is dead.
    """

    def __init__(
        self,
        agenda: Agenda,
        machine: Machine,
        whereabouts: Whereabouts,
        part: Part,
        end: int,
        on_end: Callable[[m.FailReason | None], None],
        limit_us: int | None = None,
    ) -> None:
        self._agenda = agenda
        self._machine = machine
        self._whereabouts = whereabouts
        self._part = part
        self.end = end
        self._on_end = on_end
        self._limit_us = limit_us
        home, far = ENDS[part.kind]
        self.goal = f"{part.name}.{far if end in _FAR else home}"
        self._other = f"{part.name}.{home if end in _FAR else far}"
        self._start = self.goal if end == m.End.TURN else self._other
        self._timed = end in TIMED
        self._left = True  # a turn has left home
        self._round = False  # the other end lies on the way
        self._direction = 1
        self._tries = 0
        self._retreating = False
        self._giving_way = False  # from the moment that something holds it until it tries again
        self._released = False
        self._plans: dict[str, Entry] = {}
        self.moved = False
        self.reversed = False
        self.straight = False  # a whole turn was seen, in good time

    def begin(self, believed: Callable[[str], bool]) -> None:
        """Start; ends at once where the end is reached. `believed` tells what a sensor is worth."""
        stacker, there = self._part.kind is PartKind.STACKER, believed(self.goal)
        if self.end != m.End.TURN and (there or self._machine.tells(self.goal)):
            if stacker or there or self._whereabouts.refutes(self.goal):
                self._on_end(self._worth())
                return
            # Told and not believed: it is proved by going all the way round. A stacker would push.
            self._start, self._round = self.goal, self._other != self.goal
        else:
            self._left = self.end != m.End.TURN or not there
            self._round = stacker and self.end == m.End.FAR and not believed(self._other)
        self._direction = -1 if self._goes_back(believed) else 1
        self._go(self._direction)

    def on_edge(self, edge: Edge) -> None:
        """An end sensor of this part tells something."""
        if self._retreating:
            if edge.active:
                self._retry()
        elif edge.active:
            self._reach(edge)
        else:
            self._leave(edge)

    def _reach(self, edge: Edge) -> None:
        if edge.name == self.goal and self._left:
            self.straight = self.end == m.End.TURN and edge.turn_us is not None and not self.reversed
            self._stop(None if self._part.kind is PartKind.LIFT else self._worth(edge))
        elif edge.name == self._other and edge.credible and not self._round:
            self._stop(m.FailReason.SENSOR)  # it comes again, or first: the goal's sensor tells nothing
        elif edge.name == self._other:
            self._round = False

    def _leave(self, edge: Edge) -> None:
        self._left |= edge.name == self.goal
        if edge.name == self._start and edge.credible:
            self._plan_limit(self._limit_us)  # now it turns, and the whole way lies before it
            if self._timed:
                self._plan("arrive", 1_100 * self._part.stroke_ms, self._arrive)

    def on_stall(self) -> None:
        """Something holds it: console and lift give way at once, a stacker stops for the host to decide."""
        if self._part.kind is PartKind.STACKER or self._retreating:
            self._stop(m.FailReason.STALL)
        else:
            self._giving_way = True
            self._plan("limit", REVERSE_US, self._retreat)

    def release(self) -> None:
        """The key that lets it move was released: it stops, but gives way first where something holds it."""
        self._released = True
        if not self._giving_way:
            self._stop(m.FailReason.ABORTED)

    def close(self) -> None:
        """Forget what was planned and stop the motor."""
        self._forget("limit", "gentle", "leave", "arrive")
        self._machine.drive(self._part.name, 0)

    def _goes_back(self, believed: Callable[[str], bool]) -> bool:
        """Tell whether the way to the end leads back."""
        beyond = self._whereabouts.beyond(self._part.name)
        if self._part.kind is PartKind.CONSOLE:
            return not believed(self._other) and beyond == (self.end in _FAR)
        # Before its closed end a stacker goes back, away from the tiles: going on would push.
        return self._part.kind is PartKind.STACKER and self.end == m.End.HOME and not beyond

    def _go(self, direction: int) -> None:
        self.moved = True
        gentle = self._part.kind is not PartKind.STACKER
        self._forget("gentle", "leave", "arrive")
        self._plan_limit(self._limit_us)
        if gentle and not self._timed:
            third_us = 1000 * self._part.stroke_ms // GENTLE_SHARE
            self._plan("gentle", third_us, lambda: self._machine.drive(self._part.name, direction))
        self._watch_start()
        self._machine.drive(self._part.name, direction, gentle)

    def _plan_limit(self, limit_us: int | None = None) -> None:
        longest_us = 2_000 * self._part.stroke_ms
        self._plan("limit", min(longest_us, limit_us or longest_us), lambda: self._stop(m.FailReason.TIMEOUT))

    def _watch_start(self) -> None:
        if not self._retreating and self._machine.tells(self._start):
            self._plan("leave", START_US + 1000 * self._part.stroke_ms // LEAVE_SHARE, self._must_have_left)

    def _must_have_left(self) -> None:
        """Not believe a sensor that still tells the end from which the motor has long driven the part."""
        if not self._machine.tells(self._start):
            return
        if self._whereabouts.must_have_left(self._part.name):
            self._whereabouts.accuse(self._start)
            self._stop(m.FailReason.SENSOR)
        else:
            self._plan("leave", LOOK_US, self._must_have_left)

    def _worth(self, edge: Edge | None = None) -> m.FailReason | None:
        """Return what an end is worth that its sensor tells: None where it is believed to be reached."""
        lies = not edge.credible if edge else self._whereabouts.refutes(self.goal)
        if lies:
            self._whereabouts.accuse(self.goal)
        both = self._whereabouts.contradicts_itself(self._part.name)
        return m.FailReason.SENSOR if lies or both else None

    def _arrive(self) -> None:
        """Time is up: it has arrived, if it turned all the while."""
        whole = self._whereabouts.turns_since(self._other)
        if whole:
            self._whereabouts.arrive(self.goal)
        self._stop(None if whole else m.FailReason.TIMEOUT)

    def _retreat(self) -> None:
        self._retreating = self.reversed = True
        at_an_end = self._machine.tells(self.goal) or self._machine.tells(self._other)
        self._go(-self._direction)
        if at_an_end:
            self._plan("limit", RELEASE_US, self._retry)

    def _retry(self) -> None:
        self._retreating = self._giving_way = False
        self._round = not self._machine.tells(self._other)
        self._tries += 1
        if self._released:
            self._stop(m.FailReason.ABORTED)
        elif self._tries > 1:
            self._stop(m.FailReason.STALL)
        else:
            self._left = self.end != m.End.TURN
            self._go(self._direction)

    def _stop(self, reason: m.FailReason | None) -> None:
        self.close()
        self._on_end(reason)

    def _plan(self, what: str, delay_us: int, call: Callable[[], None]) -> None:
        self._forget(what)
        self._plans[what] = self._agenda.after(delay_us, call)

    def _forget(self, *plans: str) -> None:
        for what in plans:
            if what in self._plans:
                self._plans.pop(what).cancel()
