"""Replays a trace: every event of the host's cores again, every effect compared, byte for byte.

`python -m sim.lab.replay FILE` does so with what `tablectl run --trace FILE` wrote.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

from firmware_protocol import core, description, host_link, messages
from firmware_protocol.catalogue import LANGUAGES, asked_language
from sim.texts import TEXTS
from tablectl.board import port_types
from tablectl.errors import TablectlError
from tablectl.remote import nec, receiver
from tablectl.service.host import Host
from tablectl.service.origin import Origin
from tablectl.table import events, intents
from tablectl.trace import Call, decode, encode, foreign, line, read

_MODULES: tuple[ModuleType, ...] = (
    core, description, host_link, messages, nec, port_types, receiver, events, intents
)  # fmt: skip
_TYPES = {name: cls for module in _MODULES for name, cls in vars(module).items() if isinstance(cls, type)}


@dataclass(frozen=True, slots=True)
class Difference:
    """A call whose effects are not those of the trace; `line` counts from 1, the head included."""

    line: int
    core: str
    was: Any
    now: Any


@dataclass(slots=True)
class Replay:
    """One trace, replayed by `host`, or by a host made from what the trace's head says."""

    lines: Iterable[str]
    file: str
    host: Host | None = None
    calls: int = 0

    def differences(self) -> Iterator[Difference]:
        """Yield where the cores do otherwise than the trace says; TablectlError where it is not whole."""
        head, calls = read(self.lines, self.file)
        cores = _cores(self.host or _host(head, self.file))
        for call in calls:
            event, one = _event(call, self.file), cores.get(call.core)
            if one is None:
                raise foreign(self.file, call.number, _text(call))
            now = encode(_effects(one, call, event))
            if line(now) != line(call.effects):
                yield Difference(call.number, call.core, call.effects, now)
            self.calls += 1


def _host(head: dict[str, Any], file: str) -> Host:
    try:
        origin = decode(head["origin"], {"Origin": Origin})
        host: Host = origin.host()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TablectlError("trace.no_origin", file=file) from error
    return host


def _cores(host: Host) -> dict[str, core.Core]:
    return {
        "port": host.supervisor, "session": host.session, "remote": host.receiver, "table": host.controller
    }  # fmt: skip


def _event(call: Call, file: str) -> Any:
    try:
        return decode(call.event, _TYPES)
    except (KeyError, TypeError, ValueError) as error:
        raise foreign(file, call.number, _text(call)) from error


def _effects(one: core.Core, call: Call, event: Any) -> Any:
    """Return what comes of an event; a defect that broke a core breaks it here, too."""
    try:
        return one.handle(event, call.time_us)
    except Exception as error:
        crashed = [effect for effect in call.effects if effect["$"] == "Crashed"]
        # The lines of a traceback are those of another file's; what broke is the same.
        same = crashed and crashed[-1]["error"].rstrip().endswith(f"{type(error).__name__}: {error}")
        return call.effects if same else f"{type(error).__name__}: {error}"


def _text(call: Call) -> str:
    return line([call.time_us, call.core, call.event, call.effects])


def main(arguments: list[str] | None = None) -> int:
    """Replay a file; exit status 1 where something came out otherwise, 2 where it is no whole trace."""
    arguments = sys.argv[1:] if arguments is None else arguments
    lang = asked_language(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m sim.lab.replay",
        description=TEXTS("replay.about", lang),
        epilog=TEXTS("replay.example", lang),
    )
    parser.add_argument("file", metavar="FILE", help=TEXTS("replay.file", lang))
    parser.add_argument("--json", action="store_true", help=TEXTS("replay.json", lang))
    parser.add_argument("--lang", choices=LANGUAGES, help=TEXTS("sim.lang", lang))
    asked = parser.parse_args(arguments)
    try:
        found = replay(asked.file, asked.json, lang)
    except TablectlError as error:
        print(error.text(lang), file=sys.stderr)
        return 2
    return 1 if found else 0


def replay(file: str, as_json: bool, lang: str) -> int:
    """Replay a file and tell of each difference; return how many there were."""
    found = 0
    try:
        with open(file, encoding="utf-8") as lines:
            trace = Replay(lines, file)
            for each in trace.differences():
                found += 1
                values = asdict(each)
                print(json.dumps(values) if as_json else TEXTS("replay.difference", lang, **values))
    except UnicodeDecodeError as error:
        raise TablectlError("trace.no_trace", file=file) from error
    except OSError as error:
        raise TablectlError("trace.unreadable", file=file, reason=error.strerror) from error
    if not as_json:
        print(TEXTS("replay.done", lang, calls=trace.calls, found=found))
    return found


if __name__ == "__main__":
    sys.exit(main())
