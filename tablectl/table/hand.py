"""The set that stands: its dice, thrown by the ruled seats after the walls stand, and its break."""

from collections.abc import Callable
from typing import Any

from tablectl.rules import ruleset
from tablectl.rules.deal import deal, next_thrower
from tablectl.table import dice, panel
from tablectl.table import events as ev
from tablectl.table.intents import Intent
from tablectl.table.memory import Standing

SHOW_THROW_US = 3_000_000
SHOW_BREAK_US = 30_000_000
_SEATS = {Intent.DICE_EAST: 0, Intent.DICE_SOUTH: 1, Intent.DICE_WEST: 2, Intent.DICE_NORTH: 3}


class Hand:
    """Dice and break of the standing set; takes entropy, never a face that somebody chose."""

    def __init__(
        self,
        standing: Standing | None,
        emit: Callable[[Any], None],
        journal: Callable[[str, dict[str, Any]], int],
    ) -> None:
        self.standing: Standing | None = None
        self.opening: ev.BreakAnnounced | None = None
        self._emit = emit
        self._journal = journal
        self._asked: int | None = None
        self._draws = 0
        self._shown_until_us: int | None = None
        self._words: list[tuple[str, int]] = []
        self.stand(standing)

    def stand(self, standing: Standing | None) -> None:
        """A set stands now, or none does."""
        self.standing = standing
        self.opening = self._opening() if standing and self._thrower() is None else None
        self._asked = None
        self._words = []
        self._shown_until_us = None

    def throw(self, intent: Intent) -> str | None:
        """Throw for a seat; return why not (a text key) where the dice stay."""
        if self.standing is None:
            return "refuse.no_walls"
        thrower = self._thrower()
        if thrower is None:
            return "refuse.dice_done"
        if self._asked is not None:
            return "refuse.dice_rolling"
        if intent in _SEATS and _SEATS[intent] != (thrower - self.standing.dealer) % 4:
            return "refuse.not_your_throw"
        self._ask()
        return None

    def entropy(self, id_: int, data: bytes, now_us: int) -> None:
        """Turn random bytes into the throw they were asked for."""
        if id_ != self._asked or self.standing is None:
            return
        rule = ruleset.load(self.standing.order.rule)
        thrower = self._thrower()
        faces = dice.faces(data, rule.dice.count)
        if thrower is None:
            return
        if faces is None:
            self._ask()  # too many bytes were rejected: no throw was made yet
            return
        self._asked = None
        dealer, throws = self.standing.dealer, (*self.standing.throws, faces)
        self.standing = Standing(self.standing.order, dealer, throws)
        self._emit(ev.DiceThrown(thrower, faces))
        self._journal("dice", {"seat": thrower, "faces": list(faces), "throw": len(throws)})
        self._words = [(panel.thrown(faces), SHOW_THROW_US)]
        if self._thrower() is None:
            self.opening = self._opening()
            if self.opening:
                self._emit(self.opening)
                data_ = {"wall": self.opening.wall, "stack": self.opening.stack, "side": self.opening.side}
                self._journal("break", data_)
                self._words.append((panel.broken(self.opening.wall, self.opening.stack), SHOW_BREAK_US))
        self._shown_until_us = now_us + self._words[0][1]

    def word(self) -> str | None:
        """Return what the display shows of the hand, None when it has nothing to say."""
        if self._words:
            return self._words[0][0]
        thrower = self._thrower()
        if self.standing is None or thrower is None:
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
        rule = ruleset.load(self.standing.order.rule)
        return next_thrower(rule, self.standing.dealer, self.standing.throws)

    def _opening(self) -> ev.BreakAnnounced | None:
        if self.standing is None:
            return None
        rule = ruleset.load(self.standing.order.rule)
        dealt = deal(rule, self.standing.dealer, self.standing.throws)
        side = (dealt.opening.wall + self.standing.dealer) % 4 + 1
        takes = tuple(tuple(str(p) for p in grab) for grab in dealt.grabs)
        return ev.BreakAnnounced(dealt.opening.wall, dealt.opening.stack, f"S{side}", takes)
