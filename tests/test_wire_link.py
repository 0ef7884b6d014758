"""The link of host and simulated board: exactly once, in order, or told by id; never a hang."""

from typing import Any

import pytest
from wire_bench import WIRES, Bench

from firmware_protocol import frames
from firmware_protocol import host_link as hl
from firmware_protocol import messages as m
from firmware_protocol.catalogue import LANGUAGES
from firmware_protocol.codes import FrameKind
from firmware_protocol.core import TICK
from firmware_protocol.framing import Deframer, encode
from firmware_protocol.timing import PING_US
from firmware_protocol.window import QUEUE
from sim.lab.link import run_commands
from sim.table import SimTable, StopLine, TableOptions
from sim.wires import WireModel

STACKER = 5  # of side 1


def stroke(op: int) -> m.Stroke:
    return m.Stroke(op, STACKER, m.End.HOME)


def kinds(written: list[hl.Transmit]) -> list[FrameKind]:
    found = []
    for transmit in written:
        (body,) = Deframer().feed(transmit.data)
        frame = frames.parse(body)
        assert frame
        found.append(frame.kind)
    return found


def downs(bench: Bench) -> list[hl.Down]:
    return [s for s in bench.said if isinstance(s, hl.Down)]


# --- commands -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_no_command_is_lost_doubled_or_reordered(wire: WireModel) -> None:
    report, _ = run_commands(400, wire, seed=5)
    assert report.wrong() == ()
    assert report.executed == list(range(1, 401))
    assert not report.downs


def test_one_percent_of_each_evil_costs_no_command_and_no_session() -> None:
    report, counters = run_commands(3_000, WireModel.bad(0.01), seed=1)
    assert report.wrong() == ()
    assert report.executed == list(range(1, 3_001))
    assert not report.downs
    assert counters["host"]["retransmitted"] > 100


@pytest.mark.parametrize("chance", [0.1, 0.25])
def test_on_a_hopeless_line_nothing_is_done_twice_and_the_rest_is_told_by_id(chance: float) -> None:
    report, _ = run_commands(600, WireModel.bad(chance), seed=2)
    assert report.wrong() == ()
    assert report.downs or chance < 0.25, "on this line sessions are lost: the report of them was tried"


def test_a_lost_reply_comes_again() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.cut = True
    bench.order(stroke(1))
    bench.run(0.1)
    assert [e.op for e in bench.table.board.executed] == [1]
    bench.cut = False
    bench.run(1.5)
    assert [d.op for d in bench.heard(m.Done)] == [1]
    assert not downs(bench)


def test_a_command_without_a_session_is_told_and_not_kept() -> None:
    link = hl.HostLink(0)
    link.handle(hl.Opened(), 0)
    assert link.handle(hl.Send(stroke(9)), 0) == (hl.NotSent(9),)
    bench = Bench()
    bench.order(stroke(9))
    bench.until(hl.Up)
    bench.run(1)
    assert not bench.table.board.executed


def test_more_commands_than_the_queue_takes_end_the_session_and_are_all_told() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.cut = True
    for op in range(1, QUEUE + 11):
        bench.order(stroke(op))
    bench.run(0.0)
    (down,) = downs(bench)
    assert down.reason is hl.DownReason.OVERFLOW
    told = {s.op for s in bench.said if isinstance(s, hl.NotSent)}
    assert told | set(down.outcome.not_executed) | set(down.outcome.unknown) == set(range(1, QUEUE + 11))
    assert down.outcome.unknown == (1, 2, 3, 4)


# --- how a session ends -------------------------------------------------------------------------------------


def test_a_silent_board_is_noticed_after_four_pings() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.run(1)
    bench.cut = True
    start = bench.world.now_us
    down = bench.until(hl.Down, 5)
    assert down.reason is hl.DownReason.SILENT
    assert bench.world.now_us - start <= 5 * PING_US
    assert kinds(bench.written)[-5:-1] == [FrameKind.PING] * 4


def test_a_board_that_is_dead_under_fire_is_noticed_as_soon_as_an_idle_one() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.run(1)
    bench.cut = True
    start = bench.world.now_us
    for op in range(1, 60):
        bench.order(stroke(op))
    down = bench.until(hl.Down, 5)
    assert down.reason in (hl.DownReason.SILENT, hl.DownReason.UNACKNOWLEDGED)
    assert bench.world.now_us - start <= 5 * PING_US
    assert down.outcome.unknown == (1, 2, 3, 4)
    assert down.outcome.not_executed == tuple(range(5, 60))


def test_a_board_that_answers_pings_and_takes_no_command_is_given_up_after_five_tries() -> None:
    link = hl.HostLink(0)
    now, session = 0, 0
    out = list(link.handle(hl.Opened(), 0))
    said: list[Any] = []
    description = SimTable(TableOptions()).board.description.to_bytes()
    ordered = False
    while not any(isinstance(s, hl.Down) for s in said) and now < 60_000_000:
        answers = b""
        for effect in out:
            if not isinstance(effect, hl.Transmit):
                said.append(effect)
                continue
            frame = frames.parse(Deframer().feed(effect.data)[0])
            assert frame
            if frame.kind is FrameKind.HELLO:
                nonce = int.from_bytes(frame.payload[:4], "little")
                session = frames.session_of(1, nonce)
                answers += frames.build_plain(_hello_ack(nonce, description))
            elif frame.kind is FrameKind.DATA and (ask := m.parse_numbered(frame.payload)):
                if isinstance(ask, m.Describe):
                    piece = m.Chunk(ask.offset, len(description), description[ask.offset : ask.offset + 56])
                    answers += frames.build(
                        FrameKind.DATA, piece.numbered(), session, frame.sequence, frame.sequence + 1
                    )
            elif frame.kind is FrameKind.PING:
                answers += frames.build(FrameKind.PONG, bytes(6), session)
        out = list(link.handle(hl.Received(answers), now)) if answers else []
        if not ordered and any(isinstance(s, hl.Up) for s in said):
            ordered = True
            out += link.handle(hl.Send(stroke(1)), now)
        if not out:
            now = link.next_deadline() or now
            out = list(link.handle(TICK, now))
    down = said[-1]
    assert down.reason is hl.DownReason.UNACKNOWLEDGED
    assert down.outcome.unknown == (1,)


def _hello_ack(nonce: int, description: bytes, boot_id: int = 1) -> m.HelloAck:
    import zlib

    return m.HelloAck(
        nonce, boot_id, 1, b"TEST0001", 0, 1, zlib.crc32(description), 256, 0, 0, 255, 0, 0, 0, 0, bytes(8)
    )


def test_a_closed_port_tells_what_was_open() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.cut = True
    bench.order(m.Run(1, 0, 1, 2000))
    for op in range(2, 8):
        bench.order(stroke(op))
    bench.run(0.0)
    bench.give(hl.Closed())
    bench.run(0.0)
    (down,) = downs(bench)
    assert (down.outcome.unknown, down.outcome.not_executed) == ((1, 2, 3, 4), (5, 6, 7))
    bench.run(5)
    assert bench.link.next_deadline() is None


def test_a_restarted_board_is_reported_as_a_reset() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.order(m.Run(1, 0, 1, 5000))
    bench.run(0.1)
    bench.table.board._link.__init__(99, bench.table.board.description.to_bytes())
    down = bench.until(hl.Down, 1)
    assert down.reason is hl.DownReason.RESET
    assert down.outcome.unknown == (1,)
    bench.run(0.5)
    assert bench.said[-1].hello.boot_id == 99 if isinstance(bench.said[-1], hl.Up) else True
    assert sum(isinstance(s, hl.Up) for s in bench.said) == 2


def test_a_session_that_the_board_gave_up_is_told_with_proof() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.table.board._link.void_session()
    for op in range(1, 4):
        bench.order(stroke(op))
    down = bench.until(hl.Down, 2)
    assert down.reason is hl.DownReason.VOIDED
    assert down.outcome.not_executed == (1, 2, 3)
    assert not bench.table.board.executed
    bench.run(0.5)
    assert sum(isinstance(s, hl.Up) for s in bench.said) == 2


def test_an_old_hello_opens_nothing_again() -> None:
    bench = Bench()
    bench.until(hl.Up)
    hello = bench.written[0].data
    for op in range(1, 4):
        bench.order(stroke(op))
    bench.run(0.2)
    bench.world.post(bench.world.now_us, "down", _put(hello))
    bench.run(0.2)
    for op in range(4, 7):
        bench.order(stroke(op))
    bench.run(0.5)
    assert [e.op for e in bench.table.board.executed] == [1, 2, 3, 4, 5, 6]
    bench.give(hl.StopEverything())
    bench.run(0.5)
    bench.world.post(bench.world.now_us, "down", _put(hello))
    bench.run(0.5)
    assert bench.table.board.counters.sessions == 2
    assert not downs(bench)


def _put(data: bytes) -> Any:
    from sim.wires import Put

    return Put(data)


def test_a_session_opened_and_ended_unheard_does_not_lock_the_host_out() -> None:
    bench = Bench()
    bench.cut = True
    bench.run(0.05)
    bench.give(StopLine(True), "table")
    bench.give(StopLine(False), "table")
    bench.cut = False
    up = bench.until(hl.Up, 5)
    assert up.hello.stop == m.StopReason.WIRED


# --- STOP ALL -----------------------------------------------------------------------------------------------


def test_stop_all_is_on_the_wire_in_the_same_call_with_a_full_window_and_a_silent_board() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.cut = True
    for op in range(1, 30):
        bench.order(stroke(op))
    bench.run(0.0)
    effects = bench.link.handle(hl.StopEverything(), bench.world.now_us)
    assert isinstance(effects[0], hl.Transmit)
    assert effects[0].urgent
    assert kinds([effects[0]]) == [FrameKind.STOP_ALL]


@pytest.mark.parametrize("moment", ["closed", "greeting", "describing", "up", "stopping", "refused"])
def test_stop_all_is_sent_in_every_state_that_has_a_port(moment: str) -> None:
    bench = Bench()
    bench.run(0.0)
    if moment == "closed":
        bench.run(0.5)
        bench.link.handle(hl.Closed(), bench.world.now_us)
    elif moment == "describing":
        bench.run(0.02)
    elif moment in ("up", "stopping"):
        bench.until(hl.Up)
    if moment == "stopping":
        bench.link.handle(hl.StopEverything(), bench.world.now_us)
    if moment == "refused":
        body = bytes((0x22, 0, 0, 0, 0))
        bench.link.handle(hl.Received(encode(body)), bench.world.now_us)
    effects = bench.link.handle(hl.StopEverything(), bench.world.now_us)
    assert kinds([e for e in effects if isinstance(e, hl.Transmit)]) == (
        [] if moment == "closed" else [FrameKind.STOP_ALL]
    )


def test_stop_all_drops_what_has_not_left_and_arrives_within_its_own_length() -> None:
    bench = Bench()
    bench.until(hl.Up)
    for op in range(1, 5):
        bench.order(m.Panel(op, 0, 0, b"x" * 50))
    bench.give(hl.StopEverything())
    start = bench.world.now_us
    bench.world.run(start + 100_000, lambda: bool(bench.table.board._stop))
    assert bench.world.now_us - start <= 3_000


def test_stop_all_is_repeated_each_20_ms_and_given_up_after_a_second() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.cut = True
    bench.order(stroke(1))
    bench.run(0.1)
    count = len(bench.written)
    bench.give(hl.StopEverything())
    down = bench.until(hl.Down, 2)
    assert kinds(bench.written[count:-1]) == [FrameKind.STOP_ALL] * 50
    assert all(w.urgent for w in bench.written[count:-1])
    assert down.reason is hl.DownReason.STOP_UNANSWERED
    assert down.outcome.unknown == (1,)


def test_stopped_proves_what_was_not_received() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.order(m.Run(1, 0, 1, 5000))
    bench.run(0.2)
    for op in range(2, 12):
        bench.order(m.Panel(op, 0, 0, b"x" * 50))
    bench.give(hl.StopEverything())
    halted = bench.until(hl.Halted, 1)
    assert halted.stopped.reason == m.StopReason.HOST
    assert halted.outcome.unknown == (1,)
    assert halted.outcome.not_executed == tuple(range(2, 12))
    bench.run(0.5)
    assert not bench.table.board._ops


def test_an_earlier_stops_answer_does_not_end_a_new_stop() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.give(hl.StopEverything())
    halted = bench.until(hl.Halted, 1)
    bench.run(0.5)
    old = frames.build_plain(halted.stopped)
    bench.cut = True
    bench.link.handle(hl.StopEverything(), bench.world.now_us)
    assert bench.link.handle(hl.Received(old), bench.world.now_us) == ()


def test_nothing_moves_after_a_stop_before_clear_and_a_new_session() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.give(hl.StopEverything())
    bench.run(0.5)
    bench.order(m.Run(5, 0, 1, 2000))
    bench.run(0.5)
    assert [f.reason for f in bench.heard(m.Failed)] == [m.FailReason.STOPPED]
    bench.give(hl.ClearStop(m.StopReason.HOST))
    bench.run(0.5)
    up = [s for s in bench.said if isinstance(s, hl.Up)][-1]
    assert up.hello.stop == m.StopReason.NONE
    bench.order(m.Run(6, 0, 1, 500))
    bench.run(0.3)
    assert bench.heard(m.Accepted)


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_stop_and_clear_come_through_every_wire(wire: WireModel) -> None:
    bench = Bench(wire, seed=11)
    bench.until(hl.Up)
    for n in range(10):
        bench.said.clear()
        bench.give(hl.StopEverything())
        assert bench.until(hl.Halted, 2).stopped.reason == m.StopReason.HOST
        bench.said.clear()
        bench.until(hl.Up, 5)
        bench.said.clear()
        bench.give(hl.ClearStop(m.StopReason.HOST))
        assert bench.until(hl.Up, 10).hello.stop == m.StopReason.NONE, n


def test_a_clear_asked_for_before_the_stop_is_answered_waits_for_the_answer() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.run(0.5)
    bench.give(hl.StopEverything())
    bench.give(hl.ClearStop(m.StopReason.HOST))
    bench.said.clear()
    assert bench.until(hl.Up, 2).hello.stop == m.StopReason.NONE
    assert [type(s) for s in bench.said] == [hl.Halted, hl.Up]
    bench.give(hl.StopEverything())
    bench.give(hl.ClearStop(m.StopReason.HOST))
    bench.give(hl.StopEverything())  # whoever stops again takes it back
    bench.said.clear()
    assert bench.until(hl.Up, 2).hello.stop == m.StopReason.HOST


def test_a_clear_that_is_lost_is_sent_again() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.give(hl.StopEverything())
    bench.run(0.5)
    bench.lines["down"].model = WireModel(drop=1.0)
    bench.give(hl.ClearStop(m.StopReason.HOST))
    bench.run(0.01)
    bench.lines["down"].model = WireModel()
    bench.said.clear()
    assert bench.until(hl.Up, 2).hello.stop == m.StopReason.NONE


def test_a_clear_of_the_wired_stop_is_refused_while_it_is_open_and_up_says_so() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.order(m.Run(1, 0, 1, 5000))
    bench.run(0.1)
    bench.give(StopLine(True), "table")
    halted = bench.until(hl.Halted, 1)
    assert halted.stopped.reason == m.StopReason.WIRED
    assert halted.stopped.sensors >> bench.table.board.description.sensors.index("stop.line") & 1
    bench.run(0.5)
    bench.said.clear()
    bench.give(hl.ClearStop(m.StopReason.WIRED))
    assert bench.until(hl.Up, 2).hello.stop == m.StopReason.WIRED
    bench.give(StopLine(False), "table")
    bench.run(0.1)
    bench.said.clear()
    bench.give(hl.ClearStop(m.StopReason.WIRED))
    assert bench.until(hl.Up, 2).hello.stop == m.StopReason.NONE


def test_an_old_clear_does_not_leave_a_new_stop() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.give(hl.StopEverything())
    bench.run(0.5)
    bench.give(hl.ClearStop(m.StopReason.HOST))
    bench.run(0.5)
    old = next(w.data for w in bench.written if kinds([w]) == [FrameKind.CLEAR])
    bench.give(hl.StopEverything())
    bench.run(0.5)
    bench.world.post(bench.world.now_us, "down", _put(old))
    bench.run(0.5)
    assert bench.table.board._stop == m.StopReason.HOST


# --- description, versions, nonsense ------------------------------------------------------------------------


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_the_description_comes_whole_over_every_wire_and_is_fetched_once(wire: WireModel) -> None:
    bench = Bench(wire, seed=4)
    assert bench.until(hl.Up).description == bench.table.board.description
    bench.give(hl.StopEverything())
    bench.until(hl.Halted, 2)
    bench.said.clear()
    count = len(bench.written)
    bench.until(hl.Up, 10)
    assert FrameKind.DATA not in kinds(bench.written[count:])


def test_a_board_that_acknowledges_but_never_describes_itself_is_refused() -> None:
    bench = Bench()
    bench.table.board._link._take = lambda payload, sequence: None
    down = bench.until(hl.Down, 30)
    assert down.reason is hl.DownReason.DESCRIPTION


@pytest.mark.parametrize(
    "blob", [b"", b"\0" * 100, b"not zlib at all", __import__("zlib").compress(b"{}")], ids=repr
)
def test_a_description_that_cannot_be_read_is_refused_and_the_reason_told(blob: bytes) -> None:
    table = SimTable(TableOptions(hands=0))
    table.board._link.__init__(5, blob)
    bench = Bench(table=table)
    down = bench.until(hl.Down, 30)
    assert down.reason is hl.DownReason.DESCRIPTION
    assert down.detail.key.startswith("description.")
    bench.run(5)
    assert len(downs(bench)) == 1


def test_a_description_that_does_not_match_its_hash_is_refused() -> None:
    table = SimTable(TableOptions(hands=0))
    table.board._link.description_hash ^= 1
    assert Bench(table=table).until(hl.Down, 30).detail.key == "description.hash"


@pytest.mark.parametrize("version", [0, 2, 15])
def test_another_major_version_is_refused_with_both_numbers(version: int) -> None:
    link = hl.HostLink(0)
    link.handle(hl.Opened(), 0)
    effects = link.handle(
        hl.Received(encode(bytes((version << 4 | FrameKind.HELLO_ACK, 0, 0, 0, 0, 1, 2)))), 1
    )
    (down,) = effects
    assert isinstance(down, hl.Down)
    assert down.reason is hl.DownReason.VERSION
    for lang in LANGUAGES:
        text = down.detail.text(lang)
        assert (str(version) in text, "1" in text) == (True, True)
    assert link.next_deadline() is None


def test_a_message_that_the_board_does_not_know_ends_its_order_by_id(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.until(hl.Up)
    from firmware_protocol import board_link

    known = tuple(c for c in m.COMMANDS if c is not m.Fill)
    monkeypatch.setattr(board_link, "COMMANDS", known)
    bench.order(m.Fill(4, 0, 2, 500))
    bench.order(stroke(5))
    bench.run(0.5)
    assert [s for s in bench.said if isinstance(s, hl.NotSupported)] == [hl.NotSupported(4)]
    assert [d.op for d in bench.heard(m.Done)] == [5]
    assert bench.table.board.counters.unknown == bench.link.counters.unknown == 1


def test_a_host_that_hears_itself_gets_nowhere_and_does_not_fall() -> None:
    link = hl.HostLink(0)
    now = 0
    out = link.handle(hl.Opened(), 0)
    for _ in range(200):
        echo = b"".join(e.data for e in out if isinstance(e, hl.Transmit))
        link.handle(hl.Received(echo), now)
        now = link.next_deadline() or now
        out = link.handle(TICK, now)
        assert not [e for e in out if isinstance(e, hl.Up)]


def test_the_tick_rule_holds_under_loss() -> None:
    bench = Bench(WireModel.bad(0.2), seed=8)  # World raises where a deadline is not later than its tick
    for op in range(1, 100):
        bench.order(stroke(op))
        bench.run(0.3)
