"""The wash drum 大盘: tiles in no order, harder to pick as they become few."""

import random
from collections.abc import Callable

from sim.agenda import Agenda, Entry
from sim.tiles import Place, Tile

SPIN_UP_US = 400_000


class Drum:
    """All tiles in it lie in one place; which one meets a pocket is chance."""

    def __init__(self, agenda: Agenda, take_chance: float, few_tiles: int) -> None:
        self.place = Place("drum")
        self.running = False
        self._agenda = agenda
        self._take_chance = take_chance
        self._few = few_tiles
        self._watchers: list[Callable[[], None]] = []
        self._spin_up: Entry | None = None

    def watch(self, call: Callable[[], None]) -> None:
        """Have `call` made when the drum comes up to speed or stops."""
        self._watchers.append(call)

    def drive(self, direction: int) -> None:
        """Switch the drum on or off."""
        if direction and not self.running and self._spin_up is None:
            self._spin_up = self._agenda.after(SPIN_UP_US, lambda: self._turn(True))
        elif not direction:
            if self._spin_up:
                self._spin_up.cancel()
                self._spin_up = None
            self._turn(False)

    def offers(self, rng: random.Random) -> bool:
        """Tell by chance whether a passing pocket finds a tile back up."""
        count = len(self.place)
        return count > 0 and rng.random() < self._take_chance * count / (count + self._few)

    def pick(self, rng: random.Random) -> Tile:
        """Return the tile that meets the pocket."""
        return self.place.tiles[rng.randrange(len(self.place))]

    def _turn(self, running: bool) -> None:
        self._spin_up = None
        if running != self.running:
            self.running = running
            for call in self._watchers:
                call()
