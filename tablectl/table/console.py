"""The console's strokes: to its end sensors, or by time where one of them is dead.

By time it comes down only while somebody at the table holds a lift key: nobody's hand is under a console that
comes down unwatched. The board holds this as well.
"""

from tablectl.table.activity import Outcome, Procedure, Step
from tablectl.table.cycle import State, Trigger
from tablectl.table.events import Verb
from tablectl.table.operations import Operations, Pending

UPPER, LOWER = "console.up", "console.down"
_OPEN = (State.OPEN, State.ADD_OPEN)
_CLOSING = (State.CLOSING, State.ADD_CLOSING)


def up(without: tuple[str, ...]) -> Step:
    """Return the stroke that raises it."""
    return (Verb.STROKE_FAR_TIMED if UPPER in without else Verb.STROKE_FAR), "console"


def down(without: tuple[str, ...]) -> Step:
    """Return the stroke that lowers it."""
    return (Verb.STROKE_HOME_TIMED if LOWER in without else Verb.STROKE_HOME), "console"


def refusal(state: State, trigger: Trigger, source: str, without: tuple[str, ...]) -> str | None:
    """Return why a key may not move the console now, as a text key; None where it may."""
    if trigger not in (Trigger.START, Trigger.POWER) or LOWER not in without:
        return None
    if state is State.OPENING:
        return "refuse.console_not_up"  # by time it starts from its upper sensor only
    at_table = source.startswith("panel:lift")
    return "refuse.hold_lift_key" if state in _OPEN and not at_table else None


def stands_instead(state: State, trigger: Trigger, without: tuple[str, ...]) -> bool:
    """Tell whether a key that would turn it back stops it: half way down nothing tells how far up is."""
    return state in _CLOSING and trigger is Trigger.START and UPPER in without


class Lowering(Procedure):
    """Lowers the console; let go of the key that a stroke by time needs, and it goes up again."""

    def __init__(self, operations: Operations, without: tuple[str, ...]) -> None:
        super().__init__(operations, [[down(without)]], Trigger.CONSOLE_DOWN)
        self._let_go = False

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Note that the key was let go."""
        if pending.verb is Verb.STROKE_HOME_TIMED and reason == "ABORTED" and not pending.stopping:
            self._let_go = True
            return True
        return super().ended(pending, reason, now_us)

    def advance(self, now_us: int) -> Outcome:
        """Return CONSOLE_DOWN at the end, START to turn back."""
        return Trigger.START if self._let_go else super().advance(now_us)
