"""What programs see of the table: plain data for status and for the event stream."""

import math
from typing import Any

from firmware_protocol.texts import Told
from tablectl.board.port_types import PortTrouble
from tablectl.remote.trouble import InputTrouble
from tablectl.service.host import Host
from tablectl.table import ledger
from tablectl.table.faults import catalogue
from tablectl.table.memory import Play
from tablectl.texts import LANGUAGES, TEXTS
from tablectl.trace import encode


def status(host: Host, remote_input: str = "", heard: bool = False) -> dict[str, Any]:
    """Return the state of the whole table; `heard` tells whether the remote's input is open."""
    table, link = host.controller, host.session.link
    board, hand = table.board, table.hand
    remote, trouble = host.receiver.stats(), host.receiver.trouble
    return {
        "state": table.state,
        "state_text": {lang: TEXTS(f"state.{table.state}", lang) for lang in LANGUAGES},
        "rule": table.memory.rule,
        "dealer": table.memory.dealer,
        "sets": table.sets,
        "match": _match(table.memory.play),
        "same_set": table.memory.leftover is not None,
        "fault": fault(table.fault.code, table.fault.values) if table.fault else None,
        "stored": encode(table.memory.stored),
        "standing": encode(hand.standing),
        "break": encode(hand.opening),
        "counts": encode(table.seen),
        "mouths": [mouth.name for mouth in table.mouths],
        "stores": _stores(host),
        "connected": table.connected,
        "port": _port(host),
        "board": board
        and {
            "table": board.description.table,
            "uid": board.uid,
            "firmware": board.firmware,
            "boot_id": board.boot_id,
            "reset_cause": board.reset_cause,
            "simulated": board.description.simulated,
        },
        "link": {**encode(link.counters), "damaged": link.damaged},
        "remote": {
            "frames": remote.frames,
            "repeats": remote.repeats,
            "rejects": dict(remote.rejects),
            "foreign": remote.foreign,
            "unknown": remote.unknown,
            "input": remote_input,
            "is_open": heard,
            "why_closed": input_trouble(trouble) if trouble and not heard else None,
        },
    }


def _match(play: Play | None) -> dict[str, Any] | None:
    """Return where the match stands before its next hand."""
    if play is None:
        return None
    match = play.match
    return {
        "rule": play.rule,
        "round_wind": match.round_wind,
        "deal": match.deal,
        "hand": match.hand,
        "streak": match.streak,
        "floor": match.floor,
        "dealer": match.dealer,
        "seat_winds": {f"S{seat + 1}": match.seat_wind(seat) for seat in match.order},
    }


def _port(host: Host) -> dict[str, Any]:
    """Return where the board is looked for, why it is not there, and what is done next."""
    port = host.supervisor
    wait_s = math.ceil(port.wait_us / 1_000_000)
    return {
        "wanted": port.target,
        "path": port.path,
        "state": port.state,
        "is_open": port.is_open,
        "tries": port.tries,
        "why_closed": port_trouble(port.trouble) if port.trouble else None,
        "next": {lang: TEXTS(f"port.next.{port.state}", lang, seconds=wait_s) for lang in LANGUAGES},
        "usb_resets": port.resets,
        "usb_reset_error": port.reset_detail,
    }


def port_trouble(told: PortTrouble) -> dict[str, Any]:
    """Return why a port was left, in every language."""
    more = Told.unpacked(told.detail)
    text = {}
    for lang in LANGUAGES:
        detail = more.text(lang) if more else told.detail
        text[lang] = TEXTS(f"port.trouble.{told.trouble}", lang, path=told.path, detail=detail)
    return {"reason": told.trouble, "path": told.path, "detail": told.detail, "text": text}


def input_trouble(told: InputTrouble) -> dict[str, Any]:
    """Return why the remote is not heard, in every language."""
    values = {"path": told.path, "detail": told.detail}
    text = {lang: TEXTS(f"remote.trouble.{told.trouble}", lang, **values) for lang in LANGUAGES}
    return {"reason": told.trouble, **values, "text": text}


def _stores(host: Host) -> list[str] | None:
    """Return how many tiles each store holds: a number where it is certain, else from-to."""
    table = host.controller
    if table.board is None:
        return None
    counts = ledger.stores(table.seen, table.board.description.capacity, table.memory.disturbed)
    return [str(count) for count in counts]


def fault(code: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return a fault with its texts in every language, and what the wire says more of it."""
    entry = catalogue()[code]
    more = Told.unpacked(str(values.get("more", "")))
    text = {lang: entry.lines(lang, values) for lang in LANGUAGES}
    if more:
        text = {lang: [*lines[:1], more.text(lang), *lines[1:]] for lang, lines in text.items()}
    return {
        "code": code,
        "severity": entry.severity,
        "values": values,
        "text": text,
    }


def event(effect: Any, time_us: int) -> dict[str, Any]:
    """Return an effect as one object of the event stream."""
    data = encode(effect)
    name = data.pop("$")
    if name in ("FaultRaised", "WarningRaised"):
        data = fault(effect.code, effect.values)
    elif name == "PortTrouble":
        data = port_trouble(effect)
    elif name == "InputTrouble":
        data = input_trouble(effect)
    elif name == "Refused":
        data["text"] = {lang: TEXTS(effect.reason, lang, **effect.values) for lang in LANGUAGES}
    return {"event": name, "time_us": time_us, **data}
