"""Which faults a hand of a campaign gets: by its seed alone, and every kind about as often as any other.

Seeds come in rounds, one seed for each kind. In a round every kind is the first fault of one hand; further
faults are dealt from packs of all kinds, so that none is drawn much more often than another.
"""

import random

MORE = 15  # further faults in a round


def faults_of(seed: int, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """Return the kinds of faults of the hand with that seed, one or more."""
    number, at = divmod(seed, len(kinds))
    rng = random.Random(f"campaign/round/{number}")
    first = rng.sample(kinds, len(kinds))
    hands = [rng.randrange(len(kinds)) for _ in range(MORE)]
    more = [_dealt(number * MORE + n, kinds) for n, hand in enumerate(hands) if hand == at]
    return (first[at], *more)


def _dealt(index: int, kinds: tuple[str, ...]) -> str:
    """Return a card of an endless row of shuffled packs."""
    pack, card = divmod(index, len(kinds))
    return random.Random(f"campaign/pack/{pack}").sample(kinds, len(kinds))[card]
