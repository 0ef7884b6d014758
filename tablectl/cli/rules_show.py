"""A rule set for a person, as a page, and for a program."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tablectl.cli import rules_course as course
from tablectl.cli.columns import folded
from tablectl.cli.rules_course import listing, sentences
from tablectl.rules.model import From, Last, Measure, Names, PassedBy, RuleSet, Title, Unstated
from tablectl.rules.seating import side
from tablectl.rules.walls import SIDES
from tablectl.texts import TEXTS

_INDENT = 13
TITLE_ONLY = "title_only"
_WEB = "web"  # the document of a rule set that is told by pages of the net


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the page, and the paths of the rule file that it tells of."""

    name: str
    text: str
    paths: tuple[str, ...]


def facts(found: RuleSet | Title, lang: str) -> dict[str, Any]:
    """Return what a list of rule sets tells of one; of a mere title why it is no more."""
    if isinstance(found, Title):
        unknown = dict.fromkeys(("tiles", "players", "stacks", "hand", "missing"))
        told = {"status": TITLE_ONLY, **unknown, "reason": of(found.reason, lang)}
    else:
        told = {
            "status": found.status,
            "tiles": found.total,
            "players": len(found.players),
            "stacks": [found.walls.stacks(wall) for wall in range(SIDES)],
            "hand": found.dealing.hand,
            "missing": of(found.missing, lang) if found.missing else None,
            "reason": None,
        }
    return {"id": found.id, "name": of(found.names, lang), **told}


def full_facts(found: RuleSet | Title, lang: str) -> dict[str, Any]:
    """Return everything that the file of a rule set says."""
    every = asdict(found)
    if isinstance(found, Title):
        return {**every, **{key: facts(found, lang)[key] for key in ("name", "status", "reason")}}
    composition = found.tiles.composition
    every["unstated"] = [{**asdict(entry), "why": why(entry, lang)} for entry in found.unstated]
    every["tiles"] |= {"composition": dict(composition.counts), "by_class": composition.by_class()}
    return {**every, **{key: facts(found, lang)[key] for key in ("name", "stacks", "missing")}}


def of(names: Names, lang: str) -> str:
    """Return what is given in both languages in one of them."""
    return names.zh if lang == "zh" else names.en


def stacks_of(rule: RuleSet) -> list[str]:
    """Return the stacks of each side as they are written, a single tile as a half."""
    return _stacks(rule.wall_tiles)


def why(entry: Unstated, lang: str) -> str:
    """Return the reason of a choice."""
    return TEXTS(f"rule_why.{entry.why}", lang)


def title_page(title: Title, lang: str) -> list[str]:
    """Return the page of a rule set that cannot be played."""
    reason = TEXTS("rule_page.title_only", lang, reason=of(title.reason, lang))
    return [
        TEXTS("rule_page.name", lang, name=of(title.names, lang), id=title.id),
        "",
        *folded(TEXTS("rule_page.row.status", lang), reason, _INDENT),
        *folded(TEXTS("rule_page.row.source", lang), _source(title, lang), _INDENT),
    ]


def page(rule: RuleSet, lang: str) -> list[str]:
    """Return the page of a rule set, line by line."""
    lines = [TEXTS("rule_page.name", lang, name=of(rule.names, lang), id=rule.id), ""]
    for row in _rows(rule, lang):
        marks = "".join(
            TEXTS("rule_page.choice", lang, n=n)
            for n, entry in enumerate(rule.unstated, 1)
            if any(_touches(entry.path, path) for path in row.paths)
        )
        lines += folded(TEXTS(f"rule_page.row.{row.name}", lang), row.text + marks, _INDENT)
    lines += [*folded(TEXTS("rule_page.row.source", lang), _source(rule, lang), _INDENT), ""]
    return lines + _choices(rule, lang)


def _choices(rule: RuleSet, lang: str) -> list[str]:
    if not rule.unstated:
        return [TEXTS("rule_page.no_choices", lang)]
    lines = [TEXTS("rule_page.choices", lang)]
    for n, entry in enumerate(rule.unstated, 1):
        told = TEXTS("rule_page.one_choice", lang, n=n, path=entry.path, chosen=entry.chosen)
        lines += [*folded("", told, 2), *folded("", why(entry, lang), 6)]
    return lines


def _source(found: RuleSet | Title, lang: str) -> str:
    key = "rule_page.source_web" if found.source.document == _WEB else "rule_page.source"
    return TEXTS(key, lang, document=found.source.document, anchor=found.source.anchor)


def _touches(path: str, other: str) -> bool:
    """Tell whether one of two dotted paths leads to the other."""
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


def _rows(rule: RuleSet, lang: str) -> Iterable[_Row]:
    def said(key: str, **values: object) -> str:
        return TEXTS(f"rule_page.{key}", lang, **values)

    sides = listing(lang, map(side, rule.players))
    yield _Row("status", _status(rule, lang), ())
    yield _Row("tiles", _tiles(rule, lang), ("tiles",))
    yield _Row("players", said("players", n=len(rule.players), sides=sides), ("seats",))
    yield _Row("walls", _walls(rule, lang), ("wall",))
    dice = said(f"dice.{rule.dice.count}")
    yield _Row("dice", said(f"throws.{rule.dice.throws}", dice=dice), ("dice.count", "dice.throws"))
    passed = rule.dice.passed
    counted = said("passed.number", n=passed)
    if isinstance(passed, PassedBy):
        counted = said(f"passed.{passed}" if rule.dice.throws > 1 else "passed.dice")
    broken = sentences(lang, (said(f"wall.{rule.dice.wall}"), counted))
    yield _Row("break", broken, ("dice.wall", "dice.passed"))
    yield _Row("deal", _deal(rule, lang), ("deal",))
    yield _Row("served", _served(rule, lang), ("served",))
    yield _Row("phases", course.phases(rule, lang), ("phases",))
    yield _Row("indicator", course.indicator(rule, lang), ("indicator",))
    yield _Row("wild", course.wild(rule, lang), ("wild",))
    yield _Row("kong", said(f"replacement.{rule.tail.kong}"), ("tail.kong",))
    yield _Row("flower", _flower(rule, lang), ("tail.flower",))
    yield _Row("tail", _tail(rule, lang), ("tail.keep", "tail.measure"))
    yield _Row("duties", course.duties(rule, lang), ("duties",))
    yield _Row("first_dealer", course.first_dealer(rule, lang), ("first_dealer",))
    yield _Row("next_dealer", _next_dealer(rule, lang), ("next_dealer",))
    yield _Row("match", course.match(rule, lang), ("match",))


def _status(rule: RuleSet, lang: str) -> str:
    missing = of(rule.missing, lang) if rule.missing else ""
    return TEXTS(f"rule_page.status.{rule.status}", lang, missing=missing)


def _flower(rule: RuleSet, lang: str) -> str:
    told = TEXTS(f"rule_page.replacement.{rule.tail.flower}", lang)
    if not rule.tiles.flowers_also:
        return told
    return TEXTS("rule_page.flowers_also", lang, told=told, kinds=listing(lang, rule.tiles.flowers_also))


def _tiles(rule: RuleSet, lang: str) -> str:
    tiles = rule.tiles
    classes = (
        TEXTS(f"rule_page.class.{name}", lang, n=n) for name, n in tiles.composition.by_class().items() if n
    )
    values = {"total": tiles.composition.total, "classes": listing(lang, classes)}
    if tiles.left_in_drum:
        return TEXTS("rule_page.in_play", lang, **values, in_play=tiles.in_play, left=tiles.left_in_drum)
    return TEXTS("rule_page.many_tiles", lang, **values)


def _walls(rule: RuleSet, lang: str) -> str:
    sides = _by_side(rule.wall_tiles, lang)
    stacks = sum(tiles // 2 for tiles in rule.wall_tiles)
    if odd := sum(tiles % 2 for tiles in rule.wall_tiles):
        return TEXTS("rule_page.stacks_half", lang, n=stacks, odd=odd, sides=sides)
    return TEXTS("rule_page.stacks", lang, n=stacks, sides=sides)


def _stacks(walls: Sequence[int]) -> list[str]:
    return [f"{tiles // 2}{'½' * (tiles % 2)}" for tiles in walls]


def _by_side(walls: Sequence[int], lang: str) -> str:
    comma = TEXTS("rule_page.and", lang)
    return comma.join(f"{side(seat)} {stacks}" for seat, stacks in enumerate(_stacks(walls)))


def _served(rule: RuleSet, lang: str) -> str:
    if (served := rule.served) is None:
        return TEXTS("rule_page.served.no", lang)
    told = (
        TEXTS("rule_page.served.hands", lang, hand=served.hand, sides=_by_side(served.tiles, lang)),
        TEXTS(f"rule_page.served.{served.start}", lang, stack=served.passed + 1),
    )
    return sentences(lang, told)


def _deal(rule: RuleSet, lang: str) -> str:
    dealing = rule.dealing
    last = str(dealing.last)
    if dealing.last is Last.JUMP and len(rule.players) < SIDES:
        last = "jump_few"  # what the jump comes to where the tiles between are fewer
    hand = dealing.takers(len(rule.players)).count(0)
    told = (
        TEXTS("rule_page.deal.blocks", lang, blocks=dealing.blocks),
        TEXTS(f"rule_page.deal.{last}", lang),
        TEXTS("rule_page.deal.sizes", lang, dealer=hand, hand=dealing.hand),
    )
    return sentences(lang, told)


def _tail(rule: RuleSet, lang: str) -> str:
    keep = rule.tail.keep
    if not any(keep):
        return TEXTS("rule_page.tail.nothing", lang)
    numbers = listing(lang, keep)
    same = len(set(keep)) == 1
    if rule.tail.measure is Measure.ORIGINAL:
        name = "original_always" if same else "original"
    else:
        name = "always" if same and From.TAIL in (rule.tail.kong, rule.tail.flower) else "by_kongs"
    return TEXTS(f"rule_page.tail.{name}", lang, n=keep[0], keep=numbers)


def _next_dealer(rule: RuleSet, lang: str) -> str:
    after = rule.next_dealer
    told = {"win": after.win, "multi": after.multi, "draw": after.draw}
    if after.multi is after.win:
        del told["multi"]
    said = [
        TEXTS(f"rule_page.next.{when}", lang, who=TEXTS(f"rule_page.dealer.{who}", lang))
        for when, who in told.items()
    ]
    if after.floor_max:
        said.append(TEXTS("rule_page.next.floor", lang, n=after.floor_max))
    return sentences(lang, said)
