"""The root of what tablectl raises on bad input: a text key and its values, told in either language."""

from typing import Any

from tablectl.texts import TEXTS


class TablectlError(Exception):
    """Something asked for cannot be done; the text says what, where, what it means and what to do."""

    def __init__(self, key: str, /, **values: Any) -> None:
        super().__init__(key, values)
        self.key = key
        self.values = values

    def text(self, lang: str = "en") -> str:
        """Return the message in `lang`."""
        return TEXTS(self.key, lang, **self.values)

    def __str__(self) -> str:
        return self.text()
