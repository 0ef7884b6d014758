"""What the cycle asks before it chooses between several ways."""

from typing import Protocol

from tablectl.table.events import BoardState
from tablectl.table.memory import Memory


class Situated(Protocol):
    """What the guards look at."""

    memory: Memory
    seen: BoardState | None
    sets: int
    wishes_off: bool


class TableGuards:
    """The guards of one table."""

    def __init__(self, table: Situated) -> None:
        self._table = table

    def unfinished(self) -> bool:
        """Tell whether a wash or a raise was cut, or stores are not to be built on."""
        memory = self._table.memory
        return memory.wash is not None or memory.raising or memory.mistrust

    def loaded(self) -> bool:
        """Tell whether the console was opened and no wash has followed."""
        return self._table.memory.loaded

    def stored(self) -> bool:
        """Tell whether a washed set waits in the stores."""
        return self._table.memory.stored is not None

    def cannot_go_on(self) -> bool:
        """Tell whether a wash that was cut is given up: another rule is wanted, or counts are lost."""
        memory, seen = self._table.memory, self._table.seen
        if memory.mistrust:
            return True
        if memory.wash is None or seen is None or memory.raising:
            return False
        return memory.wash.rule != memory.rule or any(seen.unsure)

    def wash_cut(self) -> bool:
        """Tell whether a wash was cut and no raise was."""
        return self._table.memory.wash is not None and not self._table.memory.raising

    def raise_cut(self) -> bool:
        """Tell whether a raise was begun and not ended."""
        return self._table.memory.raising

    def power_wish(self) -> bool:
        """Tell whether the table is to be switched off when its motion is finished."""
        return self._table.wishes_off

    def raises_at_once(self) -> bool:
        """Tell whether START raises without opening: one set only, and it is stored."""
        return self._table.sets == 1 and self.stored()
