"""The trace: one line of JSON per `handle` call of a core, between a head and an end; enough to replay it.

A line is `[time_us, core, event, effects]`; the end counts them. Dataclasses are written as
`{"$": name, field: value …}`, bytes as `{"hex": …}`; tuples and lists are both lists. The same run gives the
same bytes, whatever the hash seed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TextIO, get_args, get_type_hints

from tablectl.errors import TablectlError

FORMAT = 2


def encode(value: Any) -> Any:
    """Return plain JSON data for a value that travels."""
    if is_dataclass(value) and not isinstance(value, type):
        plain = {f.name: encode(getattr(value, f.name)) for f in fields(value)}
        return {"$": type(value).__name__, **plain}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, dict):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [encode(v) for v in value]
    return value


def decode(data: Any, types: Mapping[str, type]) -> Any:
    """Return the value that `encode` wrote; lists become tuples, as in everything that travels.

    KeyError, TypeError or ValueError where no value of these types was written so.
    """
    if isinstance(data, list):
        return tuple(decode(v, types) for v in data)
    if not isinstance(data, dict):
        return data
    if set(data) == {"hex"}:
        return bytes.fromhex(data["hex"])
    plain = {k: decode(v, types) for k, v in data.items() if k != "$"}
    if "$" not in data:
        return plain
    cls = types[data["$"]]
    for name, enumeration in _enumerations(cls).items():
        if plain.get(name) is not None:
            plain[name] = enumeration(plain[name])
    return cls(**plain)


@cache
def _enumerations(cls: type) -> Mapping[str, type[Enum]]:
    """Return the fields of a dataclass that hold a member of an enumeration, or of one or none."""
    found: dict[str, type[Enum]] = {}
    for name, hint in get_type_hints(cls).items():
        for each in (hint, *get_args(hint)):
            if isinstance(each, type) and issubclass(each, Enum):
                found[name] = each
    return found


def line(value: Any) -> str:
    """Return one line of the trace."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


class TraceWriter:
    """Writes a trace to a stream."""

    def __init__(self, stream: TextIO, head: dict[str, Any]) -> None:
        self._stream = stream
        self._calls = 0
        self._stream.write(line({"format": FORMAT, **encode(head)}))

    def __call__(self, core: str, now_us: int, event: Any, effects: tuple[Any, ...]) -> None:
        """Write one call."""
        self._stream.write(line([now_us, core, encode(event), encode(effects)]))
        self._calls += 1

    def end(self) -> None:
        """Write the end, by which a trace that was cut is told from a whole one."""
        self._stream.write(line({"calls": self._calls}))


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a core, event and effects still as plain data; `number` is that of its line in the file."""

    number: int
    time_us: int
    core: str
    event: Any
    effects: Any


def read(lines: Iterable[str], file: str) -> tuple[dict[str, Any], Iterator[Call]]:
    """Return the head and the calls of a trace; TablectlError, in the end, where it is none or not whole."""
    each = enumerate(lines, 1)
    head = _json(next(each, (1, ""))[1])
    if not isinstance(head, dict) or "format" not in head:
        raise TablectlError("trace.no_trace", file=file)
    if head["format"] != FORMAT:
        raise TablectlError("trace.format", file=file, found=head["format"], known=FORMAT)
    return head, _calls(each, file)


def _calls(lines: Iterator[tuple[int, str]], file: str) -> Iterator[Call]:
    count = 0
    for number, text in lines:
        match _json(text):
            case [int(time_us), str(core), {"$": str()} as event, list(effects)]:
                yield Call(number, time_us, core, event, effects)
                count += 1
            case {"calls": int(calls)} if calls == count and next(lines, None) is None:
                return
            case None if next(lines, None) is None:
                break  # a line that stops in its middle is the last one
            case _:
                raise foreign(file, number, text)
    raise TablectlError("trace.cut", file=file, calls=count)


def foreign(file: str, number: int, text: str) -> TablectlError:
    """Return the complaint about a line that is none of a trace's."""
    return TablectlError("trace.foreign", file=file, line=number, text=text.strip()[:60])


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
