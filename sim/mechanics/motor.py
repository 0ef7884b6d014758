"""A motor between the board's output and what it turns: its plug, its power, its current."""

from collections.abc import Callable

from sim.agenda import Agenda, Entry

RUN_SHARE = 0.6  # of the rated current, while it turns freely
STALL_FACTOR = 2.5  # times the rated current, while it is held


class Motor:
    """One motor; `turn(direction)` is called when the shaft begins to turn or stops."""

    def __init__(
        self,
        agenda: Agenda,
        name: str,
        max_ma: int,
        turn: Callable[[int], None],
        on_stall: Callable[[str], None],
    ) -> None:
        self.name = name
        self.direction = 0  # what the board drives
        self._agenda = agenda
        self._max_ma = max_ma
        self._turn = turn
        self._on_stall = on_stall
        self._powered = True
        self._plugged = True
        self._seized = False
        self._late_us = 0
        self._held = False  # by what it turns
        self._start: Entry | None = None
        self._turning = 0

    @property
    def current_ma(self) -> int:
        """Return the current it draws now."""
        if not (self.direction and self._powered and self._plugged):
            return 0
        if self._seized or self._held:
            return round(STALL_FACTOR * self._max_ma)
        return round(RUN_SHARE * self._max_ma)

    def drive(self, direction: int) -> None:
        """Switch the output on in a direction, or off with 0."""
        if direction != self.direction:
            self.direction = direction
            self._apply()

    def power(self, on: bool) -> None:
        """Give or cut the motor's power: door, mains, wired stop."""
        self._powered = on
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
        if held and self.direction:
            self._on_stall(self.name)

    def _apply(self) -> None:
        if self._start:
            self._start.cancel()
            self._start = None
        wanted = self.direction if self._powered and self._plugged and not self._seized else 0
        if wanted and self._late_us and not self._turning:
            self._start = self._agenda.after(self._late_us, lambda: self._begin(wanted))
        else:
            self._begin(wanted)
        if self.direction and self._seized and self._powered and self._plugged:
            self._on_stall(self.name)

    def _begin(self, direction: int) -> None:
        self._start = None
        self._turning = direction
        if not direction:
            self._held = False
        self._turn(direction)
