"""A mechanism on a crank: a motor turns it, sensors and deeds lie at angles of the turn.

Stackers, lifts and the console are all of this kind; they differ in their marks. Angles are whole millionths
of a turn, so that a mechanism is always exactly where its history says.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from sim.agenda import Agenda, Entry

TURN = 1_000_000
WINDOW = 15_000  # half the width of a sensor's mark: 1.5 % of a turn


@dataclass(frozen=True, slots=True)
class _Station:
    angle: int
    sensor: str | None
    enters: bool
    deed: Callable[[int], bool] | None


class Crank:
    """A crank with `marks` (sensor name → angle) and `deeds` (angle → call(direction); False blocks it)."""

    def __init__(
        self,
        agenda: Agenda,
        turn_us: int,
        marks: dict[str, int],
        deeds: dict[int, Callable[[int], bool]],
        on_sensor: Callable[[str, bool], None],
    ) -> None:
        self._agenda = agenda
        self._turn_us = turn_us
        self._on_sensor = on_sensor
        stations = [_Station((a - WINDOW) % TURN, name, True, None) for name, a in marks.items()]
        stations += [_Station((a + WINDOW) % TURN, name, False, None) for name, a in marks.items()]
        stations += [_Station(angle, None, False, deed) for angle, deed in deeds.items()]
        self._stations = sorted(stations, key=lambda s: s.angle)
        angles = [s.angle for s in self._stations]
        if any(b - a < 2 for a, b in pairwise(angles)):
            raise ValueError(f"two stations of a crank are too near to be told apart: {angles}")
        self.on = {name: _near(0, a) for name, a in marks.items()}
        self._angle = 0
        self._since_us = 0
        self._direction = 0
        self._entry: Entry | None = None
        self.disconnected = False

    @property
    def direction(self) -> int:
        """Return which way it is turning: 1, -1, or 0 when it stands."""
        return self._direction

    @property
    def angle(self) -> int:
        """Return where it is now, in millionths of a turn."""
        gone = (self._agenda.now_us - self._since_us) * TURN // self._turn_us
        return (self._angle + self._direction * gone) % TURN

    def drive(self, direction: int) -> None:
        """Switch the motor on in a direction, or off with 0."""
        if self.disconnected:
            direction = 0
        if direction == self._direction:
            return
        self._settle(self.angle)
        self._direction = direction
        self._plan()

    def _settle(self, angle: int) -> None:
        self._angle = angle
        self._since_us = self._agenda.now_us
        if self._entry:
            self._entry.cancel()
            self._entry = None

    def _plan(self) -> None:
        if not self._direction:
            return
        ways = [((s.angle - self._angle) * self._direction % TURN, i) for i, s in enumerate(self._stations)]
        way, index = min((w, i) for w, i in ways if w > 0)
        station = self._stations[index]
        # Rounded up: a station is passed when its angle has been reached, never before.
        delay = -(-way * self._turn_us // TURN)
        self._entry = self._agenda.after(delay, lambda: self._pass(station))

    def _pass(self, station: _Station) -> None:
        direction = self._direction
        # Just past it, so that turning back passes it again.
        self._settle((station.angle + direction) % TURN)
        if station.deed is not None and not station.deed(direction):
            self._settle((station.angle - direction) % TURN)  # before it: the next try meets it again
            self._direction = 0
            return
        self._plan()
        if station.sensor is not None:
            active = station.enters == (direction > 0)
            self.on[station.sensor] = active
            self._on_sensor(station.sensor, active)


def _near(angle: int, mark: int) -> bool:
    return min((angle - mark) % TURN, (mark - angle) % TURN) <= WINDOW
