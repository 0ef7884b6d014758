"""The rule sets of the package, found by their ids."""

from difflib import get_close_matches
from functools import cache
from pathlib import Path

from tablectl.errors import TablectlError
from tablectl.rules import gears, rulefile
from tablectl.rules.model import RuleSet, Title

__all__ = ["RuleSet", "Title", "available", "listed", "load", "load_any", "nearest", "parse"]

DATA = Path(__file__).parent / "data"
_GEARS_LIKE = "gb136"  # the common dice of the mainland
MOST_NEAR = 6


@cache
def listed() -> tuple[str, ...]:
    """Return the id of everything there is a file for, mere titles included."""
    return tuple(sorted(file.stem for file in DATA.glob("[!_]*.toml")))


@cache
def available() -> tuple[str, ...]:
    """Return the id of every rule set that can be played."""
    return tuple(rule_id for rule_id in listed() if isinstance(load_any(rule_id), RuleSet))


@cache
def choosable() -> tuple[str, ...]:
    """Return the id of every rule set and gear that can be chosen."""
    return (*available(), *map(gears.gear_id, gears.gears()))


def numbered() -> tuple[str, ...]:
    """Return the rule sets that can be played in the order of their numbers, the first of which is 1."""
    return available()


@cache
def load(rule_id: str) -> RuleSet:
    """Return the rule set of that id."""
    return _playable(load_any(rule_id))


@cache
def load_any(rule_id: str) -> RuleSet | Title:
    """Return the rule set of that id, or what a source tells of one that cannot be played."""
    if rule_id.startswith(gears.PREFIX):
        return gears.as_rule(rule_id, load(_GEARS_LIKE))
    if rule_id not in listed():
        if near := nearest(rule_id):
            raise TablectlError("rules.unknown_rule", id=rule_id, nearest=", ".join(near))
        raise TablectlError("rules.unlike_rule", id=rule_id)
    file = DATA / f"{rule_id}.toml"
    return rulefile.parse(file.read_bytes(), file.name, _content)


def parse(content: bytes, file: str) -> RuleSet:
    """Read the file of a rule set that can be played; `file` is its name, told in errors."""
    return _playable(rulefile.parse(content, file, _content))


def nearest(written: str) -> tuple[str, ...]:
    """Return the ids that are most like what was written, which may be a name in either language."""
    called: dict[str, list[str]] = {}
    for rule_id in listed():
        names = load_any(rule_id).names
        for name in {rule_id, names.en.lower(), names.zh.lower()}:
            called.setdefault(name, []).append(rule_id)
    asked = written.strip().lower()
    like = sorted((name for name in called if len(asked) > 1 and asked in name), key=len)
    like += get_close_matches(asked, called, MOST_NEAR, 0.5)
    return tuple(dict.fromkeys(rule_id for name in like for rule_id in called[name]))[:MOST_NEAR]


def _playable(found: RuleSet | Title) -> RuleSet:
    if isinstance(found, Title):
        raise TablectlError("rules.title_only", id=found.id)
    return found


def _content(rule_id: str) -> bytes | None:
    """Return the content of the file that another one names as its base, None where there is no such file."""
    known = {file.stem: file for file in DATA.glob("*.toml")}
    return known[rule_id].read_bytes() if rule_id in known else None
