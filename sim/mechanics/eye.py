"""A counting eye 光眼: infrared light reflected by a passing tile, read as a voltage."""

import random

from sim.model import EyeModel


class Eye:
    """What one eye reads. Dirt takes from the tile's light; a dead eye reads the dark for ever."""

    def __init__(self, model: EyeModel, rng: random.Random) -> None:
        self._model = model
        self._rng = rng
        self.dirt = 0.0  # share of the light that is lost
        self.dead = False
        self.flutters = False  # a tile's edge is seen twice

    def pass_tile(self) -> tuple[int, ...]:
        """Return the peaks in mV that one passing tile gives."""
        return tuple(self._peak() for _ in range(2 if self.flutters else 1))

    def rest_mv(self) -> int:
        """Return what it reads with no tile before it."""
        return round(self._model.dark_mv + self._noise())

    def _peak(self) -> int:
        model = self._model
        light = 0.0 if self.dead else (model.tile_mv - model.dark_mv) * (1 - self.dirt)
        return round(model.dark_mv + light + self._noise())

    def _noise(self) -> float:
        return self._rng.gauss(0, self._model.noise_mv)
