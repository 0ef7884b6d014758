"""How a hand ended, entered with the seat keys: winners in order, then who discarded, or who was ready."""

from collections.abc import Callable
from enum import StrEnum

from tablectl.rules.dealer import Result, Won

PATIENCE_US = 20_000_000  # after the last key


class _Asks(StrEnum):
    WINNERS = "winners"
    DISCARDER = "discarder"
    READY = "ready"


class Entry:
    """RESULT begins; seat keys name winners; RESULT; a seat key names the discarder, RESULT means self-drawn.

    Without a winner the hand was drawn, and the seat keys then name who was ready. Seats are machine seats.
    """

    def __init__(self, done: Callable[[str, Result], None]) -> None:
        self._done = done
        self._asks: _Asks | None = None
        self._seats: list[int] = []
        self._winners: tuple[int, ...] = ()
        self._until_us: int | None = None

    @property
    def open(self) -> bool:
        """Tell whether something is being entered."""
        return self._asks is not None

    @property
    def asks(self) -> str | None:
        """Return what is asked for now."""
        return self._asks

    @property
    def count(self) -> int:
        """Return how many seats were named."""
        return len(self._seats)

    def result(self, source: str, now_us: int) -> None:
        """Take in the RESULT key: the next question, or the end."""
        match self._asks:
            case None:
                self._ask(_Asks.WINNERS, now_us)
            case _Asks.WINNERS:
                self._winners = tuple(self._seats)
                self._ask(_Asks.DISCARDER if self._winners else _Asks.READY, now_us)
            case _Asks.DISCARDER:
                self._end(source, Result(tuple(Won((seat,)) for seat in self._winners)))
            case _Asks.READY:
                self._end(source, Result(ready=frozenset(self._seats)))

    def seat(self, source: str, seat: int, now_us: int) -> None:
        """Take in a seat key; the same seat twice is taken back."""
        if self._asks is _Asks.DISCARDER:
            if seat not in self._winners:
                self._end(source, Result((Won(self._winners, seat),)))
            return
        if seat in self._seats:
            self._seats.remove(seat)
        else:
            self._seats.append(seat)
        self._until_us = now_us + PATIENCE_US

    def cancel(self) -> None:
        """Forget what was entered."""
        self._asks = self._until_us = None
        self._seats = []

    def tick(self, now_us: int) -> None:
        """Forget what nobody goes on with."""
        if self._until_us is not None and self._until_us <= now_us:
            self.cancel()

    def next_deadline(self) -> int | None:
        """Return when patience ends."""
        return self._until_us

    def _ask(self, what: _Asks, now_us: int) -> None:
        self._asks, self._seats, self._until_us = what, [], now_us + PATIENCE_US

    def _end(self, source: str, result: Result) -> None:
        self.cancel()
        self._done(source, result)
