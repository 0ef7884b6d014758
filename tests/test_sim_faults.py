"""Every fault that the simulated table can have does what its sentence says, and is undone by mending."""

from collections.abc import Callable

import pytest
from wire_bench import DONE, BareHand, bench, ended, failed, messages_of, ordered, put_in, washed

from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from sim.faults import LATE_US, FaultSpecError
from sim.mechanics.crank import TURN
from sim.mechanics.motor import RUN_SHARE, STALL_FACTOR
from sim.table import Fault, Mains, Mend, PanelKey, Plugged, SimTable, StopLine, TableOptions

S = 1_000_000


# --- what each fault does -----------------------------------------------------------------------------------
#
# One function a kind: it is called with the fault on and must find it, and with the fault mended on the same
# table and must find it gone.


def a_jam(hand: BareHand, part: str, on: bool) -> None:
    put_in(hand)
    side = hand.table.machine.side(part)
    got = washed(hand, int(part[1:]), 4)
    assert got == (failed(m.FailReason.COUNT) if on else DONE)
    assert len(side.mouth.slot) + len(side.store) == (0 if on else 4)
    if on:  # and the stacker hits it
        assert ordered(hand, hand.stroke(f"stacker.{part}", m.End.FAR), S) == failed(m.FailReason.STALL)
        assert not side.stacker.turning


def a_lost_plug(hand: BareHand, part: str, on: bool) -> None:
    machine = hand.table.machine
    machine.drive(part, 1)
    assert (machine.current_ma == 0) is on
    assert bool(machine.motors[part]._turning) is not on
    machine.drive(part, 0)


def a_held_motor(hand: BareHand, part: str, on: bool) -> None:
    machine = hand.table.machine
    machine.drive(part, 1)
    rated = hand.description.parts[hand.part(part)].max_ma
    assert machine.current_ma == round(rated * (STALL_FACTOR if on else RUN_SHARE))
    assert bool(machine.motors[part]._turning) is not on
    machine.drive(part, 0)


def a_late_motor(hand: BareHand, part: str, on: bool) -> None:
    motor = hand.table.machine.motors[part]
    motor.drive(1)
    hand.wait(LATE_US - 1_000)
    assert bool(motor._turning) is not on
    hand.wait(2_000)
    assert motor._turning
    motor.drive(0)


def something_in_a_stackers_way(hand: BareHand, part: str, on: bool) -> None:
    got = ordered(hand, hand.stroke(part, m.End.FAR), S)
    assert got == (failed(m.FailReason.STALL) if on else DONE)
    assert (hand.table.machine.crank(part).angle < TURN // 3) is on
    hand.stroke(part, m.End.HOME)
    hand.wait(S)


def a_lift_that_stays_short_of_home(hand: BareHand, part: str, on: bool) -> None:
    got = ordered(hand, hand.stroke(part, m.End.TURN), 20 * S)
    assert got == (failed(m.FailReason.STALL) if on else DONE)


def a_hand_in_the_gap(hand: BareHand, part: str, on: bool) -> None:
    hand.stroke(part, m.End.FAR)
    hand.wait(3 * S)
    got = ordered(hand, hand.stroke(part, m.End.HOME), 10 * S)
    assert got == (failed(m.FailReason.STALL) if on else DONE)
    assert hand.table.machine.console.on["console.up"] is on  # it has given way
    assert hand.table.machine.console.on["console.down"] is not on


def a_dead_sensor(hand: BareHand, part: str, on: bool) -> None:
    moves_to(hand, part)
    assert told(hand, part) is not on


def a_stuck_sensor(hand: BareHand, part: str, on: bool) -> None:
    leaves(hand, part)
    assert told(hand, part) is on


def told(hand: BareHand, sensor: str) -> bool:
    return bool(hand.table.board._sensors >> hand.description.sensors.index(sensor) & 1)


def moves_to(hand: BareHand, sensor: str) -> None:
    """Bring the machine to where the sensor must tell something."""
    machine = hand.table.machine
    part, _, end = sensor.rpartition(".")
    if part.startswith(("belt", "slot")):
        put_in(hand)
        side = machine.side(part[-2:])
        machine.drive("drum", 1)
        side.mouth.open_gate(True)
        machine.drive(f"conveyor.{side.name}", 1)
        hand.wait(8 * S)
        assert side.mouth.full
        assert side.mouth.slot_full
    else:
        while not machine.crank(part).on[sensor]:
            machine.drive(part, 1)
            hand.wait(10_000)
        machine.drive(part, 0)
    assert end


def leaves(hand: BareHand, sensor: str) -> None:
    """Bring the machine to where the sensor must tell nothing."""
    machine = hand.table.machine
    part = sensor.rpartition(".")[0]
    if not part.startswith(("belt", "slot")):
        while machine.crank(part).on[sensor]:
            machine.drive(part, 1)
            hand.wait(10_000)
        machine.drive(part, 0)


def a_blind_eye(hand: BareHand, part: str, on: bool) -> None:
    seen, passed = peaks(hand, part, 2)
    assert passed
    assert seen == (0 if on else passed)


def a_dirty_eye(hand: BareHand, part: str, on: bool) -> None:
    seen, passed = peaks(hand, part, 60)
    assert passed > 30
    assert (0 < seen < passed) if on else seen == passed


def a_doubling_eye(hand: BareHand, part: str, on: bool) -> None:
    seen, passed = peaks(hand, part, 2)
    assert passed
    assert seen == (2 * passed if on else passed)


def peaks(hand: BareHand, part: str, least: int) -> tuple[int, int]:
    """Let tiles pass an eye; return how many the board saw and how many there were."""
    machine, counts = hand.table.machine, hand.table.board._counts
    put_in(hand)
    side = machine.side(part)
    before = counts.of[int(part[1:]) - 1].taken
    machine.drive("drum", 1)
    side.mouth.open_gate(True)
    machine.drive(f"conveyor.{part}", 1)
    passed = len(side.mouth.belt) + len(side.mouth.slot)
    start = -passed
    while start + passed < least:
        hand.wait(100_000)
        passed = sum(len(p) for p in (side.mouth.belt, side.mouth.slot, side.wall))
        for tile in list(side.mouth.slot.tiles):  # onto the latches, without a stacker
            tile.move(side.wall)
        side.mouth.settle()
    machine.drive(f"conveyor.{part}", 0)
    machine.drive("drum", 0)
    return counts.of[int(part[1:]) - 1].taken - before, start + passed


def an_open_door(hand: BareHand, part: str, on: bool) -> None:
    machine = hand.table.machine
    assert told(hand, "door.open") is on
    machine.drive("drum", 1)
    assert (machine.current_ma == 0) is on
    machine.drive("drum", 0)
    assert hand.table.board._stop == m.StopReason.DOOR  # mending does not clear it


def a_stuck_key(hand: BareHand, part: str, on: bool) -> None:
    hand.wait(20_000)
    assert bool(hand.table.board._keys >> hand.description.keys.index(part) & 1) is on


def a_chattering_key(hand: BareHand, part: str, on: bool) -> None:
    keys = hand.table.board._contacts
    contacts = [keys._raw.get(part, False)]
    real = keys.contact
    keys.contact = lambda key, closed: (contacts.append(closed), real(key, closed))[1]  # type: ignore[func-returns-value, method-assign]
    began = hand.now
    got = messages_of(hand.wait(S))
    assert contacts == ([True, False, True, False, True, False, True, False] if on else [False])
    events = dict.fromkeys(
        k for k in got if isinstance(k, m.KeyEvent)
    )  # each is repeated: nobody acknowledges
    assert [k.phase for k in events if k.clock_ms * 1000 > began] == [m.Phase.DOWN, m.Phase.UP] * on


def a_tile_on_the_floor(hand: BareHand, part: str, on: bool) -> None:
    players = hand.table.players
    hand.table.machine.console.on["console.up"] = True
    players._push_in()
    assert len(players.floor) == on
    for tile in list(hand.table.machine.drum.place.tiles):
        tile.move(hand.table.boxes[0])


def a_strange_tile(hand: BareHand, part: str, on: bool) -> None:
    hand.table.machine.console.on["console.up"] = True
    hand.table.players._push_in()
    assert len(hand.table.machine.drum.place) == 136 + on
    assert {t.back for t in hand.table.machine.drum.place.tiles} == ({"A", "B"} if on else {"A"})
    for tile in list(hand.table.machine.drum.place.tiles):
        tile.move(hand.table.boxes["AB".index(tile.back)])


def mixed_sets(hand: BareHand, part: str, on: bool) -> None:
    backs = [{t.back for t in box.tiles} for box in hand.table.boxes]
    assert backs == ([{"A", "B"}, {"A", "B"}] if on else [{"A"}, {"B"}])


def a_mute_board(hand: BareHand, part: str, on: bool) -> None:
    assert bool(pong(hand)) is not on
    assert hand.table.board._link.last_heard_us == hand.now  # it hears


def a_slow_board(hand: BareHand, part: str, on: bool) -> None:
    assert bool(pong(hand)) is not on
    assert [f.kind for f in hand.wait(151_000, ping=False)].count(FrameKind.PONG) == on


def a_noisy_wire(hand: BareHand, part: str, on: bool) -> None:
    cable, got = hand.table._cable, []
    for _ in range(20):
        cable.to_board(bytes(400), got.append)
        cable.to_host(bytes(400), got.append)
    assert (sum(b != 0 for data in got for b in data) > 0) is on


def a_pulled_cable(hand: BareHand, part: str, on: bool) -> None:
    heard = hand.table.board._link.last_heard_us
    hand.wait(1_000, ping=False)
    assert bool(pong(hand)) is not on
    assert (hand.table.board._link.last_heard_us == heard) is on


def pong(hand: BareHand) -> bool:
    return FrameKind.PONG in [f.kind for f in hand.write(hand.frame(FrameKind.PING, m.Ping(5).payload()))]


def a_restart(cause: m.ResetCause) -> Callable[[BareHand, str, bool], None]:
    def check(hand: BareHand, part: str, on: bool) -> None:
        ack = hand.hello(9)
        assert (ack.boot_id, ack.reset_cause) == (2, cause)  # once, and not again
        assert pong(hand)

    return check


def cut_mains(hand: BareHand, part: str, on: bool) -> None:
    machine = hand.table.machine
    if on:
        assert not pong(hand)
        assert messages_of(hand.tell(PanelKey("lift.1", True)) + hand.wait(S, ping=False)) == []
        hand.tell(PanelKey("lift.1", False))
    else:
        ack = hand.hello(9)
        assert (ack.boot_id, ack.reset_cause) == (2, m.ResetCause.POWER_ON)
        assert pong(hand)
    machine.drive("drum", 1)
    assert (machine.current_ma == 0) is on
    machine.drive("drum", 0)


CHECKS: dict[str, Callable[[BareHand, str, bool], None]] = {
    "jam": a_jam,
    "disconnected": a_lost_plug,
    "stalled": a_held_motor,
    "late": a_late_motor,
    "blocked": something_in_a_stackers_way,
    "short": a_lift_that_stays_short_of_home,
    "hand": a_hand_in_the_gap,
    "dead": a_dead_sensor,
    "stuck": a_stuck_sensor,
    "dead-eye": a_blind_eye,
    "dirty-eye": a_dirty_eye,
    "double-eye": a_doubling_eye,
    "door": an_open_door,
    "key-stuck": a_stuck_key,
    "key-bouncing": a_chattering_key,
    "missing": a_tile_on_the_floor,
    "extra": a_strange_tile,
    "mixed": mixed_sets,
    "mute": a_mute_board,
    "slow": a_slow_board,
    "noisy": a_noisy_wire,
    "unplug": a_pulled_cable,
    "reset": a_restart(m.ResetCause.WATCHDOG),
    "brown-out": a_restart(m.ResetCause.BROWN_OUT),
    "power-cut": cut_mains,
}
KINDS = SimTable(TableOptions(hands=0)).faults.kinds


def test_no_kind_of_fault_is_without_its_check() -> None:
    assert CHECKS.keys() == KINDS.keys()
    for kind in KINDS.values():
        assert kind.parts
        assert kind.says[0].islower()


@pytest.mark.parametrize("name", KINDS)
def test_no_fault_of_any_kind_does_other_than_its_sentence_says(name: str) -> None:
    for part in {KINDS[name].parts[0], KINDS[name].parts[-1]}:
        hand = bench(hands=1)
        hand.tell(Fault(f"{name}:{part}"))
        CHECKS[name](hand, part, True)


@pytest.mark.parametrize("name", KINDS)
def test_no_fault_of_any_kind_outlives_its_mending(name: str) -> None:
    for part in {KINDS[name].parts[0], KINDS[name].parts[-1]}:
        hand = bench(hands=1)
        hand.tell(Fault(f"{name}:{part}"))
        if name in PASSING:
            hand.wait(S, ping=False)
        hand.tell(Mend(f"{name}:{part}"))
        CHECKS[name](hand, part, False)


PASSING = {"key-bouncing", "reset", "brown-out"}  # over by themselves: there is nothing to mend


def test_a_fault_comes_at_its_time_and_goes_after_its_duration() -> None:
    hand = bench(faults=("disconnected:drum@2s+1.5s",))
    motor = hand.table.machine.motors["drum"]
    for until, plugged in ((1_999_999, True), (2_000_000, False), (3_499_999, False), (3_500_000, True)):
        hand.wait(until - hand.now, ping=False)
        assert motor._plugged is plugged
    hand.tell(Fault("disconnected:drum@1s"))  # given to a running table: from now
    hand.wait(999_999)
    assert motor._plugged
    hand.wait(1)
    assert not motor._plugged


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("magic:S1", "jam, disconnected, stalled"),
        ("jam:S5", "S1, S2, S3, S4"),
        ("jam:drum", "S1, S2, S3, S4"),
        ("blocked:lift.S1", "stacker.S1, stacker.S2"),
        ("hand:S1", "console"),
        ("dead:door.open", "console.up"),
        ("key-stuck:lift", "lift.1, lift.2, dice.S1"),
        ("jam", "kind:part@time+duration"),
        ("jam:S1@soon", "kind:part@time+duration"),
        ("jam:S1@-1s", "kind:part@time+duration"),
        ("jam:S1 ", "kind:part@time+duration"),
        ("", "kind:part@time+duration"),
    ],
)
def test_a_fault_that_cannot_be_is_refused_and_what_can_be_is_named(spec: str, named: str) -> None:
    hand = bench()
    for act in (lambda: hand.tell(Fault(spec)), lambda: hand.tell(Mend(spec))):
        with pytest.raises(FaultSpecError) as refused:
            act()
        assert named in str(refused.value)
        assert str(refused.value).endswith(".")
    with pytest.raises(FaultSpecError):
        bench(faults=(spec,))


# --- what the board makes of them ---------------------------------------------------------------------------


@pytest.mark.parametrize(("part", "end"), [("console", m.End.FAR), ("lift.S2", m.End.TURN)])
@pytest.mark.parametrize("after_us", [0, 1_000, 400_000, 1_200_000])
def test_no_stall_of_console_or_lift_goes_on_for_50_ms_or_is_tried_a_third_time(
    part: str, end: m.End, after_us: int
) -> None:
    hand = bench()
    machine, tries, backs, begun = hand.table.machine, [], [], []
    motor = machine.motors[part]
    real = motor.drive

    def drive(direction: int, reduced: bool = False) -> None:
        if direction != motor.direction:
            (tries if direction > 0 else backs).append(hand.table.agenda.now_us) if direction else None
        real(direction, reduced)

    motor.drive = drive  # type: ignore[method-assign]
    hand.stroke(part, end)
    hand.wait(after_us)
    begun.append(hand.table.agenda.now_us)
    obstacle = machine.crank(part)
    obstacle.block((obstacle.angle + 2) % TURN)
    got = ended(hand, 20 * S)
    assert got == [failed(m.FailReason.STALL)]
    assert len(tries) == 2
    assert len(backs) == 2
    assert backs[0] - begun[0] <= 50_000
    assert motor.direction == 0
    assert machine.crank(part).on[f"{part}.{'down' if part == 'console' else 'home'}"] or after_us < 2_000


def test_one_retry_is_enough_where_the_hand_goes_away() -> None:
    hand = bench()
    hand.stroke("console", m.End.FAR)
    hand.wait(3 * S)
    hand.tell(Fault("hand:console+1.2s"))
    assert ordered(hand, hand.stroke("console", m.End.HOME), 10 * S) == DONE
    assert hand.table.machine.console.on["console.down"]


@pytest.mark.parametrize("part", ["console", "lift.S1"])
def test_only_the_first_third_of_a_stroke_goes_with_reduced_current(part: str) -> None:
    hand = bench()
    stroke_us = 1000 * hand.description.parts[hand.part(part)].stroke_ms
    motor = hand.table.machine.motors[part]
    hand.stroke(part, m.End.FAR if part == "console" else m.End.TURN)
    hand.wait(stroke_us // 3 - 1_000)
    assert motor.reduced
    motor.seize(True)
    assert motor.current_ma == 1500 * STALL_FACTOR / 2
    motor.seize(False)
    hand.wait(2_000)
    assert not motor.reduced
    hand.wait(stroke_us)
    assert motor.direction == 0


def test_a_stacker_is_never_driven_with_reduced_current() -> None:
    hand = bench()
    hand.stroke("stacker.S1", m.End.FAR)
    assert not hand.table.machine.motors["stacker.S1"].reduced


def test_a_stacker_that_is_held_is_stopped_at_once_and_not_turned_back() -> None:
    hand = bench()
    hand.tell(Fault("blocked:stacker.S1"))
    hand.stroke("stacker.S1", m.End.FAR)
    turned: list[int] = []
    crank = hand.table.machine.crank("stacker.S1")
    real = crank.turn
    crank.turn = lambda direction: (turned.append(direction), real(direction))[1]  # type: ignore[method-assign]
    hand.wait(375_000 * 2 * 3 // 10 + 10_001)
    assert turned == [0]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("blocked:stacker.S1", m.FailReason.STALL), ("stalled:conveyor.S1", m.FailReason.FEED_STALL)],
)
def test_a_fill_names_which_of_its_motors_is_held(fault: str, reason: m.FailReason) -> None:
    hand = bench()
    put_in(hand)
    hand.tell(Fault(fault))
    assert washed(hand, 1, 4) == failed(reason)
    machine = hand.table.machine
    assert [machine.motors[f"{k}.S1"].direction for k in ("conveyor", "stacker")] == [0, 0]


@pytest.mark.parametrize("stop", ["door", "wired", "both"])
def test_nothing_moves_and_nothing_is_cleared_while_door_or_wired_stop_is_open(stop: str) -> None:
    hand = bench()
    hand.run("drum")
    hand.stroke("console", m.End.FAR)
    hand.wait(700_000)
    machine, board = hand.table.machine, hand.table.board
    reason = m.StopReason.DOOR if stop == "door" else m.StopReason.WIRED
    if stop != "wired":
        hand.tell(Fault("door:service"))
    if stop != "door":
        hand.tell(StopLine(True))
    assert machine.current_ma == 0
    assert not machine.drum.running
    assert not machine.console.turning
    assert board._stop == reason
    for _ in range(2):  # not even when the board restarts meanwhile
        hand.clear(board._stop, board._stop_number)
        assert hand.hello(hand.now & 0xFFFF | 0x10000).stop == reason
        assert [type(g) for g in hand.run("drum")] == [m.Failed]
        for part in ("drum", "console"):
            machine.drive(part, 1)
            assert machine.current_ma == 0
            machine.drive(part, 0)
        hand.tell(Fault("reset:board"))
        hand.wait(1_000)
    if stop == "both":  # one of them is not enough
        hand.tell(StopLine(False))
        hand.clear(board._stop, board._stop_number)
        assert board._stop == reason
    hand.tell(Mend("door:service"))
    hand.tell(StopLine(False))
    assert board._stop == reason
    hand.clear(board._stop, board._stop_number)
    hand.hello(2)
    assert [type(g) for g in hand.run("drum")] == [m.Accepted]
    assert machine.current_ma > 0


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("reset:board", m.ResetCause.WATCHDOG),
        ("brown-out:supply", m.ResetCause.BROWN_OUT),
        ("power-cut:mains+6s", m.ResetCause.POWER_ON),
    ],
)
def test_no_restart_loses_a_count_or_the_move_that_it_cut(fault: str, cause: m.ResetCause) -> None:
    hand = bench()
    put_in(hand)
    washed(hand, 1, 34, us=4 * S)
    before = hand.table.board._counts.to_wire()
    assert before[0] > 3
    hand.stroke("console", m.End.FAR)
    op = hand._op
    hand.wait(300_000)
    at = hand.table.board._counts.to_wire()
    hand.tell(Fault(fault))
    assert hand.table.machine.current_ma == 0
    hand.wait(7 * S, ping=False)
    for _ in range(2):  # the first answer may be lost
        ack = hand.hello(9)
        assert (ack.boot_id, ack.reset_cause) == (2, cause)
        assert ack.counts == at
        assert (ack.op, ack.part) == (op, hand.part("console"))
    assert hand.hello(10).part == m.NO_PART
    assert hand.table.board._keys == 0


def test_keys_that_are_held_at_power_on_are_told() -> None:
    hand = bench()
    hand.tell(Fault("power-cut:mains+1s"))
    for key in ("lift.1", "lift.2"):
        hand.tell(PanelKey(key, True))
    assert messages_of(hand.wait(2 * S, ping=False)) == []
    assert hand.hello(9).keys == 0b11
    (event,) = messages_of(hand.tell(PanelKey("lift.1", False)) + hand.wait(20_000))
    assert isinstance(event, m.KeyEvent)
    assert (event.key, event.phase) == (0, m.Phase.UP)


def test_a_board_without_power_says_nothing_and_is_not_restarted_by_anything_else() -> None:
    hand = bench()
    assert Mains(False) in hand.table.handle(Fault("power-cut:mains"), hand.now)
    for event in (
        Fault("reset:board"), Fault("brown-out:supply"), Fault("door:service"), Mend("door:service"),
        StopLine(True), StopLine(False), PanelKey("lift.1", True), Fault("stuck:console.up"),
    ):  # fmt: skip
        assert hand.tell(event) == []
    assert hand.write(hand.frame(FrameKind.PING, bytes(2))) == []
    assert hand.wait(3 * S) == []
    assert Mains(True) in hand.table.handle(Mend("power-cut:mains"), hand.now)
    assert hand.hello(9).boot_id > 1


def test_moves_that_need_more_than_the_limit_together_are_refused() -> None:
    hand = bench()
    hand.run("drum", 5000)
    for mouth in range(4):
        assert isinstance(hand.fill(mouth, 10)[0], m.Accepted)  # 1.2 A, and 1 A for each
    (refused,) = hand.stroke("console", m.End.FAR)  # 1.5 A more than 5.2 A
    assert isinstance(refused, m.Failed)
    assert refused.reason == m.FailReason.CURRENT
    hand.command(m.Stop(50, hand.part("drum")))
    assert isinstance(hand.stroke("console", m.End.FAR)[0], m.Accepted)
    assert hand.table.machine.current_ma <= hand.description.max_total_ma


def test_more_than_the_supply_gives_resets_the_board() -> None:
    hand = bench()
    for side in (1, 2, 3, 4):
        hand.stroke(f"lift.S{side}", m.End.TURN)
    hand.wait(200_000)
    for side in (1, 2, 3, 4):
        hand.tell(Fault(f"stalled:lift.S{side}+0.005s"))  # 7.5 A: with reduced current the supply holds
    hand.wait(5_000)
    assert hand.table.board._reset_cause == m.ResetCause.POWER_ON
    hand.wait(900_000)
    for side in (1, 2, 3, 4):
        hand.tell(Fault(f"stalled:lift.S{side}"))  # 15 A
    hand.wait(3_000, ping=False)
    assert hand.table.board._reset_cause == m.ResetCause.BROWN_OUT
    assert hand.table.machine.current_ma == 0
    assert not hand.table.board._ops
    ack = hand.hello(9)
    assert (ack.boot_id, ack.part) == (2, hand.part("lift.S4"))
    assert all(ack.counts[2 * n + 1] & 0xC0 for n in range(4))  # half-turned lifts: nobody knows
    for side in (1, 2, 3, 4):
        hand.tell(Mend(f"stalled:lift.S{side}"))
    hand.wait(20 * S)
    assert hand.table.machine.current_ma == 0  # nothing that was planned before goes on


def test_plugging_is_told_to_whoever_owns_the_port() -> None:
    table = SimTable(TableOptions(hands=0))
    assert table.handle(Fault("unplug:wire"), 0) == (Plugged(False),)
    assert table.handle(Mend("unplug:wire"), 1) == (Plugged(True),)
