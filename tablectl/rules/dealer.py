"""Who deals the next hand."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tablectl.errors import TablectlError
from tablectl.rules.model import Draw, RuleSet, Win


@dataclass(frozen=True, slots=True)
class Won:
    """One win: its winners (several of one discard), and who discarded, None when self-drawn."""

    winners: tuple[int, ...]
    discarder: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """How a hand ended: its wins in their order, none in an exhaustive draw; which seats were ready then."""

    wins: tuple[Won, ...] = ()
    ready: frozenset[int] = frozenset()


class Anew(StrEnum):
    """The next dealer is not named by the hand: he is chosen anew, in this way."""

    DICE = "dice"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class _Hand:
    players: tuple[int, ...]
    dealer: int
    result: Result

    @property
    def first(self) -> Won:
        return self.result.wins[0]

    @property
    def next_seat(self) -> int:
        return self.players[(self.players.index(self.dealer) + 1) % len(self.players)]

    @property
    def dealer_won(self) -> bool:
        return any(self.dealer in won.winners for won in self.result.wins)

    def stay_if(self, stays: bool) -> int:
        return self.dealer if stays else self.next_seat


_AFTER_WIN: dict[Win, Callable[[_Hand], int | Anew]] = {
    Win.FIRST_WINNER: lambda hand: hand.first.winners[0],
    Win.DISCARDER: lambda hand: (
        hand.first.winners[0] if hand.first.discarder is None else hand.first.discarder
    ),
    Win.NEXT_SEAT: lambda hand: hand.next_seat,
    Win.STAY_IF_DEALER_ELSE_NEXT: lambda hand: hand.stay_if(hand.dealer_won),
    Win.DICE: lambda _: Anew.DICE,
    Win.RANDOM: lambda _: Anew.RANDOM,
}

_AFTER_DRAW: dict[Draw, Callable[[_Hand], int | Anew]] = {
    Draw.STAY: lambda hand: hand.dealer,
    Draw.STAY_IF_DEALER_READY: lambda hand: hand.stay_if(hand.dealer in hand.result.ready),
    Draw.NEXT_SEAT: lambda hand: hand.next_seat,
    Draw.DICE: lambda _: Anew.DICE,
    Draw.RANDOM: lambda _: Anew.RANDOM,
}


def next_dealer(rule: RuleSet, dealer_seat: int, result: Result) -> int | Anew:
    """Return the machine seat that deals next, or how the next dealer is chosen anew."""
    _check(rule, dealer_seat, result)
    hand = _Hand(rule.players, dealer_seat, result)
    if not result.wins:
        return _AFTER_DRAW[rule.next_dealer.draw](hand)
    several = len(hand.first.winners) > 1
    return _AFTER_WIN[rule.next_dealer.multi if several else rule.next_dealer.win](hand)


def _check(rule: RuleSet, dealer_seat: int, result: Result) -> None:
    for won in result.wins:
        if not won.winners or won.discarder in won.winners or len(set(won.winners)) < len(won.winners):
            raise TablectlError("rules.win", winners=list(won.winners), discarder=won.discarder)
        if len(won.winners) > 1 and won.discarder is None:
            raise TablectlError("rules.discarder_missing", winners=list(won.winners))
    winners = {seat for won in result.wins for seat in won.winners}
    discarders = {won.discarder for won in result.wins if won.discarder is not None}
    for seat in sorted({dealer_seat, *result.ready, *winners, *discarders} - set(rule.players)):
        raise TablectlError("rules.no_player", id=rule.id, seat=seat, players=list(rule.players))
