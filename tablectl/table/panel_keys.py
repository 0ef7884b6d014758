"""Keys of the panel: two lift keys (together they mean ADD) and a dice key per side."""

from tablectl.table.cycle import State
from tablectl.table.intents import Intent

# Both lift keys add tiles while a set is washed; elsewhere they are plain START, once.
_CHORD_STATES = frozenset({State.WASHING, State.PROBING})
_DICE = (Intent.DICE_EAST, Intent.DICE_SOUTH, Intent.DICE_WEST, Intent.DICE_NORTH)


class PanelKeys:
    """Which keys are held, and what a press means."""

    def __init__(self) -> None:
        self._held: set[str] = set()

    def press(self, name: str, down: bool, state: State, dealer: int) -> tuple[Intent, ...]:
        """Return the intents of a key that goes down; none where it goes up."""
        if not down:
            self._held.discard(name)
            return ()
        self._held.add(name)
        kind, _, which = name.partition(".")
        if kind == "dice":
            return (_DICE[(int(which[1:]) - 1 - dealer) % 4],)
        if not {"lift.1", "lift.2"} <= self._held:
            return (Intent.START,)
        return (Intent.ADD,) if state in _CHORD_STATES else ()
