"""A strict reader of TOML: every value is asked for by key and type, and no key may be left over."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self, TypeVar

from tablectl.errors import TablectlError

# What can be wrong; every family of messages (rules, config) has these.
MESSAGES = ("not_toml", "missing_key", "unknown_key", "wrong_type", "out_of_range", "unknown_choice")

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a file and the values in it, and the file that it is laid over, if there is one."""

    file: str
    source: str
    values: Mapping[str, Any]
    below: "Written | None" = None

    def of(self, steps: Sequence[str]) -> "Written":
        """Return the file that writes a key; this one where none does."""
        layer: Written | None = self
        while layer is not None:
            if _holds(layer.values, steps):
                return layer
            layer = layer.below
        return self

    def line(self, steps: Sequence[str]) -> int:
        """Return the line of a key, else of its table, else 1: tomllib does not say."""
        return _line(self.source, steps)


class Table:
    """One table of a TOML file; whatever is wrong with it is told with file, line and key."""

    def __init__(
        self,
        values: Mapping[str, Any],
        file: str,
        texts: str,
        steps: tuple[str, ...] = (),
        written: Written | None = None,
    ) -> None:
        self.file = file
        self._values = values
        self._texts = texts
        self._steps = steps
        self._written = written or Written(file, "", values)
        self._asked: set[str] = set()

    @classmethod
    def parse(cls, content: bytes, file: str, texts: str) -> Self:
        """Read the bytes of a TOML file; `texts` is the family of messages that tell what is wrong."""
        try:
            source = content.decode("utf-8")
            values = tomllib.loads(source)
        except ValueError as error:  # broken TOML and bytes that are no UTF-8
            raise TablectlError(f"{texts}.not_toml", file=file, detail=error) from error
        return cls(values, file, texts, written=Written(file, source, values))

    def path(self, key: str) -> str:
        """Return the dotted path of `key`."""
        return ".".join((*self._steps, key))

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

    def seconds(self, key: str, most: float) -> float:
        """Return a number of seconds, more than none and no more than `most`."""
        value = self._get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(key, value, "number of seconds")
        if not 0 < value <= most:  # TOML has nan, too
            raise self.error("out_of_range", key, found=value, allowed=f"> 0, ≤ {most}")
        return value

    def choice(self, key: str, kind: type[Choice]) -> Choice:
        """Return one of the words of `kind`."""
        word = self.text(key)
        if word not in set(kind):
            known = ", ".join(kind)
            raise self.error("unknown_choice", key, found=word, known=known)
        return kind(word)

    def choices(self, key: str, kind: type[Choice]) -> tuple[Choice, ...]:
        """Return an array of the words of `kind`, with at least one entry."""
        words = self.texts(key)
        for word in words:
            if word not in set(kind):
                raise self.error("unknown_choice", key, found=word, known=", ".join(kind))
        return tuple(map(kind, words))

    def yes(self, key: str) -> bool:
        """Return true or false."""
        value = self._get(key)
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def choice_or_number(self, key: str, kind: type[Choice], low: int) -> Choice | int:
        """Return one of the words of `kind`, or an integer from `low` up."""
        return self.number(key, low) if _whole(self._get(key)) else self.choice(key, kind)

    def table(self, key: str) -> "Table":
        """Return the table under `key`."""
        value = self._get(key)
        if not isinstance(value, dict):
            raise self._wrong(key, value, "table")
        return Table(value, self.file, self._texts, (*self._steps, key), self._written)

    def tables(self, key: str) -> "tuple[Table, ...]":
        """Return the array of tables under `key`, with at least one entry."""
        value = self._get(key)
        if not isinstance(value, list) or not value or not all(isinstance(v, dict) for v in value):
            raise self._wrong(key, value, "array of tables")
        return tuple(
            Table(v, self.file, self._texts, (*self._steps, f"{key}[{n}]"), self._written)
            for n, v in enumerate(value, 1)
        )

    def pairs(self) -> dict[str, str]:
        """Return the whole table, all of whose values are strings."""
        return {key: self.text(key) for key in self._values}

    def keys(self) -> tuple[str, ...]:
        """Return the keys that are there."""
        return tuple(self._values)

    def line(self, key: str = "") -> int:
        """Return the line of `key`, or where the table begins."""
        return self.place(key)[1]

    def place(self, key: str = "") -> tuple[str, int]:
        """Return the file and the line of `key`, or those where the table begins."""
        steps = (*self._steps, key) if key else self._steps
        # What nobody writes is missing in the file that is read, not in one below it.
        written = self._written.of(steps) if not key or key in self._values else self._written
        return written.file, written.line(steps)

    def values(self) -> Mapping[str, Any]:
        """Return the raw values."""
        return self._values

    def over(self, below: "Table", together: Mapping[str, Any]) -> "Table":
        """Return this file laid over another; of a value in `together` the file is told that writes it."""
        mine = self._written
        written = Written(mine.file, mine.source, mine.values, below._written)
        return Table(together, self.file, self._texts, self._steps, written)

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
                raise self.error("unknown_key", key, known=known)

    def _get(self, key: str) -> Any:
        if not self.has(key):
            raise self.error("missing_key", key)
        return self._values[key]

    def _wrong(self, key: str, found: object, wanted: str) -> TablectlError:
        return self.error("wrong_type", key, found=repr(found), wanted=wanted)

    def _check_range(self, key: str, value: int, low: int, high: int | None) -> None:
        if value < low or (high is not None and value > high):
            allowed = f"≥ {low}" if high is None else f"{low}–{high}"
            raise self.error("out_of_range", key, found=value, allowed=allowed)

    def error(self, what: str, key: str, **values: Any) -> TablectlError:
        """Return the error that tells what is wrong with the value of `key`, and on which line."""
        file, line = self.place(key)
        values = {"file": file, "line": line, "key": self.path(key), **values}
        return TablectlError(f"{self._texts}.{what}", **values)


def _holds(values: Any, steps: Sequence[str]) -> bool:
    for step in steps:
        name, _, number = step.partition("[")
        if not isinstance(values, Mapping) or name not in values:
            return False
        values = values[name]
        if number and isinstance(values, list):
            values = values[int(number.rstrip("]")) - 1]
    return True


def _line(source: str, steps: Sequence[str]) -> int:
    lines = source.splitlines()
    first, last, name = 0, len(lines), ""
    for depth, step in enumerate(steps):
        key, _, number = step.partition("[")
        header = f"[{name}{key}]"
        if number:  # the entry of an array of tables reaches to the header of the next one
            heads = [n for n in range(first, last) if lines[n].strip().startswith(f"[{header}]")]
            at = int(number.rstrip("]")) - 1
            if at >= len(heads):
                return _key_line(lines, first, last, key)
            first, last = heads[at] + 1, heads[at + 1] if at + 1 < len(heads) else last
        else:
            found = next((n for n in range(first, last) if lines[n].strip().startswith(header)), None)
            if found is None:  # a key, or a table written on one line
                return _key_line(lines, first, last, key)
            first = found + 1
        name += f"{key}."
        if depth == len(steps) - 1:
            return first
    return 1


def _key_line(lines: list[str], first: int, last: int, key: str) -> int:
    """Return the line of a key up to the next header, else where its table begins."""
    for number in range(first, last):
        text = lines[number].strip()
        if text.startswith("["):
            break
        if text.partition("=")[0].strip().strip("\"'") == key:
            return number + 1
    return max(1, first)


def _whole(value: object) -> bool:
    # TOML's true is a Python int, but nobody means one tile by it.
    return isinstance(value, int) and not isinstance(value, bool)
