"""From dice to hands: who throws, where the walls are broken, and which tile every seat takes.

Machine seats 0-3 are absolute and are the sides S1..S4; the walls never turn with the dealer. Only a `Break`,
which is what the table announces, counts seats from the dealer (0 dealer, 1 right, 2 opposite, 3 left).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tablectl.errors import TablectlError
from tablectl.rules.model import PassedBy, RuleSet, WallBy
from tablectl.rules.walls import SIDES, Place

Throw = Sequence[int]


@dataclass(frozen=True, slots=True)
class Break:
    """Where the walls are broken; every seat is counted counter-clockwise from the dealer.

    `passed` stacks are counted from the right end of `counted_wall`; the first stack taken is `stack` of
    `wall`, which is the left neighbour's or a further one where the count runs past a corner.
    """

    throwers: tuple[int, ...]
    counted_wall: int
    passed: int
    wall: int
    stack: int


@dataclass(frozen=True, slots=True)
class Deal:
    """Who takes what; `grabs` by machine seat, in the order of taking, empty for a seat without a player.

    `undealt` are the tiles that are left, in the order of drawing; `tail` are the same tiles in the order in
    which replacements take them.
    """

    opening: Break
    grabs: tuple[tuple[Place, ...], ...]
    undealt: tuple[Place, ...]
    tail: tuple[Place, ...]

    @property
    def next_draw(self) -> Place:
        """Return the place of the first tile drawn in play."""
        return self.undealt[0]


def seat_of_sum(players: Sequence[int], start: int, total: int) -> int:
    """Return the machine seat that `total` names, counted counter-clockwise with the seat `start` as one."""
    return players[(players.index(start) + total - 1) % len(players)]


def next_thrower(rule: RuleSet, dealer_seat: int, throws: Sequence[Throw]) -> int | None:
    """Return the machine seat that throws next, or None when the throws of the rule are complete."""
    _check_dealer(rule, dealer_seat)
    _check_throws(rule, throws)
    if len(throws) == rule.dice.throws:
        return None
    return _throwers(rule, dealer_seat, throws)[len(throws)]


def opening(rule: RuleSet, dealer_seat: int, throws: Sequence[Throw]) -> Break:
    """Return the break that complete throws name."""
    _check_dealer(rule, dealer_seat)
    _check_throws(rule, throws)
    if len(throws) < rule.dice.throws:
        raise TablectlError("rules.throw_missing", id=rule.id, done=len(throws), wanted=rule.dice.throws)
    throwers = _throwers(rule, dealer_seat, throws)
    counted_wall = {
        WallBy.SEAT_OF_SUM: seat_of_sum(rule.players, dealer_seat, sum(throws[0])),
        WallBy.SECOND_THROWER: throwers[-1],
        WallBy.DEALER: dealer_seat,
        WallBy.OPPOSITE: (dealer_seat + 2) % SIDES,
    }[rule.dice.wall]
    passed = _passed(rule, throws)
    wall, stack = rule.walls.after(counted_wall, passed)
    return Break(
        throwers=tuple(_from_dealer(seat, dealer_seat) for seat in throwers),
        counted_wall=_from_dealer(counted_wall, dealer_seat),
        passed=passed,
        wall=_from_dealer(wall, dealer_seat),
        stack=stack,
    )


def deal(rule: RuleSet, dealer_seat: int, throws: Sequence[Throw]) -> Deal:
    """Return every seat's tiles for complete throws."""
    broken = opening(rule, dealer_seat, throws)
    first = (dealer_seat + broken.wall) % SIDES, broken.stack
    order = rule.walls.draw_order(*first)
    at = rule.players.index(dealer_seat)
    turn = rule.players[at:] + rule.players[:at]
    grabs: list[list[Place]] = [[] for _ in range(SIDES)]
    for place, taker in zip(order, rule.dealing.takers(len(turn)), strict=False):
        grabs[turn[taker]].append(place)
    undealt = order[rule.dealt :]
    left = set(undealt)
    tail = tuple(place for place in rule.walls.tail_order(*first) if place in left)
    return Deal(broken, tuple(map(tuple, grabs)), undealt, tail)


def _throwers(rule: RuleSet, dealer_seat: int, throws: Sequence[Throw]) -> tuple[int, ...]:
    """Return who throws, as far as the throws so far tell: the dealer, then whomever his sum names."""
    named = [seat_of_sum(rule.players, dealer_seat, sum(throw)) for throw in throws[:1]]
    return (dealer_seat, *named)[: rule.dice.throws]


def _passed(rule: RuleSet, throws: Sequence[Throw]) -> int:
    passed = rule.dice.passed
    if isinstance(passed, PassedBy):
        return {PassedBy.SUM: sum(throws[-1]), PassedBy.TOTAL: sum(map(sum, throws))}[passed]
    return passed


def _from_dealer(seat: int, dealer_seat: int) -> int:
    return (seat - dealer_seat) % SIDES


def _check_dealer(rule: RuleSet, dealer_seat: int) -> None:
    if dealer_seat not in rule.players:
        raise TablectlError("rules.no_player", id=rule.id, seat=dealer_seat, players=list(rule.players))


def _check_throws(rule: RuleSet, throws: Sequence[Throw]) -> None:
    if len(throws) > rule.dice.throws:
        raise TablectlError("rules.throw_extra", id=rule.id, done=len(throws), wanted=rule.dice.throws)
    for number, throw in enumerate(throws, 1):
        if len(throw) != rule.dice.count:
            raise TablectlError(
                "rules.throw_count", id=rule.id, number=number, found=len(throw), wanted=rule.dice.count
            )
        for face in throw:
            if face not in range(1, 7):
                raise TablectlError("rules.throw_face", number=number, found=face)
