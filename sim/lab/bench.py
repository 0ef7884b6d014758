"""What people and the world can do to a table, each as one word, so that a way is a list of words.

A word is a key (`START`, `START-held`, `lift.1+lift.2`), a deed with tiles (`put:set`, `pull`), a blow
(`mains:cut` for two seconds, `board:reset`, `daemon:restart`, `disk:full`), or something wrong that comes
and is put right again: `fault:jam:S1` when the table stands still, `brief:jam:S1` after half a second, and
`despite:jam:S1:START` is there before a key is pressed and put right when the table stands still. After
every word nothing is wrong any more, so that only people and the table itself are asked for a way on.
"""

from collections.abc import Callable, Iterator

from sim.lab.rig import Rig, RigOptions, ordered
from sim.table import Fault, Mend, PanelKey, StopLine, TableOptions, WireIn
from sim.tiles import Place, Tile
from tablectl.table import events as ev

TICK_US = 100_000  # how often somebody looks at the table
HELD_US = 1_900_000
BRIEF_US = 500_000
STILL = 60  # ticks without any change: longer than the controller waits for anything while nothing moves
LIMIT = 2_400  # ticks; a table that has not come to rest by then never will

REMOTE = ("START", "START-held", "ADD", "STOP", "RESET", "POWER", "RULE_NEXT", "DICE", "DEALER_NEXT")
PANEL = ("lift.1", "lift.1+lift.2", "dice.S1")
STOP_LINE = "stop-line:wired"
DARK_TICKS = 20


class Bench:
    """A table on the bench: nobody but the caller touches it."""

    def __init__(self, rule: str, tiles: int, sets: int, seed: int) -> None:
        self.rule = rule
        self.rig = Rig(RigOptions(rule, seed, TableOptions(tiles=tiles, sets=sets, hands=0, seed=seed)))
        self.set_tiles = tiles
        self._cable_out = False
        self.settle()

    # --- time -----------------------------------------------------------------------------------------------

    def look(self, ticks: int) -> None:
        """Let time pass, a look at a time."""
        for _ in range(ticks):
            self.rig.world.run(self.rig.world.now_us + TICK_US)

    def settle(self) -> bool:
        """Let time pass until the table stands still; tell whether it came to that."""
        return all(True for _ in self.until_still()) and self.still

    def until_still(self) -> Iterator[int]:
        """Let time pass until the table stands still, and give the ticks at which something may be new."""
        quiet, before = 0, self._doing()
        for tick in range(1, LIMIT + 1):
            self.look(1)
            now = self._doing()
            quiet = quiet + 1 if now == before and self._at_rest() else 0
            before = now
            if quiet % 10 == 0:
                yield tick
            if quiet >= STILL:
                return

    @property
    def still(self) -> bool:
        """Tell whether nothing moves and nothing was ordered to."""
        return self._at_rest()

    def _doing(self) -> tuple[object, ...]:
        controller = self.rig.controller
        return controller.state, controller.connected, self.display, controller.memory

    def _at_rest(self) -> bool:
        waits = self.rig.controller.connected or self._cable_out
        return waits and not self.rig.controller.moving and not self.driven()

    def driven(self) -> list[str]:
        """Return the motors that are switched on."""
        return [name for name, motor in self.rig.table.machine.motors.items() if motor.direction]

    # --- what is seen ---------------------------------------------------------------------------------------

    @property
    def display(self) -> str:
        """Return what the display shows."""
        return self.rig.shown[-1][1].display if self.rig.shown else ""

    @property
    def whole(self) -> tuple[int, ...]:
        """Return what the stores hold when a set of the bench's rule is washed."""
        return ordered(self.rule, self.rig.options.table.model)

    @property
    def open_wide(self) -> bool:
        """Tell whether hands reach the drum."""
        return self.rig.table.machine.console.on["console.up"]

    def outside(self) -> list[Tile]:
        """Return the tiles that lie about or in their boxes, those of one set together."""
        piles: tuple[Place, ...] = (self.rig.table.players.table, *self.rig.table.boxes)
        return sorted((t for p in piles for t in p.tiles), key=lambda t: t.back)

    def inside(self) -> int:
        """Return how many tiles are in belts, slots and stores."""
        sides = self.rig.table.machine.sides
        return sum(len(p) for s in sides for p in (s.mouth.belt, s.mouth.slot, s.store))

    def ready(self) -> bool:
        """Tell whether a set is stored, and every store truly holds what was ordered."""
        controller = self.rig.controller
        stored = controller.memory.stored
        if controller.state != "rest" or stored is None or not self.still or "ready" not in self._lamps():
            return False
        return stored.tiles == tuple(len(s.store) for s in self.rig.table.machine.sides)

    def _lamps(self) -> tuple[str, ...]:
        return self.rig.shown[-1][1].lamps if self.rig.shown else ()

    # --- what is done ---------------------------------------------------------------------------------------

    def can(self) -> list[str]:
        """Return the deeds that are possible now, in an order that never changes."""
        deeds = [*REMOTE, *PANEL]
        if self.open_wide:
            enough = len(self.outside()) >= self.set_tiles
            deeds += ["put:set", "put:short", "put:over"] if enough else []
            deeds += ["take:all"] if self.rig.table.machine.drum.place.tiles else []
        if any(s.wall.tiles for s in self.rig.table.machine.sides):
            deeds.append("pull")
        return [*deeds, "board:reset", "disk:full", "daemon:restart", "mains:cut", "mains:cut+door:open"]

    def do(self, deed: str) -> None:
        """Do one thing."""
        kind, _, rest = deed.partition(":")
        if kind in ("fault", "brief", "despite"):
            self._break(kind, rest)
        elif deed in _HANDS:
            self._table(WireIn(b""))  # the table is at this moment
            self.rig.world.run(self.rig.world.now_us)
            _HANDS[deed](self)
            self._table(WireIn(b""))  # and looks at what has changed
        elif deed == "board:reset":
            self._table(Fault("reset:board"))
        elif deed == "disk:full":
            self.rig.world.post(self.rig.world.now_us, "host", ev.JournalFailed("full"))
        elif deed == "daemon:restart":
            self.rig.restart_daemon()
        elif kind == "mains":
            self._cut(deed)
        elif deed in REMOTE:
            key, _, held = deed.partition("-")
            self.rig.press(key, HELD_US if held else 0)
            if held:
                self.look(HELD_US // TICK_US)
        else:
            self._panel(*deed.split("+"))

    def _panel(self, *keys: str) -> None:
        for down in (True, False):
            for key in keys:
                self._table(PanelKey(key, down))
            self.look(1)

    def _break(self, how: str, rest: str) -> None:
        kind, part, key = [*rest.split(":", 2), ""][:3]
        cause = f"{kind}:{part}"
        self._wrong(cause, True)
        if how == "brief":
            self.look(BRIEF_US // TICK_US)
        else:
            if key:
                self.do(key)
            self.settle()
        self._wrong(cause, False)

    def _cut(self, deed: str) -> None:
        self._wrong("power-cut:mains", True)
        self.look(DARK_TICKS)
        door = "door:open" in deed
        if door:
            self._wrong("door:service", True)
            self.look(1)
        self._wrong("power-cut:mains", False)
        if door:
            self.settle()
            self._wrong("door:service", False)

    def _wrong(self, cause: str, on: bool) -> None:
        if cause == "unplug:wire":
            self._cable_out = on
        if cause == STOP_LINE:
            self._table(StopLine(on))
        else:
            self._table(Fault(cause) if on else Mend(cause))

    def _table(self, event: object) -> None:
        self.rig.world.post(self.rig.world.now_us, "table", event)

    # --- tiles ----------------------------------------------------------------------------------------------

    def pull(self) -> None:
        """Take the walls off their latches."""
        for side in self.rig.table.machine.sides:
            side.pull_wall(self.rig.table.players.table)

    def put(self, count: int) -> None:
        """Push tiles in, those of one set first."""
        drum = self.rig.table.machine.drum.place
        for tile in self.outside()[:count]:
            tile.move(drum)

    def take(self, count: int) -> None:
        """Take tiles out of the drum, the last ones first."""
        drum = self.rig.table.machine.drum.place
        for tile in drum.tiles[len(drum) - count :]:
            tile.move(self.rig.table.players.table)

    def put_right(self) -> None:
        """Put in what is missing of one set, take out what is too much; clear a head before a full wall.

        People count what lies outside: what is not there is in the machine.
        """
        if not self.open_wide:
            return
        memory, machine = self.rig.controller.memory, self.rig.table.machine
        order = memory.wash.tiles if memory.wash else self.whole
        if not memory.stored:
            for side, tiles in zip(machine.sides, order, strict=True):
                if len(side.store) >= tiles and (side.mouth.slot.tiles or side.mouth.belt.tiles):
                    side.mouth.clear_head()
        stored = sum(memory.stored.tiles) if memory.stored else 0
        lack = sum(order) - (self.inside() - stored) - len(machine.drum.place)
        self.put(max(0, lack))
        self.take(min(len(machine.drum.place), max(0, -lack)))


_HANDS: dict[str, Callable[[Bench], None]] = {
    "put:set": lambda bench: bench.put(bench.set_tiles),
    "put:short": lambda bench: bench.put(bench.set_tiles - 1),
    "put:over": lambda bench: bench.put(bench.set_tiles + 1),
    "take:all": lambda bench: bench.take(len(bench.rig.table.machine.drum.place)),
    "tiles:right": Bench.put_right,
    "pull": Bench.pull,
}
