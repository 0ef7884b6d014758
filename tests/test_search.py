"""From every state there is a way to ready: a small part of the search, and what it can see."""

from collections.abc import Iterator

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sim.lab import search
from sim.lab.explore import MISLEADS, NO_WAY, Defect, Found, Path, Setting, Step, explore, read_path, walk
from sim.lab.person import way_out, wrong_now
from sim.lab.shape import shape
from tablectl.table import cycle
from tablectl.table.cycle import Go, State, Trigger

STOPPED_BY_THE_LINE = "fault:stop-line:wired/0.0"
HOMED = "START-held/3.0"
OPEN = f"{HOMED} START/3.0 put:set/0.0"
CUT_WASH = f"{OPEN} START/9.0 STOP/1.0"
READY = f"{OPEN} START/60.0"


def at(path: str) -> Setting:
    return Setting(sets=1, faults=False, start=read_path(path), detour=2)


@pytest.fixture(scope="module")
def near() -> Found:
    """The states nearest to the beginning, without the faults of parts."""
    return explore(at(""), most=6)


def test_no_state_near_the_beginning_is_without_a_way_out(near: Found) -> None:
    assert near.defects == []
    assert near.expanded == 6
    assert near.longest[-1] == "START"


@pytest.mark.parametrize("path", [CUT_WASH, f"{OPEN} START/9.0 ADD/1.0", STOPPED_BY_THE_LINE])
def test_no_state_half_way_is_without_a_way_out(path: str) -> None:
    found = explore(at(path), most=1)
    assert found.defects == []
    assert len(found.paths) > 1


def test_no_fault_of_a_part_in_a_wash_leads_to_what_must_not_be() -> None:
    found = explore(Setting(sets=1, start=read_path(f"{OPEN} START/9.0")), most=1)
    assert found.defects == []
    assert {"E22", "E31", "E33"} <= set(found.codes)


END_SENSORS = (
    "lift.S1.home", "lift.S2.home", "console.down", "console.up", "stacker.S1.open", "stacker.S1.closed",
)  # fmt: skip


@pytest.mark.parametrize("sensor", END_SENSORS)
@pytest.mark.parametrize("lie", ["dead", "stuck"])
def test_an_end_sensor_that_was_mended_does_not_bar_the_table_for_ever(sensor: str, lie: str) -> None:
    ways = [(READY, "START"), (CUT_WASH, "START-held"), (OPEN, "START"), (f"{OPEN} START/9.0", "STOP")]
    for path, key in ways:
        for fault in (f"despite:{lie}:{sensor}:{key}/0.0", f"{key}/0.6 brief:{lie}:{sensor}/3.0"):
            way = way_out(walk(at(""), read_path(f"{path} {fault}")))
            assert way.out, (path, fault, way)
            assert way.wrong == ()


def test_no_path_leads_to_another_state_than_it_was_written_down_for(near: Found) -> None:
    for state, path in list(near.paths.items())[::5]:
        assert shape(walk(at(""), path)) == state


def test_what_is_found_does_not_depend_on_the_number_of_processes() -> None:
    one, two = (explore(at(""), workers, most=1) for workers in (1, 2))
    assert one == two


steps = st.builds(
    Step, st.sampled_from(["START", "lift.1+lift.2", "brief:dead:lift.S1.home"]), st.integers(0, 3000)
)


@given(st.lists(steps).map(tuple))
def test_no_path_is_read_otherwise_than_it_was_printed(path: Path) -> None:
    assert read_path(" ".join(map(str, path))) == path


# --- that it sees -------------------------------------------------------------------------------------------


def without(state: State, *triggers: Trigger) -> dict[Trigger, tuple[Go, ...]]:
    return {trigger: go for trigger, go in cycle._GO[state].items() if trigger not in triggers}


def whats(setting: Setting) -> Iterator[str]:
    return (defect.what for defect in explore(setting, most=1).defects)


def test_a_fault_that_reset_does_not_clear_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cycle._GO, State.FAULT, without(State.FAULT, Trigger.RESET))
    assert MISLEADS in whats(at(STOPPED_BY_THE_LINE))  # POWER leads out, and nothing says so


def test_a_fault_that_nothing_leads_out_of_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cycle._GO, State.FAULT, without(State.FAULT, Trigger.RESET, Trigger.POWER))
    assert NO_WAY in whats(at(STOPPED_BY_THE_LINE))


def test_a_start_that_is_refused_where_the_display_asks_for_it_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(cycle._GO, State.STOPPED, without(State.STOPPED, Trigger.START))
    assert MISLEADS in whats(at(CUT_WASH))  # ADD would do


def test_a_false_ready_is_seen() -> None:
    bench = walk(at(READY), read_path(READY))
    assert bench.ready()
    assert list(wrong_now(bench, ())) == []
    table = bench.rig.table
    table.machine.sides[0].store.tiles[0].move(table.players.table)
    assert not bench.ready()
    assert any("ready" in wrong for wrong in wrong_now(bench, ()))


@pytest.mark.parametrize(("defects", "status"), [([], 0), ([Defect(NO_WAY, HOMED, "START")], 1)])
def test_the_command_does_not_hide_a_defect(
    monkeypatch: pytest.MonkeyPatch, defects: list[Defect], status: int
) -> None:
    def explored(setting: Setting, workers: int, most: int | None, progress: object) -> Found:
        return explore(setting, workers, 0) if not defects else Found(defects=defects)

    monkeypatch.setattr(search, "explore", explored)
    told = CliRunner().invoke(search.main, ["--sets", "1", "--lang", "en"])
    assert told.exit_code == status
    assert ("NOT closed" in told.output) != bool(defects)
    assert (NO_WAY in told.output) == bool(defects)


def test_a_path_that_is_none_is_not_walked() -> None:
    assert CliRunner().invoke(search.main, ["--replay", "START"]).exit_code == 2
    told = CliRunner().invoke(search.main, ["--sets", "1", "--replay", HOMED])
    assert told.exit_code == 0
    assert "[PrES]" in told.output
