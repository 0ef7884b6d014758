"""What becomes of the tiles that are not dealt: drawn in turn, taken as replacements, or left lying."""

from collections.abc import Sequence
from dataclasses import dataclass

from tablectl.errors import TablectlError
from tablectl.rules.course import Drawn, Lies
from tablectl.rules.deal import Deal, Throw
from tablectl.rules.indicator import indicators
from tablectl.rules.model import From, Measure, RuleSet
from tablectl.rules.walls import Place


@dataclass(frozen=True, slots=True)
class Rest:
    """The undealt tiles of a hand that is played to its end: live, replacements, left, indicators, each once.

    `turned` lie face up: `indicators`, which nobody takes, or one that is drawn as the last of `live`.
    """

    live: tuple[Place, ...]
    replacements: tuple[Place, ...]
    left: tuple[Place, ...]
    turned: tuple[Place, ...] = ()
    drawn_last: bool = False

    @property
    def indicators(self) -> tuple[Place, ...]:
        """Return the turned tiles that nobody takes."""
        return () if self.drawn_last else self.turned


def rest(rule: RuleSet, dealt: Deal, kongs: int = 0, flowers: int = 0, throws: Sequence[Throw] = ()) -> Rest:
    """Return where every undealt tile goes when `kongs` kongs and `flowers` flowers are replaced.

    `throws` are wanted where the dice say which tile is the indicator.
    """
    if 0 < (most := rule.duties.max_kongs) < kongs:
        raise TablectlError("rules.max_kongs", id=rule.id, kongs=kongs, most=most)
    turned = indicators(rule, dealt, kongs, throws)
    tail = [place for place in dealt.tail if place not in turned]
    taken = kongs * (rule.tail.kong is From.TAIL) + flowers * (rule.tail.flower is From.TAIL)
    if min(kongs, flowers) < 0 or taken > len(tail):
        raise TablectlError(
            "rules.replacements", id=rule.id, kongs=kongs, flowers=flowers, undealt=len(dealt.tail)
        )
    replacements = tuple(tail[:taken])
    gone = {*replacements, *turned}
    remaining = [place for place in dealt.undealt if place not in gone]
    drawn_last = rule.indicator is not None and rule.indicator.drawn is Drawn.LAST
    # A kong may move the line past the next tile: then nothing is live, and what lies there stays.
    line = max(len(remaining) - max(0, _kept(rule, kongs, taken) - _counted(rule, turned)), 0)
    live = (*remaining[:line], *(turned if drawn_last else ()))
    return Rest(live, replacements, tuple(remaining[line:]), turned, drawn_last)


def _counted(rule: RuleSet, turned: tuple[Place, ...]) -> int:
    """Return how many indicators lie among the tiles that are kept and count as such."""
    among = rule.indicator is not None and rule.indicator.lies is not Lies.FRONT
    return len(turned) if among else 0


def _kept(rule: RuleSet, kongs: int, taken: int) -> int:
    kept = rule.tail.keep[min(kongs, len(rule.tail.keep) - 1)]
    return max(kept - taken, 0) if rule.tail.measure is Measure.ORIGINAL else kept
