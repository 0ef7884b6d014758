"""What happened in the demo: gathered from the daemon's events, checked against the simulator's own tiles."""

from dataclasses import dataclass, field
from typing import Any

from firmware_protocol.description import Mouth
from tablectl.rules import ruleset, serving
from tablectl.texts import TEXTS


@dataclass(slots=True)
class Story:
    """The hands so far; `truth` is the simulated table's own word on every tile."""

    rule: str
    mouths: list[str] = field(default_factory=list)
    state: str = ""
    faults: list[dict[str, Any]] = field(default_factory=list)
    wash_us: list[int] = field(default_factory=list)
    dice: list[list[list[int]]] = field(default_factory=list)
    breaks: list[dict[str, Any]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    truth: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)

    def take(self, event: dict[str, Any]) -> None:
        """Take one event of the daemon in."""
        match event["event"]:
            case "StateChanged":
                self.state = event["new"]
                if event["old"] == "raising" and event["new"] in ("washing", "rest"):
                    self.dice.append([])
            case "Washed":
                self.wash_us.append(event["took_us"])
            case "DiceThrown":
                self.dice[-1].append(event["faces"])
            case "BreakAnnounced" | "HandsServed":
                self.breaks.append(event)
            case "Counted":
                self.mouths, self.counts = event["mouths"], event["stored"]
            case "FaultRaised":
                self.faults.append(event)
            case _:
                pass

    @property
    def ordered(self) -> dict[str, int]:
        """Return the tiles that each mouth must bring, by the rule alone."""
        mouths = [Mouth.named(name) for name in self.mouths]
        return dict(zip(self.mouths, serving.orders(ruleset.load(self.rule), mouths), strict=True))

    @property
    def walls(self) -> list[list[int]]:
        """Return the stacks per side of every hand, as the simulator's tiles lay."""
        return [list(h["stacks"]) for h in self.truth.get("hands", [])]

    @property
    def good(self) -> bool:
        """Tell whether all walls stood as the rule wants them and nothing went wrong."""
        rule = ruleset.load(self.rule)
        mouths = [(Mouth.named(name), tiles) for name, tiles in self.ordered.items()]
        walls = [tiles for mouth, tiles in mouths if not mouth.hand]
        served = [tiles for mouth, tiles in mouths if mouth.hand and tiles]
        hands = self.truth.get("hands", [])
        piles = [[*hand["walls"], *hand["served"]] for hand in hands]
        once = all(len({t for pile in each for t in pile}) == rule.total for each in piles)
        brought = [[list(map(len, hand[what])) for what in ("walls", "served")] for hand in hands]
        stood = bool(hands) and all(each == [walls, served] for each in brought)
        stood = stood and all(stacks == [-(-tiles // 2) for tiles in walls] for stacks in self.walls)
        opened = len(self.breaks) == len(hands)
        return stood and once and opened and not self.faults and not self.truth["violations"]

    def to_json(self) -> dict[str, Any]:
        """Return the summary for programs."""
        hands = self.truth.get("hands", [])
        last = [*hands[-1]["walls"], *hands[-1]["served"]] if hands else []
        link = self.status.get("link", {})
        opening = self.breaks[-1] if self.breaks else None
        return {
            "rule": self.rule,
            "hands": len(hands),
            "tiles_total": sum(map(len, last)),
            "stacks_per_side": self.walls[-1] if hands else [0, 0, 0, 0],
            "wash_s": [round(us / 1_000_000, 3) for us in self.wash_us[: len(hands)]],
            "dice": self.dice[-1] if self.dice else [],
            "break": {"wall": opening["wall"], "stack": opening["stack"]} if opening else None,
            "frames": link.get("sent", 0) + link.get("received", 0),
            "retransmissions": link.get("retransmitted", 0),
            "faults": [f["code"] for f in self.faults],
            "state": self.state,
            "walls_stand": self.good,
            "ir_frames": self.status.get("remote", {}).get("frames", 0),
            "all_hands": [
                {"stacks_per_side": walls, "dice": dice, "break": {"wall": b["wall"], "stack": b["stack"]}}
                for walls, dice, b in zip(self.walls, self.dice, self.breaks, strict=False)
            ],
        }

    def summary(self, lang: str) -> list[str]:
        """Return the summary for people."""
        rule = ruleset.load(self.rule)
        name = rule.names.zh if lang == "zh" else rule.names.en
        lines = [TEXTS("demo.rule", lang, name=name, tiles=rule.total)]
        for number, walls in enumerate(self.walls):
            stacks = ", ".join(f"S{n} {count}" for n, count in enumerate(walls, 1))
            lines.append(TEXTS("demo.walls", lang, hand=number + 1, stacks=stacks))
            if number < len(self.breaks):
                lines.append(self._opening(number, lang))
        washed = ", ".join(f"{us / 1_000_000:.1f} s" for us in self.wash_us)
        lines.append(TEXTS("demo.washed", lang, times=washed or "-"))
        for fault in self.faults:
            lines += fault["text"][lang]
        lines.append(TEXTS("demo.good" if self.good else "demo.bad", lang))
        return lines

    def _opening(self, number: int, lang: str) -> str:
        at = self.breaks[number]
        values = {"seat": TEXTS(f"seat.{at['wall']}", lang), "stack": at["stack"]}
        if "hand" in at:
            return TEXTS("demo.served", lang, hand=at["hand"], **values)
        thrown = " ".join("+".join(map(str, t)) for t in self.dice[number])
        return TEXTS("demo.break", lang, dice=thrown, **values)
