"""Which data code of a remote asks for what: a TOML file, or one that comes with tablectl.

name = "…"
[keys]
0x45 = "START"
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tablectl.errors import TablectlError
from tablectl.table.intents import Intent

FOLDER = Path(__file__).parent / "keymaps"

_CODE = re.compile(r"0[xX][0-9a-fA-F]{1,2}")


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys of one kind of remote: data code to intent."""

    name: str
    keys: Mapping[int, Intent]


def builtin() -> tuple[str, ...]:
    """Return the names of the keymaps that come with tablectl."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def load(keymap: str | Path) -> Keymap:
    """Read a keymap by path or by the name of a built-in one; TablectlError says which line is wrong."""
    path = FOLDER / f"{keymap}.toml" if str(keymap) in builtin() else Path(keymap)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise TablectlError(
            "remote.keymap_unreadable", file=path, reason=reason, builtin=", ".join(builtin())
        ) from error
    return parse(text, str(path))


def parse(text: str, file: str) -> Keymap:
    """Return the keymap that `text` is; `file` is named in errors."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        line = int(at[1]) if at else text.count("\n") + 1  # "at end of document"
        raise TablectlError("remote.keymap_syntax", file=file, line=line, reason=error) from error

    name, keys = table.pop("name", None), table.pop("keys", None)
    if not isinstance(name, str) or not name.strip():
        raise TablectlError("remote.keymap_name", file=file, line=_line(text, "name"))
    if not isinstance(keys, dict) or not keys:
        raise TablectlError("remote.keymap_no_keys", file=file, line=_line(text, "[keys]"))
    for key in table:
        raise TablectlError("remote.keymap_unknown", file=file, line=_line(text, key), key=key)
    return Keymap(name, MappingProxyType(_keys(keys, text, file)))


def _keys(table: Mapping[str, Any], text: str, file: str) -> dict[int, Intent]:
    keys: dict[int, Intent] = {}
    for key, value in table.items():
        where = {"file": file, "line": _line(text, key), "key": key}
        if not _CODE.fullmatch(key):
            raise TablectlError("remote.keymap_code", **where)
        if value not in list(Intent):
            raise TablectlError("remote.keymap_intent", **where, value=value, intents=", ".join(Intent))
        if int(key, 16) in keys:
            raise TablectlError("remote.keymap_twice", **where)
        keys[int(key, 16)] = Intent(value)
    return keys


def _line(text: str, key: str) -> int:
    """Return the line on which `key` stands, 1 where it does not: tomllib does not say."""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip().removeprefix("[").lstrip("\"'") if not key.startswith("[") else line.strip()
        if bare.startswith(key) and not bare[len(key) :][:1].isalnum():
            return number
    return 1
