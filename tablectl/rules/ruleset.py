"""The rule sets of the package, found by their ids."""

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from tablectl.errors import TablectlError
from tablectl.rules import gears, rulefile
from tablectl.rules.model import RuleSet, Title

__all__ = ["RuleSet", "Title", "available", "listed", "load", "load_any", "parse"]

DATA = Path(__file__).parent / "data"
_GEARS_LIKE = "gb136"  # the common dice of the mainland


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
    found = load_any(rule_id)
    if isinstance(found, Title):
        raise TablectlError("rules.title_only", id=rule_id)
    return found


@cache
def load_any(rule_id: str) -> RuleSet | Title:
    """Return the rule set of that id, or what a source tells of one that cannot be played."""
    if rule_id.startswith(gears.PREFIX):
        return gears.as_rule(rule_id, load(_GEARS_LIKE))
    if rule_id not in (known := listed()):
        raise TablectlError("rules.unknown_rule", id=rule_id, known=nearest(rule_id, known))
    file = DATA / f"{rule_id}.toml"
    return rulefile.parse(file.read_bytes(), file.name, _values)


def parse(content: bytes, file: str) -> RuleSet:
    """Read the file of a rule set that can be played; `file` is its name, told in errors."""
    found = rulefile.parse(content, file, _values)
    if isinstance(found, Title):
        raise TablectlError("rules.title_only", id=found.id)
    return found


def nearest(rule_id: str, known: Iterable[str]) -> str:
    """Return the ids that look most like one that is not there; all of them where none does."""
    like = get_close_matches(rule_id, known, 6, 0.5) or [k for k in known if rule_id and rule_id in k]
    return ", ".join(like or known)


def _values(rule_id: str) -> dict[str, Any] | None:
    """Return what a file says, with what its base says below it; None where there is no such file."""
    file = DATA / f"{rule_id}.toml"
    if file.name not in {each.name for each in DATA.glob("*.toml")}:
        return None
    values = tomllib.loads(file.read_text(encoding="utf-8"))
    below = _values(values["base"]) if "base" in values else None
    return rulefile.laid_over(values, below) if below else values
