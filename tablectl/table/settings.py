"""What is chosen for the next wash: rule or gear; and who deals."""

from dataclasses import asdict
from typing import Any, Protocol

from tablectl.errors import TablectlError
from tablectl.rules import gears, ruleset, serving
from tablectl.table import events as ev
from tablectl.table.hand import Hand
from tablectl.table.memory import Memory, Standing

DIGITS = 2
PAUSE_US = 2_500_000  # after the last digit


class Table(Protocol):
    """What the settings see of the controller, and ask of it."""

    memory: Memory
    board: ev.Hello | None
    hand: Hand
    now_us: int

    def emit(self, effect: Any) -> None:
        """Let an effect out."""
        ...

    def remember(self, **changes: Any) -> None:
        """Change the memory."""
        ...


class Settings:
    """Chooses; what cannot be chosen is told by a reason and its values."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._typed = ""
        self._typer = ""
        self._until_us: int | None = None

    @property
    def typed(self) -> str:
        """Return the digits of a rule's number so far."""
        return self._typed

    def choose(self, rule_id: str) -> ev.Unfit | None:
        """Choose a rule or a gear; return why not."""
        try:
            ruleset.load(rule_id)
        except TablectlError as error:
            return ev.Unfit(error.key, error.values)
        if misfit := self.misfit(rule_id):
            return misfit
        self._table.remember(rule=rule_id)
        # The wash under way keeps its own order.
        self._table.emit(ev.RuleChosen(rule_id, next_wash=self._table.memory.wash is not None))
        return None

    def step(self, step: int, of_gears: bool = False) -> list[ev.Unfit]:
        """Choose the next rule or gear that fits, in the order of the list; return those that were passed."""
        ids = tuple(map(gears.gear_id, gears.gears())) if of_gears else ruleset.available()
        at = ids.index(self._table.memory.rule) if self._table.memory.rule in ids else -1 if step > 0 else 0
        passed = []
        for n in range(1, len(ids) + 1):
            rule_id = ids[(at + n * step) % len(ids)]
            if rule_id == self._table.memory.rule:
                break
            misfit = self.choose(rule_id)
            if misfit is None:
                break
            passed.append(misfit)
        return passed

    def digit(self, digit: int, source: str, now_us: int) -> ev.Unfit | None:
        """Take in a digit of a rule's number; two of them choose, or one and a pause."""
        self._typed += str(digit)
        self._typer = source
        self._until_us = now_us + PAUSE_US
        return self._by_number() if len(self._typed) == DIGITS else None

    def tick(self, now_us: int) -> tuple[str, ev.Unfit] | None:
        """Choose by what was typed before the pause; return who typed and why it cannot be."""
        if self._until_us is None or self._until_us > now_us:
            return None
        unfit = self._by_number()
        return (self._typer, unfit) if unfit else None

    def next_deadline(self) -> int | None:
        """Return when the pause is over."""
        return self._until_us

    def misfit(self, rule_id: str) -> ev.Unfit | None:
        """Return why a rule does not fit this table."""
        board = self._table.board
        if board is None:
            return None
        misfit = serving.misfit(ruleset.load(rule_id), board.description.named_mouths)
        return ev.Unfit("refuse.rule_does_not_fit", asdict(misfit)) if misfit else None

    def next_dealer(self) -> str | None:
        """Let the next player deal; return why not."""
        table = self._table
        standing = table.hand.standing
        if standing and (standing.throws or table.hand.rolling):
            return "refuse.dealer_after_dice"
        players = ruleset.load(standing.order.rule if standing else table.memory.rule).players
        at = players.index(table.memory.dealer) if table.memory.dealer in players else -1
        dealer = players[(at + 1) % len(players)]
        if standing:
            standing = Standing(standing.order, dealer)
            table.hand.stand(standing)
        table.remember(dealer=dealer, standing=standing, play=None)  # whoever is first: a match begins
        table.hand.begin(table.now_us)
        return None

    def _by_number(self) -> ev.Unfit | None:
        number = int(self._typed)
        self._typed, self._until_us = "", None
        ids = ruleset.numbered()
        if not 1 <= number <= len(ids):
            return ev.Unfit("refuse.no_rule_number", {"number": number, "last": len(ids)})
        return self.choose(ids[number - 1])
