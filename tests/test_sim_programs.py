"""Random programs of commands, keys, faults and cuts: interlocks hold, and a certain count is the truth."""

from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_bench import BareHand

from firmware_protocol import messages as m
from sim.mechanics.crank import TURN, Crank
from sim.mechanics.machine import Machine
from sim.model import load
from sim.table import Fault, Mend, PanelKey, SimTable, StopLine, TableOptions

SIDES = ("S1", "S2", "S3", "S4")
HANDS = ("H1", "H2", "H3", "H4", *SIDES)
ENDS = {"stacker": ("open", "closed"), "lift": ("home",), "console": ("down", "up")}
MARKS = {"open": 0, "closed": TURN // 2, "home": 0, "down": 0, "up": TURN // 2}
EYES = ("dead-eye", "dirty-eye", "double-eye")
SLOTS = ("dead:slot", "stuck:slot")


class Deceit:
    """Knows by the cranks themselves where an end sensor lies so that no board can tell.

    PROTOCOL.md names the cases: a sensor that begins to tell its end while the mechanism is on its way
    there, within a quarter of the time that it needs, or from a place that nobody knows. The board is not
    asked.
    """

    def __init__(self, machine: Machine) -> None:
        self.parts: set[str] = set()  # are not where every board must believe them
        self.sides: set[str] = set()  # of stackers that ever were among them: their counts follow the sensor
        self._machine = machine
        self._origin: dict[str, int | None] = {}  # where an honest sensor was passed in this motion
        for side in machine.sides:
            self._watch(f"stacker.{side.name}", side.stacker)
            self._watch(f"lift.{side.name}", side.lift)
        self._watch("console", machine.console)
        force = machine.force_sensor

        def lie(name: str, value: bool | None) -> None:
            if value:
                self._begins(name)
            force(name, value)

        machine.force_sensor = lie  # type: ignore[method-assign]

    def _watch(self, part: str, crank: Crank) -> None:
        self._origin[part] = None
        motor, tell, held = self._machine.motors[part], crank._on_sensor, crank._on_held
        turn = motor._turn

        def turns(direction: int) -> None:
            if direction != crank._direction:
                self._origin[part] = None
            turn(direction)

        def tells(name: str, active: bool) -> None:
            if name not in self._machine._forced:
                self._origin[part] = crank.angle
                if active:
                    self.parts.discard(part)
            tell(name, active)

        def holds(is_held: bool) -> None:
            self._origin[part] = None
            held(is_held)

        motor._turn, crank._on_sensor, crank._on_held = turns, tells, holds

    def _begins(self, name: str) -> None:
        part, _, end = name.rpartition(".")
        if part.partition(".")[0] not in ENDS or self._machine._forced.get(name):
            return
        crank, origin = self._machine.crank(part), self._origin[part]
        if not crank.turning or crank.on[name]:
            return
        direction = crank._direction
        ahead = (MARKS[end] - crank.angle) * direction % TURN
        come = TURN if origin is None else (crank.angle - origin) * direction % TURN
        if origin is None or ahead <= come // 4 + TURN * 6 // 100:
            self.parts.add(part)
            if part.startswith("stacker"):
                self.sides.add(part[-2:])

    def excuses(self, violation: str) -> bool:
        """Tell whether what broke could not have been known."""
        side, _, what = violation.partition(": ")
        to_blame = {"tray": f"lift.{side}", "console": "console", "stacker": f"stacker.{side}"}
        return any(word in what and part in self.parts for word, part in to_blame.items())


class Witness(BareHand):
    """A bare hand that looks at everything after every event."""

    def __init__(self, seed: int, tiles: int, model: str = "four-mouth") -> None:
        super().__init__(SimTable(TableOptions(hands=0, seed=seed, model=load(model))))
        self.mouths = tuple(s.name for s in self.table.machine.sides)
        self.honest = True  # no sensor has lied yet
        self.deceit = Deceit(self.table.machine)
        self._violations = 0
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
        for violation in machine.violations[self._violations :]:
            assert self.deceit.excuses(violation), violation
        self._violations = len(machine.violations)
        for mouth, side in enumerate(machine.sides):
            if side.name in self.deceit.sides:
                continue
            if counts.sure(mouth):
                self.certain += 1
                assert counts.most(mouth) == len(side.store), f"{side.name} said {counts.of[mouth]}"
                if self.honest:
                    inside = len(side.store) + len(side.mouth.slot) + len(side.mouth.belt)
                    assert counts.of[mouth].taken == inside
            else:
                self.doubted += 1
                assert counts.most(mouth) >= len(side.store), f"{side.name} said {counts.of[mouth]}"

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
        for mouth in range(len(self.mouths)):
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
        for mouth in self.mouths:
            self.stroke(f"lift.{mouth}", m.End.TURN)

    def stop(self, part: str) -> None:
        self.command(m.Stop(self.op(), self.part(part)))

    def renew(self) -> None:
        for op in range(max(1, self._op - len(self.mouths) - 1), self._op + 1):
            self.command(m.Renew(op, 5000))

    def home(self) -> None:
        mouths = self.mouths
        for kind in ("console", *(f"stacker.{s}" for s in mouths), *(f"lift.{s}" for s in mouths)):
            self.stroke(kind, m.End.HOME)
            self.wait(900_000)

    def empty_belt(self) -> None:
        """Let a belt run back, so that a store in doubt may be raised."""
        self.part_run("conveyor.S1", -1, 3000)
        self.wait(1_600_000)
        self.stop("conveyor.S1")

    def jog(self, part: str, direction: int, tenths: int) -> None:
        """Hold a button; whoever sees a tray that is not home turns no stacker back round against it."""
        side = self.table.machine.side(part[-2:]) if part.startswith("stacker") else None
        if side and direction < 0 and not side.lift.on[f"lift.{side.name}.home"]:
            return
        self.command(m.Jog(self.op(), self.part(part), direction, 300))
        op = self._op
        for _ in range(tenths):
            self.wait(100_000)
            self.command(m.Renew(op, 300))
        self.stop(part)

    def act(self, steps: list[Any], held: bool) -> None:
        """Play scenes, in a session where there can be one, with a lift key held or not."""
        self.fill_up(3)
        self.key("lift.1", held)
        for lie, move, pause, cut, rest in steps:
            if not self.table.board._link.is_open:
                self.begin_anew()
            for what, *arguments in (lie, move, ("wait", pause), cut, ("wait", rest)):
                with suppress(StopIteration):  # no answer: there is no power
                    getattr(self, what)(*arguments)

    def begin_anew(self) -> None:
        """Mend nothing, but leave whatever stop is latched and open a session."""
        board = self.table.board
        self.clear(board._stop, board._stop_number)
        self._nonce = getattr(self, "_nonce", 10) + 1
        if self.table._mains:
            self.hello(self._nonce)

    def recover(self) -> None:
        """Do what a person does before the table may go on."""
        for spec in ("power-cut:mains", "door:service"):
            self.mend(spec)
        for mouth in self.mouths:
            for spec in (f"jam:{mouth}", f"blocked:stacker.{mouth}", f"stalled:lift.{mouth}"):
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


def programs(
    lies: tuple[str, ...], motors: bool, mouths: tuple[str, ...] = SIDES
) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Return programs of (what, arguments…, pause); `lies` are the faults of sensors that may occur."""
    first = mouths[0]
    feeders = st.sampled_from(["drum", *(f"conveyor.{s}" for s in mouths)])
    movers = st.sampled_from(["console", *(f"{k}.{s}" for k in ("stacker", "lift") for s in mouths)])
    anything = feeders | movers
    ends = st.sampled_from(list(m.End))
    lease = st.sampled_from([300, 2000, 5000])
    hard = ["jam:S1", "jam:S2", "blocked:stacker.S1", "blocked:stacker.S3", "short:lift.S1", "hand:console"]
    hard += ["door:service+1s", "door:service", "key-stuck:lift.1", "reset:board", "brown-out:supply"]
    hard += ["power-cut:mains+1s", "power-cut:mains", "mute:wire+1s", "unplug:wire+1s"]
    if motors:
        for name in ("stacker.S1", "lift.S1", "lift.S2", "console"):
            hard += [f"{kind}:{name}" for kind in ("disconnected", "stalled", "late")]
        hard += ["stalled:conveyor.S1", "stalled:lift.S1+0.05s", "late:conveyor.S2", "disconnected:drum"]
    hard = [spec.replace("S1", first) for spec in hard]
    faults = st.sampled_from([*hard, *lies, *lies])
    do = st.one_of(
        st.tuples(st.just("fill_up"), st.sampled_from([1, 2, 3, 4])),
        st.tuples(st.just("raise_all"), st.booleans()),
        st.tuples(st.just("recover")),
        st.tuples(st.just("wash"), st.sampled_from([1, 2, 3, 6, 7, 34])),
        st.tuples(st.just("part_run"), feeders, st.sampled_from([1, 1, -1]), lease),
        st.tuples(st.just("stroke"), movers, ends),
        st.tuples(st.just("stroke"), st.sampled_from([f"lift.{s}" for s in mouths]), st.just(m.End.TURN)),
        st.tuples(st.just("stroke"), st.sampled_from([f"stacker.{s}" for s in mouths]), st.just(m.End.FAR)),
        st.tuples(
            st.just("fill"),
            st.integers(0, len(mouths) - 1),
            st.integers(0, 9) | st.sampled_from([34, 40]),
            lease,
        ),
        st.tuples(st.just("stop"), anything),
        st.tuples(st.just("jog"), anything, st.sampled_from([1, -1]), st.integers(0, 15)),
        st.tuples(
            st.just("stroke"), st.just("console"), st.sampled_from([m.End.FAR_TIMED, m.End.HOME_TIMED])
        ),
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


@settings(max_examples=40)
@given(programs(("dirty-eye:H1", "stuck:slot.H4.full"), True, HANDS), st.integers(0, 50))
def test_a_mouth_for_hands_keeps_its_interlocks_and_counts_as_one_for_walls_does(
    program: list[tuple[Any, ...]], seed: int
) -> None:
    play(Witness(seed, 136, "eight-mouth"), program)


@pytest.mark.parametrize("lies", [ONE_LIE_EACH, OTHER_LIES], ids=["one", "other"])
@settings(max_examples=60)
@given(data=st.data(), seed=st.integers(0, 50), tiles=st.sampled_from([20, 136]))
def test_a_sensor_that_lies_makes_no_count_that_is_certain_and_wrong(
    lies: tuple[str, ...], data: st.DataObject, seed: int, tiles: int
) -> None:
    play(Witness(seed, tiles), data.draw(programs(lies, motors=False)))


def scenes(motors: bool) -> st.SearchStrategy[list[Any]]:
    """Return strokes of one side and the console: lie, stroke, pause, what cuts it short, pause."""
    valid = {
        "stacker.S1": "HOME FAR FAR",
        "lift.S1": "HOME TURN TURN",
        "console": "HOME FAR FAR_TIMED HOME_TIMED",
    }
    strokes = [("stroke", part, m.End[end]) for part, ends in valid.items() for end in ends.split()]
    sensors = [f"{part}.{end}" for part in valid for end in ENDS[part.partition(".")[0]]]
    lies = [f"{kind}:{sensor}" for sensor in sensors for kind in ("dead", "stuck", "stuck")]
    faults = [("fault", f"{lie}{lasts}") for lie in lies for lasts in ("", "", "+0.05s", "+0.4s", "+2s")]
    cuts = [("stop", part) for part in valid] * 4 + [("mend", lie) for lie in lies] + faults
    cuts += [("fault", cut) for cut in ("reset:board", "power-cut:mains+0.3s", "door:service+0.3s")]
    if motors:
        cuts += [("fault", f"{kind}:{p}+1s") for p in valid for kind in ("disconnected", "stalled", "late")]
    jogs = st.tuples(
        st.just("jog"), st.sampled_from(list(valid)), st.sampled_from([1, -1]), st.integers(0, 15)
    )
    pulled, filled = (
        st.just(("pull",)),
        st.tuples(st.just("fill"), st.just(0), st.integers(1, 8), st.just(3000)),
    )
    nothing, emptied = st.just(("wait", 0)), st.just(("empty_belt",))
    step = st.tuples(
        st.sampled_from(faults) | nothing | nothing,
        st.sampled_from(strokes) | st.sampled_from(strokes) | st.sampled_from(strokes) | jogs | filled,
        st.integers(0, 3_000_000),
        st.sampled_from(cuts) | nothing | pulled | emptied | emptied,
        st.sampled_from([0, 30_000, 3_000_000]),
    )
    return st.lists(step, min_size=5, max_size=14)


@pytest.mark.parametrize("motors", [False, True], ids=["sound motors", "any motors"])
@settings(max_examples=120, deadline=None)
@given(data=st.data(), seed=st.integers(0, 9), held=st.booleans())
def test_an_end_sensor_that_lies_opens_no_interlock_and_makes_no_certain_count_wrong(
    motors: bool, data: st.DataObject, seed: int, held: bool
) -> None:
    witness = Witness(seed, 20)
    witness.act(data.draw(scenes(motors)), held)
