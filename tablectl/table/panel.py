"""What display, lamps and buzzer show; what each word means to people stands in the texts (`panel.*`).

The display has four places of seven segments; there is no W on it: West is U.
"""

from tablectl.table.cycle import State

WORDS: dict[State, str] = {
    State.UNHOMED: "HoLd",  # hold START, or press a lift key
    State.HOMING: "Hon ",
    State.LOADED: "LoAd",
    State.REST: "PrES",
    State.OPENING: "oPEn",
    State.OPEN: "PuSH",
    State.CLOSING: "CLoS",
    State.RAISING: "UP  ",
    State.PROBING: "ChEC",
    State.DIAGNOSING: "FInd",
    State.GIVING_UP: "outP",
    State.HALTING: "nonE",
    State.ADD_OPENING: "Add ",
    State.ADD_OPEN: "Add ",
    State.ADD_CLOSING: "Add ",
    State.STOPPED: "cont",
}
READY = "rdY "
DICE = "dicE"
SAME = "SAnE"  # the set that was played, and no other: part of it is in the drum
SERVED = "hAnd"
SEATS = "ESUN"

BEEP_READY_MS = 600
BEEP_CLOSING_MS = 300
BEEP_FAULT_MS = 1500


def thrown(faces: tuple[int, ...]) -> str:
    """Show a throw."""
    return "d" + "".join(map(str, faces)).rjust(3)


def next_thrower(seat: int) -> str:
    """Ask a seat (0 is the dealer) for its throw."""
    return f"d  {SEATS[seat]}"


def broken(wall: int, stack: int) -> str:
    """Show where the wall is broken: the owner's seat from the dealer, the first stack taken."""
    return f"{SEATS[wall]}{stack:3d}"


def count(tiles: int) -> str:
    """Show how many tiles of the wash have been counted."""
    return f"{tiles:4d}"


def asks(what: str, count: int) -> str:
    """Ask how a hand ended: who won, who discarded, who was ready; and show how many were named."""
    return {"winners": f"hu {count}", "discarder": "FroM", "ready": f"rd {count}"}[what]


def rule_number(typed: str) -> str:
    """Show the digits of a rule's number."""
    return f"r {typed:<2}"


def deal(round_wind: str, number: int, streak: int) -> str:
    """Show which hand comes: round, deal, repeats (东一局二本场: E1 2)."""
    return f"{SEATS['ESWN'.index(round_wind)]}{number}{min(streak, 99):2d}"


def part(number: int) -> str:
    """Show which motor the keys turn in technician mode."""
    return f"t {number:2d}"


def unknown_wall(mouth: str) -> str:
    """Ask for a look at a wall, or a hand: whether it is up is not known."""
    return f"{mouth}--"
