"""A rule set for a person, as a page, and for a program."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tablectl.cli.columns import folded
from tablectl.rules.model import From, Last, Measure, PassedBy, RuleSet, Unstated
from tablectl.rules.seating import side
from tablectl.rules.walls import SIDES
from tablectl.texts import TEXTS

_INDENT = 13


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the page, and the paths of the rule file that it tells of."""

    name: str
    text: str
    paths: tuple[str, ...]


def facts(rule: RuleSet, lang: str) -> dict[str, Any]:
    """Return what a list of rule sets tells of one."""
    return {
        "id": rule.id,
        "name": name_of(rule, lang),
        "tiles": rule.total,
        "players": len(rule.players),
        "stacks": [rule.walls.stacks(wall) for wall in range(SIDES)],
        "hand": rule.dealing.hand,
    }


def full_facts(rule: RuleSet, lang: str) -> dict[str, Any]:
    """Return everything that the file of a rule set says."""
    composition = rule.tiles.composition
    every = asdict(rule)
    every["unstated"] = [{**asdict(entry), "why": why(rule, entry, lang)} for entry in rule.unstated]
    every["tiles"] |= {"composition": dict(composition.counts), "by_class": composition.by_class()}
    return {**every, "name": name_of(rule, lang), "stacks": facts(rule, lang)["stacks"]}


def name_of(rule: RuleSet, lang: str) -> str:
    """Return what players of a language call the rule set."""
    return rule.names.zh if lang == "zh" else rule.names.en


def stacks_of(rule: RuleSet) -> list[str]:
    """Return the stacks of each side as they are written, a single tile as a half."""
    return _stacks(rule.wall_tiles)


def why(rule: RuleSet, entry: Unstated, lang: str) -> str:
    """Return the reason of a choice; where nobody has translated it, as the rule file gives it."""
    key = f"rule_why.{rule.id}.{entry.path.replace('.', '_')}"
    return TEXTS(key, lang) if key in TEXTS else entry.why


def page(rule: RuleSet, lang: str) -> list[str]:
    """Return the page of a rule set, line by line."""
    lines = [TEXTS("rule_page.name", lang, name=name_of(rule, lang), id=rule.id), ""]
    for row in _rows(rule, lang):
        marks = "".join(
            TEXTS("rule_page.choice", lang, n=n)
            for n, entry in enumerate(rule.unstated, 1)
            if any(_touches(entry.path, path) for path in row.paths)
        )
        lines += folded(TEXTS(f"rule_page.row.{row.name}", lang), row.text + marks, _INDENT)
    source = TEXTS("rule_page.source", lang, document=rule.source.document, anchor=rule.source.anchor)
    lines += [*folded(TEXTS("rule_page.row.source", lang), source, _INDENT), ""]
    return lines + _choices(rule, lang)


def _choices(rule: RuleSet, lang: str) -> list[str]:
    if not rule.unstated:
        return [TEXTS("rule_page.no_choices", lang)]
    lines = [TEXTS("rule_page.choices", lang)]
    for n, entry in enumerate(rule.unstated, 1):
        told = TEXTS("rule_page.one_choice", lang, n=n, path=entry.path, chosen=entry.chosen)
        lines += [*folded("", told, 2), *folded("", why(rule, entry, lang), 6)]
    return lines


def _touches(path: str, other: str) -> bool:
    """Tell whether one of two dotted paths leads to the other."""
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


def _rows(rule: RuleSet, lang: str) -> Iterable[_Row]:
    def said(key: str, **values: object) -> str:
        return TEXTS(f"rule_page.{key}", lang, **values)

    comma = said("and")
    sides = comma.join(side(seat) for seat in rule.players)
    yield _Row("tiles", _tiles(rule, lang), ("tiles",))
    yield _Row("players", said("players", n=len(rule.players), sides=sides), ("seats",))
    yield _Row("walls", _walls(rule, lang), ("wall",))
    dice = said(f"dice.{rule.dice.count}")
    yield _Row("dice", said(f"throws.{rule.dice.throws}", dice=dice), ("dice.count", "dice.throws"))
    passed = rule.dice.passed
    counted = said("passed.number", n=passed)
    if isinstance(passed, PassedBy):
        counted = said(f"passed.{passed}" if rule.dice.throws > 1 else "passed.dice")
    yield _Row(
        "break", _sentences(lang, said(f"wall.{rule.dice.wall}"), counted), ("dice.wall", "dice.passed")
    )
    yield _Row("deal", _deal(rule, lang), ("deal",))
    yield _Row("served", _served(rule, lang), ("served",))
    yield _Row("kong", said(f"replacement.{rule.tail.kong}"), ("tail.kong",))
    yield _Row("flower", said(f"replacement.{rule.tail.flower}"), ("tail.flower",))
    yield _Row("tail", _tail(rule, lang), ("tail.keep", "tail.measure"))
    yield _Row("next_dealer", _next_dealer(rule, lang), ("next_dealer",))


def _sentences(lang: str, *told: str) -> str:
    return ("" if lang == "zh" else " ").join(told)


def _tiles(rule: RuleSet, lang: str) -> str:
    tiles = rule.tiles
    classes = TEXTS("rule_page.and", lang).join(
        TEXTS(f"rule_page.class.{name}", lang, n=n) for name, n in tiles.composition.by_class().items() if n
    )
    values = {"total": tiles.composition.total, "classes": classes}
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
    return _sentences(
        lang,
        TEXTS("rule_page.served.hands", lang, hand=served.hand, sides=_by_side(served.tiles, lang)),
        TEXTS(f"rule_page.served.{served.start}", lang, stack=served.passed + 1),
    )


def _deal(rule: RuleSet, lang: str) -> str:
    dealing = rule.dealing
    last = str(dealing.last)
    if dealing.last is Last.JUMP and len(rule.players) < SIDES:
        last = "jump_few"  # what the jump comes to where the tiles between are fewer
    hand = dealing.takers(len(rule.players)).count(0)
    return _sentences(
        lang,
        TEXTS("rule_page.deal.blocks", lang, blocks=dealing.blocks),
        TEXTS(f"rule_page.deal.{last}", lang),
        TEXTS("rule_page.deal.sizes", lang, dealer=hand, hand=dealing.hand),
    )


def _tail(rule: RuleSet, lang: str) -> str:
    keep = rule.tail.keep
    if not any(keep):
        return TEXTS("rule_page.tail.nothing", lang)
    numbers = TEXTS("rule_page.and", lang).join(map(str, keep))
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
    return _sentences(
        lang,
        *(
            TEXTS(f"rule_page.next.{when}", lang, who=TEXTS(f"rule_page.dealer.{who}", lang))
            for when, who in told.items()
        ),
    )
