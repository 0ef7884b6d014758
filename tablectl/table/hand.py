"""The set that stands: its dice, thrown by the ruled seats after the walls stand, and its break.

Where the machine has served the hands nobody deals; play begins where the rule says, mostly without dice.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tablectl.rules import ruleset, serving
from tablectl.rules.deal import deal
from tablectl.table import dice, panel
from tablectl.table import events as ev
from tablectl.table.intents import Intent
from tablectl.table.memory import Standing

SHOW_THROW_US = 3_000_000
SHOW_BREAK_US = 30_000_000
SHOW_SERVED_US = 5_000_000
_SEATS = {Intent.DICE_EAST: 0, Intent.DICE_SOUTH: 1, Intent.DICE_WEST: 2, Intent.DICE_NORTH: 3}


class Hand:
    """Dice and break of the standing set; a throw is shown when the disk has it, and never made again.

    `record(kind, standing, data)` writes down a throw, or where play begins, and returns the journal's id.
    """

    def __init__(
        self,
        standing: Standing | None,
        emit: Callable[[Any], None],
        record: Callable[[str, Standing, dict[str, Any]], int],
    ) -> None:
        self.standing: Standing | None = None
        self.opening: ev.BreakAnnounced | ev.HandsServed | None = None
        self._emit = emit
        self._record = record
        self._asked: int | None = None
        self._draws = 0
        self._unwritten: tuple[int, ev.DiceThrown] | None = None
        self._shown_until_us: int | None = None
        self._words: list[tuple[str, int]] = []
        self.stand(standing)

    @property
    def rolling(self) -> bool:
        """Tell whether a throw was asked for and is not shown yet."""
        return self._asked is not None or self._unwritten is not None

    def stand(self, standing: Standing | None) -> None:
        """A set stands now, or none does."""
        self.standing = standing
        self.opening = self._opening()
        self._asked = None
        self._unwritten = None
        self._words = []
        self._shown_until_us = None

    def begin(self, now_us: int) -> None:
        """Say where play begins, where the hands were served and no dice decide it.

        Unlike a throw this needs no disk: it is what the rule says, and would be said again.
        """
        if self.standing is None or self.opening is None or self.standing.throws:
            return
        self._record("served", self.standing, {"dealer": self.standing.dealer, "break": _said(self.opening)})
        self._emit(self.opening)
        self._words = [(panel.SERVED, SHOW_SERVED_US), _word(self.opening)]
        self._shown_until_us = now_us + SHOW_SERVED_US

    def throw(self, intent: Intent) -> str | None:
        """Throw for a seat; return why not (a text key) where the dice stay."""
        if self.standing is None:
            return "refuse.no_walls"
        if self.rolling:
            return "refuse.dice_rolling"
        thrower = self._thrower()
        if thrower is None:
            return "refuse.dice_done" if self.standing.throws else "refuse.hands_served"
        if intent in _SEATS and _SEATS[intent] != (thrower - self.standing.dealer) % 4:
            return "refuse.not_your_throw"
        self._ask()
        return None

    def entropy(self, id_: int, data: bytes) -> None:
        """Turn random bytes into the throw they were asked for, and write it down."""
        thrower = self._thrower()
        if id_ != self._asked or self.standing is None or thrower is None:
            return
        faces = dice.faces(data, ruleset.load(self.standing.order.rule).dice.count)
        if faces is None:
            self._ask()  # too many bytes were rejected: no throw was made yet
            return
        self._asked = None
        throws = (*self.standing.throws, faces)
        self.standing = replace(self.standing, throws=throws)
        said = {"seat": thrower, "faces": list(faces), "throw": len(throws)}
        if opening := self._opening():
            said["break"] = _said(opening)
        id_ = self._record("dice", self.standing, said)
        self._unwritten = (id_, ev.DiceThrown(thrower, faces))

    def written(self, id_: int, now_us: int) -> None:
        """Show the throw that the disk has now."""
        if self._unwritten is None or id_ < self._unwritten[0]:
            return
        thrown = self._unwritten[1]
        self._unwritten = None
        self._emit(thrown)
        self._words = [(panel.thrown(thrown.faces), SHOW_THROW_US)]
        self.opening = self._opening()
        if self.opening:
            self._emit(self.opening)
            self._words.append(_word(self.opening))
        self._shown_until_us = now_us + self._words[0][1]

    def remind(self, now_us: int) -> None:
        """Show the break once more: somebody asks, or the display was dark."""
        if self.opening:
            self._words = [_word(self.opening)]
            self._shown_until_us = now_us + SHOW_BREAK_US

    @property
    def pointing(self) -> bool:
        """Tell whether the display shows the break now."""
        return bool(self._words) and self.opening is not None and len(self._words) == 1

    def say(self, word: str, now_us: int) -> None:
        """Show a word for a while."""
        self._words = [(word, SHOW_THROW_US)]
        self._shown_until_us = now_us + SHOW_THROW_US

    def resume(self, now_us: int) -> None:
        """Show where play begins once more after a halt: no dice are asked for that would lead there."""
        if isinstance(self.opening, ev.HandsServed):
            self.remind(now_us)

    def word(self) -> str | None:
        """Return what the display shows of the hand, None when it has nothing to say."""
        if self._words:
            return self._words[0][0]
        thrower = self._thrower()
        if self.standing is None or thrower is None or self._unwritten:
            return None
        if not self.standing.throws:
            return panel.DICE
        return panel.next_thrower((thrower - self.standing.dealer) % 4)

    def tick(self, now_us: int) -> None:
        """Change what is shown when its time is over."""
        while self._shown_until_us is not None and self._shown_until_us <= now_us:
            self._words.pop(0)
            self._shown_until_us = self._shown_until_us + self._words[0][1] if self._words else None

    def next_deadline(self) -> int | None:
        """Return when the display changes."""
        return self._shown_until_us

    def _ask(self) -> None:
        if self.standing is None:
            return
        self._draws += 1
        self._asked = self._draws
        count = dice.bytes_wanted(ruleset.load(self.standing.order.rule).dice.count)
        self._emit(ev.EntropyWanted(self._draws, count))

    def _thrower(self) -> int | None:
        if self.standing is None:
            return None
        order, dealer = self.standing.order, self.standing.dealer
        return serving.next_thrower(ruleset.load(order.rule), order.tiles, dealer, self.standing.throws)

    def _opening(self) -> ev.BreakAnnounced | ev.HandsServed | None:
        if self.standing is None or self._thrower() is not None:
            return None
        order, dealer, throws = self.standing.order, self.standing.dealer, self.standing.throws
        rule = ruleset.load(order.rule)
        if served := serving.served(rule, order.tiles):
            at = serving.opening(rule, served, dealer, throws)
            return ev.HandsServed(at.wall, at.stack, _side(at.wall, dealer), served.hand)
        dealt = deal(rule, dealer, throws)
        takes = () if rule.gear else tuple(tuple(str(p) for p in grab) for grab in dealt.grabs)
        at = dealt.opening
        return ev.BreakAnnounced(at.wall, at.stack, _side(at.wall, dealer), takes)


def _side(wall: int, dealer: int) -> str:
    """Return the machine side of a wall that is counted from the dealer."""
    return f"S{(wall + dealer) % 4 + 1}"


def _said(opening: ev.BreakAnnounced | ev.HandsServed) -> dict[str, Any]:
    return {"wall": opening.wall, "stack": opening.stack, "side": opening.side}


def _word(opening: ev.BreakAnnounced | ev.HandsServed) -> tuple[str, int]:
    return panel.broken(opening.wall, opening.stack), SHOW_BREAK_US
