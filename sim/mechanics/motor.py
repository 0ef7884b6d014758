"""A motor between the board's output and what it turns: its plug, its power, its current."""

from collections.abc import Callable

from sim.agenda import Agenda, Entry

RUN_SHARE = 0.6  # of the rated current, while it turns freely
STALL_FACTOR = 2.5  # times the rated current, while it is held
REDUCED_SHARE = 0.5  # of that, while it is driven with reduced current
STALL_SEEN_US = 10_000  # a current as high as this for so long is no starting peak: the board sees a stall


class Motor:
    """One motor; `turn(direction)` is called when the shaft begins to turn or stops.

    `on_stall` gets the motor's name when it has been held for a moment, `on_load` whenever it is driven
    otherwise or its current has changed.
    """

    def __init__(
        self,
        agenda: Agenda,
        name: str,
        max_ma: int,
        turn: Callable[[int], None],
        on_stall: Callable[[str], None],
        on_load: Callable[[str], None] = lambda name: None,
    ) -> None:
        self.name = name
        self.direction = 0  # what the board drives
        self.reduced = False
        self._agenda = agenda
        self._max_ma = max_ma
        self._turn = turn
        self._on_stall = on_stall
        self._on_load = on_load
        self._cut_by: set[str] = set()
        self._bridged: set[str] = set()
        self._plugged = True
        self._seized = False
        self._late_us = 0
        self._held = False  # by what it turns
        self._start: Entry | None = None
        self._stall: Entry | None = None
        self._turning = 0

    @property
    def current_ma(self) -> int:
        """Return the current it draws now."""
        if not self._live:
            return 0
        if self._seized or self._held:
            return round(STALL_FACTOR * self._max_ma * (REDUCED_SHARE if self.reduced else 1))
        return round(RUN_SHARE * self._max_ma)

    @property
    def _live(self) -> bool:
        return bool(self.direction) and self._cut_by <= self._bridged and self._plugged

    def drive(self, direction: int, reduced: bool = False) -> None:
        """Switch the output on in a direction, or off with 0; `reduced` limits the current."""
        self.reduced = reduced
        if direction != self.direction:
            self.direction = direction
            self._forget_stall()
            self._apply()
        else:
            self._on_load(self.name)

    def power(self, on: bool, by: str) -> None:
        """Give or cut the motor's power; each of `by` (door, mains, wired stop) must give its own back."""
        (self._cut_by.discard if on else self._cut_by.add)(by)
        self._apply()

    def bridge(self, by: str, on: bool) -> None:
        """Feed the motor past one thing that cuts its power, or no longer."""
        (self._bridged.add if on else self._bridged.discard)(by)
        self._apply()

    def plug(self, in_: bool) -> None:
        """Put the plug in or take it out."""
        self._plugged = in_
        self._apply()

    def seize(self, seized: bool) -> None:
        """Let the shaft be held for good, or free it."""
        self._seized = seized
        self._apply()

    def delay(self, late_us: int) -> None:
        """Let it begin to turn so much late, as a starved synchronous motor does."""
        self._late_us = late_us

    def hold(self, held: bool) -> None:
        """Tell whether what it turns has run against something."""
        self._held = held
        self._watch()

    def _apply(self) -> None:
        if self._start:
            self._start.cancel()
            self._start = None
        wanted = self.direction if self._live and not self._seized else 0
        if wanted and self._late_us and not self._turning:
            self._start = self._agenda.after(self._late_us, lambda: self._begin(wanted))
        else:
            self._begin(wanted)
        self._watch()

    def _begin(self, direction: int) -> None:
        self._start = None
        if direction != self._turning:
            self._held = False
        self._turning = direction
        self._turn(direction)

    def _watch(self) -> None:
        """See a stall, in a moment: never in the middle of the call that caused it."""
        if not (self._live and (self._seized or self._held)):
            self._forget_stall()
        elif self._stall is None:
            self._stall = self._agenda.after(STALL_SEEN_US, self._tell_stall)
        self._on_load(self.name)

    def _tell_stall(self) -> None:
        # The entry stays: one stall is told once, until the motor turns freely or is driven otherwise.
        self._on_stall(self.name)

    def _forget_stall(self) -> None:
        if self._stall:
            self._stall.cancel()
            self._stall = None
