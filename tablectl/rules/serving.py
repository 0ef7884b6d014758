"""What each mouth of a table is ordered to hold for a rule, and where play begins when hands are served.

A table whose mouths build walls alone gets whole walls. One that has mouths for hands, too, serves them where
the rule says how and the stores are large enough; else those mouths are ordered empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from firmware_protocol.description import Mouth
from tablectl.rules import deal
from tablectl.rules.deal import Break, Throw
from tablectl.rules.model import RuleSet, Served, StartBy
from tablectl.rules.walls import SIDES


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a rule cannot be played on a table: a mouth that wants more stacks than its store holds."""

    rule: str
    wanted: int
    side: str  # the mouth's name
    holds: int


def orders(rule: RuleSet, mouths: Sequence[Mouth]) -> tuple[int, ...]:
    """Return the tiles that each mouth is ordered to hold."""
    served = _served(rule, mouths)
    if sum(served) == rule.total and _misfit(rule, served, mouths) is None:
        return served
    return _order(mouths, rule.wall_tiles, (0,) * SIDES)


def misfit(rule: RuleSet, mouths: Sequence[Mouth]) -> Misfit | None:
    """Return why a rule does not fit a table, None where it does."""
    return _misfit(rule, orders(rule, mouths), mouths)


def served(rule: RuleSet, tiles: Sequence[int]) -> Served | None:
    """Return how the hands are served where what the mouths were ordered to hold has them, else None."""
    if rule.served is None:
        return None
    wanted = [*rule.served.tiles, *_hands(rule)]
    return rule.served if sorted(filter(None, tiles)) == sorted(filter(None, wanted)) else None


def next_thrower(
    rule: RuleSet, tiles: Sequence[int], dealer_seat: int, throws: Sequence[Throw]
) -> int | None:
    """Return the machine seat that throws next, None when no throw is to be made any more, or at all."""
    how = served(rule, tiles)
    if how and how.start is StartBy.DEALER:
        return None
    return deal.next_thrower(rule, dealer_seat, throws)


def opening(rule: RuleSet, how: Served, dealer_seat: int, throws: Sequence[Throw]) -> Break:
    """Return which stack of the served walls is drawn first."""
    walls = replace(rule, wall_tiles=how.tiles)
    if how.start is StartBy.DICE:
        return deal.opening(walls, dealer_seat, throws)
    wall, stack = walls.walls.after(dealer_seat, how.passed)
    return Break((), 0, how.passed, (wall - dealer_seat) % SIDES, stack)


def _order(mouths: Sequence[Mouth], walls: Sequence[int], hands: Sequence[int]) -> tuple[int, ...]:
    return tuple((hands if mouth.hand else walls)[mouth.side - 1] for mouth in mouths)


def _served(rule: RuleSet, mouths: Sequence[Mouth]) -> tuple[int, ...]:
    return _order(mouths, rule.served.tiles, _hands(rule)) if rule.served else ()


def _hands(rule: RuleSet) -> tuple[int, ...]:
    hand = rule.served.hand if rule.served else 0
    return tuple(hand if seat in rule.players else 0 for seat in range(SIDES))


def _misfit(rule: RuleSet, tiles: Sequence[int], mouths: Sequence[Mouth]) -> Misfit | None:
    for mouth, count in zip(mouths, tiles, strict=True):
        if (wanted := -(-count // 2)) > mouth.stacks:
            return Misfit(rule.id, wanted, mouth.name, mouth.stacks)
    return None
