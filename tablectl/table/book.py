"""The match at this table: how each hand ended, and who deals the next one.

What is entered here chooses the dealer and the lamps, and nothing about wash, lift, dice or break.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from tablectl.errors import TablectlError
from tablectl.rules import ruleset
from tablectl.rules.deal import seat_of_sum
from tablectl.rules.dealer import Anew, Result, next_dealer
from tablectl.rules.match import Match, advance, begin
from tablectl.table import dice, panel
from tablectl.table import events as ev
from tablectl.table.hand import Hand
from tablectl.table.memory import Memory, Play, Standing

if TYPE_CHECKING:
    from tablectl.rules.model import RuleSet

FIRST_DRAW = -1  # ids of draws count down from here: those of throws count up from 1


class Table(Protocol):
    """What the book sees of the controller, and asks of it."""

    memory: Memory
    hand: Hand
    now_us: int

    def emit(self, effect: Any) -> None:
        """Let an effect out."""
        ...

    def remember(self, **changes: Any) -> None:
        """Change the memory."""
        ...

    def journal(self, kind: str, data: dict[str, Any]) -> int:
        """Write an entry down."""
        ...


class Book:
    """Takes in how hands end; `refuse(source, reason, values)` tells why one is not taken."""

    def __init__(self, table: Table, refuse: Callable[[str, str, dict[str, Any]], None]) -> None:
        self._table = table
        self._refuse = refuse
        self._draw = FIRST_DRAW + 1
        self._waiting: tuple[str, Result, Anew] | None = None  # a hand whose next dealer chance names

    def take(self, source: str, result: Result) -> None:
        """Take in how the hand of the standing set ended."""
        standing = self._table.memory.standing
        if standing is None:
            self._refuse(source, "refuse.no_hand", {})
            return
        if standing.ended or self._waiting:
            self._refuse(source, "refuse.hand_ended", {})
            return
        rule = ruleset.load(standing.order.rule)
        if rule.gear:
            self._refuse(source, "refuse.gear_hand", {"gear": rule.gear})
            return
        try:
            dealer = next_dealer(rule, standing.dealer, result)
        except TablectlError as error:
            self._refuse(source, error.key, error.values)
            return
        if isinstance(dealer, Anew):
            self._waiting = (source, result, dealer)
            self._ask(rule)
        else:
            self._go_on(source, rule, standing, result)

    def entropy(self, id_: int, data: bytes) -> None:
        """Turn random bytes into the next dealer, where dice or chance name him."""
        standing = self._table.memory.standing
        if id_ != self._draw or self._waiting is None or standing is None:
            return
        source, result, by = self._waiting
        rule = ruleset.load(standing.order.rule)
        faces = dice.faces(data, rule.dice.count) if by is Anew.DICE else None
        seat = dice.choice(data, len(rule.players)) if by is Anew.RANDOM else None
        if faces is None and seat is None:
            self._ask(rule)  # too many bytes were rejected
            return
        self._waiting = None
        if faces is not None:
            chosen = seat_of_sum(rule.players, standing.dealer, sum(faces))
            self._table.emit(ev.DiceThrown(standing.dealer, faces))
        else:
            chosen = rule.players[seat or 0]
        self._go_on(source, rule, standing, result, chosen, faces)

    def _ask(self, rule: "RuleSet") -> None:
        self._draw -= 1
        self._table.emit(ev.EntropyWanted(self._draw, dice.bytes_wanted(max(2, rule.dice.count))))

    def _go_on(
        self,
        source: str,
        rule: "RuleSet",
        standing: Standing,
        result: Result,
        chosen: int | None = None,
        faces: tuple[int, ...] | None = None,
    ) -> None:
        table = self._table
        before = self._match(rule, standing)
        after = advance(rule, before, result, chosen)
        following = begin(rule, after.dealer) if after.over else after
        ended = Standing(standing.order, standing.dealer, standing.throws, ended=True)
        said = {
            "source": source,
            "wins": [{"winners": list(w.winners), "discarder": w.discarder} for w in result.wins],
            "ready": sorted(result.ready),
            "faces": list(faces) if faces else None,
            "match_over": after.over,
        }
        table.hand.stand(ended)
        table.memory = table.memory.but(
            dealer=following.dealer, standing=ended, play=Play(rule.id, following)
        )
        table.journal("hand", {**said, "memory": table.memory.to_json()})
        wind, deal, streak = following.round_wind, following.deal, following.streak
        table.emit(ev.HandOver(following.dealer, wind, deal, streak, following.hand, after.over))
        table.hand.say(panel.deal(wind, deal, streak), table.now_us)

    def _match(self, rule: "RuleSet", standing: Standing) -> Match:
        """Return the match that this hand belongs to: a new one where people or rule have changed."""
        play = self._table.memory.play
        known = play is not None and play.rule == rule.id and play.match.dealer == standing.dealer
        return play.match if play and known else begin(rule, standing.dealer)
