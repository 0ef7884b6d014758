"""What the controller must not forget when the mains are cut: where each set of tiles is in its cycle."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from tablectl.rules.match import Match


@dataclass(frozen=True, slots=True)
class WashOrder:
    """The rule and the tiles that each mouth is to hold, latched when a set's wash starts."""

    rule: str
    tiles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """The set whose walls stand: its order, its dealer (machine seat) and the ruled throws so far."""

    order: WashOrder
    dealer: int
    throws: tuple[tuple[int, ...], ...] = ()
    ended: bool = False  # somebody has said how the hand ended


@dataclass(frozen=True, slots=True)
class Play:
    """The match that is played, and by which rule."""

    rule: str
    match: Match


@dataclass(frozen=True, slots=True)
class Memory:
    """The sets in the cycle. `loaded`: the console was opened and no wash has followed."""

    rule: str
    dealer: int = 0
    loaded: bool = False
    wash: WashOrder | None = None
    stored: WashOrder | None = None
    raising: bool = False
    standing: Standing | None = None
    disturbed: bool = False  # the door was open, and nobody has said yet that no tile was taken
    mistrust: bool = False  # the stores did not hold what they should: nothing is built on them
    recount: tuple[str, ...] = ()  # mouths whose eye and slot disagreed: their belts are emptied first
    without: tuple[str, ...] = ()  # dead end sensors of the console that a person has said to go on without
    play: Play | None = None
    leftover: str | None = None  # the rule that left part of its set in the drum: the same set must go in
    washed_us: int = 0  # how long the unfinished wash has run, pauses left out

    def but(self, **changes: Any) -> "Memory":
        """Return the memory with some of it changed."""
        return replace(self, **changes)

    def of(self, mouths: int) -> "Memory":
        """Return what of this holds for a table of so many mouths: nothing of the sets of another one."""
        orders = [order for order in (self.wash, self.stored) if order]
        orders += [self.standing.order] if self.standing else []
        if all(len(order.tiles) == mouths for order in orders):
            return self
        return self.but(
            wash=None, stored=None, standing=None, raising=False, recount=(), washed_us=0, mistrust=True
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain data for the journal."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Memory":
        """Read what `to_json` wrote; KeyError or TypeError where it is not that."""
        standing = data["standing"]
        return cls(
            rule=data["rule"],
            dealer=data["dealer"],
            loaded=data["loaded"],
            wash=_order(data["wash"]),
            stored=_order(data["stored"]),
            raising=data["raising"],
            disturbed=data["disturbed"],
            mistrust=data["mistrust"],
            recount=tuple(data["recount"]),
            without=tuple(data.get("without", ())),
            washed_us=data["washed_us"],
            standing=standing
            and Standing(
                WashOrder(standing["order"]["rule"], tuple(standing["order"]["tiles"])),
                standing["dealer"],
                tuple(tuple(t) for t in standing["throws"]),
                standing.get("ended", False),
            ),
            play=_play(data.get("play")),
            leftover=data.get("leftover"),
        )


def restored(data: dict[str, Any] | None, rule: str, known: tuple[str, ...]) -> Memory:
    """Return what the journal remembers, or a fresh memory with `rule` where it has none that can be read.

    A rule that is no longer known is replaced by `rule`; a hand played by it is over. What lies in the stores
    is then found by the board's own counts: nothing is raised that does not agree with them.
    """
    try:
        memory = Memory.from_json(data) if data else Memory(rule)
    except (KeyError, TypeError, ValueError):
        return Memory(rule)
    if memory.rule not in known:
        memory = memory.but(rule=rule)
    if memory.standing and memory.standing.order.rule not in known:
        memory = memory.but(standing=None)
    if memory.play and memory.play.rule not in known:
        memory = memory.but(play=None)
    return memory


def _play(data: dict[str, Any] | None) -> Play | None:
    if not data:
        return None
    match = {**data["match"], "order": tuple(data["match"]["order"])}
    return Play(data["rule"], Match(**match))


def _order(data: dict[str, Any] | None) -> WashOrder | None:
    return WashOrder(data["rule"], tuple(data["tiles"])) if data else None
