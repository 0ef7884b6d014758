"""What the marks of the picture mean."""

from collections.abc import Callable
from dataclasses import dataclass

from tablectl.rules.picture.ink import Sheet
from tablectl.rules.picture.plan import Box
from tablectl.rules.picture.view import View
from tablectl.rules.seating import seat_mark
from tablectl.texts import TEXTS


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the legend: draws its mark at a spot, says what it means."""

    mark: Callable[[Sheet, float, float], object]
    text: str


def legend(view: View) -> list[Row]:
    """Return the lines for what this picture shows, and for nothing else."""

    def said(key: str, **values: object) -> str:
        return TEXTS(f"picture.legend.{key}", view.lang, **values)

    rows = [Row(_count, said("counted", n=view.opening.passed)), Row(_cut, said("cut"))]
    if view.after is None or view.dealt is None:
        return [*rows, Row(_stack, said("layers"))]
    if view.grabs:
        first = view.grabs[0]
        mark = f"1{seat_mark(view.rule, view.dealer, first.seat, view.lang)}"
        rows.append(Row(_dealt(mark), said("grab", mark=mark)))
    if view.after.live:
        rows.append(Row(_next, said("live", n=len(view.after.live))))
    if view.from_tail:
        rows.append(Row(_tail, said("tail")))
    if view.after.replacements:
        rows.append(Row(_replaced(view.lang), said("replaced", n=len(view.after.replacements))))
    if view.after.left:
        rows.append(Row(_left, said("left", n=len(view.after.left))))
    if view.after.turned:
        rows.append(Row(_indicator, said("drawn_last" if view.after.drawn_last else "indicator")))
    return [*rows, Row(_stack, said("layers"))]


def draw_legend(sheet: Sheet, rows: list[Row], left: float, top: float, step: float) -> None:
    """Write the legend, a row below the other."""
    for n, row in enumerate(rows):
        y = top + n * step
        row.mark(sheet, left, y)
        sheet.words((left + 96, y), row.text, 21)


def _box(x: float, y: float) -> Box:
    return Box(x + 22, y - 16, 36, 32)


def _count(sheet: Sheet, x: float, y: float) -> None:
    sheet.add("circle", "ink", cx=x + 6, cy=y, r=6)
    sheet.arrow([(x + 6, y), (x + 80, y)])
    sheet.add("circle", "badge", cx=x + 38, cy=y, r=13)
    sheet.words((x + 38, y), "n", 16, "b m ink")


def _cut(sheet: Sheet, x: float, y: float) -> None:
    sheet.add("line", "cut", x1=x + 40, y1=y - 14, x2=x + 40, y2=y + 14)


def _stack(sheet: Sheet, x: float, y: float) -> None:
    sheet.box(Box(x + 2, y - 16, 36, 32), "live")
    sheet.words((x + 20, y), "T", 17, "m soft")
    sheet.box(Box(x + 42, y - 16, 36, 32), "live")
    sheet.words((x + 60, y), "B", 17, "m soft")


def _dealt(mark: str) -> Callable[[Sheet, float, float], object]:
    def draw(sheet: Sheet, x: float, y: float) -> None:
        sheet.box(_box(x, y), "seat0")
        sheet.mark(_box(x, y), mark, 17, 0)

    return draw


def _next(sheet: Sheet, x: float, y: float) -> None:
    sheet.box(Box(x, y - 16, 34, 32), "live")
    sheet.box(Box(x, y - 16, 34, 32), "ring")
    sheet.arrow([(x + 40, y), (x + 80, y)])


def _tail(sheet: Sheet, x: float, y: float) -> None:
    sheet.arrow([(x + 80, y), (x, y)], dashes="9 6")


def _replaced(lang: str) -> Callable[[Sheet, float, float], object]:
    def draw(sheet: Sheet, x: float, y: float) -> None:
        sheet.box(_box(x, y), "live")
        sheet.words((x + 40, y), TEXTS("picture.replaced", lang, n=1), 16, "b m ink")

    return draw


def _left(sheet: Sheet, x: float, y: float) -> None:
    sheet.box(_box(x, y), "left")
    sheet.add("path", "hatch", d=f"M{x + 29:.1f} {y + 11:.1f}l22 -22")


def _indicator(sheet: Sheet, x: float, y: float) -> None:
    sheet.box(_box(x, y), "live")
    sheet.add("circle", "ring", cx=x + 40, cy=y, r=10)
