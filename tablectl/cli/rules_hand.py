"""A break and a deal for a person, in words, and for a program; what a person writes of dice and dealer."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tablectl.cli.columns import folded
from tablectl.errors import TablectlError
from tablectl.rules.deal import next_thrower
from tablectl.rules.model import From, RuleSet
from tablectl.rules.picture import View
from tablectl.rules.seating import seat_name, side
from tablectl.rules.walls import SIDES, Place
from tablectl.texts import TEXTS

Throws = tuple[tuple[int, ...], ...]

_TAIL_SHOWN = 16  # four kongs and more; the rest of a tail follows the same way
_BETWEEN_FACES = re.compile(r"[\s,+，、]+")


def read_throws(written: Sequence[str]) -> Throws:
    """Read throws such as "3,4"."""
    return tuple(_read_throw(each) for each in written)


def _read_throw(written: str) -> tuple[int, ...]:
    try:
        return tuple(int(face) for face in _BETWEEN_FACES.split(written.strip()))
    except ValueError:
        raise TablectlError("rule_page.bad_dice", found=written) from None


def read_dealer(rule: RuleSet, written: str | None) -> int:
    """Read a machine seat such as "0" or "S1"; without one it is the first that plays."""
    if written is None:
        return rule.players[0]
    seat, of_side = written.strip().upper(), written.strip().upper().removeprefix("S")
    try:
        return int(of_side) - (seat != of_side)
    except ValueError:
        raise TablectlError("rule_page.bad_dealer", found=written) from None


def check_complete(rule: RuleSet, dealer: int, throws: Throws) -> None:
    """Refuse throws that are too few, and say who throws next."""
    if (thrower := next_thrower(rule, dealer, throws)) is not None:
        values = {"wanted": rule.dice.throws, "done": len(throws), "side": side(thrower)}
        raise TablectlError("rule_page.throw_next", id=rule.id, **values)


def check_replaced(rule: RuleSet, kongs: int, flowers: int) -> None:
    """Refuse replacements that the rule does not know."""
    for what, n, comes_from in (("kong", kongs, rule.tail.kong), ("flower", flowers, rule.tail.flower)):
        if n and comes_from is From.NONE:
            raise TablectlError(f"rule_page.not_replaced.{what}", id=rule.id, n=n)


def break_facts(view: View) -> dict[str, Any]:
    """Return a break with machine seats, and as it is counted from the dealer."""
    relative = asdict(view.opening)
    passed, stack = relative.pop("passed"), relative.pop("stack")
    return {
        "rule": view.rule.id,
        "dealer": view.dealer,
        "dice": [list(throw) for throw in view.throws],
        "throwers": [view.seat(seat) for seat in view.opening.throwers],
        "counted_wall": view.seat(view.opening.counted_wall),
        "passed": passed,
        "wall": view.seat(view.opening.wall),
        "stack": stack,
        "from_dealer": {**relative, "throwers": list(view.opening.throwers)},
    }


def deal_facts(view: View, kongs: int, flowers: int) -> dict[str, Any]:
    """Return a deal and what becomes of the other tiles."""
    opening = break_facts(view)
    asked = {name: opening.pop(name) for name in ("rule", "dealer", "dice")}
    dealt, after = view.after_deal()
    return {
        **asked,
        "kongs": kongs,
        "flowers": flowers,
        "break": opening,
        "seats": [
            {
                "seat": seat,
                "from_dealer": (seat - view.dealer) % SIDES,
                "tiles": len(dealt.grabs[seat]),
                "grabs": [
                    {"number": grab.number, "places": _names(grab.places)}
                    for grab in view.grabs
                    if grab.seat == seat
                ],
            }
            for seat in view.turn
        ],
        "next_draw": str(after.live[0]) if after.live else None,
        "live": _names(after.live),
        "replacements": _names(after.replacements),
        "left": _names(after.left),
        "indicators": _names(after.indicators),
        "drawn_last": _names(after.turned if after.drawn_last else ()),
        "tail": _names(dealt.tail),
    }


def break_words(view: View) -> list[str]:
    """Return a break as lines for a person."""
    opening = view.opening
    lines = [
        _said(
            view,
            "throw",
            seat=_seat(view, view.seat(thrower)),
            dice=f"{' + '.join(map(str, throw))} = {sum(throw)}",
        )
        for thrower, throw in zip(opening.throwers, view.throws, strict=True)
    ]
    counted = view.seat(opening.counted_wall)
    lines.append(_said(view, "counted", passed=opening.passed, seat=_seat(view, counted)))
    if opening.wall != opening.counted_wall:
        lines.append(_said(view, "corner"))
    wall, stack = view.first
    return [*lines, _said(view, "break", seat=_seat(view, wall), stack=stack)]


def deal_words(view: View) -> list[str]:
    """Return a deal and what becomes of the other tiles as lines for a person."""
    dealt, after = view.after_deal()
    lines = [*break_words(view), "", *folded("", _said(view, "places"), 0), ""]
    for seat in view.turn:
        lines.append(_said(view, "takes", seat=_seat(view, seat), n=len(dealt.grabs[seat])))
        lines += [
            f"  {grab.number:>2}  {' '.join(_names(grab.places))}" for grab in view.grabs if grab.seat == seat
        ]
    lines.append("")
    if after.turned:
        said = "turned_last" if after.drawn_last else "turned"
        lines += folded("", _said(view, said, places=" ".join(_names(after.turned))), 0)
    if after.live:
        first, last = after.live[0], after.live[-1]
        lines.append(_said(view, "next", place=first))
        lines.append(_said(view, "live", n=len(after.live), first=first, last=last))
    else:
        lines.append(_said(view, "no_next"))
    if view.from_tail:
        tail = [place for place in dealt.tail if place not in after.turned]
        shown = " ".join(_names(tail[:_TAIL_SHOWN])) + " …" * (len(tail) > _TAIL_SHOWN)
        lines += folded("", _said(view, "tail", places=shown), 0)
    if after.replacements:
        taken = " ".join(_names(after.replacements))
        lines += folded("", _said(view, "replaced", n=len(after.replacements), places=taken), 0)
    if after.left:
        left = " ".join(_names(after.left))
        lines += folded("", _said(view, "left", n=len(after.left), places=left), 0)
    else:
        lines.append(_said(view, "left_none"))
    return lines


def _said(view: View, key: str, **values: object) -> str:
    return TEXTS(f"rule_hand.{key}", view.lang, **values)


def _seat(view: View, seat: int) -> str:
    name = seat_name(view.rule, view.dealer, seat, view.lang)
    return _said(view, "seat", name=name, side=side(seat))


def _names(places: Sequence[Place]) -> list[str]:
    return [str(place) for place in places]
