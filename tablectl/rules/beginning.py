"""Who deals the first hand, and in which order the players do what comes before the first discard."""

from collections.abc import Sequence

from tablectl.errors import TablectlError
from tablectl.rules.course import FirstDealer
from tablectl.rules.deal import Throw, seat_of_sum
from tablectl.rules.model import RuleSet


def dealer_by_die(rule: RuleSet, thrower: int, die: int) -> int:
    """Return the machine seat that one die names."""
    if rule.first_dealer.by is not FirstDealer.DIE or die not in range(1, 7):
        raise TablectlError("rules.first_dealer", id=rule.id, by=rule.first_dealer.by, given=die)
    at = rule.players.index(thrower)
    return rule.players[(at + rule.first_dealer.seats[die - 1]) % len(rule.players)]


def dealer_by_highest(rule: RuleSet, sums: Sequence[int]) -> tuple[int, ...]:
    """Return the machine seats with the highest throw, one sum for each player: several throw again."""
    if len(sums) != len(rule.players):
        raise TablectlError("rules.first_dealer", id=rule.id, by=rule.first_dealer.by, given=list(sums))
    return tuple(seat for seat, total in zip(rule.players, sums, strict=True) if total == max(sums))


def dealer_by_two_throws(rule: RuleSet, thrower: int, first: Throw, second: Throw) -> tuple[int, int]:
    """Return the temporary dealer, named by the first throw, and the dealer, named by his."""
    temporary = seat_of_sum(rule.players, thrower, sum(first))
    return temporary, seat_of_sum(rule.players, temporary, sum(second))


def turn_order(rule: RuleSet, dealer: int) -> tuple[int, ...]:
    """Return the machine seats counter-clockwise from the dealer: flowers are laid out in this order."""
    at = rule.players.index(dealer)
    return rule.players[at:] + rule.players[:at]


def dingque_choice(suits_in_hand: Sequence[str]) -> tuple[str, ...]:
    """Return the suits that a player may name as the one he will not keep (定缺).

    With all three in hand any; with two the missing one; with one either of the missing ones.
    """
    missing = tuple(suit for suit in "mps" if suit not in suits_in_hand)
    return missing or tuple("mps")


def must_win(rule: RuleSet, remaining: int) -> bool:
    """Tell whether who can win with the next tile has to; `remaining` tiles lie before it is drawn."""
    return 0 < remaining <= rule.duties.forced_win_last


def ends_by_kongs(rule: RuleSet, players_with_kongs: int) -> bool:
    """Tell whether a hand is drawn because so many players have made kongs."""
    limit = rule.duties.end_if_kong_players
    return 0 < limit <= players_with_kongs
