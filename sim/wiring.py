"""The cable between board and host, and the mains: what faults do to them."""

import random
from collections.abc import Callable

from sim.agenda import Agenda

SLOW_US = 150_000
_FLIP_EVERY = 400  # bytes, on average, between two flipped bits


class Cable:
    """Both directions of the wire inside the table; `deliver` passes on what comes through."""

    def __init__(self, agenda: Agenda, seed: int) -> None:
        self.faults: set[str] = set()
        self._agenda = agenda
        self._rng = random.Random(f"{seed}/cable")

    def to_host(self, data: bytes, deliver: Callable[[bytes], None]) -> None:
        """Carry bytes of the board."""
        if self.faults & {"mute", "unplug"}:
            return
        data = self._noise(data)
        if "slow" in self.faults:
            self._agenda.after(SLOW_US, lambda: deliver(data))
        else:
            deliver(data)

    def to_board(self, data: bytes, deliver: Callable[[bytes], None]) -> None:
        """Carry bytes of the host."""
        if "unplug" not in self.faults:
            deliver(self._noise(data))

    def _noise(self, data: bytes) -> bytes:
        if "noisy" not in self.faults:
            return data
        flipped = bytearray(data)
        for at in range(len(flipped)):
            if self._rng.randrange(_FLIP_EVERY) == 0:
                flipped[at] ^= 1 << self._rng.randrange(8)
        return bytes(flipped)
