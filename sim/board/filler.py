"""FILL as a board does it: eye, gate, conveyor and stacker of one mouth, coupled without the host."""

from collections.abc import Callable

from firmware_protocol.messages import FailReason
from sim.agenda import Agenda, Entry
from sim.board.counting import Counting
from sim.board.counts import STACK, Counts, Mouth
from sim.board.whereabouts import START_US, Edge, Whereabouts
from sim.mechanics.machine import Machine

BELT_US = 1_500_000  # twice what a tile needs from the eye to the slot: later than this it does not come
SETTLE_US = 60_000  # tiles that fall into the slot come to rest


class Filler:
    """Fills one store to a number of tiles counted since it was last emptied; a stroke for every full slot.

    The gate closes at the number; what is then on the belt goes into the store, the last tile alone where the
    number is odd. Eye and slot must agree in the end.
    """

    def __init__(
        self,
        agenda: Agenda,
        machine: Machine,
        counts: Counts,
        counting: Counting,
        whereabouts: Whereabouts,
        mouth: int,
        name: str,
        tiles: int,
        *,
        stroke_ms: int,
        on_done: Callable[[], None],
        on_failed: Callable[[FailReason], None],
        on_missed: Callable[[str], None],
    ) -> None:
        self._agenda = agenda
        self._machine = machine
        self._counts = counts
        self._counting = counting
        self._whereabouts = whereabouts
        self._mouth = mouth
        self._name = name
        self._tiles = tiles
        self._stroke_limit_us = 4_000 * stroke_ms  # out and back, and as much again
        self._on_done = on_done
        self._on_failed = on_failed
        self._on_missed = on_missed  # gets the name of an end sensor that has told nothing
        self._stroking = False
        self._reached = False  # the closed end, in this stroke
        self._whole = False  # the stroke began at the open end
        self._ready_us = 0  # when a conveyor that starts late has brought what lay on the belt
        self._stopping = False
        self._wait: Entry | None = None

    def begin(self) -> None:
        """Start, with what an earlier FILL has taken and stored."""
        self._ready_us = self._agenda.now_us + START_US + BELT_US
        self._machine.drive(f"conveyor.{self._name}", 1)
        self._machine.open_gate(self._name, self._at.taken < self._tiles)
        if self._whereabouts.accepts(f"stacker.{self._name}.open"):
            self._next()
        else:
            self._stroke(alone=False)

    def on_tile(self) -> None:
        """A tile has passed the eye."""
        if self._at.taken >= self._tiles:
            self._machine.open_gate(self._name, False)
        self._next()

    def on_slot_full(self) -> None:
        """A whole stack lies in the slot."""
        self._next()

    def on_edge(self, edge: Edge) -> None:
        """The stacker is at an end, or so its sensor says; what cannot be is not believed."""
        if not (edge.active and edge.credible and self._stroking):
            return
        if edge.name.endswith(".open"):
            self._end_stroke(edge.turn_us is not None)
        elif self._reached or edge.turn_us is not None or self._tells_both:
            self._on_failed(FailReason.SENSOR)  # closed again without open between, or both at once
        else:
            self._reached = True

    def stop(self) -> None:
        """Take no more tiles; a stroke that has begun is finished first."""
        self._stopping = True
        self._machine.open_gate(self._name, False)
        self._machine.drive(f"conveyor.{self._name}", 0)
        if not self._stroking:
            self._on_failed(FailReason.ABORTED)

    def close(self) -> None:
        """Forget what was planned."""
        self._plan(None)

    @property
    def _at(self) -> Mouth:
        return self._counts.of[self._mouth]

    @property
    def _tells_both(self) -> bool:
        return self._whereabouts.contradicts_itself(f"stacker.{self._name}")

    def _sees(self, sensor: str) -> bool:
        return self._machine.tells(sensor)

    def _next(self) -> None:
        """Plan the next stroke, or the end, or the moment at which eye and slot disagree."""
        if self._stroking or self._stopping:
            return
        taken, stored = self._at.taken, self._at.stored
        if stored > taken or (stored >= self._tiles and taken != self._tiles):
            self._disagree()  # the eye has missed a tile
        elif stored >= self._tiles and self._sees(f"slot.{self._name}.first"):
            self._disagree()  # a tile that nobody counted lies at the head
        elif stored >= self._tiles:
            self._on_done()
        elif self._sees(f"slot.{self._name}.full"):
            self._plan(SETTLE_US, lambda: self._stroke(alone=False))
        elif taken >= self._tiles:
            last = self._tiles - stored == 1
            wait_us = max(BELT_US, self._ready_us - self._agenda.now_us)
            # The eye has counted a tile that never comes, or the last one comes alone.
            self._plan(wait_us, self._push_last if last else self._disagree)
        else:
            self._plan(None)

    def _disagree(self) -> None:
        self._on_failed(FailReason.COUNT)

    def _push_last(self) -> None:
        if self._machine.motors[f"conveyor.{self._name}"].current_ma:
            self._stroke(alone=True)
        else:
            self._on_failed(FailReason.FEED_STALL)  # it draws nothing: the tile still lies on the belt

    def _stroke(self, alone: bool) -> None:
        if self._tells_both:
            self._on_failed(FailReason.SENSOR)
            return
        self._stroking = True
        self._reached = False
        self._whole = self._whereabouts.accepts(f"stacker.{self._name}.open")
        self._counting.push_begins(self._mouth, alone)
        self._plan(self._stroke_limit_us, lambda: self._on_failed(FailReason.TIMEOUT))
        self._machine.drive(f"stacker.{self._name}", 1)

    def _end_stroke(self, round_unseen: bool) -> None:
        """The stacker is open again; `round_unseen`: it was closed on its way, but no sensor told it."""
        self._machine.drive(f"stacker.{self._name}", 0)
        self._stroking = False
        self._plan(None)
        if round_unseen:
            self._reached = True
            self._on_missed(f"stacker.{self._name}.closed")
        if self._stopping:
            self._on_failed(FailReason.ABORTED)
        elif self._whole and not self._reached:
            self._on_failed(FailReason.TIMEOUT)  # the closed end never came: who knows what was pushed
        elif self._reached and self._sees(f"slot.{self._name}.full") and not self._waited():
            self._disagree()
        else:
            self._next()

    def _waited(self) -> bool:
        """Tell whether tiles of the belt can have filled the slot anew already."""
        return self._counts.waiting(self._mouth) >= STACK

    def _plan(self, delay_us: int | None, call: Callable[[], None] = lambda: None) -> None:
        if self._wait:
            self._wait.cancel()
        self._wait = None if delay_us is None else self._agenda.after(delay_us, call)
