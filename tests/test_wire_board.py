"""The board against bare frames: whatever a host sends, the interlocks hold and every order ends."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_bench import BareHand, messages_of

from firmware_protocol import frames
from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from firmware_protocol.framing import encode
from sim.board.keys import STEADY_US
from sim.table import PanelKey, SimTable, StopLine, TableOptions
from sim.tiles import Place

LEASE_US = 5_000_000  # the longest that the simulated board grants


@pytest.fixture
def hand() -> BareHand:
    hand = BareHand()
    hand.hello()
    return hand


def of(kind: type, got: list[Any]) -> list[Any]:
    return [g for g in got if isinstance(g, kind)]


def failure(got: list[m.Message]) -> m.FailReason:
    (failed,) = of(m.Failed, got)
    return m.FailReason(failed.reason)


def fill_drum(hand: BareHand) -> None:
    box: Place = hand.table.boxes[0]
    for tile in list(box.tiles):
        tile.move(hand.table.machine.drum.place)


def seen(hand: BareHand, sensor: str) -> bool:
    return bool(hand.table.board._sensors >> hand.description.sensors.index(sensor) & 1)


# --- leases -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked_ms", "granted_ms"), [(0, 0), (300, 300), (5_000, 5_000), (65_535, 5_000)])
def test_a_lease_is_never_longer_than_the_board_allows(
    hand: BareHand, asked_ms: int, granted_ms: int
) -> None:
    got = hand.run("drum", asked_ms)
    assert of(m.Accepted, got)
    start = hand.now
    while not (ended := of(m.Failed, got)):
        got = messages_of(hand.wait(10_000))
    assert ended[0].reason == m.FailReason.LEASE
    assert granted_ms <= ended[0].clock_ms - start // 1000 <= granted_ms + 1
    assert not hand.table.machine.drum.running


def test_a_lease_is_extended_by_renew_and_clamped_again(hand: BareHand) -> None:
    hand.run("drum", 500)
    for _ in range(5):
        hand.wait(400_000)
        hand.command(m.Renew(1, 500))
    assert hand.table.board._ops
    hand.command(m.Renew(1, 65_535))
    got = messages_of(hand.wait(LEASE_US + 50_000))
    assert failure(got) is m.FailReason.LEASE


def test_renew_starts_nothing_that_has_ended(hand: BareHand) -> None:
    hand.run("drum", 200)
    hand.wait(300_000)
    assert hand.command(m.Renew(1, 5_000)) == []
    hand.wait(50_000)
    assert not hand.table.machine.drum.running
    assert not hand.table.board._ops


def test_renew_does_not_lengthen_a_stroke(hand: BareHand) -> None:
    hand.table.machine.motors["console"].plug(False)
    hand.stroke("console", m.End.FAR)
    hand.command(m.Renew(1, 200))
    got = messages_of(hand.wait(3_900_000))
    assert not of(m.Failed, got)
    got = messages_of(hand.wait(200_000))
    assert failure(got) is m.FailReason.TIMEOUT


# --- the lift keys ------------------------------------------------------------------------------------------


def press(hand: BareHand, *keys: str) -> list[m.Message]:
    """Press keys and hold them until the board believes them; nothing is acknowledged."""
    got = [frame for key in keys for frame in hand.tell(PanelKey(key, True))]
    return messages_of(got + hand.wait(STEADY_US, ping=False, acknowledge=False))


def both_lift_keys(hand: BareHand) -> list[m.Message]:
    return press(hand, "lift.1", "lift.2")


def test_both_lift_keys_stop_every_feeder_at_once_without_the_host(hand: BareHand) -> None:
    fill_drum(hand)
    hand.run("drum")
    for mouth in range(3):
        hand.fill(mouth, 20)
    hand.run("conveyor.S4", direction=-1)
    hand.wait(1_000_000)
    got = both_lift_keys(hand)
    machine = hand.table.machine
    got += messages_of(hand.wait(50_000 - STEADY_US, ping=False))
    assert not machine.drum.running
    assert all(not side.mouth._direction for side in machine.sides)
    got += messages_of(hand.wait(2_000_000))
    assert {f.op for f in of(m.Failed, got)} == {1, 2, 3, 4, 5}
    assert {f.reason for f in of(m.Failed, got)} == {m.FailReason.ABORTED}
    assert all(seen(hand, f"stacker.S{n}.open") for n in (1, 2, 3))  # strokes under way were finished


def test_no_feeder_starts_before_the_host_has_seen_the_keys(hand: BareHand) -> None:
    hand.run("drum")
    both_lift_keys(hand)
    assert failure(hand.run("drum")) is m.FailReason.ABORTED
    assert failure(hand.run("conveyor.S1")) is m.FailReason.ABORTED
    assert failure(hand.fill(0, 10)) is m.FailReason.ABORTED
    assert hand.command(m.Renew(1, 2000)) == []
    assert not hand.table.board._ops
    hand.write(hand.frame(FrameKind.EVENT_ACK, bytes((1,))))  # only the first key
    assert failure(hand.run("drum")) is m.FailReason.ABORTED
    hand.write(hand.frame(FrameKind.EVENT_ACK, bytes((2,))))
    assert of(m.Accepted, hand.run("drum"))


def test_a_later_acknowledgement_covers_the_keys_too(hand: BareHand) -> None:
    both_lift_keys(hand)
    press(hand, "dice.S1")
    hand.write(hand.frame(FrameKind.EVENT_ACK, bytes((3,))))
    assert of(m.Accepted, hand.run("drum"))


def test_a_new_session_forgets_keys_that_hello_tells_of(hand: BareHand) -> None:
    both_lift_keys(hand)
    ack = hand.hello(8)
    assert ack.keys == 0b11
    assert of(m.Accepted, hand.run("drum"))


def test_keys_pressed_without_a_session_hold_nothing_for_ever() -> None:
    hand = BareHand()
    both_lift_keys(hand)
    hand.hello()
    assert of(m.Accepted, hand.run("drum"))


# --- silence, stop, door, wire ------------------------------------------------------------------------------


def test_everything_stops_700_ms_after_the_host_fell_silent(hand: BareHand) -> None:
    hand.run("drum", 5_000)
    hand.run("conveyor.S1", 5_000)
    last = hand.now
    hand.wait(690_000, ping=False, acknowledge=False)
    assert hand.table.machine.drum.running
    got = hand.wait(20_000, ping=False, acknowledge=False)
    (stopped,) = [m.Stopped.parse(f.payload) for f in got if f.kind is FrameKind.STOPPED]
    assert stopped is not None
    assert stopped.reason == m.StopReason.SILENCE
    assert stopped.clock_ms == (last + 700_000) // 1000
    assert {f.op for f in of(m.Failed, messages_of(got))} == {1, 2}
    assert not hand.table.machine.drum.running


def test_damaged_frames_and_foreign_sessions_do_not_count_as_the_host(hand: BareHand) -> None:
    hand.run("drum", 5_000)
    for _ in range(80):
        hand.wait(10_000, ping=False, acknowledge=False)
        ping = bytearray(hand.frame(FrameKind.PING, bytes(2)))
        ping[4] ^= 0x40
        hand.write(bytes(ping))
        hand.write(frames.build(FrameKind.PING, bytes(2), hand.session ^ 1))
    assert hand.table.board._stop == m.StopReason.SILENCE


def test_a_table_at_rest_does_not_mind_silence(hand: BareHand) -> None:
    hand.wait(10_000_000, ping=False)
    assert hand.table.board._stop == m.StopReason.NONE


def test_stop_all_stops_everything_and_voids_the_session(hand: BareHand) -> None:
    fill_drum(hand)
    hand.run("drum")
    hand.fill(0, 10)
    hand.stroke("console", m.End.FAR)
    hand.wait(500_000)
    stopped = hand.stop_all(33)
    assert (stopped.reason, stopped.answers) == (m.StopReason.HOST, 33)
    assert not hand.table.board._ops
    assert not hand.table.machine.drum.running
    assert not hand.table.machine.console.turning
    hand.wait(200_000)
    assert hand.run("drum") == []


def test_stop_all_before_hello_and_in_another_version_is_obeyed() -> None:
    hand = BareHand()
    assert hand.stop_all().reason == m.StopReason.HOST
    hand.hello()
    hand.run("drum")
    wire = bytes((0x73, 0, 0, 0, 0, m.StopReason.HOST, 9))
    got = hand.write(encode(wire))
    assert [f.kind for f in got] == [FrameKind.STOPPED]


def test_stop_all_beats_a_command_that_stands_behind_it_in_the_same_bytes(hand: BareHand) -> None:
    run = hand.frame(FrameKind.DATA, m.Run(1, 0, 1, 2000).numbered(), 0)
    hand.write(frames.build_plain(m.StopAll(1, 1)) + run + run)
    assert not hand.table.board.executed


def test_stop_all_in_the_middle_of_a_frame_is_heard(hand: BareHand) -> None:
    run = hand.frame(FrameKind.DATA, m.Run(1, 0, 1, 2000).numbered(), 0)
    got = hand.write(run[:9] + frames.build_plain(m.StopAll(1, 1)))
    assert FrameKind.STOPPED in [f.kind for f in got]


def test_nothing_moves_until_clear_names_the_reason_and_the_number(hand: BareHand) -> None:
    stopped = hand.stop_all()
    hand.clear(m.StopReason.DOOR, stopped.stop_number)
    hand.clear(m.StopReason.HOST, stopped.stop_number + 1)
    hand.clear(m.StopReason.NONE, 0)
    assert hand.hello(8).stop == m.StopReason.HOST
    for got in (hand.run("drum"), hand.stroke("console", m.End.FAR), hand.fill(0, 2)):
        assert failure(got) is m.FailReason.STOPPED
    hand.clear(m.StopReason.HOST, stopped.stop_number)
    assert hand.hello(9).stop == m.StopReason.NONE
    assert of(m.Accepted, hand.run("drum"))


def test_clear_alone_gives_the_old_session_nothing_back(hand: BareHand) -> None:
    stopped = hand.stop_all()
    hand.clear(m.StopReason.HOST, stopped.stop_number)
    assert hand.run("drum") == []
    assert not hand.table.board._ops


def test_the_wired_stop_cuts_everything_and_comes_before_other_reasons(hand: BareHand) -> None:
    hand.run("drum")
    got = hand.tell(StopLine(True))
    (stopped,) = [m.Stopped.parse(f.payload) for f in got if f.kind is FrameKind.STOPPED]
    assert stopped is not None
    assert (stopped.reason, stopped.answers) == (m.StopReason.WIRED, 0)
    assert seen(hand, "stop.line")
    assert not hand.table.machine.drum.running
    again = hand.stop_all()
    assert again.reason == m.StopReason.WIRED
    hand.clear(m.StopReason.WIRED, again.stop_number)
    assert hand.hello(8).stop == m.StopReason.WIRED
    hand.tell(StopLine(False))
    assert hand.hello(9).stop == m.StopReason.WIRED
    hand.clear(m.StopReason.WIRED, again.stop_number)
    assert hand.hello(10).stop == m.StopReason.NONE


def test_a_stop_by_the_host_cannot_be_cleared_while_the_wired_stop_is_open(hand: BareHand) -> None:
    first = hand.stop_all()
    hand.tell(StopLine(True))
    hand.clear(m.StopReason.HOST, first.stop_number)
    ack = hand.hello(8)
    assert ack.stop == m.StopReason.WIRED
    assert ack.stop_number != first.stop_number


def test_a_frame_of_a_void_session_is_told_how_things_stand(hand: BareHand) -> None:
    old = hand.session
    hand.run("drum", 100)
    hand.stop_all()
    (frame,) = hand.write(hand.frame(FrameKind.PING, bytes(2)))
    assert (frame.kind, frame.session, frame.acknowledge) == (FrameKind.STOPPED, old, 1)
    assert hand.write(hand.frame(FrameKind.PING, bytes(2))) == []  # not more than each 100 ms
    hand.hello(8)
    hand.table.board._link.void_session()
    hand.table.board._stop = m.StopReason.NONE
    hand.wait(150_000, ping=False)
    (frame,) = hand.write(hand.frame(FrameKind.PING, bytes(2)))
    ack = m.HelloAck.parse(frame.payload)
    assert ack is not None
    assert (frame.kind, frame.session, ack.nonce) == (FrameKind.HELLO_ACK, hand.session, 0)


# --- operations ---------------------------------------------------------------------------------------------


def test_an_operation_id_that_is_known_is_answered_and_not_executed_again(hand: BareHand) -> None:
    first = hand.stroke("console", m.End.FAR)
    assert hand.command(m.Stroke(1, hand.part("console"), m.End.FAR)) == first  # Accepted, still on its way
    done = of(m.Done, messages_of(hand.wait(3_000_000)))
    assert hand.command(m.Stroke(1, hand.part("console"), m.End.HOME)) == done
    assert len(hand.table.board.executed) == 1


def test_the_last_eight_results_are_kept(hand: BareHand) -> None:
    for _ in range(12):
        hand.stroke("stacker.S1", m.End.HOME)
    for op in range(5, 13):
        assert [type(g) for g in hand.command(m.Stroke(op, hand.part("stacker.S1"), m.End.HOME))] == [m.Done]
    assert len(hand.table.board.executed) == 12


def test_a_refusal_is_a_result_too(hand: BareHand) -> None:
    got = hand.command(m.Run(7, 200, 1, 100))
    assert failure(got) is m.FailReason.BAD_ARGUMENT
    assert hand.command(m.Run(7, hand.part("drum"), 1, 100)) == got


def test_operation_ids_begin_anew_with_a_session(hand: BareHand) -> None:
    hand.command(m.Stroke(1, hand.part("stacker.S1"), m.End.HOME))
    hand.hello(8)
    hand.command(m.Stroke(1, hand.part("stacker.S1"), m.End.HOME))
    assert len(hand.table.board.executed) == 2


@pytest.mark.parametrize(
    ("part", "end"), [("stacker.S2", m.End.HOME), ("lift.S1", m.End.HOME), ("console", m.End.HOME)]
)
def test_a_stroke_to_where_the_part_is_moves_nothing_and_is_done(
    hand: BareHand, part: str, end: m.End
) -> None:
    got = hand.stroke(part, end)
    assert [type(g) for g in got] == [m.Accepted, m.Done]
    assert not hand.table.machine.crank(part).turning


def test_a_stroke_said_twice_ends_where_it_was_told_to(hand: BareHand) -> None:
    for _ in range(2):
        hand.stroke("console", m.End.FAR)
        hand.wait(3_000_000)
        assert seen(hand, "console.up")


def test_hello_names_the_move_in_progress_and_ends_it(hand: BareHand) -> None:
    assert hand.hello(8).part == m.NO_PART
    hand.stroke("console", m.End.FAR)
    hand.wait(500_000)
    ack = hand.hello(9)
    assert (ack.op, ack.part) == (1, hand.part("console"))
    assert not hand.table.machine.console.turning
    assert hand.hello(10).part == m.NO_PART


def test_stop_of_a_part_that_is_not_there_is_refused_and_of_one_at_rest_is_done(hand: BareHand) -> None:
    assert failure(hand.command(m.Stop(1, 99))) is m.FailReason.BAD_ARGUMENT
    assert [type(g) for g in hand.command(m.Stop(2, 0))] == [m.Done]


# --- interlocks ---------------------------------------------------------------------------------------------


def test_no_push_unless_the_tray_is_home(hand: BareHand) -> None:
    hand.stroke("lift.S1", m.End.TURN)
    hand.wait(500_000)
    assert not seen(hand, "lift.S1.home")
    assert failure(hand.stroke("stacker.S1", m.End.FAR)) is m.FailReason.INTERLOCK
    assert failure(hand.fill(0, 2)) is m.FailReason.INTERLOCK
    assert of(m.Accepted, hand.stroke("stacker.S2", m.End.FAR))


def test_no_raise_unless_the_stacker_is_open(hand: BareHand) -> None:
    hand.stroke("stacker.S1", m.End.FAR)
    hand.wait(100_000)
    assert failure(hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK
    hand.wait(1_000_000)
    assert failure(hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK  # closed is not open


def test_no_raise_unless_the_console_is_down(hand: BareHand) -> None:
    hand.stroke("console", m.End.FAR)
    hand.wait(3_000_000)
    assert failure(hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK


def test_no_raise_of_a_store_that_is_being_filled(hand: BareHand) -> None:
    fill_drum(hand)
    hand.run("drum", 5_000)
    hand.fill(0, 10, 5_000)
    board = hand.table.board
    while not board._counts.waiting(0):
        hand.wait(50_000)
    hand.command(m.Stop(50, hand.part("conveyor.S1")))
    hand.wait(900_000)
    assert board._counts.waiting(0) > 0
    assert failure(hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK


def test_no_console_while_a_lift_moves(hand: BareHand) -> None:
    hand.stroke("lift.S1", m.End.TURN)
    assert failure(hand.stroke("console", m.End.FAR)) is m.FailReason.INTERLOCK


@pytest.mark.parametrize(
    ("part", "end"),
    [("drum", 0), ("conveyor.S1", 1), ("lift.S1", 1), ("stacker.S1", 2), ("console", 2), ("console", 77)],
)
def test_a_stroke_that_the_part_cannot_make_is_a_bad_argument(hand: BareHand, part: str, end: int) -> None:
    assert failure(hand.command(m.Stroke(1, hand.part(part), end))) is m.FailReason.BAD_ARGUMENT


@pytest.mark.parametrize(
    "command",
    [
        m.Run(1, 250, 1, 100),
        m.Run(1, 0, 0, 100),
        m.Run(1, 0, -128, 100),
        m.Run(1, 13, 1, 100),
        m.Stroke(1, 255, 0),
        m.Fill(1, 4, 10, 100),
        m.Fill(1, 255, 10, 100),
        m.Fill(1, 0, 41, 100),
        m.Fill(1, 0, 255, 100),
    ],
)
def test_arguments_that_name_nothing_are_refused(hand: BareHand, command: m.Message) -> None:
    assert failure(hand.command(command)) is m.FailReason.BAD_ARGUMENT
    assert not hand.table.board.executed


def test_one_part_does_one_thing_at_a_time(hand: BareHand) -> None:
    hand.run("drum")
    assert failure(hand.run("drum")) is m.FailReason.BUSY
    hand.fill(0, 10)
    assert failure(hand.run("conveyor.S1")) is m.FailReason.BUSY
    assert failure(hand.stroke("stacker.S1", m.End.HOME)) is m.FailReason.INTERLOCK
    assert failure(hand.stroke("lift.S1", m.End.TURN)) is m.FailReason.INTERLOCK
    assert of(m.Accepted, hand.stroke("stacker.S2", m.End.FAR))
    assert failure(hand.fill(1, 10)) is m.FailReason.INTERLOCK


def test_a_stroke_to_another_end_takes_the_place_of_the_one_under_way(hand: BareHand) -> None:
    hand.stroke("console", m.End.FAR)
    hand.wait(500_000)
    got = hand.stroke("console", m.End.HOME)
    assert [(type(g), g.op) for g in got] == [(m.Failed, 1), (m.Accepted, 2)]
    assert failure(got) is m.FailReason.ABORTED
    ended = messages_of(hand.wait(600_000))
    assert [(type(g), g.op) for g in ended] == [(m.Done, 2)]  # back the way it came, not all the way round
    assert seen(hand, "console.down")


# --- messages it does not know ------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", [b"\x2f", b"\x20\1", b"\x41" + bytes(12), b"\x03\1\1", b"\xff" * 20])
def test_what_is_no_command_is_acknowledged_and_answered_unsupported(hand: BareHand, payload: bytes) -> None:
    got = hand.raw_command(payload)
    assert messages_of(got) == [m.Unsupported(payload[0], 0)]
    assert got[0].acknowledge == 1
    assert hand.table.board.counters.unknown == 1
    assert of(m.Accepted, hand.run("drum"))


def test_an_empty_command_is_answered_too(hand: BareHand) -> None:
    assert messages_of(hand.raw_command(b"")) == [m.Unsupported(0, 0)]


def test_a_hello_of_another_major_version_opens_no_session_and_is_told_ours() -> None:
    hand = BareHand()
    got = hand.write(encode(bytes((0x21, 0, 0, 0, 0)) + m.Hello(7, 0).payload()))
    assert [(f.kind, f.version) for f in got] == [(FrameKind.HELLO_ACK, 1)]
    assert not hand.table.board._link.is_open


def test_replies_that_nobody_acknowledges_do_not_pile_up(hand: BareHand) -> None:
    sequence = 0
    for op in range(200):
        command = m.Stroke(op, hand.part("stacker.S1"), m.End.HOME).numbered()
        got = hand.write(frames.build(FrameKind.DATA, command, hand.session, sequence, 0))
        window = hand.table.board._link._window
        assert window is not None
        assert window.room > 0
        sequence = window.expected
        assert len([f for f in got if f.kind is FrameKind.DATA]) <= 4
    assert len(hand.table.board.executed) < 30


# --- anything at all ----------------------------------------------------------------------------------------

parts = st.integers(0, 255) | st.integers(0, 13)
commands = st.one_of(
    st.builds(m.Run, st.integers(0, 40), parts, st.integers(-2, 2), st.integers(0, 3000)),
    st.builds(m.Stroke, st.integers(0, 40), parts, st.integers(0, 5)),
    st.builds(m.Jog, st.integers(0, 40), parts, st.integers(-2, 2), st.integers(0, 400)),
    st.builds(m.Fill, st.integers(0, 40), st.integers(0, 5), st.integers(0, 50), st.integers(0, 3000)),
    st.builds(m.Stop, st.integers(0, 40), parts),
    st.builds(m.Renew, st.integers(0, 40), st.integers(0, 3000)),
)


@settings(max_examples=40)
@given(st.lists(st.tuples(commands, st.integers(0, 900_000)), max_size=25), st.booleans())
def test_whatever_is_ordered_every_order_ends_and_no_tile_is_pushed_against_a_wall(
    orders: list[tuple[Any, int]], with_tiles: bool
) -> None:
    hand = BareHand()
    hand.hello()
    if with_tiles:
        fill_drum(hand)
    known: set[int] = set()
    ended: list[int] = []
    for command, pause in orders:
        fresh = not isinstance(command, m.Renew) and command.op not in known
        got = hand.command(command)
        if fresh:
            known.add(command.op)
        else:
            got = []
        got += messages_of(hand.wait(pause))
        ended += [g.op for g in got if isinstance(g, m.Done | m.Failed)]
    ended += [g.op for g in messages_of(hand.wait(12_000_000)) if isinstance(g, m.Done | m.Failed)]
    assert known <= set(ended)
    assert not hand.table.board._ops
    assert hand.table.machine.violations == []


@settings(max_examples=30)
@given(st.integers(0, 2**32))
def test_no_bytes_make_the_board_fall_or_move(seed: int) -> None:
    rng = random.Random(seed)
    hand = BareHand(SimTable(TableOptions(hands=0)))
    hand.hello()
    for _ in range(60):
        kind = rng.choice([k for k in FrameKind if k is not FrameKind.DATA])
        body = frames.build(
            kind, rng.randbytes(rng.randint(0, 64)), rng.choice([0, hand.session, 9]), rng.randrange(256)
        )
        hand.write(rng.choice([body, rng.randbytes(rng.randint(0, 200)), body[: rng.randrange(len(body))]]))
        hand.wait(rng.randint(0, 50_000), ping=False)
    assert not hand.table.board.executed
    assert hand.stop_all().sensors == hand.table.board._sensors
