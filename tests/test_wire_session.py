"""The host's end, typed: no older story than the one known, every open order told, a hand on a bad line."""

from typing import Any

import pytest
from wire_bench import Bench

from firmware_protocol import host_link as hl
from firmware_protocol import messages as m
from sim.lab.rig import Rig, RigOptions
from sim.table import StopLine, TableOptions, WireIn
from sim.wires import Line, Put, WireModel
from sim.world import World
from tablectl.board.session import BoardSession, _before
from tablectl.table import events as ev


class SessionBench(Bench):
    """A `BoardSession` in the place of the bare link; `said` holds the controller's events."""

    def __init__(self) -> None:
        super().__init__()
        self.session = BoardSession(0)
        self.world = World()
        self.world.add("host", self.session, self._from_host)
        self.world.add("down", self.lines["down"], self._from_down)
        self.world.add("table", self.table, self._from_table)
        self.world.add("up", self.lines["up"], self._from_up)
        self.give(hl.Opened())
        self.until(ev.Hello)

    def order(self, verb: ev.Verb, part: str, op: int = 1) -> None:
        self.give(ev.Command(op, verb, part))


def test_every_open_order_is_told_when_the_link_is_lost() -> None:
    bench = SessionBench()
    bench.cut = True
    for op in range(1, 8):
        bench.order(ev.Verb.STROKE_HOME, "stacker.S1", op)
    bench.run(0.0)
    bench.give(hl.Closed())
    lost = bench.until(ev.LinkLost)
    assert (lost.reason, lost.unknown, lost.not_executed) == ("closed", (1, 2, 3, 4), (5, 6, 7))


def test_every_open_order_is_told_when_everything_is_stopped() -> None:
    bench = SessionBench()
    bench.order(ev.Verb.RUN, "drum", 1)
    bench.run(0.1)
    bench.give(ev.StopAll())
    stopped = bench.until(ev.Stopped)
    assert (stopped.unknown, stopped.not_executed) == ((1,), ())
    assert not [s for s in bench.said if isinstance(s, ev.LinkLost)]


def test_a_stop_of_the_boards_own_is_a_stop_and_no_loss() -> None:
    bench = SessionBench()
    bench.give(StopLine(True), "table")
    assert bench.until(ev.Stopped).reason == m.StopReason.WIRED
    assert "stop.line" in bench.until(ev.Stopped).state.sensors
    assert not [s for s in bench.said if isinstance(s, ev.LinkLost)]


def test_clearing_a_stop_is_no_loss() -> None:
    bench = SessionBench()
    bench.give(ev.StopAll())
    bench.until(ev.Stopped)
    bench.run(0.3)
    bench.give(ev.ClearStop(m.StopReason.HOST))
    bench.said.clear()
    assert bench.until(ev.Hello).stop == m.StopReason.NONE
    assert not [s for s in bench.said if isinstance(s, ev.LinkLost)]


def test_an_order_without_a_session_fails_at_once() -> None:
    bench = SessionBench()
    bench.run(0.1)
    bench.give(ev.StopAll())
    bench.order(ev.Verb.RUN, "drum", 5)
    failed = bench.until(ev.Failed)
    assert (failed.op, failed.reason) == (5, "NOT_SENT")


def _incoming(session: BoardSession, message: m.Message) -> Any:
    return session._effect(hl.Incoming(message))


@pytest.mark.parametrize("start", [1000, 2**32 - 50])
def test_a_late_reply_tells_no_older_story_and_an_overtaken_status_nothing(start: int) -> None:
    session = SessionBench().session
    session._newest = None

    def at(ms: int) -> int:
        return (start + ms) & 0xFFFFFFFF

    assert _incoming(session, m.Status(at(100), 0, bytes((9,) * 8))).state.taken == (9,) * 4
    late = _incoming(session, m.Done(1, at(40), 0, bytes((7,) * 8)))
    assert late.op == 1
    assert late.state.taken == (9,) * 4
    assert _incoming(session, m.Status(at(90), 0, bytes((8,) * 8))) is None
    assert _incoming(session, m.Status(at(100), 0, bytes((9,) * 8))) is not None
    assert _incoming(session, m.Failed(2, 6, at(120), 0, bytes((1,) * 8))).state.taken == (1,) * 4
    assert _before(at(0), at(60))


class _BadWire:
    """Stands where the rig has a perfect wire."""

    def __init__(self, rig: Rig, name: str) -> None:
        self._rig = rig
        self._name = name

    def send(self, data: bytes, now_us: int) -> None:
        self._rig.world.post(now_us, self._name, Put(data))


@pytest.mark.parametrize("chance", [0.01, 0.05])
def test_a_hand_is_played_over_a_bad_line_as_over_a_good_one(chance: float) -> None:
    rig = Rig(RigOptions(table=TableOptions(seed=3)))
    model = WireModel.bad(chance)
    world: World = rig.world
    world.add("down", Line(model, "down"), lambda e, now: world.post(now, "table", WireIn(e.data)))
    world.add("up", Line(model, "up"), lambda e, now: world.post(now, "host", hl.Received(e.data)))
    rig.to_table, rig.to_host = _BadWire(rig, "down"), _BadWire(rig, "up")
    assert rig.play()
    assert rig.faults() == ()
    truth = rig.table.truth()
    assert truth["hands_played"] == 1
    assert truth["violations"] == []
    assert [h["stacks"] for h in truth["hands"]] == [(17, 17, 17, 17)] * 1
    assert rig.session.link.counters.retransmitted > 5
    assert rig.session.link.counters.sessions == 1
