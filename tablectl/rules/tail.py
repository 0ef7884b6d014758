"""What becomes of the tiles that are not dealt: drawn in turn, taken as replacements, or left lying."""

from dataclasses import dataclass

from tablectl.errors import TablectlError
from tablectl.rules.deal import Deal
from tablectl.rules.model import From, Measure, RuleSet
from tablectl.rules.walls import Place


@dataclass(frozen=True, slots=True)
class Rest:
    """The undealt tiles of a hand that is played to its end; together they are all of them, each once."""

    live: tuple[Place, ...]
    replacements: tuple[Place, ...]
    left: tuple[Place, ...]


def rest(rule: RuleSet, dealt: Deal, kongs: int = 0, flowers: int = 0) -> Rest:
    """Return where every undealt tile goes when `kongs` kongs and `flowers` flowers are replaced."""
    taken = kongs * (rule.tail.kong is From.TAIL) + flowers * (rule.tail.flower is From.TAIL)
    if min(kongs, flowers) < 0 or taken > len(dealt.tail):
        raise TablectlError(
            "rules.replacements", id=rule.id, kongs=kongs, flowers=flowers, undealt=len(dealt.tail)
        )
    replacements = dealt.tail[:taken]
    remaining = [place for place in dealt.undealt if place not in set(replacements)]
    # A kong may move the line past the next tile: then nothing is live, and what lies there stays.
    line = max(len(remaining) - _kept(rule, kongs, taken), 0)
    return Rest(tuple(remaining[:line]), replacements, tuple(remaining[line:]))


def _kept(rule: RuleSet, kongs: int, taken: int) -> int:
    kept = rule.tail.keep[min(kongs, len(rule.tail.keep) - 1)]
    return max(kept - taken, 0) if rule.tail.measure is Measure.ORIGINAL else kept
