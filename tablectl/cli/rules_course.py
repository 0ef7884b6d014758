"""What a rule set says beyond walls and deal, in words: indicator, wild tiles, phases, duties, match."""

from collections.abc import Iterable

from tablectl.rules.course import FirstDealer, Lies, Phase, Wild
from tablectl.rules.match import deals
from tablectl.rules.model import RuleSet
from tablectl.texts import TEXTS


def sentences(lang: str, told: Iterable[str]) -> str:
    """Return sentences in one text."""
    return ("" if lang == "zh" else " ").join(told)


def listing(lang: str, told: Iterable[object]) -> str:
    """Return things in one list."""
    return TEXTS("rule_page.and", lang).join(map(str, told))


def indicator(rule: RuleSet, lang: str) -> str:
    """Say which tile is turned, what it is for, and whether anybody draws it."""
    turned = rule.indicator
    if turned is None:
        return _said(lang, "indicator.none")
    where = str(turned.lies)
    if turned.lies is Lies.TAIL_STACK:
        where += ".upper" if turned.upper else ".lower"
    elif turned.lies is Lies.TAIL_TILE:
        where += ".number" if isinstance(turned.at, int) else f".{turned.at}"
    told = [_said(lang, f"indicator.{where}", n=turned.at), _said(lang, f"indicator.{turned.use}")]
    if turned.per_kong:
        told.append(_said(lang, "indicator.per_kong"))
    return sentences(lang, [*told, _said(lang, f"indicator.drawn_{turned.drawn}")])


def wild(rule: RuleSet, lang: str) -> str:
    """Say which tiles stand for others, and what else is said of them."""
    tiles = rule.wild
    if tiles == Wild():
        return _said(lang, "wild.none")
    told = []
    if not tiles.any:
        told.append(_said(lang, "wild.untold"))
    if tiles.fixed:
        told.append(_said(lang, "wild.fixed", kinds=listing(lang, tiles.fixed)))
    told += [_said(lang, "wild.next" if step else "wild.itself", n=step) for step in tiles.of]
    if not tiles.discard:
        told.append(_said(lang, "wild.kept"))
    if tiles.four_win:
        told.append(_said(lang, "wild.four_win"))
    if tiles.points:
        told.append(_said(lang, "wild.points", points=listing(lang, tiles.points)))
    if tiles.ready_on_any > 1:
        told.append(_said(lang, "wild.ready_on_any", n=tiles.ready_on_any))
    return sentences(lang, told)


def phases(rule: RuleSet, lang: str) -> str:
    """Say what is done between deal and first discard."""
    if not rule.phases.after_deal:
        return _said(lang, "phase.none")
    told = [_said(lang, f"phase.{phase}") for phase in rule.phases.after_deal]
    if Phase.FLOWERS in rule.phases.after_deal and rule.phases.flowers_s is not None:
        told.append(_said(lang, "phase.flowers_s", n=rule.phases.flowers_s))
    return sentences(lang, told)


def duties(rule: RuleSet, lang: str) -> str:
    """Say what players are not free to do."""
    told = {
        "forced_win_last": rule.duties.forced_win_last,
        "end_if_kong_players": rule.duties.end_if_kong_players,
        "max_kongs": rule.duties.max_kongs,
    }
    said = [_said(lang, f"duty.{name}", n=n) for name, n in told.items() if n]
    return sentences(lang, said or [_said(lang, "duty.none")])


def first_dealer(rule: RuleSet, lang: str) -> str:
    """Say how the first dealer is found."""
    start = rule.first_dealer
    if start.by is not FirstDealer.DIE:
        return _said(lang, f"first.{start.by}")
    faces = [
        _said(
            lang,
            "first.face",
            faces=listing(lang, (face for face, named in enumerate(start.seats, 1) if named == seat)),
            seat=_said(lang, f"first.from_thrower.{seat}"),
        )
        for seat in sorted(set(start.seats))
    ]
    return _said(lang, "first.die", faces=_said(lang, "first.or").join(faces))


def match(rule: RuleSet, lang: str) -> str:
    """Say how long a match is, and who changes seats when."""
    length = rule.match
    told = [_said(lang, "match.rounds", n=length.rounds, deals=deals(rule))]
    if not length.rounds:
        told = [_said(lang, "match.open")]
    if length.formats:
        formats = (_said(lang, f"format.{name}", deals=n) for name, n in length.formats)
        told.append(_said(lang, "match.formats", formats=listing(lang, formats)))
    if length.start_points:
        told.append(_said(lang, "match.start_points", n=length.start_points))
    for before in length.swap:
        told.append(_said(lang, "match.swap", n=before + 1))
    return sentences(lang, told)


def _said(lang: str, key: str, **values: object) -> str:
    return TEXTS(f"rule_page.{key}", lang, **values)
