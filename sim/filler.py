"""FILL as a board does it: eye, gate, conveyor and stacker of one mouth, coupled without the host."""

from collections.abc import Callable

from sim.agenda import Agenda, Entry
from sim.mechanics.machine import Machine

BELT_US = 800_000  # a tile needs 0.7 s from the eye to the slot; the rest is margin
SETTLE_US = 60_000  # a waiting tile falls into the slot that a stroke has left


class Filler:
    """Fills one store to a number of tiles counted since it was last emptied; strokes every second tile.

    The gate closes at the number; what is then on the belt and in the slot goes into the store, the last tile
    alone where the number is odd.
    """

    def __init__(
        self,
        agenda: Agenda,
        machine: Machine,
        side: int,
        tiles: int,
        *,
        stacker_ms: int,
        on_push: Callable[[int], None],
        on_done: Callable[[], None],
        on_failed: Callable[[], None],
        on_aborted: Callable[[], None],
    ) -> None:
        self._agenda = agenda
        self._machine = machine
        self._side = side
        self._name = f"S{side}"
        self._tiles = tiles
        self._stroke_limit_us = 2_000 * stacker_ms + 200_000
        self._on_push = on_push
        self._on_done = on_done
        self._on_failed = on_failed
        self._on_aborted = on_aborted
        self._taken = 0
        self._stored = 0
        self._in_slot_us: list[int] = []  # when each tile not yet pushed has surely reached the slot
        self._pushing = 0
        self._closing = False
        self._stopping = False
        self._wait: Entry | None = None
        self._limit: Entry | None = None

    def begin(self, taken: int, stored: int, pushing: int) -> None:
        """Start, with what an earlier FILL has taken, stored, and had in a stroke that was cut."""
        self._taken, self._stored, self._pushing = taken, stored, pushing
        arrival = self._agenda.now_us + BELT_US
        self._in_slot_us = [arrival] * (taken - stored)
        self._machine.drive(f"conveyor.{self._name}", 1)
        self._machine.open_gate(self._side, taken < self._tiles)
        if self._machine.sensors()[f"stacker.{self._name}.open"]:
            self._next()
        else:
            self._open()

    def on_tile(self, taken: int) -> None:
        """A tile has passed the eye."""
        self._taken = taken
        self._in_slot_us.append(self._agenda.now_us + BELT_US)
        if taken >= self._tiles:
            self._machine.open_gate(self._side, False)
        self._next()

    def on_sensor(self, name: str, active: bool) -> None:
        """The stacker has reached or left an end."""
        if not active or self._limit is None:
            return
        if self._closing and name == f"stacker.{self._name}.closed":
            self._closing = False
            self._stored += self._pushing
            del self._in_slot_us[: self._pushing]
            self._pushing = 0
        elif not self._closing and name == f"stacker.{self._name}.open":
            self._machine.drive(f"stacker.{self._name}", 0)
            self._limit.cancel()
            self._limit = None
            settled = self._agenda.now_us + SETTLE_US
            self._in_slot_us = [max(t, settled) for t in self._in_slot_us]
            if self._stopping:
                self._on_aborted()
            else:
                self._next()

    def stop(self) -> None:
        """Stop taking tiles; a stroke that has begun is finished first."""
        self._stopping = True
        self._machine.open_gate(self._side, False)
        self._machine.drive(f"conveyor.{self._name}", 0)
        if self._limit is None:
            self._on_aborted()

    def close(self) -> None:
        """Forget what was planned."""
        for entry in (self._wait, self._limit):
            if entry:
                entry.cancel()
        self._limit = self._wait = None

    def _next(self) -> None:
        """Plan the next stroke, or the end."""
        if self._wait:
            self._wait.cancel()
            self._wait = None
        if self._limit or self._stopping:
            return
        if self._stored >= self._tiles:
            self._on_done()
            return
        last = self._taken >= self._tiles and len(self._in_slot_us) == 1
        if len(self._in_slot_us) >= 2 or last:
            count = 1 if last else 2
            self._wait = self._agenda.at(self._in_slot_us[count - 1], lambda: self._stroke(count))

    def _stroke(self, count: int) -> None:
        self._wait = None
        self._pushing = count
        self._on_push(count)
        self._closing = True
        self._drive()

    def _open(self) -> None:
        # One turn brings it home from anywhere; before half of it, it pushes what a cut stroke had begun.
        self._closing = self._pushing > 0
        self._drive()

    def _drive(self) -> None:
        self._limit = self._agenda.after(self._stroke_limit_us, self._on_failed)
        self._machine.drive(f"stacker.{self._name}", 1)
