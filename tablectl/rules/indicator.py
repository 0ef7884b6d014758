"""Which tiles are turned, and which kinds their faces make wild.

The table knows where an indicator lies, never what is on it: the kinds come from a face that a player enters.
"""

from collections.abc import Sequence

from tablectl.errors import TablectlError
from tablectl.rules.course import Counted, Indicator, Lies
from tablectl.rules.deal import Deal, Throw
from tablectl.rules.model import RuleSet
from tablectl.rules.tiles import read_kinds
from tablectl.rules.walls import LAYERS, Place


def indicators(rule: RuleSet, dealt: Deal, kongs: int = 0, throws: Sequence[Throw] = ()) -> tuple[Place, ...]:
    """Return the tiles that are turned, in that order; one more for each kong where the rule says so."""
    if rule.indicator is None:
        return ()
    count = 1 + (kongs if rule.indicator.per_kong else 0)
    first = _first(rule.indicator, throws)
    if rule.indicator.lies is Lies.FRONT:
        return dealt.undealt[:count]
    if rule.indicator.lies is Lies.TAIL_TILE:
        return dealt.tail[first - 1 : first - 1 + count]
    stacks = list(dict.fromkeys((place.wall, place.stack) for place in dealt.tail))
    layer = LAYERS[0] if rule.indicator.upper else LAYERS[1]
    return tuple(Place(*stack, layer) for stack in stacks[first - 1 : first - 1 + count])


def _first(indicator: Indicator, throws: Sequence[Throw]) -> int:
    if isinstance(indicator.at, int):
        return indicator.at
    if indicator.at is Counted.ROLL and not throws:
        raise TablectlError("rules.indicator_throw")
    return sum(throws[-1])


def wild_kinds(rule: RuleSet, indicator: str | None = None) -> tuple[str, ...]:
    """Return the wild kinds; `indicator` is the kind that players read on the turned tile."""
    wild = list(rule.wild.fixed)
    if rule.wild.of:
        if indicator is None or not rule.tiles.composition.count(indicator):
            raise TablectlError("rules.indicator_kind", id=rule.id, kind=indicator or "-")
        cycle = _cycle(rule, indicator)
        at = cycle.index(indicator)
        wild += [cycle[(at + step) % len(cycle)] for step in rule.wild.of]
    return tuple(dict.fromkeys(wild))


def copies_left(rule: RuleSet, wild: str, indicator: str) -> int:
    """Return how many tiles of a wild kind are in play beside the indicator."""
    return rule.tiles.composition.count(wild) - (wild == indicator)


def _cycle(rule: RuleSet, kind: str) -> list[str]:
    for text in rule.wild.cycles:
        kinds = [k for k in read_kinds(text) if rule.tiles.composition.count(k)]
        if kind in kinds:
            return kinds
    raise TablectlError("rules.indicator_kind", id=rule.id, kind=kind)
