"""Random programs of commands, keys, faults and cuts: interlocks hold, and a certain count is the truth."""

from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_bench import BareHand

from firmware_protocol import messages as m
from sim.table import Fault, Mend, PanelKey, SimTable, StopLine, TableOptions

SIDES = ("S1", "S2", "S3", "S4")
EYES = ("dead-eye", "dirty-eye", "double-eye")
SLOTS = ("dead:slot", "stuck:slot")


class Witness(BareHand):
    """A bare hand that looks at everything after every event."""

    def __init__(self, seed: int, tiles: int) -> None:
        super().__init__(SimTable(TableOptions(hands=0, seed=seed)))
        self.honest = True  # no sensor has lied yet
        self.certain = 0
        self.doubted = 0
        for tile in list(self.table.boxes[0].tiles[:tiles]):
            tile.move(self.table.machine.drum.place)
        self.hello()

    def _read(self, effects: Any) -> Any:
        got = super()._read(effects)
        self.look()
        return got

    def look(self) -> None:
        machine, counts = self.table.machine, self.table.board._counts
        assert machine.violations == []
        for mouth, side in enumerate(machine.sides):
            if counts.sure(mouth):
                self.certain += 1
                assert counts.most(mouth) == len(side.store), f"S{mouth + 1} said {counts.of[mouth]}"
                if self.honest:
                    inside = len(side.store) + len(side.mouth.slot) + len(side.mouth.belt)
                    assert counts.of[mouth].taken == inside
            else:
                self.doubted += 1
                assert counts.most(mouth) >= len(side.store), f"S{mouth + 1} said {counts.of[mouth]}"

    def check_tiles(self) -> None:
        where = Counter(id(t) for p in self.table.places() for t in p.tiles)
        assert where == Counter(id(t) for t in self.table.tiles)
        assert all(t.place is p for p in self.table.places() for t in p.tiles)

    # --- what can happen ------------------------------------------------------------------------------------

    def part_run(self, part: str, direction: int, lease_ms: int) -> None:
        self.run(part, lease_ms, direction)

    def wash(self, tiles: int) -> None:
        """Order what a controller orders for a wash."""
        self.run("drum", 5000)
        for mouth in range(4):
            self.fill(mouth, tiles, 5000)

    def fill_up(self, tiles: int) -> None:
        """Wash until it is done, or for some seconds."""
        self.wash(tiles)
        for _ in range(6):
            self.wait(1_500_000)
            self.renew()

    def raise_all(self, pull_first: bool) -> None:
        if pull_first:
            self.pull()
        for side in SIDES:
            self.stroke(f"lift.{side}", m.End.TURN)

    def stop(self, part: str) -> None:
        self.command(m.Stop(self.op(), self.part(part)))

    def renew(self) -> None:
        for op in range(max(1, self._op - 5), self._op + 1):
            self.command(m.Renew(op, 5000))

    def home(self) -> None:
        for kind in ("console", *(f"stacker.{s}" for s in SIDES), *(f"lift.{s}" for s in SIDES)):
            self.stroke(kind, m.End.HOME)
            self.wait(900_000)

    def begin_anew(self) -> None:
        """Mend nothing, but leave whatever stop is latched and open a session."""
        board = self.table.board
        self.clear(board._stop, board._stop_number)
        self._nonce = getattr(self, "_nonce", 10) + 1
        if self.table._mains:
            self.hello(self._nonce)

    def recover(self) -> None:
        """Do what a person does before the table may go on."""
        for spec in ("power-cut:mains", "door:service", "jam:S1", "blocked:stacker.S1", "stalled:lift.S1"):
            self.mend(spec)
        self.line(False)
        self.begin_anew()
        self.home()

    def fault(self, spec: str) -> None:
        kind, _, rest = spec.partition(":")
        self.honest &= kind not in EYES and not rest.startswith(("slot", "belt"))
        self.tell(Fault(spec))

    def mend(self, spec: str) -> None:
        self.tell(Mend(spec.partition("@")[0].partition("+")[0]))

    def key(self, key: str, down: bool) -> None:
        self.tell(PanelKey(key, down))

    def line(self, is_open: bool) -> None:
        self.tell(StopLine(is_open))

    def all_stop(self) -> None:
        if self.table._mains:
            self.stop_all()

    def pull(self) -> None:
        for side in self.table.machine.sides:
            side.pull_wall(self.table.players.table)

    def silence(self) -> None:
        self.wait(750_000, ping=False)


def programs(lies: tuple[str, ...], motors: bool) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Return programs of (what, arguments…, pause); `lies` are the faults of sensors that may occur."""
    feeders = st.sampled_from(["drum", *(f"conveyor.{s}" for s in SIDES)])
    movers = st.sampled_from(["console", *(f"{k}.{s}" for k in ("stacker", "lift") for s in SIDES)])
    anything = feeders | movers
    ends = st.sampled_from([m.End.HOME, m.End.FAR, m.End.TURN])
    lease = st.sampled_from([300, 2000, 5000])
    hard = ["jam:S1", "jam:S2", "blocked:stacker.S1", "blocked:stacker.S3", "short:lift.S1", "hand:console"]
    hard += ["door:service+1s", "door:service", "key-stuck:lift.1", "reset:board", "brown-out:supply"]
    hard += ["power-cut:mains+1s", "power-cut:mains", "mute:wire+1s", "unplug:wire+1s"]
    if motors:
        for name in ("stacker.S1", "lift.S1", "lift.S2", "console"):
            hard += [f"{kind}:{name}" for kind in ("disconnected", "stalled", "late")]
        hard += ["stalled:conveyor.S1", "stalled:lift.S1+0.05s", "late:conveyor.S2", "disconnected:drum"]
    faults = st.sampled_from([*hard, *lies, *lies])
    do = st.one_of(
        st.tuples(st.just("fill_up"), st.sampled_from([1, 2, 3, 4])),
        st.tuples(st.just("raise_all"), st.booleans()),
        st.tuples(st.just("recover")),
        st.tuples(st.just("wash"), st.sampled_from([1, 2, 3, 6, 7, 34])),
        st.tuples(st.just("part_run"), feeders, st.sampled_from([1, 1, -1]), lease),
        st.tuples(st.just("stroke"), movers, ends),
        st.tuples(st.just("stroke"), st.sampled_from([f"lift.{s}" for s in SIDES]), st.just(m.End.TURN)),
        st.tuples(st.just("stroke"), st.sampled_from([f"stacker.{s}" for s in SIDES]), st.just(m.End.FAR)),
        st.tuples(st.just("fill"), st.integers(0, 3), st.integers(0, 9) | st.sampled_from([34, 40]), lease),
        st.tuples(st.just("stop"), anything),
        st.tuples(st.just("renew")),
        st.tuples(st.just("home")),
        st.tuples(st.just("begin_anew")),
        st.tuples(st.just("fault"), faults),
        st.tuples(st.just("mend"), faults),
        st.tuples(st.just("key"), st.sampled_from(["lift.1", "lift.2", "dice.S1"]), st.booleans()),
        st.tuples(st.just("line"), st.booleans()),
        st.tuples(st.just("all_stop")),
        st.tuples(st.just("pull")),
        st.tuples(st.just("silence")),
    )
    pause = st.sampled_from([0, 1_000, 30_000]) | st.integers(0, 900_000) | st.integers(0, 4_000_000)
    return st.lists(st.tuples(do, pause), min_size=3, max_size=30)  # type: ignore[arg-type]


def play(witness: Witness, program: list[tuple[Any, ...]]) -> None:
    for (what, *arguments), pause in program:
        with suppress(StopIteration):  # no answer: there is no power, or the wire is cut
            getattr(witness, what)(*arguments)
        witness.wait(pause)
        witness.check_tiles()


# One sensor of a mouth at most lies: with two lying at once no board can know.
ONE_LIE_EACH = (
    "dirty-eye:S1",
    "double-eye:S2",
    "dead:slot.S3.full",
    "stuck:slot.S4.full",
    "dead:belt.S1.full",
)
OTHER_LIES = ("stuck:slot.S1.full+0.4s", "dead:slot.S2.full+0.3s", "dead-eye:S3", "stuck:belt.S4.full")


@settings(max_examples=80)
@given(programs((), motors=True), st.integers(0, 50), st.sampled_from([0, 20, 136]))
def test_whatever_comes_no_interlock_gives_way_and_every_count_is_true(
    program: list[tuple[Any, ...]], seed: int, tiles: int
) -> None:
    play(Witness(seed, tiles), program)


@pytest.mark.parametrize("lies", [ONE_LIE_EACH, OTHER_LIES], ids=["one", "other"])
@settings(max_examples=60)
@given(data=st.data(), seed=st.integers(0, 50), tiles=st.sampled_from([20, 136]))
def test_a_sensor_that_lies_makes_no_count_that_is_certain_and_wrong(
    lies: tuple[str, ...], data: st.DataObject, seed: int, tiles: int
) -> None:
    play(Witness(seed, tiles), data.draw(programs(lies, motors=False)))
