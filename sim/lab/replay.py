"""Replays a trace: every event of the host's cores again, every effect compared."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from firmware_protocol import core, description, host_link, messages
from sim.lab.rig import RigOptions, make_host
from tablectl.board import port_types
from tablectl.remote import nec, receiver
from tablectl.table import events, intents
from tablectl.trace import decode, encode, read

_MODULES: tuple[ModuleType, ...] = (
    core, description, host_link, messages, nec, port_types, receiver, events, intents
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """A call whose effects are not those of the trace; `line` counts from 1, the head included."""

    line: int
    core: str
    was: Any
    now: Any


def differences(lines: Iterable[str], options: RigOptions) -> Iterator[Difference]:
    """Yield where cores set up with `options` do otherwise than the trace says."""
    types = {name: cls for module in _MODULES for name, cls in vars(module).items() if isinstance(cls, type)}
    host = make_host(options)
    cores: dict[str, core.Core] = {
        "port": host.supervisor,
        "session": host.session,
        "remote": host.receiver,
        "table": host.controller,
    }
    _, calls = read(lines)
    for number, (now_us, name, event, effects) in enumerate(calls, 2):
        again = encode(cores[name].handle(_event(event, types), now_us))
        if again != effects:
            yield Difference(number, name, effects, again)


def _event(data: Any, types: dict[str, type]) -> Any:
    """Return the event; words that are enumerations on the way in are made so again."""
    event = decode(data, types)
    match event:
        case events.Command():
            return events.Command(event.op, events.Verb(event.verb), event.part, event.tiles, event.after)
        case intents.Key():
            return intents.Key(
                event.source, intents.Intent(event.intent), intents.Phase(event.phase), event.held_us
            )
        case _:
            return event
