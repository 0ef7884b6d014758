"""A match: who deals which hand of which round, how often he has repeated, when it is over."""

from dataclasses import dataclass, replace

from tablectl.errors import TablectlError
from tablectl.rules.dealer import Anew, Result, next_dealer
from tablectl.rules.model import RuleSet

WINDS = ("E", "S", "W", "N")


@dataclass(frozen=True, slots=True)
class Match:
    """Where a match stands before a hand.

    `order` are the machine seats in turn order, the first dealer's first; a round is over when everybody has
    dealt, and stays 0 under a rule that knows none. `streak` counts repeats (连庄, 本场), `floor` those that
    climb a floor (上楼).
    """

    order: tuple[int, ...]
    dealer: int
    round: int = 0
    hand: int = 1
    streak: int = 0
    floor: int = 0
    over: bool = False

    @property
    def round_wind(self) -> str:
        """Return the prevailing wind (圈风)."""
        return WINDS[self.round % 4]

    @property
    def deal(self) -> int:
        """Return which deal of the round this is, from 1 on: 局 of 东一局."""
        return self.order.index(self.dealer) + 1

    def seat_wind(self, seat: int) -> str:
        """Return the wind of a machine seat: the dealer is always East (门风)."""
        return WINDS[(self.order.index(seat) - self.order.index(self.dealer)) % len(self.order)]


def begin(rule: RuleSet, dealer: int) -> Match:
    """Return the match before its first hand."""
    if dealer not in rule.players:
        raise TablectlError("rules.no_player", id=rule.id, seat=dealer, players=list(rule.players))
    at = rule.players.index(dealer)
    return Match(rule.players[at:] + rule.players[:at], dealer)


def advance(
    rule: RuleSet, match: Match, result: Result, chosen: int | None = None, length: str | None = None
) -> Match:
    """Return the match after a hand; `chosen` is the dealer where dice or chance choose him.

    `length` is one of the rule's formats; without it the match has the rule's own number of rounds.
    """
    dealer = next_dealer(rule, match.dealer, result)
    if isinstance(dealer, Anew):
        if chosen not in rule.players:
            raise TablectlError("rules.dealer_chosen", id=rule.id, by=dealer)
        dealer = chosen
    stays = dealer == match.dealer
    # Where the winner deals, deals do not go round: a rule without rounds stays in its first.
    goes_round = rule.match.rounds > 0 and not stays
    passed_on = goes_round and match.order.index(dealer) <= match.order.index(match.dealer)
    floor = min(match.floor + 1, rule.next_dealer.floor_max) if stays else 0
    following = replace(
        match,
        dealer=dealer,
        hand=match.hand + 1,
        round=match.round + passed_on,
        streak=match.streak + 1 if stays else 0,
        floor=floor,
    )
    last = deals(rule, length)
    played = following.round * len(match.order) + (following.deal - 1)
    return replace(following, over=bool(last) and played >= last)


def deals(rule: RuleSet, length: str | None = None) -> int:
    """Return of how many deals without repeats a match consists; 0: of as many as people like."""
    if length is None:
        return rule.match.rounds * len(rule.players)
    formats = dict(rule.match.formats)
    if length not in formats:
        raise TablectlError("rules.no_format", id=rule.id, found=length, known=", ".join(formats) or "-")
    return formats[length]


def swap(rule: RuleSet, seats: tuple[str, ...], before_round: int) -> tuple[str, ...]:
    """Return who sits where, counted from the first dealer's seat, when a round begins (0 the East round).

    Where the rule changes seats, East and South change, and West and North.
    """
    if before_round not in rule.match.swap or len(seats) != len(WINDS):
        return seats
    east, south, west, north = seats
    return south, east, north, west
