"""A console one of whose end sensors is dead: moved by time, and only where nobody can be hurt by it."""

import pytest
from wire_bench import DONE, BareHand, bench, ended, failed, messages_of, ordered

from firmware_protocol import messages as m
from sim.board.keys import STEADY_US
from sim.mechanics.crank import TURN, travel_from
from sim.table import Fault, Mend, PanelKey

S = 1_000_000
STROKE_US = 2_000_000
UP, DOWN = "console.up", "console.down"
STALL, TIMEOUT = failed(m.FailReason.STALL), failed(m.FailReason.TIMEOUT)


def height(hand: BareHand) -> float:
    return travel_from(hand.table.machine.console.angle, 0)


def told(hand: BareHand, sensor: str) -> bool:
    """Return what the host is told of a sensor."""
    hand.hello(hand.now & 0xFFFF | 0x10000)
    return bool(hand.table.board._sensors >> hand.description.sensors.index(sensor) & 1)


def refused(got: list[m.Message]) -> m.FailReason:
    (message,) = got
    assert isinstance(message, m.Failed), got
    return m.FailReason(message.reason)


def key(hand: BareHand, down: bool, name: str = "lift.1") -> list[m.Message]:
    return messages_of(hand.tell(PanelKey(name, down)) + hand.wait(STEADY_US))


def up(dead: str = DOWN) -> BareHand:
    """Return a table with its console up and a dead sensor."""
    hand = bench()
    assert ordered(hand, hand.stroke("console", m.End.FAR), 3 * S) == DONE
    hand.tell(Fault(f"dead:{dead}"))
    return hand


def down(dead: str = UP) -> BareHand:
    hand = bench()
    hand.tell(Fault(f"dead:{dead}"))
    return hand


@pytest.mark.parametrize("late", [False, True])
def test_a_console_that_was_driven_up_by_time_is_up(late: bool) -> None:
    hand = down()
    if late:
        hand.tell(Fault("late:console"))
    assert ordered(hand, hand.stroke("console", m.End.FAR_TIMED), 5 * S) == DONE
    assert height(hand) > 0.95
    assert told(hand, UP)
    assert not told(hand, DOWN)
    assert refused(hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", ["lift.1", "lift.2"])
def test_a_console_that_was_driven_down_by_time_is_down_and_walls_rise_over_it(name: str, late: bool) -> None:
    hand = up()
    for tile in list(hand.table.boxes[0].tiles[:2]):
        tile.move(hand.table.machine.sides[0].store)
    key(hand, True, name)
    if late:
        hand.tell(Fault("late:console"))
    assert ordered(hand, hand.stroke("console", m.End.HOME_TIMED), 5 * S) == DONE
    assert height(hand) < 0.05
    assert told(hand, DOWN)
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 5 * S) == DONE
    assert len(hand.table.machine.sides[0].wall) == 2
    assert hand.table.machine.violations == []


@pytest.mark.parametrize("end", [m.End.FAR_TIMED, m.End.HOME_TIMED])
def test_all_of_the_way_by_time_goes_with_reduced_current(end: m.End) -> None:
    hand = down() if end == m.End.FAR_TIMED else up()
    key(hand, True)
    hand.stroke("console", end)
    motor = hand.table.machine.motors["console"]
    for _ in range(40):
        assert motor.reduced or not motor.direction
        hand.wait(50_000)
    assert ended(hand, S) == [DONE]


@pytest.mark.parametrize("end", [m.End.FAR_TIMED, m.End.HOME_TIMED])
@pytest.mark.parametrize("start", ["other dead", "half way", "at the end already"])
def test_nothing_goes_by_time_that_does_not_begin_at_the_other_end_seen(end: m.End, start: str) -> None:
    far = end == m.End.FAR_TIMED
    hand = bench() if far is (start != "at the end already") else up(UP if far else DOWN)
    if start == "other dead":
        hand.tell(Fault(f"dead:{DOWN if far else UP}"))
    elif start == "half way":
        hand.stroke("console", m.End.HOME if not far else m.End.FAR)
        hand.wait(S)
        hand.command(m.Stop(hand.op(), hand.part("console")))
    key(hand, True)
    assert refused(hand.stroke("console", end)) is m.FailReason.INTERLOCK


def test_an_end_that_was_reached_by_time_is_no_start_for_the_next_one_by_time() -> None:
    hand = down()
    assert ordered(hand, hand.stroke("console", m.End.FAR_TIMED), 5 * S) == DONE
    key(hand, True)
    assert refused(hand.stroke("console", m.End.HOME_TIMED)) is m.FailReason.INTERLOCK


@pytest.mark.parametrize("part", ["stacker.S1", "lift.S1", "drum"])
@pytest.mark.parametrize("end", [m.End.FAR_TIMED, m.End.HOME_TIMED])
def test_nothing_but_a_console_goes_by_time(part: str, end: m.End) -> None:
    hand = bench()
    key(hand, True)
    assert refused(hand.stroke(part, end)) is m.FailReason.BAD_ARGUMENT


def test_no_console_comes_down_by_time_without_a_hand_on_the_key() -> None:
    hand = up()
    assert refused(hand.stroke("console", m.End.HOME_TIMED)) is m.FailReason.ABORTED
    key(hand, True, "dice.S1")
    assert refused(hand.stroke("console", m.End.HOME_TIMED)) is m.FailReason.ABORTED
    key(hand, True)
    hand.stroke("console", m.End.HOME_TIMED)
    hand.wait(S)
    at = height(hand)
    got = key(hand, False)
    assert [g.reason for g in got if isinstance(g, m.Failed)] == [m.FailReason.ABORTED]
    hand.wait(S)
    assert at - height(hand) < 0.05
    assert not hand.table.machine.motors["console"].direction
    assert not told(hand, DOWN)


def test_a_contact_that_chatters_is_no_released_key() -> None:
    hand = up()
    key(hand, True)
    hand.stroke("console", m.End.HOME_TIMED)
    for _ in range(20):
        hand.tell(PanelKey("lift.1", False))
        hand.wait(STEADY_US - 1_000)
        hand.tell(PanelKey("lift.1", True))
        hand.wait(20_000)
    assert ended(hand, 3 * S) == [DONE]


def test_of_two_held_keys_one_may_be_released() -> None:
    hand = up()
    key(hand, True)
    hand.stroke("console", m.End.HOME_TIMED)
    key(hand, True, "lift.2")
    key(hand, False, "lift.1")
    assert ended(hand, 3 * S) == [DONE]


@pytest.mark.parametrize("end", [m.End.FAR_TIMED, m.End.HOME_TIMED])
def test_a_hand_under_a_console_by_time_is_given_way_to(end: m.End) -> None:
    hand = up() if end == m.End.HOME_TIMED else down()
    key(hand, True)
    crank = hand.table.machine.console
    crank.block(TURN * 3 // 4 if end == m.End.HOME_TIMED else TURN // 4)
    assert ordered(hand, hand.stroke("console", end), 12 * S) == STALL
    assert crank.on[UP if end == m.End.HOME_TIMED else DOWN]
    assert not told(hand, DOWN if end == m.End.HOME_TIMED else UP)
    crank.block(None)
    assert ordered(hand, hand.stroke("console", end), 5 * S) == DONE


@pytest.mark.parametrize("after_us", [0, 12_000, 200_000])
def test_a_key_that_is_let_go_when_a_hand_is_caught_does_not_keep_it_caught(after_us: int) -> None:
    hand = up()
    key(hand, True)
    hand.table.machine.console.block(TURN * 3 // 4)
    hand.stroke("console", m.End.HOME_TIMED)
    motor = hand.table.machine.motors["console"]
    while motor.current_ma <= 1500:
        hand.wait(1_000)
    hand.wait(after_us)
    got = key(hand, False) + messages_of(hand.wait(3 * S))
    assert [g.reason for g in got if isinstance(g, m.Failed)] == [m.FailReason.ABORTED]
    assert height(hand) > 0.95
    assert not motor.direction


def test_a_motor_that_lost_its_plug_on_the_way_has_arrived_nowhere() -> None:
    hand = up()
    key(hand, True)
    hand.stroke("console", m.End.HOME_TIMED)
    hand.wait(500_000)
    hand.tell(Fault("disconnected:console+0.5s"))
    assert ended(hand, 5 * S) == [TIMEOUT]
    assert not told(hand, DOWN)
    assert refused(hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK


@pytest.mark.parametrize("by", ["stroke", "jog", "reset:board", "power-cut:mains+1s"])
def test_an_end_that_was_reached_by_time_counts_until_the_console_moves_or_the_board_restarts(
    by: str,
) -> None:
    hand = up()
    key(hand, True)
    assert ordered(hand, hand.stroke("console", m.End.HOME_TIMED), 5 * S) == DONE
    hand.wait(60 * S)
    assert told(hand, DOWN)
    if by == "stroke":
        assert ordered(hand, hand.stroke("console", m.End.FAR), 5 * S) == DONE
    elif by == "jog":
        hand.command(m.Jog(hand.op(), hand.part("console"), 1, 20))
        hand.wait(100_000)
    else:
        hand.tell(Fault(by))
        hand.wait(2 * S, ping=False)
    assert not told(hand, DOWN)
    assert refused(hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK


@pytest.mark.parametrize("end", [m.End.FAR_TIMED, m.End.HOME_TIMED])
def test_a_sensor_that_lives_after_all_ends_the_stroke_where_it_is(end: m.End) -> None:
    dead = UP if end == m.End.FAR_TIMED else DOWN
    hand = down() if end == m.End.FAR_TIMED else up()
    key(hand, True)
    hand.stroke("console", end)
    hand.wait(S)
    hand.tell(Mend(f"dead:{dead}"))
    assert ended(hand, 3 * S) == [DONE]
    assert hand.table.machine.console.on[dead]


def test_no_console_goes_by_time_while_a_lift_moves() -> None:
    hand = down()
    hand.stroke("lift.S1", m.End.TURN)
    assert refused(hand.stroke("console", m.End.FAR_TIMED)) is m.FailReason.INTERLOCK
