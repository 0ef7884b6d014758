"""A break or a deal as a picture of the table from above: one SVG document, pure of all but its input."""

from tablectl.rules.picture.page import draw
from tablectl.rules.picture.view import View

__all__ = ["View", "draw"]
