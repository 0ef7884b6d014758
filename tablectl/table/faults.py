"""The catalogue of faults: what a code means, in both languages."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from firmware_protocol.description import PartKind

FILE = Path(__file__).with_name("faults.toml")


@dataclass(frozen=True, slots=True)
class FaultEntry:
    """One entry; every text is a mapping from language to text."""

    code: str
    severity: str
    name: dict[str, str]
    means: dict[str, str]
    causes: tuple[dict[str, str], ...]
    remedy: dict[str, str]

    def title(self, lang: str, values: dict[str, Any]) -> str:
        """Return code and name in one line."""
        return f"{self.code} {self.name[lang].format(**values)}"

    def lines(self, lang: str, values: dict[str, Any]) -> list[str]:
        """Return the whole entry for a person: title, meaning, causes in order of likelihood, remedy."""
        causes = [f"  {n}. {c[lang].format(**values)}" for n, c in enumerate(self.causes, 1)]
        return [
            self.title(lang, values),
            self.means[lang].format(**values),
            *causes,
            self.remedy[lang].format(**values),
        ]


@cache
def catalogue() -> dict[str, FaultEntry]:
    """Return every fault by its code."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        code: FaultEntry(code, e["severity"], e["name"], e["means"], tuple(e["causes"]), e["remedy"])
        for code, e in table.items()
    }


_NOT_REACHED = {PartKind.STACKER: "E31", PartKind.LIFT: "E41", PartKind.CONSOLE: "E51"}
_END_REASONS = frozenset({"TIMEOUT", "STALL"})


def of_failure(kind: PartKind, part: str, reason: str) -> tuple[str, dict[str, Any]]:
    """Return the code and the values for an operation that failed on a part."""
    side = part.partition(".")[2]
    if reason in _END_REASONS and kind is PartKind.CONVEYOR:
        return "E31", {"side": side}  # a FILL waits for no end but its stacker's
    if reason in _END_REASONS and kind in _NOT_REACHED:
        return _NOT_REACHED[kind], {"side": side}
    return "E61", {"part": part, "reason": reason}
