"""ADD 补牌: the feeders stop, what is too much on a belt goes back to the drum, the console opens."""

from firmware_protocol.description import Mouth
from tablectl.table import console
from tablectl.table.activity import Outcome, Procedure
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, OpId
from tablectl.table.operations import Operations, Pending
from tablectl.table.sorter import GiveBack, by_name


class Adding:
    """Opens the console in the middle of a wash, so that people reach what is missing or too much."""

    def __init__(
        self,
        operations: Operations,
        mouths: tuple[Mouth, ...],
        tiles: tuple[int, ...],
        state: BoardState,
        without: tuple[str, ...],
    ) -> None:
        self._operations = operations
        self._mouths = mouths
        self._tiles = by_name(mouths, tiles)
        self._state = state
        self._without = without
        self._stopping: set[OpId] = set()
        self._back: GiveBack | None = None
        self._up: Procedure | None = None

    def begin(self, now_us: int) -> None:
        """Stop the feeders."""
        self._stopping = self._operations.stop_feeds(now_us)

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in the counts."""
        self._state = state

    def ended(self, pending: Pending, reason: str | None, now_us: int) -> bool:
        """Strike a move off."""
        self._stopping.discard(pending.op)
        if self._back:
            self._back.ended(pending.op)
        return self._up.ended(pending, reason, now_us) if self._up else False

    def advance(self, now_us: int) -> Outcome:
        """Go on from step to step; CONSOLE_UP at the end."""
        if self._stopping:
            return None
        if self._back is None:
            taken = by_name(self._mouths, self._state.taken)
            over = [name for name, wanted in self._tiles.items() if taken[name] > wanted]
            self._back = GiveBack(self._operations, over, now_us)
        if not self._back.done(now_us):
            return None
        if self._up is None:
            self._up = Procedure(self._operations, [[console.up(self._without)]], Trigger.CONSOLE_UP)
            self._up.begin(now_us)
        return self._up.advance(now_us)

    def next_deadline(self) -> int | None:
        """Return when the belts are to be stopped."""
        return self._back.next_deadline() if self._back else None
