"""What a picture shows: a break, or a whole deal and what becomes of the tiles after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tablectl.rules.deal import Break, Deal
from tablectl.rules.grabs import Grab
from tablectl.rules.model import From, RuleSet
from tablectl.rules.tail import Rest
from tablectl.rules.walls import SIDES, Place


@dataclass(frozen=True)
class View:
    """One hand; without `dealt` its break alone is shown."""

    rule: RuleSet
    dealer: int
    throws: Sequence[Sequence[int]]
    opening: Break
    lang: str
    dealt: Deal | None = None
    grabs: tuple[Grab, ...] = ()
    after: Rest | None = None

    def seat(self, from_dealer: int) -> int:
        """Return the machine seat of one that is counted from the dealer."""
        return (self.dealer + from_dealer) % SIDES

    @cached_property
    def first(self) -> tuple[int, int]:
        """Return wall and stack at which the taking begins."""
        return self.seat(self.opening.wall), self.opening.stack

    @cached_property
    def passed(self) -> list[tuple[int, int]]:
        """Return the stacks that are counted off."""
        start = self.seat(self.opening.counted_wall)
        return [self.rule.walls.after(start, n) for n in range(self.opening.passed)]

    @property
    def turn(self) -> tuple[int, ...]:
        """Return the machine seats that play, in turn from the dealer."""
        at = self.rule.players.index(self.dealer)
        return self.rule.players[at:] + self.rule.players[:at]

    def after_deal(self) -> tuple[Deal, Rest]:
        """Return the deal and what becomes of the other tiles, of a view that shows them."""
        if self.dealt is None or self.after is None:
            raise ValueError("this view shows a break alone")
        return self.dealt, self.after

    @cached_property
    def taken_by(self) -> dict[Place, Grab]:
        """Return the grab that takes each dealt tile."""
        return {place: grab for grab in self.grabs for place in grab.places}

    @cached_property
    def from_tail(self) -> bool:
        """Tell whether this rule takes replacements from the tail."""
        return From.TAIL in (self.rule.tail.kong, self.rule.tail.flower)

    def use(self, place: Place) -> str:
        """Return what becomes of a tile: dealt, indicator, replacement, left, live; wall before a deal."""
        if self.after is None:
            return "wall"
        if place in self.taken_by:
            return "dealt"
        if place in self.after.turned:
            return "indicator"
        if place in self.after.replacements:
            return "replacement"
        return "left" if place in self.after.left else "live"
