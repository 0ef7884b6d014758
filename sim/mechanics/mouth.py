"""One mouth: pick-up with its gate and eye, belt, slot. Tiles come from the drum and leave into the store."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from sim.agenda import Agenda, Entry
from sim.mechanics.drum import Drum
from sim.mechanics.eye import Eye
from sim.model import MouthModel
from sim.tiles import Place, Tile

STACK = 2  # tiles that the slot holds: one above the other


@dataclass(slots=True)
class _Riding:
    tile: Tile
    to_go_us: int


class Mouth:
    """One feeder; `on_eye` gets the peaks of each tile at the eye and the belt's direction."""

    def __init__(
        self,
        name: str,
        agenda: Agenda,
        drum: Drum,
        eye: Eye,
        model: MouthModel,
        rng: random.Random,
        on_eye: Callable[[tuple[int, ...], int], None],
        on_sensor: Callable[[str, bool], None],
    ) -> None:
        self.belt = Place(f"belt.{name}")
        self.slot = Place(f"slot.{name}")
        self.eye = eye
        self.jammed = False  # a tile stands half in the slot: nothing passes, and the stacker hits it
        self.slot_free: Callable[[], bool] = lambda: True  # the stacker is open and stands
        self._name = name
        self._agenda = agenda
        self._drum = drum
        self._model = model
        self._rng = rng
        self._pace = max(0.8, rng.gauss(1.0, model.spread))
        self._on_eye = on_eye
        self._on_sensor = on_sensor
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

    @property
    def slot_full(self) -> bool:
        """Tell what the slot's sensor sees: a whole stack."""
        return len(self.slot) >= STACK

    @property
    def slot_first(self) -> bool:
        """Tell what the slot's lower sensor sees: a tile at least."""
        return len(self.slot) > 0

    @property
    def running(self) -> bool:
        """Tell whether the conveyor moves."""
        return self._direction != 0

    def turn(self, direction: int) -> None:
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

    def empty_slot(self, into: Place) -> None:
        """Let the stacker push what is in the slot into the store."""
        was_full, was_there = self.slot_full, self.slot_first
        for tile in list(self.slot.tiles):
            tile.move(into)
        if was_full:
            self._on_sensor(f"slot.{self._name}.full", False)
        if was_there:
            self._on_sensor(f"slot.{self._name}.first", False)

    def clear_head(self) -> None:
        """Let a person take belt and slot empty; the tiles go into the drum."""
        before, was_full, was_there = self.full, self.slot_full, self.slot_first
        for tile in [*self.slot.tiles, *self.belt.tiles]:
            tile.move(self._drum.place)
        self._riding.clear()
        self._tell_full(before)
        for name, was in (("full", was_full), ("first", was_there)):
            if was:
                self._on_sensor(f"slot.{self._name}.{name}", False)
        self._replan_arrival()

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
            delay = round(1000 * self._model.pocket_ms * self._pace * wobble)
            self._pocket = self._agenda.after(delay, self._pass_pocket)
        elif not picking and self._pocket is not None:
            self._pocket.cancel()
            self._pocket = None

    def _pass_pocket(self) -> None:
        self._pocket = None
        self._replan_pocket()
        if self.full:
            return
        for_lower = (len(self.slot) + len(self._riding)) % STACK == 0
        tile = self._drum.pick(self._rng, for_lower)
        if tile is not None:
            self._take(tile)

    def _take(self, tile: Tile) -> None:
        self._ride()
        tile.move(self.belt)
        self._drum.forget(tile)
        self._riding.append(_Riding(tile, 1000 * self._model.belt_ms))
        self._tell_full(before=False)
        self._replan_arrival()
        self._on_eye(self.eye.pass_tile(), 1)

    def _replan_arrival(self) -> None:
        if self._arrival:
            self._arrival.cancel()
            self._arrival = None
        if not self._riding:
            return
        if self._direction > 0 and not self.jammed and len(self.slot) < STACK and self.slot_free():
            self._arrival = self._agenda.after(self._riding[0].to_go_us, self._arrive)
        elif self._direction < 0:
            last = self._riding[-1]
            back_us = 1000 * self._model.belt_ms - last.to_go_us
            self._arrival = self._agenda.after(back_us, self._give_back)

    def _arrive(self) -> None:
        self._ride()
        before = self.full
        self._riding.pop(0).tile.move(self.slot)
        self._tell_full(before)
        self._replan_arrival()
        self._on_sensor(f"slot.{self._name}.{'full' if self.slot_full else 'first'}", True)

    def _give_back(self) -> None:
        self._ride()
        before = self.full
        self._riding.pop().tile.move(self._drum.place)
        self._tell_full(before)
        self._replan_arrival()
        self._on_eye(self.eye.pass_tile(), -1)

    def _tell_full(self, before: bool) -> None:
        if self.full != before:
            self._on_sensor(f"belt.{self._name}.full", self.full)
