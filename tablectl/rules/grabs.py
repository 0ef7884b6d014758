"""How the hands are taken: grab by grab, as people at the table reach for them."""

from dataclasses import dataclass

from tablectl.rules.deal import Deal
from tablectl.rules.model import Last, RuleSet
from tablectl.rules.walls import Place


@dataclass(frozen=True, slots=True)
class Grab:
    """What one machine seat takes in one reach; `number` counts all grabs from 1."""

    number: int
    seat: int
    places: tuple[Place, ...]


def grabs(rule: RuleSet, dealer_seat: int, dealt: Deal) -> tuple[Grab, ...]:
    """Return every grab of a deal in the order of taking."""
    at = rule.players.index(dealer_seat)
    turn = rule.players[at:] + rule.players[:at]
    hands = [iter(dealt.grabs[seat]) for seat in turn]
    return tuple(
        Grab(number, turn[who], tuple(next(hands[who]) for _ in range(count)))
        for number, (who, count) in enumerate(_reaches(rule, len(turn)), 1)
    )


def _reaches(rule: RuleSet, players: int) -> list[tuple[int, int]]:
    """Return who reaches for how many tiles, as places in the turn order from the dealer."""
    blocks = [(who, 4) for _ in range(rule.dealing.blocks) for who in range(players)]
    takers = list(rule.dealing.takers(players)[4 * len(blocks) :])
    if rule.dealing.last is Last.JUMP:  # the dealer's second tile lies further on, and is taken at once
        takers.insert(1, takers.pop())
    reaches: list[tuple[int, int]] = []
    for who in takers:
        if reaches and reaches[-1][0] == who:
            reaches[-1] = who, reaches[-1][1] + 1
        else:
            reaches.append((who, 1))
    return blocks + reaches
