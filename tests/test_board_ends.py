"""End sensors that are dead or lie: what the board still knows, and what it no longer believes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_bench import DONE, BareHand, bench, ended, failed, messages_of, ordered, put_in, washed

from firmware_protocol import messages as m
from sim.mechanics.crank import TURN
from sim.mechanics.side import Side
from sim.table import Fault, Mend

S = 1_000_000
LIFT_US = 2_600_000
SENSOR, INTERLOCK = failed(m.FailReason.SENSOR), failed(m.FailReason.INTERLOCK)
ABORTED, TIMEOUT = failed(m.FailReason.ABORTED), failed(m.FailReason.TIMEOUT)


def how(got: list[m.Message]) -> list[tuple[str, int]]:
    return [(type(g).__name__, getattr(g, "reason", 0)) for g in got if isinstance(g, m.Done | m.Failed)]


def refused(hand: BareHand, got: list[m.Message]) -> m.FailReason:
    """Return why an order was refused, without having been accepted."""
    (message,) = got
    assert isinstance(message, m.Failed), got
    return m.FailReason(message.reason)


def side_of(hand: BareHand, n: int = 1) -> Side:
    return hand.table.machine.sides[n - 1]


def holds(hand: BareHand, n: int = 1) -> int | None:
    """Return how many tiles the board says for certain that a store holds, None where it is in doubt."""
    stored = hand.table.board._counts.to_wire()[2 * n - 1]
    return None if stored & 0xC0 else stored


def loaded(tiles: int = 8, **options: Any) -> BareHand:
    """Return a table with one store filled, by the board's own FILL."""
    hand = bench(**options)
    put_in(hand)
    assert washed(hand, 1, tiles) == DONE
    assert holds(hand) == tiles == len(side_of(hand).store)
    hand.command(m.Stop(hand.op(), hand.part("drum")))
    return hand


# --- a wall stands for certain ------------------------------------------------------------------------------


def test_no_doubt_is_left_by_a_straight_turn() -> None:
    hand = loaded()
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 4 * S) == DONE
    assert holds(hand) == 0 == len(side_of(hand).store)


def reversed_turn(hand: BareHand, at_us: int) -> list[tuple[str, int]]:
    hand.stroke("lift.S1", m.End.TURN)
    hand.wait(at_us)
    hand.tell(Fault("stalled:lift.S1+0.03s"))
    return ended(hand, 10 * S)


def long_turn(hand: BareHand, at_us: int) -> list[tuple[str, int]]:
    hand.stroke("lift.S1", m.End.TURN)
    hand.wait(at_us)
    hand.tell(Fault("disconnected:lift.S1+0.9s"))
    return ended(hand, 10 * S)


def short_turn(hand: BareHand, at_us: int) -> list[tuple[str, int]]:
    hand.stroke("lift.S1", m.End.TURN)
    hand.wait(at_us)
    hand.tell(Fault("stuck:lift.S1.home+0.01s"))
    return ended(hand, S)


def halved_turn(hand: BareHand, at_us: int) -> list[tuple[str, int]]:
    hand.stroke("lift.S1", m.End.TURN)
    hand.wait(at_us)
    hand.command(m.Stop(hand.op(), hand.part("lift.S1")))
    hand.wait(100_000)
    hand.stroke("lift.S1", m.End.HOME)
    return ended(hand, 5 * S)


@pytest.mark.parametrize("at_us", [100_000, 1_000_000, 1_500_000])  # before and after its latches
@pytest.mark.parametrize("turn", [reversed_turn, long_turn, short_turn, halved_turn])
def test_a_turn_that_was_not_straight_proves_no_wall_and_the_next_straight_one_does(
    turn: Any, at_us: int
) -> None:
    hand = loaded()
    assert turn(hand, at_us) == [DONE]
    assert holds(hand) is None
    side_of(hand).pull_wall(hand.table.players.table)
    hand.stroke("lift.S1", m.End.HOME)
    hand.wait(5 * S)
    assert holds(hand) is None
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 5 * S) == DONE
    assert holds(hand) == 0 == len(side_of(hand).store)


def test_a_lift_that_begins_late_is_neither_accused_nor_in_doubt() -> None:
    hand = loaded()
    hand.tell(Fault("late:lift.S1"))
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 6 * S) == DONE
    assert holds(hand) == 0 == len(side_of(hand).store)


# --- dead ---------------------------------------------------------------------------------------------------

DEAD = [
    ("stacker.S1.closed", m.End.FAR, "stacker.S1.open"),
    ("stacker.S1.open", m.End.HOME, "stacker.S1.closed"),
    ("console.up", m.End.FAR, "console.down"),
    ("console.down", m.End.HOME, "console.up"),
]


@pytest.mark.parametrize(("sensor", "end", "live"), DEAD)
def test_a_stroke_to_a_dead_end_stops_at_the_live_one_and_says_which_is_at_fault(
    sensor: str, end: m.End, live: str
) -> None:
    hand = bench()
    part = sensor.rpartition(".")[0]
    if end is m.End.HOME:
        hand.stroke(part, m.End.FAR)
        hand.wait(3 * S)
    hand.tell(Fault(f"dead:{sensor}"))
    stroke_us = 1000 * hand.description.parts[hand.part(part)].stroke_ms
    assert ordered(hand, hand.stroke(part, end), 2 * stroke_us) == SENSOR
    machine = hand.table.machine
    assert machine.crank(part).on[live]
    assert not machine.motors[part].direction
    assert ordered(hand, hand.stroke(part, end), 2 * stroke_us) == SENSOR  # and no other end is lost by that
    hand.tell(Mend(f"dead:{sensor}"))
    assert ordered(hand, hand.stroke(part, end), 2 * stroke_us) == DONE


def test_a_stroke_back_from_half_way_stops_where_its_own_end_must_have_been() -> None:
    hand = bench()
    hand.stroke("stacker.S1", m.End.FAR)
    hand.wait(200_000)
    hand.command(m.Stop(hand.op(), hand.part("stacker.S1")))
    hand.tell(Fault("dead:stacker.S1.open"))
    assert ordered(hand, hand.stroke("stacker.S1", m.End.HOME), 2 * S) == SENSOR
    assert side_of(hand).stacker.on["stacker.S1.closed"]


@pytest.mark.parametrize("tiles", [6, 7])  # the last one alone
def test_a_fill_with_a_dead_closed_sensor_goes_on_and_counts_what_is_true(tiles: int) -> None:
    hand = bench()
    put_in(hand)
    hand.tell(Fault("dead:stacker.S1.closed"))
    assert washed(hand, 1, tiles) == DONE
    assert holds(hand) == tiles == len(side_of(hand).store)
    hand.command(m.Stop(hand.op(), hand.part("drum")))
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 5 * S) == DONE
    assert len(side_of(hand).wall) == tiles
    assert holds(hand) == 0


def test_a_dead_sensor_is_told_once_a_session_and_not_with_every_stroke() -> None:
    hand = bench()
    put_in(hand)
    sensor = hand.description.sensors.index("stacker.S1.closed")
    hand.tell(Fault("dead:stacker.S1.closed"))
    for nonce, tiles in ((8, 6), (9, 12)):
        hand.hello(nonce)
        told: list[m.Message] = []
        hand.run("drum", 5000)
        hand.fill(0, tiles, 5000)
        for _ in range(12):
            told += messages_of(hand.wait(500_000))
            for op in (hand._op - 1, hand._op):
                hand.command(m.Renew(op, 5000))
        assert len(side_of(hand).store) == tiles
        events = [t for t in told if isinstance(t, m.SensorMissed)]
        assert {e.sensor for e in events} == {sensor}
        assert len(set(events)) == 1  # repeated, for nobody acknowledges it, but the same one


def test_a_push_past_a_dead_closed_sensor_counts_as_if_it_had_been_seen() -> None:
    for fault in (None, "dead:stacker.S1.closed"):
        hand = loaded(4)
        hand.run("drum", 5000)
        hand.run("conveyor.S1", 5000)
        while not side_of(hand).mouth.slot_full:
            hand.wait(50_000)
        for part in ("drum", "conveyor.S1"):
            hand.command(m.Stop(hand.op(), hand.part(part)))
        if fault:
            hand.tell(Fault(fault))
        got = ordered(hand, hand.stroke("stacker.S1", m.End.FAR), S)
        assert got == (SENSOR if fault else DONE)
        assert holds(hand) == 6 == len(side_of(hand).store)


@pytest.mark.parametrize("fault", ["disconnected:stacker.S1", "late:stacker.S1"])
def test_a_stacker_that_never_left_its_open_end_has_pushed_nothing(fault: str) -> None:
    hand = bench()
    put_in(hand)
    hand.tell(Fault("dead:stacker.S1.closed"))
    hand.tell(Fault(fault))
    assert washed(hand, 1, 4) == TIMEOUT
    assert len(side_of(hand).store) == 0
    assert holds(hand) in (None, 0)


def test_a_fill_with_a_dead_open_sensor_names_the_sensor_and_not_the_time() -> None:
    hand = bench()
    put_in(hand)
    hand.run("drum", 5000)
    hand.fill(0, 8, 5000)
    while not side_of(hand).store.tiles:
        hand.wait(10_000)
    hand.tell(Fault("dead:stacker.S1.open"))
    assert SENSOR in ended(hand, 4 * S)
    assert side_of(hand).stacker.on["stacker.S1.closed"]


@pytest.mark.parametrize("fault", ["reset:board", "power-cut:mains+0.5s", "brown-out:supply"])
@pytest.mark.parametrize("after_us", [100_000, 340_000, 400_000, 600_000])
def test_a_stroke_that_was_cut_past_a_dead_sensor_leaves_its_count_in_doubt(
    fault: str, after_us: int
) -> None:
    hand = bench()
    put_in(hand)
    hand.tell(Fault("dead:stacker.S1.closed"))
    hand.run("drum", 5000)
    hand.fill(0, 8, 5000)
    crank = side_of(hand).stacker
    while crank.on["stacker.S1.open"]:
        hand.wait(1_000)
    hand.wait(after_us)
    hand.tell(Fault(fault))
    hand.wait(S, ping=False)
    assert holds(hand) is None
    hand.hello(9)
    hand.stroke("stacker.S1", m.End.HOME)
    hand.wait(2 * S)
    assert holds(hand) in (None, len(side_of(hand).store))


# --- lies ---------------------------------------------------------------------------------------------------


def test_a_tray_whose_home_sensor_sticks_is_not_pushed_against() -> None:
    hand = loaded()
    hand.tell(Fault("stuck:lift.S1.home"))
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 5 * S) == SENSOR
    assert not side_of(hand).lift.on["lift.S1.home"]
    for got in (hand.stroke("stacker.S1", m.End.FAR), hand.fill(0, 12)):
        assert refused(hand, got) is m.FailReason.INTERLOCK
    hand.tell(Fault("reset:board"))  # nor by a board that has started anew
    hand.wait(1_000, ping=False)
    hand.hello(8)
    assert refused(hand, hand.stroke("stacker.S1", m.End.FAR)) is m.FailReason.INTERLOCK
    hand.tell(Mend("stuck:lift.S1.home"))
    assert ordered(hand, hand.stroke("lift.S1", m.End.HOME), 5 * S) == DONE
    assert refused(hand, hand.stroke("stacker.S1", m.End.FAR)) is m.FailReason.INTERLOCK  # it has lied
    side_of(hand).pull_wall(hand.table.players.table)
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 5 * S) == DONE
    assert ordered(hand, hand.stroke("stacker.S1", m.End.FAR), S) == DONE
    assert hand.table.machine.violations == []


@pytest.mark.parametrize("cut", ["stop", "power-cut:mains+1s", "reset:board", "door:service+1s"])
def test_a_lift_that_was_stopped_on_its_way_is_not_home_because_a_sensor_says_so(cut: str) -> None:
    hand = loaded()
    hand.stroke("lift.S1", m.End.TURN)
    hand.wait(LIFT_US // 2)
    hand.stop_all() if cut == "stop" else hand.tell(Fault(cut))
    hand.tell(Fault("stuck:lift.S1.home"))
    hand.wait(2 * S, ping=False)
    board = hand.table.board
    hand.clear(board._stop, board._stop_number)
    hand.hello(8)
    assert refused(hand, hand.stroke("stacker.S1", m.End.FAR)) is m.FailReason.INTERLOCK
    assert how(hand.stroke("lift.S1", m.End.HOME)) == [SENSOR]
    hand.tell(Mend("stuck:lift.S1.home"))
    hand.wait(1_000)
    assert ordered(hand, hand.stroke("lift.S1", m.End.HOME), 5 * S) == DONE


def test_a_lift_without_current_is_late_and_its_sensor_is_not_accused() -> None:
    hand = loaded()
    hand.tell(Fault("disconnected:lift.S1"))
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 6 * S) == TIMEOUT
    hand.tell(Mend("disconnected:lift.S1"))
    assert ordered(hand, hand.stroke("stacker.S1", m.End.FAR), S) == DONE  # it has not moved


def test_a_wall_is_not_raised_behind_a_stacker_whose_open_sensor_sticks() -> None:
    hand = loaded()
    hand.stroke("stacker.S1", m.End.FAR)
    hand.wait(100_000)
    hand.command(m.Stop(hand.op(), hand.part("stacker.S1")))
    hand.tell(Fault("stuck:stacker.S1.open"))
    assert refused(hand, hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK
    assert how(hand.stroke("stacker.S1", m.End.HOME)) == [SENSOR]
    assert refused(hand, hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK


def test_a_wall_is_not_raised_under_a_console_whose_lower_sensor_sticks() -> None:
    hand = loaded()
    hand.tell(Fault("stuck:console.down"))
    hand.stroke("console", m.End.FAR)
    hand.wait(S)
    hand.command(m.Stop(hand.op(), hand.part("console")))
    assert refused(hand, hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK
    hand.stroke("console", m.End.FAR)
    assert SENSOR in ended(hand, 5 * S)
    assert refused(hand, hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK


@pytest.mark.parametrize("part", ["console", "stacker.S1"])
@pytest.mark.parametrize("end", [m.End.HOME, m.End.FAR])
def test_a_part_that_is_at_both_ends_at_once_does_not_move_and_nothing_moves_by_it(
    part: str, end: m.End
) -> None:
    hand = loaded()
    hand.tell(Fault(f"stuck:{part}.{'up' if part == 'console' else 'closed'}"))
    assert refused(hand, hand.stroke(part, end)) is m.FailReason.INTERLOCK
    assert refused(hand, hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK
    if part != "console":
        assert refused(hand, hand.fill(0, 12)) is m.FailReason.INTERLOCK
    hand.tell(Mend(f"stuck:{part}.{'up' if part == 'console' else 'closed'}"))
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 5 * S) == DONE


def test_an_end_that_comes_too_early_is_not_believed() -> None:
    hand = bench()
    hand.stroke("console", m.End.FAR)
    hand.wait(600_000)
    assert [*how(messages_of(hand.tell(Fault("stuck:console.up")))), *ended(hand, 1_000)] == [SENSOR]
    assert hand.table.machine.console.angle < TURN // 4


def test_a_fill_is_not_ended_by_a_sensor_that_flickers_in_mid_stroke() -> None:
    for sensor in ("open", "closed"):
        hand = bench()
        put_in(hand)
        hand.run("drum", 5000)
        hand.fill(0, 4, 5000)
        while side_of(hand).stacker.on["stacker.S1.open"]:
            hand.wait(1_000)
        hand.wait(100_000)
        hand.tell(Fault(f"stuck:stacker.S1.{sensor}+0.05s"))
        got = ended(hand, 4 * S)
        assert DONE in got
        assert holds(hand) == 4 == len(side_of(hand).store)


@settings(max_examples=40)
@given(
    st.sampled_from(["stacker.S1", "lift.S1", "console"]),
    st.lists(st.integers(0, 2_000_000), min_size=1, max_size=4),
    st.sampled_from([None, "late", "disconnected", "stalled"]),
    st.booleans(),
)
def test_no_healthy_sensor_is_disbelieved_for_good_whatever_stopped_its_part(
    part: str, stops: list[int], fault: str | None, cut: bool
) -> None:
    hand = bench()
    far = m.End.TURN if part.startswith("lift") else m.End.FAR
    if fault:
        hand.tell(Fault(f"{fault}:{part}"))
    for n, us in enumerate(stops):
        hand.stroke(part, far if n % 2 == 0 else m.End.HOME)
        hand.wait(us)
        if cut:
            hand.tell(Fault("reset:board"))
            hand.wait(1_000, ping=False)
            hand.hello(20 + n)
        else:
            hand.command(m.Stop(hand.op(), hand.part(part)))
    if fault:
        hand.tell(Mend(f"{fault}:{part}"))
    for end in (m.End.HOME, far, m.End.HOME):
        hand.stroke(part, end)
        assert ended(hand, 6 * S)[-1:] in ([DONE], [])
    home = f"{part}.{ {'s': 'open', 'l': 'home', 'c': 'down'}[part[0]] }"
    assert hand.table.board._moves.whereabouts.believes(home)
