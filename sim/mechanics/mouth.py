"""One mouth: pick-up with its gate and eye, belt, slot. Tiles come from the drum and leave into the store."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from sim.agenda import Agenda, Entry
from sim.mechanics.drum import Drum
from sim.tiles import Place, Tile


@dataclass(slots=True)
class _Riding:
    tile: Tile
    to_go_us: int


class Mouth:
    """The feeder of one side; `on_eye` is called for each tile at the eye, with the belt's direction."""

    def __init__(
        self,
        name: str,
        agenda: Agenda,
        drum: Drum,
        model: "MouthModel",
        rng: random.Random,
        on_eye: Callable[[int], None],
        on_full: Callable[[bool], None],
    ) -> None:
        self.belt = Place(f"belt.{name}")
        self.slot = Place(f"slot.{name}")
        self.slot_free: Callable[[], bool] = lambda: True  # the stacker is open and stands
        self._agenda = agenda
        self._drum = drum
        self._model = model
        self._rng = rng
        self._pace = max(0.8, rng.gauss(1.0, model.mouth_spread))
        self._on_eye = on_eye
        self._on_full = on_full
        self._riding: list[_Riding] = []
        self._direction = 0
        self._gate = False
        self._since_us = 0
        self._pocket: Entry | None = None
        self._arrival: Entry | None = None
        drum.watch(self._replan_pocket)

    @property
    def full(self) -> bool:
        """Tell what the belt-full sensor sees."""
        return len(self._riding) >= self._model.belt_tiles

    def drive(self, direction: int) -> None:
        """Run the conveyor forward (1), back (-1) or not (0)."""
        if direction != self._direction:
            self._ride()
            self._direction = direction
            self._replan_pocket()
            self._replan_arrival()

    def open_gate(self, is_open: bool) -> None:
        """Let the pick-up take tiles, or not."""
        self._gate = is_open
        self._replan_pocket()

    def settle(self) -> None:
        """Let waiting tiles fall into a slot that has become free."""
        self._ride()
        self._replan_arrival()

    def _ride(self) -> None:
        """Bring the belt up to now."""
        now = self._agenda.now_us
        gone = now - self._since_us
        self._since_us = now
        if self._direction:
            for r in self._riding:
                r.to_go_us = max(0, r.to_go_us - self._direction * gone)

    def _replan_pocket(self) -> None:
        picking = self._direction > 0 and self._gate and self._drum.running
        if picking and self._pocket is None:
            wobble = 1 + self._rng.uniform(-1, 1) * self._model.pocket_wobble
            delay = round(self._model.pocket_us * self._pace * wobble)
            self._pocket = self._agenda.after(delay, self._pass_pocket)
        elif not picking and self._pocket is not None:
            self._pocket.cancel()
            self._pocket = None

    def _pass_pocket(self) -> None:
        self._pocket = None
        self._replan_pocket()
        if not self.full and self._drum.offers(self._rng):
            self._take(self._drum.pick(self._rng))

    def _take(self, tile: Tile) -> None:
        self._ride()
        tile.move(self.belt)
        self._riding.append(_Riding(tile, self._model.belt_us))
        if self.full:
            self._on_full(True)
        self._replan_arrival()
        self._on_eye(1)

    def _replan_arrival(self) -> None:
        if self._arrival:
            self._arrival.cancel()
            self._arrival = None
        if not self._riding:
            return
        if self._direction > 0 and len(self.slot) < 2 and self.slot_free():
            self._arrival = self._agenda.after(self._riding[0].to_go_us, self._arrive)
        elif self._direction < 0:
            last = self._riding[-1]
            self._arrival = self._agenda.after(self._model.belt_us - last.to_go_us, self._give_back)

    def _arrive(self) -> None:
        self._ride()
        was_full = self.full
        self._riding.pop(0).tile.move(self.slot)
        if was_full:
            self._on_full(False)
        self._replan_arrival()

    def _give_back(self) -> None:
        self._ride()
        was_full = self.full
        self._riding.pop().tile.move(self._drum.place)
        if was_full:
            self._on_full(False)
        self._replan_arrival()
        self._on_eye(-1)


@dataclass(frozen=True, slots=True)
class MouthModel:
    """What one mouth is like. Times are tunable, no source measures them."""

    pocket_us: int = 480_000
    pocket_wobble: float = 0.12
    mouth_spread: float = 0.04
    belt_us: int = 700_000
    belt_tiles: int = 4
