"""What this package says to people, in English and Chinese, and what travels until the language is known."""

import json
from dataclasses import dataclass
from pathlib import Path

from firmware_protocol.catalogue import Catalogue

TEXTS = Catalogue(Path(__file__).with_suffix(".toml"))
_SHOWN = 40  # characters of what came from outside


@dataclass(frozen=True, slots=True)
class Told:
    """The key of a text and the values in it."""

    key: str
    values: dict[str, int | str]

    def text(self, lang: str) -> str:
        """Return the text in `lang`."""
        return TEXTS(self.key, lang, **self.values)

    def packed(self) -> str:
        """Return it as one string, for what carries strings alone."""
        return json.dumps([self.key, self.values])

    @classmethod
    def unpacked(cls, packed: str) -> "Told | None":
        """Return what was packed; None for any other string."""
        try:
            key, values = json.loads(packed)
        except (ValueError, TypeError):
            return None
        return cls(key, values) if key in TEXTS and isinstance(values, dict) else None


def shown(value: object) -> str:
    """Return something that came from outside as it may be shown: on one line, short, printable."""
    try:
        text = value if isinstance(value, str) and value.isprintable() and value else repr(value)
    except RecursionError:
        return "…"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
