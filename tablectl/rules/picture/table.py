"""The table from above: walls, who takes what, the break, and which way it goes on."""

from collections.abc import Sequence
from itertools import groupby, pairwise
from math import dist

from tablectl.rules.picture.ink import Sheet, letters, number
from tablectl.rules.picture.plan import DEPTH, Box, Plan, Point
from tablectl.rules.picture.view import View
from tablectl.rules.seating import seat_mark, seat_name, side
from tablectl.rules.walls import SIDES, Place
from tablectl.texts import TEXTS

COUNTED, ONWARD = -24.0, -58.0  # the lanes between the walls: the stacks counted off, where it goes on
ARROW_STACKS = 5
DIE_PITCH = 72.0


def draw_table(sheet: Sheet, view: View) -> None:
    """Draw the table, its middle at (0, 0)."""
    plan = Plan(view.rule.walls)
    half = plan.length / 2
    sheet.box(Box(-half, -half, plan.length, plan.length), "felt", rx=16)
    for wall in range(SIDES):
        _wall(sheet, view, plan, wall)
    _labels(sheet, view, plan)
    _break(sheet, view, plan)
    if view.dealt:
        _onward(sheet, view, plan)
    _middle(sheet, view, plan.length + 4 * ONWARD)


def _wall(sheet: Sheet, view: View, plan: Plan, wall: int) -> None:
    stacks = range(1, plan.walls.stacks(wall) + 1)
    for stack in stacks:
        sheet.words(plan.number(wall, stack), str(stack), 15, "soft m")
        for place in plan.walls.stack(wall, stack):
            _tile(sheet, view, plan, place)
    seat = (wall - view.dealer) % SIDES
    turn = (0, -90, 0, 90)[wall]
    if wall in view.rule.players:
        name = seat_name(view.rule, view.dealer, wall, view.lang)
        x, y = plan.spot(wall, plan.length / 2, DEPTH + 56)
        wide = 320.0
        size = (wide, 42.0) if wall % 2 == 0 else (42.0, wide)
        sheet.box(Box(x - size[0] / 2, y - size[1] / 2, *size), f"seat{seat}", rx=21)
        text = f"{name} · {side(wall)}"
        sheet.words((x, y), text, min(23, (wide - 20) / letters(text)), f"b m on{seat}", turn)
    elif stacks:
        sheet.words(plan.spot(wall, plan.length / 2, DEPTH + 56), side(wall), 23, "soft m", turn)


def _tile(sheet: Sheet, view: View, plan: Plan, place: Place) -> None:
    box, use = plan.tile(place), view.use(place)
    values: dict[str, str | float] = {"data_place": str(place), "data_use": use}
    css = "left" if use == "left" else "live"
    if use == "dealt":
        grab = view.taken_by[place]
        css = f"seat{(grab.seat - view.dealer) % SIDES}"
        values |= {"data_seat": str(grab.seat), "data_grab": str(grab.number)}
    sheet.box(box, css, **values)
    x, y = box.middle
    if use == "left":
        reach = 11
        sheet.add("path", "hatch", d=f"M{number(x - reach)} {number(y + reach)}l{2 * reach} {-2 * reach}")
    elif use == "replacement" and view.after:
        nth = view.after.replacements.index(place) + 1
        sheet.words((x, y), TEXTS("picture.replaced", view.lang, n=nth), 16, "b m ink")
    elif use == "indicator":
        sheet.add("circle", "ring", cx=x, cy=y, r=10)


def _labels(sheet: Sheet, view: View, plan: Plan) -> None:
    """Write who takes each part of a wall, and when, once on all that lies together."""
    for grab in view.grabs:
        seat = (grab.seat - view.dealer) % SIDES
        mark = seat_mark(view.rule, view.dealer, grab.seat, view.lang)
        for together in _together(grab.places):
            sheet.mark(plan.block(together), f"{grab.number}{mark}", 28, seat)


def _together(places: tuple[Place, ...]) -> list[tuple[Place, ...]]:
    """Return the tiles in rectangles: runs of neighbouring stacks of one wall that are taken alike."""
    layers: dict[tuple[int, int], str] = {}
    for place in places:
        spot = place.wall, place.stack
        layers[spot] = layers.get(spot, "") + place.layer
    runs = groupby(enumerate(sorted(layers)), lambda it: (it[1][0], it[1][1] - it[0], layers[it[1]]))
    spots = [{spot for _, spot in run} for _, run in runs]
    return [tuple(p for p in places if (p.wall, p.stack) in run) for run in spots]


def _break(sheet: Sheet, view: View, plan: Plan) -> None:
    wall, stack = view.first
    at = plan.edge(wall, stack - 1)
    if view.passed:
        line = plan.lane(view.passed, COUNTED)
        sheet.arrow(line)
        badge = _badge_spot(line)
        sheet.add("circle", "ink", cx=line[0][0], cy=line[0][1], r=6)
        sheet.add("circle", "badge", cx=badge[0], cy=badge[1], r=19)
        sheet.words(badge, str(view.opening.passed), 22, "b m ink")
    (x1, y1), (x2, y2) = plan.spot(wall, at, -9), plan.spot(wall, at, DEPTH + 5)
    sheet.add("line", "cut", x1=x1, y1=y1, x2=x2, y2=y2)


def _badge_spot(line: list[Point]) -> Point:
    """Return the middle of a line, or its beginning where a badge in the middle would hide it."""
    steps = list(pairwise(line))
    lengths = [dist(*step) for step in steps]
    left = sum(lengths) / 2
    if left < 50:
        return line[0]
    for ((x0, y0), (x1, y1)), length in zip(steps, lengths, strict=True):
        if left <= length:
            return x0 + (x1 - x0) * left / length, y0 + (y1 - y0) * left / length
        left -= length
    return line[-1]


def _onward(sheet: Sheet, view: View, plan: Plan) -> None:
    if view.dealt is None or view.after is None:
        return
    if view.after.live:
        first = view.after.live[0]
        sheet.box(plan.tile(first), "ring", data_next=str(first))
        start = plan.spot(first.wall, plan.edge(first.wall, first.stack - 0.5), -8)
        sheet.arrow([start, *plan.lane(_stacks(view.after.live)[1:], ONWARD)])
    if view.from_tail:
        tail = _stacks(view.dealt.tail)[::-1]
        sheet.arrow(plan.lane(tail, ONWARD)[::-1], dashes="9 6")


def _stacks(places: tuple[Place, ...]) -> list[tuple[int, int]]:
    """Return the first few stacks that hold these tiles."""
    return list(dict.fromkeys((place.wall, place.stack) for place in places))[:ARROW_STACKS]


def _middle(sheet: Sheet, view: View, width: float) -> None:
    """Show who threw what, and the break in words."""
    y = -62.0 * len(view.throws) - 20
    for throw, thrower in zip(view.throws, view.opening.throwers, strict=True):
        name = seat_name(view.rule, view.dealer, view.seat(thrower), view.lang)
        sheet.words((0, y), name, 22, "soft m")
        _dice(sheet, throw, y + 52)
        y += 124
    y += 22
    for text in middle_words(view):
        sheet.words((0, y), text, min(30, width / letters(text)), "b m ink")
        y += 42


def middle_words(view: View) -> tuple[str, ...]:
    """Return the break in two short lines."""
    wall, stack = view.first
    name = seat_name(view.rule, view.dealer, wall, view.lang)
    return (
        TEXTS("picture.wall", view.lang, name=name, side=side(wall)),
        TEXTS("picture.first", view.lang, stack=stack),
    )


_PIPS = {
    1: ((0, 0),),
    2: ((-1, -1), (1, 1)),
    3: ((-1, -1), (0, 0), (1, 1)),
    4: ((-1, -1), (1, -1), (-1, 1), (1, 1)),
    5: ((-1, -1), (1, -1), (0, 0), (-1, 1), (1, 1)),
    6: ((-1, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (1, 1)),
}


def _dice(sheet: Sheet, throw: Sequence[int], y: float) -> None:
    left = -DIE_PITCH * (len(throw) - 1) / 2
    for n, face in enumerate(throw):
        x = left + DIE_PITCH * n
        sheet.box(Box(x - 30, y - 30, 60, 60), "live", rx=11)
        for px, py in _PIPS[face]:
            sheet.add("circle", "ink", cx=x + 16 * px, cy=y + 16 * py, r=5.6)
