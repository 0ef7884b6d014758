"""The simulated machine: every tile in exactly one place, mechanisms where their history says."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.agenda import Agenda
from sim.mechanics.crank import TURN, WINDOW, Crank
from sim.mechanics.machine import BROWN_OUT_US, Machine
from sim.mechanics.motor import RUN_SHARE, STALL_FACTOR, STALL_SEEN_US, Motor
from sim.model import MachineModel, load
from sim.tiles import SETS, Place, Tile, lay_out
from sim.world import World

S = 1_000_000
MODEL = load("four-mouth")
EIGHT = load("eight-mouth")


def machine(
    seed: int = 0, tiles: int = 136, model: MachineModel = MODEL
) -> tuple[Agenda, Machine, list[Tile]]:
    agenda = Agenda()
    made = Machine(agenda, model, seed)
    return agenda, made, lay_out(SETS[tiles], "A", made.drum.place)


def check_places(made: Machine, tiles: list[Tile], *more: Place) -> None:
    held = [t for p in (*made.places(), *more) for t in p.tiles]
    assert len(held) == len(tiles)
    assert {id(t) for t in held} == {id(t) for t in tiles}
    assert all(t in t.place.tiles for t in tiles)


KINDS = ("conveyor", "stacker", "lift")
CHANCES = ["drive", "plug", "seize", "late", "jam", "block", "door", "pull", "sensor"]


def orders_for(*mouths: str) -> st.SearchStrategy[list[tuple[str, int, int, bool, str]]]:
    """Return random programs for a table with these mouths."""
    parts = ["drum", "console", *(f"{kind}.{mouth}" for kind in KINDS for mouth in mouths)]
    order = st.tuples(
        st.sampled_from(parts),
        st.sampled_from([-1, 0, 1]),
        st.integers(0, 3_000_000),
        st.booleans(),
        st.just("drive") | st.sampled_from(CHANCES),
    )
    return st.lists(order, max_size=40)


def happen(made: Machine, what: str, part: str, direction: int, on: bool, table: Place) -> None:
    """Let one thing of a random program happen to the machine."""
    side = made.side(part[-2:]) if part[-1].isdigit() else made.sides[0]
    match what:
        case "plug":
            made.motors[part].plug(on)
        case "seize":
            made.motors[part].seize(on)
        case "late":
            made.motors[part].delay(1_500_000 * on)
        case "jam":
            side.jam(on)
        case "block":
            made.crank(f"stacker.{side.name}").block(TURN * 3 // 10 if on else None)
        case "door":
            made.open_door(on)
        case "pull":
            side.pull_wall(table)
        case "sensor":
            made.force_sensor(f"slot.{side.name}.full", {-1: False, 0: None, 1: True}[direction])
        case _:
            made.drive(part, direction)
            if part.startswith("conveyor."):
                made.open_gate(part.partition(".")[2], on)


@pytest.mark.parametrize(
    ("model", "mouths"),
    [(MODEL, ("S1", "S2", "S3", "S4")), (EIGHT, ("S1", "S3", "H1", "H2", "H3"))],
    ids=["four", "eight"],
)
@settings(max_examples=60)
@given(data=st.data(), seed=st.integers(0, 99))
def test_no_program_of_motors_loses_or_doubles_a_tile(
    model: MachineModel, mouths: tuple[str, ...], data: st.DataObject, seed: int
) -> None:
    orders = data.draw(orders_for(*mouths))
    agenda, made, tiles = machine(seed, model=model)
    table = Place("table")
    for part, direction, wait_us, on, what in orders:
        happen(made, what, part, direction, on, table)
        agenda.run_until(agenda.now_us + wait_us)
        check_places(made, tiles, table)
        for side in made.sides:
            assert len(side.mouth.slot) <= 2
            assert len(side.mouth.belt) <= MODEL.mouth.belt_tiles
            assert len(side.store) <= 2 * side.spec.stacks + 1
            assert not (
                side.stacker.on[f"stacker.{side.name}.open"]
                and side.stacker.on[f"stacker.{side.name}.closed"]
            )
        assert not (made.console.on["console.up"] and made.console.on["console.down"])


def test_a_drum_that_stands_gives_no_tile() -> None:
    agenda, made, _ = machine()
    made.open_gate("S1", True)
    made.drive("conveyor.S1", 1)
    agenda.run_until(20 * S)
    assert len(made.drum.place) == 136


def test_a_closed_gate_lets_no_tile_pass() -> None:
    agenda, made, _ = machine()
    made.drive("drum", 1)
    made.drive("conveyor.S1", 1)
    agenda.run_until(20 * S)
    assert len(made.drum.place) == 136


def test_a_full_belt_takes_no_more_until_the_slot_is_pushed() -> None:
    agenda, made, tiles = machine()
    full: list[tuple[str, bool]] = []
    made.on_sensor = lambda name, active: full.append((name, active)) if name.startswith("belt") else None
    made.drive("drum", 1)
    made.open_gate("S1", True)
    made.drive("conveyor.S1", 1)
    agenda.run_until(20 * S)
    side = made.sides[0]
    assert (len(side.mouth.belt), len(side.mouth.slot)) == (4, 2)
    assert full[-1] == ("belt.S1.full", True)
    made.drive("stacker.S1", 1)
    agenda.run_until(agenda.now_us + 375_000)
    assert len(side.store) == 2
    check_places(made, tiles)


def test_a_belt_that_runs_back_returns_its_tiles_to_the_drum() -> None:
    agenda, made, tiles = machine()
    eyes: list[int] = []
    made.on_eye = lambda side, peaks, direction: eyes.append(direction)
    made.drive("drum", 1)
    made.open_gate("S2", True)
    made.drive("conveyor.S2", 1)
    agenda.run_until(20 * S)
    made.drive("conveyor.S2", -1)
    agenda.run_until(agenda.now_us + 2 * S)
    assert len(made.sides[1].mouth.belt) == 0
    assert sum(eyes) == len(made.sides[1].mouth.slot) == 2
    check_places(made, tiles)


def test_the_last_tiles_come_slower_than_the_first() -> None:
    gaps: dict[str, list[int]] = {"first": [], "last": []}
    for seed in range(30):
        agenda, made, _ = machine(seed)
        times: list[int] = []
        made.on_eye = lambda side, peaks, direction, a=agenda, t=times: t.append(a.now_us)  # type: ignore[misc]
        made.drive("drum", 1)
        for n in (1, 2, 3, 4):
            made.open_gate(f"S{n}", True)
            made.drive(f"conveyor.S{n}", 1)
        for _ in range(400):
            agenda.run_until(agenda.now_us + 100_000)
            for side in made.sides:
                for tile in list(side.mouth.slot.tiles):
                    tile.move(side.store)
                side.mouth.settle()
        gaps["first"].append(times[20] - times[0])
        gaps["last"].append(times[-1] - times[-6])
    assert sum(gaps["last"]) / 5 > 2 * sum(gaps["first"]) / 20


def test_a_push_against_a_raised_tray_is_seen_as_a_violation() -> None:
    agenda, made, _ = machine()
    made.drive("lift.S1", 1)
    agenda.run_until(1 * S)
    made.drive("lift.S1", 0)
    made.drive("stacker.S1", 1)
    agenda.run_until(2 * S)
    assert made.violations == ["S1: pushed against a tray that is not home"]


@pytest.mark.parametrize(("past_us", "in_the_way"), [(200_000, False), (260_000, False), (330_000, True)])
def test_a_console_is_down_by_its_height_and_not_by_the_window_of_its_sensor(
    past_us: int, in_the_way: bool
) -> None:
    agenda, made, tiles = machine()
    tiles[0].move(made.sides[0].store)
    made.drive("console", 1)
    agenda.run_until(past_us)
    made.drive("console", 0)
    assert not made.tells("console.down")
    made.drive("lift.S1", 1)
    agenda.run_until(agenda.now_us + 2 * S)
    assert made.violations == ["S1: raised while the console was not down"] * in_the_way


def test_a_motor_that_is_fed_past_the_door_is_the_only_one_with_power_and_no_other_cut_is_passed() -> None:
    _, made, _ = machine()
    made.open_door(True)
    for part in made.motors:
        made.drive(part, 1)
    assert made.current_ma == 0
    made.bridge_door("lift.S2", True)
    assert [n for n, motor in made.motors.items() if motor.current_ma] == ["lift.S2"]
    for by in ("mains", "wired stop"):
        made.power(False, by)
        assert made.current_ma == 0
        made.power(True, by)
    made.bridge_door("lift.S2", False)
    assert made.current_ma == 0


def test_a_lift_stalls_under_a_wall_that_was_not_pulled_off() -> None:
    agenda, made, tiles = machine()
    side = made.sides[0]
    stalls: list[str] = []
    made.on_stall = stalls.append
    tiles[0].move(side.wall)
    tiles[1].move(side.store)
    made.drive("lift.S1", 1)
    agenda.run_until(10 * S)
    assert side.store.tiles == [tiles[1]]
    assert stalls == ["lift.S1"]
    assert not side.lift.turning
    assert made.motors["lift.S1"].current_ma == round(1500 * STALL_FACTOR)
    table = Place("table")
    side.pull_wall(table)  # the motor is still on: it goes on where it was held
    agenda.run_until(20 * S)
    assert side.wall.tiles == [tiles[1]]
    assert table.tiles == [tiles[0]]
    assert made.motors["lift.S1"].current_ma == round(1500 * RUN_SHARE)


def test_an_unplugged_motor_does_not_move() -> None:
    agenda, made, _ = machine()
    made.drive("console", 1)
    agenda.run_until(1 * S)
    made.motors["console"].plug(False)
    angle = made.console.angle
    made.drive("console", 1)
    agenda.run_until(9 * S)
    assert made.console.angle == angle
    assert 0 < angle < TURN // 2
    assert made.current_ma == 0
    made.motors["console"].plug(True)  # it was driven all the time
    agenda.run_until(10 * S)
    assert made.console.angle != angle


# --- motor --------------------------------------------------------------------------------------------------


class Bare:
    """A motor by itself, and what it does."""

    def __init__(self) -> None:
        self.agenda = Agenda()
        self.turns: list[int] = []
        self.stalls: list[int] = []
        self.motor = Motor(
            self.agenda, "m", 1000, self.turns.append, lambda _: self.stalls.append(self.agenda.now_us)
        )

    def wait(self, us: int) -> None:
        self.agenda.run_until(self.agenda.now_us + us)


def test_a_stall_is_not_told_in_the_middle_of_the_order_that_caused_it() -> None:
    bare = Bare()
    bare.motor.seize(True)
    bare.motor.drive(1)
    assert bare.stalls == []
    bare.wait(S)
    assert bare.stalls == [STALL_SEEN_US]  # once, however long it lasts
    assert bare.turns[-1] == 0


def test_a_stall_that_ends_before_it_is_seen_is_none() -> None:
    bare = Bare()
    bare.motor.drive(1)
    bare.motor.hold(True)
    bare.wait(STALL_SEEN_US - 1)
    bare.motor.hold(False)
    bare.wait(S)
    assert bare.stalls == []


def test_a_motor_that_is_turned_back_is_no_longer_held() -> None:
    bare = Bare()
    bare.motor.drive(1)
    bare.motor.hold(True)
    assert bare.motor.current_ma == 2500
    bare.motor.drive(-1)
    assert bare.motor.current_ma == 600
    bare.wait(S)
    assert bare.stalls == []


def test_a_reduced_drive_halves_the_current_of_a_stall_and_nothing_else() -> None:
    bare = Bare()
    bare.motor.drive(1, reduced=True)
    assert bare.motor.current_ma == 600
    bare.motor.hold(True)
    assert bare.motor.current_ma == 1250
    bare.motor.drive(1)
    assert bare.motor.current_ma == 2500


def test_a_late_motor_is_not_made_later_by_a_change_of_its_current() -> None:
    bare = Bare()
    bare.motor.delay(1_500_000)
    bare.motor.drive(1, reduced=True)
    bare.wait(S)
    bare.motor.drive(1)
    bare.wait(499_999)
    assert bare.turns == []
    bare.wait(1)
    assert bare.turns == [1]
    bare.motor.drive(0)
    bare.motor.drive(1)
    bare.motor.drive(0)
    bare.wait(9 * S)
    assert bare.turns[1:] == [0, 0]


@pytest.mark.parametrize("first", ["door", "mains", "wired stop"])
def test_power_is_back_only_when_nothing_cuts_it_any_more(first: str) -> None:
    bare = Bare()
    bare.motor.drive(1)
    for by in ("door", "mains", "wired stop"):
        bare.motor.power(False, by)
    bare.motor.power(True, first)
    assert (bare.turns[-1], bare.motor.current_ma) == (0, 0)
    for by in {"door", "mains", "wired stop"} - {first}:
        bare.motor.power(True, by)
    assert (bare.turns[-1], bare.motor.current_ma) == (1, 600)


def test_the_supply_bridges_a_moment_and_then_drops() -> None:
    agenda, made, _ = machine()
    dropped: list[int] = []
    made.on_brown_out = lambda: dropped.append(agenda.now_us)
    for n in (1, 2, 3, 4):
        made.drive(f"lift.S{n}", 1)
    agenda.run_until(S)
    assert dropped == []
    for n in (1, 2, 3, 4):
        made.motors[f"lift.S{n}"].seize(True)
    agenda.run_until(S + BROWN_OUT_US - 1)
    for n in (1, 2, 3, 4):
        made.motors[f"lift.S{n}"].seize(False)
    agenda.run_until(2 * S)
    assert dropped == []
    for n in (1, 2, 3, 4):
        made.motors[f"lift.S{n}"].seize(True)
    agenda.run_until(3 * S)
    assert dropped[0] == 2 * S + BROWN_OUT_US


# --- crank --------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from([-1, 0, 1]), st.integers(0, 900_000)), max_size=30))
def test_a_sensor_never_disagrees_with_the_angle(moves: list[tuple[int, int]]) -> None:
    agenda = Agenda()
    seen: list[tuple[str, bool]] = []
    crank = Crank(agenda, 750_000, {"home": 0, "far": TURN // 2}, {}, lambda n, a: seen.append((n, a)))
    way = 0
    for direction, wait_us in moves:
        crank.turn(direction)
        agenda.run_until(agenda.now_us + wait_us)
        way += direction * wait_us
        for name, mark in (("home", 0), ("far", TURN // 2)):
            distance = min((crank.angle - mark) % TURN, (mark - crank.angle) % TURN)
            if abs(distance - WINDOW) > 100:
                assert crank.on[name] == (distance < WINDOW)
    # What it turned in all is where it is, but for the one unit by which it stands past a station.
    expected = way * TURN // 750_000 % TURN
    assert min((crank.angle - expected) % TURN, (expected - crank.angle) % TURN) <= 4 * len(moves) + 8
    for (name, active), (_, before) in zip(
        [e for e in seen if e[0] == "far"][1:], [e for e in seen if e[0] == "far"], strict=False
    ):
        assert active != before, f"{name} told the same twice"


def test_stations_too_near_to_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="too near"):
        Crank(Agenda(), 1000, {"home": 0}, {WINDOW + 1: lambda d: True}, lambda n, a: None)


# --- agenda and world ---------------------------------------------------------------------------------------


def test_calls_of_one_time_do_not_change_places() -> None:
    agenda = Agenda()
    said: list[int] = []
    for n in range(5):
        agenda.at(10, lambda n=n: said.append(n))  # type: ignore[misc]
    agenda.at(10, lambda: said.append(99)).cancel()
    agenda.run_until(10)
    assert said == [0, 1, 2, 3, 4]


class Metronome:
    """A core that ticks at random times and notes when."""

    def __init__(self, seed: int, lazy: bool = False) -> None:
        self.rng = random.Random(seed)
        self.next = 0
        self.lazy = lazy
        self.ticks: list[int] = []

    def handle(self, event: object, now_us: int) -> tuple[object, ...]:
        self.ticks.append(now_us)
        if not self.lazy:
            self.next = now_us + self.rng.randrange(1, 100)
        return ()

    def next_deadline(self) -> int:
        return self.next


def test_the_world_neither_goes_back_nor_misses_a_deadline() -> None:
    world = World()
    cores = [Metronome(n) for n in range(3)]
    for n, core in enumerate(cores):
        world.add(str(n), core, lambda effect, now: None)
    world.run(10_000)
    for core in cores:
        assert core.ticks == sorted(core.ticks)
        assert core.next > 10_000
        assert len(core.ticks) > 150


def test_a_core_whose_deadline_does_not_move_on_is_found() -> None:
    world = World()
    world.add("stuck", Metronome(0, lazy=True), lambda effect, now: None)
    with pytest.raises(RuntimeError, match="stuck"):
        world.run(10)
