"""Entries of the journal in a person's words, one line each; what is not known here is shown as it stands."""

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from tablectl.journal.chain import Entry
from tablectl.table.faults import catalogue
from tablectl.texts import TEXTS

Data = Mapping[str, Any]


class Words:
    """Tells entries in one language; `memory` is what the journal remembered before the first of them."""

    def __init__(self, lang: str, memory: Data | None = None) -> None:
        self._lang = lang
        self._memory: Data = memory or {}
        self._kinds: dict[str, Callable[[Data], str]] = {
            "start": self._start,
            "board": lambda d: self._text("log.kind.board", **d),
            "key": self._key,
            "refused": self._refused,
            "state": lambda d: f"{self._state(d['from'])} → {self._state(d['to'])}",
            "fault": lambda d: self._text("log.kind.fault", title=self._title(d["code"], d["values"])),
            "warning": lambda d: self._text("log.kind.warning", title=self._title(d["code"], d)),
            "dice": self._dice,
            "served": self._served,
            "heard": self._heard,
            "door": lambda d: self._text("log.kind.door", source=self.source(d["source"])),
            "jog": self._jog,
            "choice": lambda d: self._text(
                "log.kind.choice", rule=d["rule"], source=self.source(d["source"])
            ),
            "hand": self._hand,
            "timing": lambda d: self._text("log.kind.timing"),
            "memory": self._changes,
        }

    def line(self, entry: Entry) -> str:
        """Return number, local time, kind and meaning of an entry in one printable line."""
        try:
            said = self._say(entry)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            said = entry.data  # of another version, or not written by us: shown as it stands
        return printable(f"{entry.id:>6}  {local_time(entry.wall)}  {entry.kind:<8} {said}")

    def source(self, source: str) -> str:
        """Return who pressed a key."""
        kind, _, of = source.partition(":")
        key = f"log.source.{kind}"
        return self._text(key, of=of) if of and key in TEXTS else source

    def _say(self, entry: Entry) -> str:
        data = json.loads(entry.data)
        said = self._kinds[entry.kind](data)
        self._memory = data.get("memory") or self._memory
        return said

    def _text(self, key: str, **values: Any) -> str:
        return TEXTS(key, self._lang, **values)

    def _state(self, name: str) -> str:
        return self._text(f"state.{name}")

    def _title(self, code: str, values: Data) -> str:
        return catalogue()[code].title(self._lang, dict(values))

    def _start(self, data: Data) -> str:
        entropy = data["entropy"]
        if entropy == "operating system":
            entropy = self._text("log.value.system")
        key = "log.kind.start" if data["speed"] == 1 else "log.kind.start_scaled"
        values = {"version": data["version"], "speed": data["speed"], "entropy": entropy}
        return self._text(key, rule=data["configuration"]["rule"], **values)

    def _key(self, data: Data) -> str:
        phase = self._text(f"log.phase.{data['phase']}")
        return self._text(
            "log.kind.key", intent=data["intent"], phase=phase, source=self.source(data["source"])
        )

    def _refused(self, data: Data) -> str:
        reason = self._text(data["reason"], **data["values"])
        return self._text(
            "log.kind.refused", source=self.source(data["source"]), intent=data["intent"], reason=reason
        )

    def _dice(self, data: Data) -> str:
        faces = " ".join(map(str, data["faces"]))
        values = {"faces": faces, "throw": data["throw"], "side": f"S{data['seat'] + 1}"}
        if opening := data.get("break"):
            return self._text("log.kind.dice_break", **values, broken=opening["side"], stack=opening["stack"])
        return self._text("log.kind.dice", **values)

    def _hand(self, data: Data) -> str:
        wins = [
            self._text("log.hand.by_discard", winners=_seats(w["winners"]), loser=_seats([w["discarder"]]))
            if w["discarder"] is not None
            else self._text("log.hand.self_drawn", winners=_seats(w["winners"]))
            for w in data["wins"]
        ]
        how = "; ".join(wins) or self._text("log.hand.drawn", ready=_seats(data["ready"]) or "-")
        dealer = f"S{data['memory']['dealer'] + 1}"
        return self._text("log.kind.hand", how=how, dealer=dealer, source=self.source(data["source"]))

    def _served(self, data: Data) -> str:
        opening, side = data["break"], f"S{data['dealer'] + 1}"
        return self._text("log.kind.served", side=side, broken=opening["side"], stack=opening["stack"])

    def _heard(self, data: Data) -> str:
        key = "log.kind.heard_unknown" if data["paired"] else "log.kind.heard_foreign"
        codes = {name: f"0x{data[name]:02X}" for name in ("user_code", "data_code")}
        return self._text(key, **codes)

    def _jog(self, data: Data) -> str:
        key = "log.kind.jog" if data["direction"] > 0 else "log.kind.jog_back"
        return self._text(key, part=data["part"], source=self.source(data["source"]))

    def _changes(self, data: Data) -> str:
        """Tell what a person has settled: rule, dealer, what was said of door and sensors."""
        now, before = data["memory"], self._memory
        changed = [name for name in now if now[name] != before.get(name, _UNSAID.get(name))]
        told = [said for name in changed if (said := self._change(name, now[name]))]
        return self._text(
            "log.kind.memory", changes="; ".join(told or changed) or self._text("log.kind.unchanged")
        )

    def _change(self, name: str, value: Any) -> str | None:
        match name:
            case "rule":
                return self._text("log.change.rule", value=value)
            case "dealer":
                return self._text("log.change.dealer", value=f"S{value + 1}")
            case "disturbed":
                return self._text("log.change.opened" if value else "log.change.undisturbed")
            case "mistrust":
                return self._text("log.change.mistrusted" if value else "log.change.trusted")
            case "recount" | "without":
                some = ", ".join(value) or self._text("log.value.nothing")
                return self._text(f"log.change.{name}", value=some)
        return None


def _seats(seats: Iterable[int]) -> str:
    return ", ".join(f"S{seat + 1}" for seat in seats)


# What the first memory of a journal is compared with: nothing was said of these before.
_UNSAID: dict[str, Any] = {
    "loaded": False, "wash": None, "stored": None, "raising": False, "standing": None, "disturbed": False,
    "mistrust": False, "recount": [], "without": [], "play": None, "leftover": None, "washed_us": 0,
}  # fmt: skip


def local_time(wall: str) -> str:
    """Return a time of the journal as the clock on this computer's wall shows it."""
    try:
        return datetime.fromisoformat(wall).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError):
        return wall


def printable(text: str) -> str:
    """Return a text that leaves a terminal alone: what came from outside may hold anything."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
