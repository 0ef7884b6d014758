"""A strict reader of TOML: every value is asked for by key and type, and no key may be left over."""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self, TypeVar

from tablectl.errors import TablectlError

Choice = TypeVar("Choice", bound=StrEnum)


class Table:
    """One table of a TOML file; whatever is wrong with it is told with file and key."""

    def __init__(self, values: Mapping[str, Any], file: str, path: str = "") -> None:
        self.file = file
        self._values = values
        self._path = path
        self._asked: set[str] = set()

    @classmethod
    def parse(cls, content: bytes, file: str) -> Self:
        """Read the bytes of a TOML file."""
        try:
            return cls(tomllib.loads(content.decode("utf-8")), file)
        except ValueError as error:  # broken TOML and bytes that are no UTF-8
            raise TablectlError("rules.not_toml", file=file, detail=error) from error

    def path(self, key: str) -> str:
        """Return the dotted path of `key`."""
        return f"{self._path}{key}"

    def has(self, key: str) -> bool:
        """Tell whether an optional key is there."""
        self._asked.add(key)
        return key in self._values

    def text(self, key: str) -> str:
        """Return a string that is not empty."""
        value = self._get(key)
        if not isinstance(value, str) or not value.strip():
            raise self._wrong(key, value, "string")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return an array of strings with at least one entry."""
        value = self._get(key)
        if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
            raise self._wrong(key, value, "array of strings")
        return tuple(value)

    def number(self, key: str, low: int, high: int | None = None) -> int:
        """Return an integer within `low` and `high`."""
        value = self._get(key)
        if not _whole(value):
            raise self._wrong(key, value, "integer")
        self._check_range(key, value, low, high)
        return int(value)

    def numbers(
        self, key: str, low: int, high: int | None = None, length: int | None = None
    ) -> tuple[int, ...]:
        """Return an array of integers, each within `low` and `high`; `length` of them, or at least one."""
        value = self._get(key)
        if (
            not isinstance(value, list)
            or not all(map(_whole, value))
            or (len(value) != length if length is not None else not value)
        ):
            raise self._wrong(key, value, f"array of {length} integers" if length else "array of integers")
        for each in value:
            self._check_range(key, each, low, high)
        return tuple(value)

    def choice(self, key: str, kind: type[Choice]) -> Choice:
        """Return one of the words of `kind`."""
        word = self.text(key)
        if word not in set(kind):
            known = ", ".join(kind)
            raise TablectlError(
                "rules.unknown_choice", file=self.file, key=self.path(key), found=word, known=known
            )
        return kind(word)

    def choice_or_number(self, key: str, kind: type[Choice], low: int) -> Choice | int:
        """Return one of the words of `kind`, or an integer from `low` up."""
        return self.number(key, low) if _whole(self._get(key)) else self.choice(key, kind)

    def table(self, key: str) -> "Table":
        """Return the table under `key`."""
        value = self._get(key)
        if not isinstance(value, dict):
            raise self._wrong(key, value, "table")
        return Table(value, self.file, f"{self.path(key)}.")

    def pairs(self) -> dict[str, str]:
        """Return the whole table, all of whose values are strings."""
        return {key: self.text(key) for key in self._values}

    def at(self, path: str) -> Any:
        """Return the raw value at a dotted path below this table, or None."""
        value: Any = self._values
        for step in path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        return value

    def close(self) -> None:
        """Refuse a key that nobody asked for: a misspelt option must not pass for its default."""
        for key in self._values:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise TablectlError("rules.unknown_key", file=self.file, key=self.path(key), known=known)

    def _get(self, key: str) -> Any:
        if not self.has(key):
            raise TablectlError("rules.missing_key", file=self.file, key=self.path(key))
        return self._values[key]

    def _wrong(self, key: str, found: object, wanted: str) -> TablectlError:
        return TablectlError(
            "rules.wrong_type", file=self.file, key=self.path(key), found=repr(found), wanted=wanted
        )

    def _check_range(self, key: str, value: int, low: int, high: int | None) -> None:
        if value < low or (high is not None and value > high):
            allowed = f"≥ {low}" if high is None else f"{low}–{high}"
            raise TablectlError(
                "rules.out_of_range", file=self.file, key=self.path(key), found=value, allowed=allowed
            )


def _whole(value: object) -> bool:
    # TOML's true is a Python int, but nobody means one tile by it.
    return isinstance(value, int) and not isinstance(value, bool)
