"""A rule file laid over the one that it names as its base."""

from collections.abc import Callable, Mapping
from typing import Any

from tablectl.errors import TablectlError
from tablectl.tables import Table

# What a file says of itself and of no other one.
_OWN = ("id", "names", "source", "status", "missing", "reason")

Read = Callable[[str], bytes | None]


def layered(content: bytes, file: str, read: Read) -> Table:
    """Return a rule file with what its base says below it; `read` gives the content of a file by its id.

    A reason of the base goes where the file itself gives the value that it explains, or a reason of its own.
    """
    return _layered(content, file, read, (file,))


def _layered(content: bytes, file: str, read: Read, above: tuple[str, ...]) -> Table:
    top = Table.parse(content, file, "rules")
    if not top.has("base"):
        return top
    base, line = top.text("base"), top.line("base")
    below = f"{base}.toml"
    if below in above:
        raise TablectlError("rules.base_circle", file=file, line=line, base=base)
    if (found := read(base)) is None:
        raise TablectlError("rules.no_base", file=file, line=line, base=base)
    under = _layered(found, below, read, (*above, below))
    inherited = {key: value for key, value in under.values().items() if key not in _OWN}
    mine, theirs = _reasons(top), _reasons(under)
    kept = {left: why for path, why in theirs.items() for left in _unsaid(path, inherited, top.values())}
    kept = {path: why for path, why in kept.items() if not any(f"{path}.".startswith(f"{p}.") for p in mine)}
    return top.over(under, _merged(inherited, top.values()) | {"unstated": kept | mine})


def _reasons(table: Table) -> dict[str, str]:
    return table.table("unstated").pairs() if table.has("unstated") else {}


def _merged(below: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**below, **values}
    for key in values.keys() & below.keys():
        if isinstance(values[key], dict) and isinstance(below[key], dict):
            merged[key] = _merged(below[key], values[key])
    return merged


def _unsaid(path: str, below: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    """Return the paths at and below `path` that a file leaves to its base: all, some or none."""
    mine, theirs = _at(values, path), _at(below, path)
    if mine is None:
        return [path]
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return [left for key in theirs for left in _unsaid(f"{path}.{key}", below, values)]
    return []


def _at(values: Any, path: str) -> Any:
    for step in path.split("."):
        values = values.get(step) if isinstance(values, dict) else None
    return values
