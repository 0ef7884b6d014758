"""The wash drum 大盘: tilted, tiles in no order, some back up, harder to pick as they become few."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from sim.agenda import Agenda, Entry
from sim.model import DrumModel
from sim.tiles import Place, Tile


@dataclass(slots=True)
class _Lie:
    """How a tile lay when somebody looked, and when; `order` is its turn among all that were dropped in."""

    back_up: bool
    at_us: int
    order: int


class Drum:
    """All tiles in it lie in one place; which one meets a pocket, and how it lies, is chance."""

    def __init__(self, agenda: Agenda, model: DrumModel) -> None:
        self.place = Place("drum")
        self.running = False
        self._agenda = agenda
        self._model = model
        self._watchers: list[Callable[[], None]] = []
        self._spin_up: Entry | None = None
        self._lies: dict[Tile, _Lie] = {}
        self._dropped = 0

    def watch(self, call: Callable[[], None]) -> None:
        """Have `call` made when the drum comes up to speed or stops."""
        self._watchers.append(call)

    def turn(self, direction: int) -> None:
        """Begin to turn, or stop with 0."""
        if direction and not self.running and self._spin_up is None:
            self._spin_up = self._agenda.after(self._model.spin_up_ms * 1000, lambda: self._set(True))
        elif not direction:
            if self._spin_up:
                self._spin_up.cancel()
                self._spin_up = None
            self._set(False)

    def pick(self, rng: random.Random, for_lower: bool) -> Tile | None:
        """Return the tile that a passing pocket takes, None where none lies before it back up.

        `for_lower` tells the layer it would come to. A tile dropped in early comes a little likelier to the
        lower layer, as on real tables; nothing here knows a face.
        """
        tiles, model = self.place.tiles, self._model
        if not tiles or rng.random() >= len(tiles) / (len(tiles) + model.few_tiles):
            return None
        tile = tiles[rng.randrange(len(tiles))]
        if rng.random() < model.mix_bias:
            other = tiles[rng.randrange(len(tiles))]
            early, late = sorted((tile, other), key=lambda t: self._lie(t, rng).order)
            tile = early if for_lower else late
        taken = self._lies_back_up(tile, rng) and rng.random() < model.take_chance
        return tile if taken else None

    def forget(self, tile: Tile) -> None:
        """Forget how a tile lay that has left the drum."""
        self._lies.pop(tile, None)

    def _lies_back_up(self, tile: Tile, rng: random.Random) -> bool:
        lie = self._lie(tile, rng)
        gone = (self._agenda.now_us - lie.at_us) / (1000 * self._model.turn_over_ms)
        steady = self._model.back_up
        chance = steady + (lie.back_up - steady) * math.exp(-gone)
        lie.back_up, lie.at_us = rng.random() < chance, self._agenda.now_us
        return lie.back_up

    def _lie(self, tile: Tile, rng: random.Random) -> _Lie:
        if tile not in self._lies:
            # Tiles lie in the drum's list in the order in which they were dropped.
            for each in self.place.tiles:
                if each not in self._lies:
                    self._dropped += 1
                    self._lies[each] = _Lie(rng.random() < 0.5, self._agenda.now_us, self._dropped)
        return self._lies[tile]

    def _set(self, running: bool) -> None:
        self._spin_up = None
        if running != self.running:
            self.running = running
            for call in self._watchers:
                call()
