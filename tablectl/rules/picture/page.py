"""The page round the table: title above, legend below."""

from tablectl.rules.picture.ink import Sheet, letters, style
from tablectl.rules.picture.legend import draw_legend, legend
from tablectl.rules.picture.plan import Box, Plan
from tablectl.rules.picture.table import draw_table
from tablectl.rules.picture.view import View
from tablectl.rules.seating import side
from tablectl.texts import TEXTS

HEAD = 96.0
ROW = 40.0
FOOT = 24.0


def draw(view: View) -> str:
    """Return the picture as an SVG document."""
    half = Plan(view.rule.walls).half
    rows = legend(view)
    top, height = -half - HEAD, 2 * half + HEAD + ROW * len(rows) + FOOT
    sheet = Sheet(-half, top, 2 * half, height)
    name = view.rule.names.zh if view.lang == "zh" else view.rule.names.en
    sheet.add("title", "", f"{name}: {_hand(view)}")
    sheet.add("style", "", style())
    sheet.box(Box(-half, top, 2 * half, height), "paper", rx=24)
    sheet.words((0, top + 40), name, min(36.0, 1.8 * half / letters(name)), "b m ink")
    sheet.words((0, top + 82), _hand(view), 24, "m ink")
    draw_table(sheet, view)
    draw_legend(sheet, rows, -half + 40, half + ROW / 2, ROW)
    return sheet.xml()


def _hand(view: View) -> str:
    throws = ", ".join(f"{' + '.join(map(str, throw))} = {sum(throw)}" for throw in view.throws)
    dealer = side(view.dealer)
    return TEXTS("picture.hand", view.lang, throws=throws, dealer=dealer)
