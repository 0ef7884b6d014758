"""The wash of one set: drum and mouths run until every side has its tiles, then a probe for one too many."""

from firmware_protocol.core import earliest
from tablectl.table.cycle import Trigger
from tablectl.table.events import BoardState, Verb
from tablectl.table.operations import Operations

EMPTY_US = 8_000_000  # no eye has seen a tile: nothing was put in
NO_TILE_US = 20_000_000  # the longest gap of a good wash is under 15 s
PROBE_US = 3_000_000  # 2 s miss 8 extra tiles of 150, 3 s two


class Wash:
    """Washing: one FILL per side. Ends in FILLED, or in EMPTY, or says that tiles are missing."""

    def __init__(self, operations: Operations, tiles: tuple[int, ...], now_us: int) -> None:
        self._operations = operations
        self._tiles = tiles
        self._taken: tuple[int, ...] | None = None
        self._quiet_us = now_us  # since when no eye has seen a tile
        operations.order(Verb.RUN, "drum", now_us)
        for side, count in enumerate(tiles, 1):
            if count:
                operations.order(Verb.FILL, f"conveyor.S{side}", now_us, count)

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in the counts."""
        if state.taken != self._taken:
            if self._taken is not None or any(state.taken):
                self._quiet_us = now_us
            self._taken = state.taken

    def advance(self, now_us: int) -> Trigger | None:
        """Return FILLED when every FILL has ended."""
        filling = any(p.verb is Verb.FILL for p in self._operations.pending.values())
        if not filling:
            return Trigger.FILLED
        if not any(self._taken or ()) and now_us >= self._quiet_us + EMPTY_US:
            return Trigger.EMPTY
        return None

    def missing(self, now_us: int) -> dict[str, int]:
        """Return the sides that wait for tiles in vain, with how many they lack; empty while all is well."""
        if self._taken is None or now_us < self._quiet_us + NO_TILE_US:
            return {}
        self._quiet_us = now_us  # re-armed: the next look is as long away
        lack = {f"S{n}": t - c for n, (t, c) in enumerate(zip(self._tiles, self._taken, strict=True), 1)}
        return {side: count for side, count in lack.items() if count > 0}

    def next_deadline(self) -> int | None:
        """Return when the silence of the eyes means something."""
        empty = not any(self._taken or ())
        return self._quiet_us + (EMPTY_US if empty else NO_TILE_US)


class Probe:
    """Probing: the mouths run against full stores; a tile at any eye is one too many (多牌)."""

    def __init__(self, operations: Operations, tiles: tuple[int, ...], now_us: int) -> None:
        self._operations = operations
        self._tiles = tiles
        self._end_us: int | None = now_us + PROBE_US
        self._extra: dict[str, int] = {}
        for side, count in enumerate(tiles, 1):
            if count:
                operations.order(Verb.RUN, f"conveyor.S{side}", now_us)

    def see(self, state: BoardState, now_us: int) -> None:
        """Take in the counts."""
        over = {f"S{n}": c - t for n, (t, c) in enumerate(zip(self._tiles, state.taken, strict=True), 1)}
        self._extra = {side: count for side, count in over.items() if count > 0}

    @property
    def extra(self) -> dict[str, int]:
        """Return the sides at which a tile too many has come, with how many."""
        return self._extra

    def advance(self, now_us: int) -> Trigger | None:
        """Stop the feeders at the end of the time; return CLEAR when they stand."""
        if self._end_us is not None and now_us >= self._end_us:
            self._end_us = None
            self._operations.stop_all_feeds(now_us)
        return Trigger.CLEAR if self._end_us is None and not self._operations.pending else None

    def next_deadline(self) -> int | None:
        """Return when the probe ends."""
        return earliest(self._end_us)
