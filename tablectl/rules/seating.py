"""What the seats round a table are called in one hand."""

from tablectl.rules.model import RuleSet
from tablectl.rules.walls import SIDES
from tablectl.texts import TEXTS


def side(seat: int) -> str:
    """Return the machine's name of a seat's side."""
    return f"S{seat + 1}"


def seat_name(rule: RuleSet, dealer_seat: int, seat: int, lang: str) -> str:
    """Return what people call a seat: its wind, or where it is seen from the dealer if four do not play."""
    return _text("name", rule, dealer_seat, seat, lang)


def seat_mark(rule: RuleSet, dealer_seat: int, seat: int, lang: str) -> str:
    """Return a seat's name in one letter, as it is written on a tile."""
    return _text("mark", rule, dealer_seat, seat, lang)


def _text(what: str, rule: RuleSet, dealer_seat: int, seat: int, lang: str) -> str:
    # Winds go by the turn; with a seat empty they would name a wall by somebody who sits elsewhere.
    family = "wind" if len(rule.players) == SIDES else "place"
    return TEXTS(f"seating.{family}.{what}.{(seat - dealer_seat) % SIDES}", lang)
