"""JOG: one motor, at reduced current, under a technician's eyes, and only while a button is held."""

import pytest
from wire_bench import DONE, BareHand, bench, ended, failed, messages_of, ordered, put_in, washed

from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from sim.board.keys import STEADY_US
from sim.mechanics.motor import RUN_SHARE
from sim.table import Fault, Mend, PanelKey, StopLine

S = 1_000_000
MOTORS = ["drum", "conveyor.S2", "stacker.S3", "lift.S4", "console"]
ABORTED, LEASE = failed(m.FailReason.ABORTED), failed(m.FailReason.LEASE)


def jog(hand: BareHand, part: str, direction: int = 1, lease_ms: int = 300) -> list[m.Message]:
    return hand.command(m.Jog(hand.op(), hand.part(part), direction, lease_ms))


def accepted(got: list[m.Message]) -> bool:
    return [type(g) for g in got] == [m.Accepted]


def refused(got: list[m.Message]) -> m.FailReason:
    (message,) = got
    assert isinstance(message, m.Failed), got
    return m.FailReason(message.reason)


def held(hand: BareHand, us: int) -> list[tuple[str, int]]:
    """Let a technician hold the button so long, then let it go."""
    got: list[tuple[str, int]] = []
    op, end = hand._op, hand.now + us
    while hand.now < end:
        hand.command(m.Renew(op, 300))
        got += ended(hand, min(100_000, end - hand.now))
    for part in hand.table.board.moving:
        hand.command(m.Stop(hand.op(), hand.part(part)))
    return got


def in_doubt(hand: BareHand, n: int = 1) -> bool:
    return bool(hand.table.board._counts.to_wire()[2 * n - 1] & 0xC0)


def driven(hand: BareHand) -> list[str]:
    return [name for name, motor in hand.table.machine.motors.items() if motor.direction]


# --- the lease ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", MOTORS)
@pytest.mark.parametrize(("asked_ms", "granted_ms"), [(0, 0), (120, 120), (300, 300), (65_535, 300)])
def test_no_motor_turns_longer_than_its_button_was_held(part: str, asked_ms: int, granted_ms: int) -> None:
    hand = bench()
    start = hand.now
    got = jog(hand, part, 1, asked_ms)
    while not (over := [g for g in got if isinstance(g, m.Failed)]):
        got += messages_of(hand.wait(1_000))
        assert hand.now < start + S
    assert over[0].reason == m.FailReason.LEASE
    assert granted_ms <= over[0].clock_ms - start // 1000 <= granted_ms + 1
    assert driven(hand) == []


def test_a_renewed_lease_is_clamped_again_and_an_ended_one_stays_ended() -> None:
    hand = bench()
    jog(hand, "drum")
    for _ in range(10):
        hand.wait(250_000)
        hand.command(m.Renew(1, 65_535))
        assert driven(hand) == ["drum"]
    assert ended(hand, 301_000) == [LEASE]
    hand.command(m.Renew(1, 300))
    hand.wait(10_000)
    assert driven(hand) == []


@pytest.mark.parametrize("part", MOTORS)
def test_stop_ends_it_and_says_so_of_both(part: str) -> None:
    hand = bench()
    jog(hand, part)
    hand.wait(50_000)
    got = hand.command(m.Stop(hand.op(), hand.part(part)))
    assert [(type(g), g.op) for g in got] == [(m.Failed, 1), (m.Done, 2)]
    assert refused(got[:1]) is m.FailReason.ABORTED
    assert driven(hand) == []


# --- what it drives -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", MOTORS)
@pytest.mark.parametrize("direction", [1, -1])
def test_one_motor_turns_at_reduced_current_and_no_other(part: str, direction: int) -> None:
    hand = bench()
    assert accepted(jog(hand, part, direction))
    motor = hand.table.machine.motors[part]
    assert (motor.direction, motor.reduced) == (direction, True)
    assert driven(hand) == [part]
    motor.seize(True)
    assert ended(hand, 20_000) == [failed(m.FailReason.STALL)]
    assert driven(hand) == []


@pytest.mark.parametrize(
    "command", [m.Jog(1, 99, 1, 100), m.Jog(1, 0, 0, 100), m.Jog(1, 0, 2, 100), m.Jog(1, 255, -1, 100)]
)
def test_a_jog_of_nothing_is_a_bad_argument(command: m.Jog) -> None:
    assert refused(bench().command(command)) is m.FailReason.BAD_ARGUMENT


@pytest.mark.parametrize("busy", ["drum", "console", "fill", "jog"])
def test_nothing_is_jogged_while_anything_else_moves(busy: str) -> None:
    hand = bench()
    match busy:
        case "drum":
            hand.run("drum")
        case "console":
            hand.stroke("console", m.End.FAR)
        case "fill":
            put_in(hand)
            hand.fill(0, 4)
        case _:
            jog(hand, "drum")
    for part in MOTORS:
        assert refused(jog(hand, part)) is m.FailReason.BUSY


@pytest.mark.parametrize("part", MOTORS)
def test_nothing_else_moves_while_a_motor_is_jogged(part: str) -> None:
    hand = bench()
    jog(hand, part)
    for mover, end in (("console", m.End.FAR), ("stacker.S3", m.End.HOME)):
        assert refused(hand.stroke(mover, end)) is m.FailReason.BUSY
    for got in (hand.run("drum"), hand.fill(0, 4)):
        assert refused(got) is m.FailReason.BUSY
    assert driven(hand) == [part]


# --- the door -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", MOTORS)
def test_with_the_door_open_one_motor_has_power_and_only_while_it_is_jogged(part: str) -> None:
    hand = bench()
    hand.tell(Fault("door:service"))
    hand.hello(8)
    machine = hand.table.machine
    assert accepted(jog(hand, part))
    rated = hand.description.parts[hand.part(part)].max_ma
    for other in machine.motors:
        if other != part:
            machine.drive(other, 1)
    assert machine.current_ma == round(RUN_SHARE * rated)
    hand.wait(400_000)
    machine.drive(part, 1)
    assert machine.current_ma == 0


def test_opening_the_door_ends_a_jog_which_may_then_be_given_anew() -> None:
    hand = bench()
    jog(hand, "drum")
    got = hand.tell(Fault("door:service"))
    (stopped,) = [m.Stopped.parse(f.payload) for f in got if f.kind is FrameKind.STOPPED]
    assert stopped is not None
    assert stopped.reason == m.StopReason.DOOR
    assert driven(hand) == []
    hand.hello(8)
    assert accepted(jog(hand, "drum"))
    hand.tell(Mend("door:service"))  # shut, it goes on
    assert hand.table.machine.current_ma > 0
    assert ended(hand, 400_000) == [LEASE]
    for got_2 in (hand.run("drum"), hand.stroke("console", m.End.FAR)):
        assert refused(got_2) is m.FailReason.STOPPED


@pytest.mark.parametrize("stop", ["host", "silence", "door"])
def test_a_jog_clears_no_stop_and_no_stop_but_the_wired_one_is_in_its_way(stop: str) -> None:
    hand = bench()
    hand.run("drum", 5000)
    if stop == "host":
        hand.stop_all()
    elif stop == "door":
        hand.tell(Fault("door:service"))
    else:
        hand.wait(800_000, ping=False, acknowledge=False)
    latched = hand.table.board._stop
    assert latched
    hand.hello(8)
    assert accepted(jog(hand, "conveyor.S1"))
    hand.wait(400_000)
    assert hand.table.board._stop == latched
    assert refused(hand.run("drum")) is m.FailReason.STOPPED


def test_the_wired_stop_bars_every_jog_until_it_is_cleared() -> None:
    hand = bench()
    hand.stop_all()
    hand.hello(8)
    jog(hand, "drum")
    hand.tell(StopLine(True))
    assert driven(hand) == []
    hand.hello(9)
    assert refused(jog(hand, "drum")) is m.FailReason.STOPPED
    hand.tell(StopLine(False))
    assert refused(jog(hand, "drum")) is m.FailReason.STOPPED
    board = hand.table.board
    hand.clear(board._stop, board._stop_number)
    hand.hello(10)
    assert accepted(jog(hand, "drum"))


@pytest.mark.parametrize("end", ["stop all", "silence", "hello"])
def test_whatever_ends_every_move_ends_a_jog(end: str) -> None:
    hand = bench()
    hand.tell(Fault("door:service"))
    hand.hello(8)
    jog(hand, "drum")
    if end == "stop all":
        hand.stop_all()
    elif end == "hello":
        hand.hello(9)
    else:  # renewals of a session that is not ours keep nothing alive
        for _ in range(8):
            hand.wait(100_000, ping=False, acknowledge=False)
            hand.table.board._moves.renew(hand._op, 300)
        assert not hand.table.board._link.is_open
    assert driven(hand) == []
    assert not hand.table.board._ops


def test_both_lift_keys_end_a_jogged_feeder_too() -> None:
    hand = bench()
    jog(hand, "conveyor.S1")
    for key in ("lift.1", "lift.2"):
        hand.tell(PanelKey(key, True))
    got = messages_of(hand.wait(STEADY_US, ping=False, acknowledge=False))
    assert m.FailReason.ABORTED in [g.reason for g in got if isinstance(g, m.Failed)]
    assert driven(hand) == []
    assert refused(jog(hand, "drum")) is m.FailReason.ABORTED


# --- what would break something -----------------------------------------------------------------------------


def half_turned(hand: BareHand, n: int = 1) -> None:
    hand.stroke(f"lift.S{n}", m.End.TURN)
    hand.wait(S)
    hand.command(m.Stop(hand.op(), hand.part(f"lift.S{n}")))


def test_no_stacker_is_jogged_forward_against_a_tray_that_is_not_home_but_back_it_is() -> None:
    hand = bench()
    half_turned(hand)
    assert refused(jog(hand, "stacker.S1", 1)) is m.FailReason.INTERLOCK
    assert accepted(jog(hand, "stacker.S1", -1))
    hand.wait(400_000)
    assert accepted(jog(hand, "stacker.S2", 1))


def test_no_stacker_is_jogged_forward_into_a_full_store() -> None:
    hand = bench()
    put_in(hand)
    assert washed(hand, 1, 40, 60 * S) == DONE
    hand.command(m.Stop(hand.op(), hand.part("drum")))
    assert refused(jog(hand, "stacker.S1", 1)) is m.FailReason.INTERLOCK
    assert accepted(jog(hand, "stacker.S1", -1))


@pytest.mark.parametrize("direction", [1, -1])
def test_no_lift_is_jogged_into_a_stacker_or_the_console(direction: int) -> None:
    hand = bench()
    hand.stroke("stacker.S1", m.End.FAR)
    hand.wait(S)
    assert refused(jog(hand, "lift.S1", direction)) is m.FailReason.INTERLOCK
    assert accepted(jog(hand, "lift.S2", direction))
    hand.wait(400_000)
    hand.stroke("lift.S2", m.End.HOME)
    hand.wait(5 * S)
    hand.stroke("console", m.End.FAR)
    hand.wait(3 * S)
    assert refused(jog(hand, "lift.S2", direction)) is m.FailReason.INTERLOCK


@pytest.mark.parametrize("direction", [1, -1])
def test_no_console_is_jogged_into_a_lift_that_is_not_home(direction: int) -> None:
    hand = bench()
    half_turned(hand, 3)
    assert refused(jog(hand, "console", direction)) is m.FailReason.INTERLOCK
    hand.stroke("lift.S3", m.End.HOME)
    hand.wait(5 * S)
    assert accepted(jog(hand, "console", direction))


# --- counts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["stacker.S1", "lift.S1"])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("turned_us", [20_000, 300_000, 1_400_000])
def test_no_count_is_certain_after_a_jog_until_a_straight_turn_has_settled_it(
    part: str, direction: int, turned_us: int
) -> None:
    hand = bench()
    put_in(hand)
    assert washed(hand, 1, 6) == DONE
    hand.command(m.Stop(hand.op(), hand.part("drum")))
    hand.run("drum", 5000)
    hand.run("conveyor.S1", 5000)
    while not hand.table.machine.sides[0].mouth.slot_full:
        hand.wait(50_000)
    for each in ("conveyor.S1", "drum"):
        hand.command(m.Stop(hand.op(), hand.part(each)))
    side, counts = hand.table.machine.sides[0], hand.table.board._counts
    assert accepted(jog(hand, part, direction))
    for got in held(hand, turned_us):
        assert got in (LEASE, ABORTED)
    hand.wait(S)
    assert in_doubt(hand)
    assert counts.most(0) >= len(side.store)
    for mechanism in ("stacker.S1", "lift.S1"):
        hand.stroke(mechanism, m.End.HOME)
        hand.wait(4 * S)
    side.pull_wall(hand.table.players.table)
    assert in_doubt(hand)
    hand.run("conveyor.S1", 2000, -1)
    hand.wait(1_600_000)
    hand.command(m.Stop(hand.op(), hand.part("conveyor.S1")))
    assert ordered(hand, hand.stroke("lift.S1", m.End.TURN), 5 * S) == DONE
    assert not in_doubt(hand)
    assert counts.most(0) == len(side.store) == 0
    assert counts.of[0].taken == len(side.mouth.slot) + len(side.mouth.belt)
    assert hand.table.machine.violations == []


def test_a_jogged_belt_is_no_belt_that_has_run_back_empty() -> None:
    hand = bench()
    put_in(hand)
    hand.run("drum", 5000)
    hand.run("conveyor.S1", 5000)
    hand.wait(3 * S)
    for part in ("conveyor.S1", "drum"):
        hand.command(m.Stop(hand.op(), hand.part(part)))
    side, counts = hand.table.machine.sides[0], hand.table.board._counts
    assert len(side.mouth.belt) > 1
    jog(hand, "conveyor.S1", -1)
    held(hand, 200_000)
    hand.wait(S)
    assert counts.of[0].taken == len(side.mouth.belt) + len(side.mouth.slot)
    assert counts.of[0].doubtful_eye
