"""The simulated board: what a firmware does, in Python."""

from sim.board.board import FIRMWARE, Board

__all__ = ["FIRMWARE", "Board"]
