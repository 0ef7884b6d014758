"""A mechanism on a crank: a motor turns it, sensors and deeds lie at angles of the turn.

Stackers, lifts and the console are all of this kind; they differ in their marks. Angles are whole millionths
of a turn, so that a mechanism is always exactly where its history says.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from sim.agenda import Agenda, Entry

TURN = 1_000_000
WINDOW = 15_000  # half the width of a sensor's mark: 1.5 % of a turn


@dataclass(frozen=True, slots=True)
class _Station:
    angle: int
    sensor: str | None = None
    enters: bool = False
    deed: Callable[[int], bool] | None = None


class Crank:
    """A crank with `marks` (sensor → angle) and `deeds` (angle → call(direction); False holds it there)."""

    def __init__(
        self,
        agenda: Agenda,
        turn_us: int,
        marks: dict[str, int],
        deeds: dict[int, Callable[[int], bool]],
        on_sensor: Callable[[str, bool], None],
        on_held: Callable[[bool], None] = lambda held: None,
    ) -> None:
        self._agenda = agenda
        self._turn_us = turn_us
        self._on_sensor = on_sensor
        self._on_held = on_held
        stations = [_Station((a - WINDOW) % TURN, name, True) for name, a in marks.items()]
        stations += [_Station((a + WINDOW) % TURN, name, False) for name, a in marks.items()]
        stations += [_Station(angle, deed=deed) for angle, deed in deeds.items()]
        self._stations = sorted(stations, key=lambda s: s.angle)
        if any(b.angle - a.angle < 2 for a, b in pairwise(self._stations)):
            raise ValueError(f"two stations of a crank are too near to be told apart: {self._stations}")
        self._obstacle: _Station | None = None
        self.on = {name: _near(0, a) for name, a in marks.items()}
        self._angle = 0
        self._since_us = 0
        self._direction = 0
        self._held = False
        self._way = TURN  # to the next station
        self._entry: Entry | None = None

    @property
    def turning(self) -> bool:
        """Tell whether it moves now."""
        return bool(self._direction) and not self._held

    @property
    def angle(self) -> int:
        """Return where it is now, in millionths of a turn."""
        gone = 0 if self._held else (self._agenda.now_us - self._since_us) * TURN // self._turn_us
        # Never past a station that it has not been told to have passed.
        return (self._angle + self._direction * min(gone, self._way - 1)) % TURN

    def turn(self, direction: int) -> None:
        """Begin to turn in a direction, or stop with 0."""
        if direction != self._direction:
            self._settle(self.angle)
            self._direction = direction
            self._held = False
            self._plan()

    def block(self, angle: int | None) -> None:
        """Put something in its way at an angle, or take it away."""
        self._settle(self.angle)
        self._obstacle = None if angle is None else _Station(angle, deed=lambda direction: False)
        self._release()
        self._plan()

    def retry(self) -> None:
        """Go on where a deed held it, now that what it waits for may have come."""
        if self._held:
            self._settle(self._angle)
            self._release()
            self._plan()

    def _release(self) -> None:
        if self._held:
            self._held = False
            self._on_held(False)

    def _settle(self, angle: int) -> None:
        self._angle = angle
        self._since_us = self._agenda.now_us
        if self._entry:
            self._entry.cancel()
            self._entry = None

    def _plan(self) -> None:
        if not self._direction:
            return
        stations = [*self._stations, self._obstacle] if self._obstacle else self._stations
        ways = [((s.angle - self._angle) * self._direction % TURN, i) for i, s in enumerate(stations)]
        way, index = min((w, i) for w, i in ways if w > 0)
        station = stations[index]
        self._way = way
        # Rounded up: a station is passed when its angle has been reached, never before.
        delay = -(-way * self._turn_us // TURN)
        self._entry = self._agenda.after(delay, lambda: self._pass(station))

    def _pass(self, station: _Station) -> None:
        direction = self._direction
        if station.deed is not None and not station.deed(direction):
            self._settle((station.angle - direction) % TURN)  # before it: the next try meets it again
            self._held = True
            self._on_held(True)
            return
        # Just past it, so that turning back passes it again.
        self._settle((station.angle + direction) % TURN)
        self._plan()
        if station.sensor is not None:
            active = station.enters == (direction > 0)
            self.on[station.sensor] = active
            self._on_sensor(station.sensor, active)


def travel_from(angle: int, mark: int) -> float:
    """Return how far what a crank moves is from where it is at a mark: 0 there, 1 half a turn away."""
    return (1 - math.cos(2 * math.pi * (angle - mark) / TURN)) / 2


def _near(angle: int, mark: int) -> bool:
    return min((angle - mark) % TURN, (mark - angle) % TURN) <= WINDOW
