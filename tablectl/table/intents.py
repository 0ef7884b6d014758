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
    GEAR_NEXT = "GEAR_NEXT"
    GEAR_PREVIOUS = "GEAR_PREVIOUS"
    DIGIT_0 = "DIGIT_0"
    DIGIT_1 = "DIGIT_1"
    DIGIT_2 = "DIGIT_2"
    DIGIT_3 = "DIGIT_3"
    DIGIT_4 = "DIGIT_4"
    DIGIT_5 = "DIGIT_5"
    DIGIT_6 = "DIGIT_6"
    DIGIT_7 = "DIGIT_7"
    DIGIT_8 = "DIGIT_8"
    DIGIT_9 = "DIGIT_9"
    DEALER_NEXT = "DEALER_NEXT"
    RESULT = "RESULT"
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
