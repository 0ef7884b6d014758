"""The trace: one line of JSON per `handle` call of a core, under a head; enough to replay every decision.

A line is `[time_us, core, event, effects]`. Dataclasses are written as `{"$": name, field: value …}`, bytes
as `{"hex": …}`; tuples and lists are both lists. The same run gives the same bytes, whatever the hash seed.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TextIO

FORMAT = 1


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


def decode(data: Any, types: dict[str, type]) -> Any:
    """Return the value that `encode` wrote; lists become tuples, as in everything that travels."""
    if isinstance(data, list):
        return tuple(decode(v, types) for v in data)
    if not isinstance(data, dict):
        return data
    if set(data) == {"hex"}:
        return bytes.fromhex(data["hex"])
    if "$" not in data:
        return {k: decode(v, types) for k, v in data.items()}
    return types[data["$"]](**{k: decode(v, types) for k, v in data.items() if k != "$"})


def line(value: Any) -> str:
    """Return one line of the trace."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n"


class TraceWriter:
    """Writes a trace to a stream."""

    def __init__(self, stream: TextIO, head: dict[str, Any]) -> None:
        self._stream = stream
        self._stream.write(line({"format": FORMAT, **encode(head)}))

    def __call__(self, core: str, now_us: int, event: Any, effects: tuple[Any, ...]) -> None:
        """Write one call."""
        self._stream.write(line([now_us, core, encode(event), encode(effects)]))


def read(lines: Iterable[str]) -> tuple[dict[str, Any], Iterator[tuple[int, str, Any, Any]]]:
    """Return the head and the calls of a trace, events and effects still as plain data."""
    each = iter(lines)
    head: dict[str, Any] = json.loads(next(each))
    return head, (tuple(json.loads(text)) for text in each)
