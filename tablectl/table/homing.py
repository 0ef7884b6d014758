"""Homing: leave the board's stop, then bring every mechanism to where it begins. A person has asked for it.

No mechanism whose store may hold tiles is moved but away from them: stackers go back, the console comes down,
a half-turned lift completes its turn last.
"""

from collections.abc import Callable, Iterable

from firmware_protocol.description import Mouth, PartKind
from firmware_protocol.messages import StopReason
from tablectl.table import console
from tablectl.table.activity import Outcome, Procedure, Step, Trouble
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, Hello, Verb
from tablectl.table.ledger import wrong_stores
from tablectl.table.operations import Operations, Pending

WISH_US = 5_000_000  # who asked is still there; later nothing moves on this wish
TRIES = 3
_HELD = {StopReason.DOOR: "E18", StopReason.WIRED: "E17"}


class Homing:
    """Homing; `clear(reason)` asks the board to leave its stop, and a new Hello answers.

    `stored` is what the stores must hold by the record: a table that is called ready has walls.
    """

    def __init__(
        self,
        operations: Operations,
        hello: Hello,
        state: BoardState,
        stop: int,
        clear: Callable[[int], None],
        without: tuple[str, ...] = (),
        stored: tuple[int, ...] = (),
    ) -> None:
        self._operations = operations
        self._hello = hello
        self._state = state
        self._stop = stop
        self._clear = clear
        self._without = without
        self._stored = stored
        self._let_go = False
        self._tries = 0
        self._wish_us: int | None = None
        self._strokes: Procedure | None = None

    def begin(self, now_us: int) -> None:
        """Leave the stop, or move at once where there is none."""
        self._wish_us = now_us + WISH_US
        if self._stop == StopReason.NONE:
            self._move(now_us)
        else:
            self._ask()

    def greeted(self, hello: Hello, now_us: int) -> None:
        """Take in the board's answer to CLEAR."""
        if self._strokes is None:
            self._hello, self._state, self._stop = hello, hello.state, hello.stop
            if hello.stop == StopReason.NONE:
                self._move(now_us)
            elif self._tries < TRIES:
                self._ask()

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in the sensors."""
        self._state = state

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Pass the end of a stroke on; a console that comes down by time wants a lift key held."""
        if pending.verb is Verb.STROKE_HOME_TIMED and reason in ("ABORTED", "INTERLOCK"):
            self._let_go = True
            return True
        return self._strokes.ended(pending, reason, now_us) if self._strokes else False

    def advance(self, now_us: int) -> Outcome:
        """Return HOMED, or why it cannot be."""
        if self._let_go:
            return Trouble("E53", {"sensor": console.LOWER})
        if self._strokes:
            outcome = self._strokes.advance(now_us)
            wrong = (
                wrong_stores(self._hello.description.named_mouths, self._stored, self._state)
                if self._stored and outcome
                else ""
            )
            return Trouble("E23", {"sides": wrong}) if outcome is Trigger.HOMED and wrong else outcome
        held = _HELD.get(StopReason(self._stop)) if self._stop in list(StopReason) else None
        if held and self._tries >= TRIES:
            return Trouble(held)
        if self._wish_us is not None and now_us >= self._wish_us:
            return Trouble(held) if held else Trouble("E10", {"detail": "silent"})
        return None

    def next_deadline(self) -> int | None:
        """Return when the wish is too old."""
        return None if self._strokes else self._wish_us

    def _ask(self) -> None:
        self._tries += 1
        self._clear(self._stop)

    def _move(self, now_us: int) -> None:
        seen = self._state.sensors
        stackers = self._hello.description.names(PartKind.STACKER)
        groups: list[list[Step]] = [[(Verb.STROKE_HOME, s)] for s in stackers if f"{s}.open" not in seen]
        if console.LOWER not in seen:
            if console.LOWER in self._without and console.UPPER not in seen:
                groups.append([(Verb.STROKE_FAR, "console")])  # by time it starts from its upper sensor
            groups.append([console.down(self._without)])
        mouths = self._hello.description.named_mouths
        groups += pairs(Verb.STROKE_HOME, [x for x in mouths if f"lift.{x.name}.home" not in seen])
        self._strokes = Procedure(self._operations, groups, Trigger.HOMED)
        self._strokes.begin(now_us)


def pairs(verb: Verb, mouths: Iterable[Mouth]) -> list[list[Step]]:
    """Let the lifts of opposite walls, or hands, move together: two motors' current at once; walls first."""
    groups: dict[tuple[bool, bool], list[Step]] = {}
    for mouth in sorted(mouths, key=lambda mouth: mouth.side):
        groups.setdefault((mouth.hand, mouth.side % 2 == 0), []).append((verb, f"lift.{mouth.name}"))
    return [groups[key] for key in sorted(groups)]
