"""The catalogue of faults: what a code means, in both languages."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from firmware_protocol.description import PartKind
from firmware_protocol.parts import HAND, WALL
from tablectl.texts import LANGUAGES, TEXTS

FILE = Path(__file__).with_name("faults.toml")


@dataclass(frozen=True, slots=True)
class FaultEntry:
    """One entry; every text is a mapping from language to text.

    `simulated` names, for each cause, the faults of the simulated table that are meant by it.
    """

    code: str
    severity: str
    name: dict[str, str]
    means: dict[str, str]
    causes: tuple[dict[str, str], ...]
    remedy: dict[str, str]
    simulated: tuple[tuple[str, ...], ...]

    def title(self, lang: str, values: dict[str, Any]) -> str:
        """Return code and name in one line."""
        return f"{self.code} {self.name[lang].format(**_told(values, lang))}"

    def lines(self, lang: str, values: dict[str, Any]) -> list[str]:
        """Return the whole entry for a person: title, meaning, causes in order of likelihood, remedy."""
        told = _told(values, lang)
        causes = [f"  {n}. {c[lang].format(**told)}" for n, c in enumerate(self.causes, 1)]
        return [
            self.title(lang, values),
            self.means[lang].format(**told),
            *causes,
            self.remedy[lang].format(**told),
        ]


def _told(values: dict[str, Any], lang: str) -> dict[str, Any]:
    """Return the values with names of parts, mouths and reasons in a person's words."""
    told = dict(values)
    for key, value in values.items():
        kind, _, mouth = str(value).partition(".")
        if f"reason.{value}" in TEXTS:
            told[key] = TEXTS(f"reason.{value}", lang)
        elif key == "part" and f"part.{kind}" in TEXTS:
            told[key] = TEXTS(f"part.{kind}", lang, mouth=_mouth_names(mouth, lang))
        elif key == "side":
            told[key] = _mouth_names(str(value), lang)
        elif key == "sides":
            told[key] = _mouth_names(str(value), lang, among=HAND)
    return told


def _mouth_names(text: str, lang: str, among: str = WALL + HAND) -> str:
    """Return a text with the names of mouths in a person's words; lists keep the short ones of walls."""

    def words(name: re.Match[str]) -> str:
        return TEXTS(f"mouth.{name[1]}", lang, n=name[2])

    return re.sub(rf"\b([{among}])([1-9])\b", words, text)


@cache
def catalogue() -> dict[str, FaultEntry]:
    """Return every fault by its code."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        code: FaultEntry(
            code,
            e["severity"],
            e["name"],
            e["means"],
            tuple({lang: c[lang] for lang in LANGUAGES} for c in e["causes"]),
            e["remedy"],
            tuple(tuple(c.get("faults", ())) for c in e["causes"]),
        )
        for code, e in table.items()
    }


_NOT_REACHED = {
    PartKind.STACKER: "E31",
    PartKind.CONVEYOR: "E31",
    PartKind.LIFT: "E41",
    PartKind.CONSOLE: "E51",
}
_END_REASONS = frozenset({"TIMEOUT", "STALL"})


_MISSED = {PartKind.STACKER: "open", PartKind.CONVEYOR: "open", PartKind.LIFT: "home"}


def of_failure(kind: PartKind, part: str, reason: str, far: bool = False) -> tuple[str, dict[str, Any]]:
    """Return code and values for an operation that failed on a part; `far`: on its way to its far end."""
    side = part.partition(".")[2]
    if reason == "SENSOR" and kind is PartKind.CONSOLE:
        return "E53", {"sensor": "console.up" if far else "console.down"}
    if reason == "SENSOR" and kind in _MISSED:
        of = "stacker" if kind is PartKind.CONVEYOR else kind  # a FILL waits for its stacker
        return "E54", {"sensor": f"{of}.{side}.{_MISSED[kind]}"}
    if reason == "COUNT":
        return "E26", {"side": side}
    if reason == "FEED_STALL":
        return "E32", {"side": side}
    if reason in _END_REASONS and kind is PartKind.DRUM:
        return "E33", {}
    if reason in _END_REASONS:
        return _NOT_REACHED[kind], {"side": side}  # a FILL waits for no end but its stacker's
    return "E61", {"part": part, "reason": reason}
