"""Where each crank is, as far as a board can know: what its motor did, held against what its sensors tell.

An end sensor may lie. The board remembers, without power too, how far a crank can have come since one of its
ends was last seen: a motor turns within a quarter of its described pace, a starved one begins late, one that
draws nothing or is held does not turn. An end counts as reached only where this memory and the sensor agree.
"""

from collections.abc import Callable
from dataclasses import dataclass

from firmware_protocol.description import Description, Part, PartKind
from sim.agenda import Agenda
from sim.mechanics.motor import Motor

START_US = 1_500_000  # a starved motor begins to turn so much late
ENDS = {
    PartKind.STACKER: ("open", "closed"),
    PartKind.LIFT: ("home", "home"),
    PartKind.CONSOLE: ("down", "up"),
}
_PACE = 4  # a motor is faster or slower than described by a quarter at most
# In parts of a turn:
_MARK = 50  # the mark of a sensor reaches so far from its end, or less
_THERE = 25  # a crank that is surely nearer than this stands at its end: 1.6 % of its travel
_AWAY = 20  # a crank that is surely farther than this has left it: 2.5 % of its travel
_FREE = 4  # a stacker that has passed its open end by so much is not yet on its way to push


@dataclass(frozen=True, slots=True)
class Edge:
    """What an end sensor told, and what it is worth; `turn_us`: how long a whole turn took in one go."""

    name: str
    active: bool
    credible: bool
    turn_us: int | None = None


@dataclass(slots=True)
class _Crank:
    """Bounds of where one crank stands, in µs of way forward from home; a turn further is the same place."""

    turn_us: int
    ends: dict[str, int]
    least: int = 0
    most: int = 0
    since_us: int = 0
    direction: int = 0
    way_us: int = 0  # that it has certainly come in this motion
    late_us: int = 0  # how long it may still stand although it is driven
    anchored: bool = False  # an end was seen in this motion: it turns, and where from is known
    left: tuple[str, int] | None = None  # the end that was left in this motion, and when
    beyond: bool = False  # it is on the way from its far end forward to home, not on the way out

    def settle(self, now_us: int) -> None:
        """Bring the bounds up to now."""
        gone, self.since_us = now_us - self.since_us, now_us
        if not self.direction:
            return  # how late it may begin to turn is said anew when it is driven
        slow = max(0, gone - self.late_us) * (_PACE - 1) // _PACE
        fast = -(-gone * (_PACE + 1) // _PACE)
        if self.direction > 0:
            self.least, self.most = self.least + slow, self.most + fast
        else:
            self.least, self.most = self.least - fast, self.most - slow
        self.way_us += slow
        self.late_us = max(0, self.late_us - gone)
        if self.most - self.least > self.turn_us:
            self.lose()

    def lose(self) -> None:
        """Know nothing."""
        self.least, self.most = 0, self.turn_us

    def may_be(self, position: int, within: int) -> bool:
        """Tell whether it can be so near to a position."""
        return (position + within - self.least) % self.turn_us <= self.most - self.least + 2 * within

    def must_be(self, position: int, within: int) -> bool:
        """Tell whether it is certainly so near to a position."""
        return (self.least - position + within) % self.turn_us + self.most - self.least <= 2 * within

    def pass_mark(self, position: int, active: bool) -> None:
        """Take in that a mark's border was seen: the near one entering, the far one leaving."""
        border = position + self.turn_us // _MARK * (-self.direction if active else self.direction)
        self.least, self.most = sorted((position, border))
        self.late_us, self.anchored = 0, True


class Whereabouts:
    """The memory of every crank; `tells` gives what a sensor tells now."""

    def __init__(
        self,
        agenda: Agenda,
        motors: dict[str, Motor],
        description: Description,
        tells: Callable[[str], bool],
    ) -> None:
        self._agenda = agenda
        self._motors = motors
        self._tells = tells
        self._rated = {p.name: p.max_ma for p in description.parts}
        self._of = {p.name: _crank(p) for p in description.parts if p.kind in ENDS}
        self._accused: set[str] = set()  # sensors that have told what cannot be
        self._timed: set[str] = set()  # ends that were reached by time and count as seen
        for crank in self._of.values():
            crank.lose()
            for name, position in crank.ends.items():
                if tells(name):  # a new board believes what it sees first
                    crank.least = crank.most = position

    # --- what happens ---------------------------------------------------------------------------------------

    def load_changed(self, part: str) -> None:
        """A motor is driven otherwise, or its current has changed; more than the rated one: it is held."""
        crank, motor = self._of.get(part), self._motors[part]
        if crank is None:
            return
        if motor.direction:
            self._timed -= crank.ends.keys()
        crank.settle(self._agenda.now_us)
        direction = motor.direction if 0 < motor.current_ma <= self._rated[part] else 0
        if direction != crank.direction:
            crank.direction, crank.late_us, crank.way_us = direction, START_US, 0
            crank.anchored, crank.left = False, None

    def told(self, name: str, active: bool) -> Edge | None:
        """Weigh what a sensor tells; None where it is none of an end."""
        part = name.rpartition(".")[0]
        crank, now = self._of.get(part), self._agenda.now_us
        if crank is None:
            return None
        crank.settle(now)
        if not crank.direction:
            return Edge(name, active, credible=False)  # nothing moved it: the sensor's doing, or a hand's
        position, turn_us = crank.ends[name], None
        if active and crank.left and crank.left[0] == name:
            took_us = now - crank.left[1]
            turn_us = took_us if abs(took_us - crank.turn_us) <= crank.turn_us // _PACE else None
        credible = crank.may_be(position, crank.turn_us // _MARK)
        if name in self._accused:
            credible &= active and crank.anchored
        credible |= turn_us is not None
        if not active and not (name in self._accused and crank.left):
            crank.left = (name, now)
        if credible:
            crank.pass_mark(position, active)
            crank.beyond = position > 0 if active else (crank.direction < 0) == (position == 0)
            if active:
                self._accused.discard(name)
                crank.left = None
        elif name not in self._accused:
            self.accuse(name)
            if not crank.anchored:
                crank.lose()  # a hand may have turned it
        return Edge(name, active, credible, turn_us)

    def accuse(self, name: str) -> None:
        """Believe a sensor no more, until a whole turn or a motion from another end has proved it."""
        self._accused.add(name)

    def arrive(self, name: str) -> None:
        """Let an end that was driven to by time count as reached, until the part is driven again."""
        crank = self._of[name.rpartition(".")[0]]
        crank.settle(self._agenda.now_us)
        crank.least = crank.most = crank.ends[name]
        crank.beyond = crank.ends[name] > 0
        self._timed.add(name)

    def restart(self) -> None:
        """Forget what only counts until a restart."""
        self._timed.clear()

    # --- what is known --------------------------------------------------------------------------------------

    def timed(self, name: str) -> bool:
        """Tell whether an end counts as seen because it was reached by time."""
        return name in self._timed

    def there(self, name: str) -> bool:
        """Tell whether a crank is at an end by memory, whatever its sensor tells."""
        crank = self._settled(name.rpartition(".")[0])
        return crank.must_be(crank.ends[name], crank.turn_us // _THERE)

    def believes(self, name: str) -> bool:
        """Tell whether an end is reached: its sensor tells so, never lied, and memory agrees."""
        if name in self._timed:
            return True
        return self._tells(name) and name not in self._accused and self.there(name)

    def accepts(self, name: str) -> bool:
        """Tell whether an end may be reached: its sensor tells so, never lied, and memory allows it."""
        return self._tells(name) and name not in self._accused and not self.refutes(name)

    def refutes(self, name: str) -> bool:
        """Tell whether a crank cannot be at an end, whatever its sensor tells."""
        crank = self._settled(name.rpartition(".")[0])
        return not crank.may_be(crank.ends[name], crank.turn_us // _AWAY)

    def must_have_left(self, part: str) -> bool:
        """Tell whether a crank that began its motion at an end is certainly away from it, or has been."""
        crank = self._settled(part)
        return crank.way_us > crank.turn_us // _AWAY + crank.turn_us // _MARK

    def contradicts_itself(self, part: str) -> bool:
        """Tell whether both ends of a part are told at once."""
        ends = self._of[part].ends
        return len(ends) > 1 and all(map(self._tells, ends))

    def turns_since(self, name: str) -> bool:
        """Tell whether a crank has turned without a pause since it left that end."""
        left = self._of[name.rpartition(".")[0]].left
        return left is not None and left[0] == name

    def beyond(self, part: str) -> bool:
        """Tell whether a crank is at its far end or on the way from there forward to home."""
        return self._of[part].beyond

    def way_home(self, part: str) -> int:
        """Return the direction that leads home: back, unless the far end was passed."""
        return 1 if self._of[part].beyond else -1

    def free_us(self, part: str, direction: int) -> int:
        """Return for how long a stacker can be driven to its open end and surely not come round to push."""
        crank = self._settled(part)
        width, past = crank.most - crank.least, crank.turn_us // _FREE
        room = (crank.least + past if direction < 0 else past - crank.most) % crank.turn_us
        return 0 if room + width >= crank.turn_us else room * _PACE // (_PACE + 1)

    def _settled(self, part: str) -> _Crank:
        crank = self._of[part]
        crank.settle(self._agenda.now_us)
        return crank


def _crank(part: Part) -> _Crank:
    home, far = ENDS[part.kind]
    turn_us = 1000 * part.stroke_ms * (1 if part.kind is PartKind.LIFT else 2)
    ends = {f"{part.name}.{home}": 0}
    if far != home:
        ends[f"{part.name}.{far}"] = turn_us // 2
    return _Crank(turn_us, ends)
