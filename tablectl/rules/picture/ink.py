"""How marks are made: SVG elements, and the colours of the picture in light and dark."""

from collections.abc import Sequence
from math import dist
from xml.etree import ElementTree

from tablectl.rules.picture.plan import Box, Point

# The palette of Okabe and Ito, which people with any kind of colour vision tell apart; from the dealer on.
SEATS = ("#E69F00", "#0072B2", "#009E73", "#CC79A7")
ON_SEATS = ("#000000", "#FFFFFF", "#000000", "#000000")

_LIGHT = {
    "paper": "#FBFAF6", "ink": "#1C1C1C", "soft": "#5E5E5E", "felt": "#EFEBE0",
    "live": "#FFFFFF", "edge": "#A39E90", "left": "#A9A59A", "left-line": "#6D695F",
}  # fmt: skip
_DARK = {
    "paper": "#181A1B", "ink": "#F2F2F2", "soft": "#B4B4B4", "felt": "#24282A",
    "live": "#3A4043", "edge": "#7C8589", "left": "#565D61", "left-line": "#9AA3A8",
}  # fmt: skip


def style() -> str:
    """Return the style sheet: plain classes, and the dark ones where the reader's screen is dark."""
    seats = "".join(
        f".seat{n}{{fill:{fill}}}.on{n}{{fill:{on}}}"
        for n, (fill, on) in enumerate(zip(SEATS, ON_SEATS, strict=True))
    )
    return (
        "text{font-family:system-ui,'Noto Sans CJK SC','PingFang SC','Microsoft YaHei',sans-serif}"
        ".b{font-weight:700}.m{text-anchor:middle}"
        f"{_colours(_LIGHT)}{seats}@media (prefers-color-scheme:dark){{{_colours(_DARK)}}}"
    )


def _colours(of: dict[str, str]) -> str:
    return (
        f".paper{{fill:{of['paper']}}}.felt{{fill:{of['felt']}}}"
        f".ink{{fill:{of['ink']}}}.soft{{fill:{of['soft']}}}"
        f".live{{fill:{of['live']};stroke:{of['edge']};stroke-width:1.5}}"
        f".left{{fill:{of['left']}}}.hatch{{fill:none;stroke:{of['left-line']};stroke-width:2}}"
        f".line{{fill:none;stroke:{of['ink']};stroke-width:3.5;stroke-linejoin:round}}"
        f".cut{{stroke:{of['ink']};stroke-width:7;stroke-linecap:round}}"
        f".badge{{fill:{of['felt']};stroke:{of['ink']};stroke-width:3}}"
        f".ring{{fill:none;stroke:{of['ink']};stroke-width:4}}"
    )


class Sheet:
    """A picture that is being drawn; coordinates are of the middle of the table unless it is moved."""

    def __init__(self, left: float, top: float, width: float, height: float) -> None:
        view = " ".join(map(number, (left, top, width, height)))
        self.root = ElementTree.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": view})
        self.root.set("role", "img")

    def add(self, tag: str, css: str = "", text: str = "", /, **values: str | float) -> ElementTree.Element:
        """Add an element; underscores in names become hyphens."""
        element = ElementTree.SubElement(self.root, tag)
        if css:
            element.set("class", css)
        for name, value in values.items():
            element.set(name.replace("_", "-"), value if isinstance(value, str) else number(value))
        element.text = text or None
        return element

    def box(self, box: Box, css: str, /, **values: str | float) -> ElementTree.Element:
        """Add a rectangle with round corners."""
        place = {"x": box.x, "y": box.y, "width": box.width, "height": box.height, "rx": 4.0}
        return self.add("rect", css, "", **{**place, **values})

    def words(self, at: Point, text: str, size: float, css: str = "ink", turn: float = 0) -> None:
        """Write a line whose letters stand round the height of a spot; `turn` in degrees, clockwise."""
        x, y = at
        values: dict[str, str | float] = {"x": x, "y": y + 0.36 * size, "font_size": size}
        if turn:
            values["transform"] = f"rotate({number(turn)} {number(x)} {number(y)})"
        self.add("text", css, text, **values)

    def mark(self, within: Box, text: str, size: float, seat: int) -> None:
        """Write what must be read from afar on a ground of its seat's colour, as large as `within` allows."""
        size = min(size, (min(within.width, within.height) - 1) / letters(text))
        x, y = within.middle
        width, height = size * letters(text) + 2, 1.1 * size
        self.box(Box(x - width / 2, y - height / 2, width, height), f"seat{seat}")
        self.words((x, y), text, size, f"b m on{seat}")

    def line(self, points: Sequence[Point], css: str = "line", dashes: str = "") -> None:
        """Draw a line through points."""
        values: dict[str, str | float] = {"stroke_dasharray": dashes} if dashes else {}
        self.add("polyline", css, points=" ".join(f"{number(x)},{number(y)}" for x, y in points), **values)

    def arrow(self, points: Sequence[Point], css: str = "line", dashes: str = "") -> None:
        """Draw a line with a head at its end."""
        (x0, y0), (x1, y1) = points[-2:]
        reach = dist((x0, y0), (x1, y1))
        ux, uy = (x1 - x0) / reach, (y1 - y0) / reach
        back = (x1 - 15 * ux, y1 - 15 * uy)
        self.line([*points[:-1], back], css, dashes)
        head = [(x1, y1), (back[0] - 9 * uy, back[1] + 9 * ux), (back[0] + 9 * uy, back[1] - 9 * ux)]
        self.add("polygon", "ink", points=" ".join(f"{number(x)},{number(y)}" for x, y in head))

    def xml(self) -> str:
        """Return the picture as a document of its own."""
        ElementTree.indent(self.root, " ")
        return ElementTree.tostring(self.root, "unicode") + "\n"


def letters(text: str) -> float:
    """Return how wide a bold line is in units of its size, for a page cannot ask the reader's fonts."""
    return sum(_width(letter) for letter in text)


def _width(letter: str) -> float:
    if ord(letter) > 0x2E80 or letter in "MW":
        return 1.02
    return 0.72 if letter.isupper() or letter.isdigit() else 0.6


def number(value: float) -> str:
    """Return a coordinate without digits that nobody can see."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")  # + 0.0 makes -0.0 a plain one
