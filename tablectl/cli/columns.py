"""Text in columns for terminals and pipes, where a Chinese letter takes two cells."""

import re
import shutil
from collections.abc import Sequence

from rich.cells import cell_len

_MOST = 100
# What is not torn: a note in brackets, a Chinese letter with its punctuation, a word with the space after it.
_PIECE = re.compile(r"\[[^]]*\]|［[^］]*］|[（“]*[⺀-￯][，。、；：）”]*|[^\s⺀-￯]+\s*|\s+")


def padded(text: str, width: int) -> str:
    """Return a text filled with spaces up to `width` cells."""
    return text + " " * (width - cell_len(text))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows as lines whose columns stand below each other."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(padded, row, widths)).rstrip() for row in rows]


def folded(head: str, text: str, indent: int) -> list[str]:
    """Return a text in lines behind its head, each from the cell `indent` on, as wide as the terminal is."""
    width = min(shutil.get_terminal_size().columns, _MOST)
    lines = [padded(head, indent)]
    for piece in _PIECE.findall(text):
        if cell_len(lines[-1] + piece.rstrip()) > width and len(lines[-1]) > indent:
            lines.append(" " * indent)
        lines[-1] += piece
    return [line.rstrip() for line in lines]
