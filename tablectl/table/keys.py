"""Keys: two lift keys that together mean ADD, holds that count only where they began, who pressed what."""

from dataclasses import dataclass

from tablectl.table.cycle import State
from tablectl.table.intents import Intent, Key, Phase

HOLD_US = 1_500_000  # START held this long, in sight of the table, may cause the first motion
# Both lift keys add tiles while a set is washed, and begin technician mode where the service door is open;
# elsewhere they are plain START, once.
_CHORD_STATES = frozenset({State.WASHING, State.PROBING, State.DIAGNOSING, State.STOPPED, State.FAULT})
_DICE = (Intent.DICE_EAST, Intent.DICE_SOUTH, Intent.DICE_WEST, Intent.DICE_NORTH)
LIFT_KEYS = frozenset({"lift.1", "lift.2"})


@dataclass(frozen=True, slots=True)
class Asked:
    """What a key asks for now; `long` is a START held in sight of the table, or a panel key."""

    key: Key
    long: bool = False


class Keys:
    """Which keys are held, and what they mean."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._holding: str | None = None  # the source of a START that went down while nothing moved

    def greet(self, held: tuple[str, ...]) -> None:
        """Take in which panel keys the board says are held: they mean nothing until they were let go."""
        self._held = set(held)

    def note(self, name: str, down: bool) -> None:
        """Take in a key of the panel that means something else now."""
        (self._held.add if down else self._held.discard)(name)

    def forget_holds(self) -> None:
        """Let a START that is held now count no longer: it was pressed for something else."""
        self._holding = None

    def panel(self, name: str, down: bool, state: State, dealer: int) -> Asked | None:
        """Return what a key of the panel asks for; None where it goes up or means nothing."""
        if not down:
            self._held.discard(name)
            return None
        self._held.add(name)
        source = f"panel:{name}"
        kind, _, which = name.partition(".")
        if kind == "dice":
            return Asked(Key(source, _DICE[(int(which[1:]) - 1 - dealer) % 4], Phase.DOWN))
        if not self._held >= LIFT_KEYS:
            return Asked(Key(source, Intent.START, Phase.DOWN), long=True)
        return Asked(Key(source, Intent.ADD, Phase.DOWN)) if state in _CHORD_STATES else None

    def remote(self, key: Key, state: State) -> Asked | None:
        """Return what a key of the remote or of a program asks for; None where it means nothing more."""
        if key.phase is Phase.DOWN:
            hold = key.intent is Intent.START and state is State.UNHOMED and key.source.startswith("remote:")
            self._holding = key.source if hold else None
            return Asked(key)
        if key.phase is Phase.HELD and key.source == self._holding and key.held_us >= HOLD_US:
            self._holding = None
            return Asked(key, long=True)
        if key.phase is Phase.UP:
            self._holding = None
        return None
