"""What an operator can ask of the table: the meaning of a key, whichever input it came from."""

from dataclasses import dataclass
from enum import StrEnum


class Intent(StrEnum):
    """What a key asks for. None of them chooses a tile, a hand, a die or a break."""

    POWER = "POWER"
    START = "START"
    ADD = "ADD"
    STOP = "STOP"
    DICE = "DICE"
    DICE_EAST = "DICE_EAST"
    DICE_SOUTH = "DICE_SOUTH"
    DICE_WEST = "DICE_WEST"
    DICE_NORTH = "DICE_NORTH"
    RULE_NEXT = "RULE_NEXT"
    RULE_PREVIOUS = "RULE_PREVIOUS"
    DEALER_NEXT = "DEALER_NEXT"
    RESET = "RESET"
    MUTE = "MUTE"
    STATUS = "STATUS"


class Phase(StrEnum):
    """Where in its press a key is."""

    DOWN = "down"
    HELD = "held"
    UP = "up"


@dataclass(frozen=True, slots=True)
class Key:
    """One key event; `source` is "panel", "remote:<user code>" or "local:<uid>"."""

    source: str
    intent: Intent
    phase: Phase
    held_us: int = 0
