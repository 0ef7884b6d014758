"""The eight-mouth table: hands and walls from one wash, by the same code as on four mouths."""

import hashlib
import io
import random
from dataclasses import replace

import pytest
from click.testing import CliRunner
from helpers import (
    S,
    api,
    check_tiles,
    homed,
    panel,
    permuted,
    pull_walls,
    put_in,
    refusals,
    rig,
    run_for,
    run_to,
    run_until,
    standing,
    told,
    wash,
)
from wire_bench import BareHand, bench, messages_of

from firmware_protocol import messages as m
from sim.board import Board
from sim.lab import campaign, campaign_hand, figures, figures_table
from sim.lab.campaign_hand import RULES, run_hand
from sim.lab.campaign_plan import faults_of
from sim.lab.rig import Rig, RigOptions
from sim.mechanics.machine import Machine
from sim.model import MachineModel, load
from sim.table import Fault, SimTable, TableOptions
from sim.tiles import SETS
from tablectl.table import events as ev
from tablectl.table import ledger
from tablectl.table.faults import catalogue
from tablectl.table.intents import Intent
from tablectl.table.ledger import Count
from tablectl.table.memory import Memory, Standing, WashOrder
from tablectl.texts import LANGUAGES
from tablectl.trace import TraceWriter

EIGHT = load("eight-mouth")
HANDS = ("H1", "H2", "H3", "H4")
KINDS = campaign.fault_kinds("eight-mouth")

# Tiles per machine side as tables that serve hands build 136 of them, beside 4 × 13: 10, 10, 11, 11 stacks.
SERVED_136 = (20, 20, 22, 22)
# Sixteen tiles for each of four from 144 leave 80: twenty before every side.
SIXTEEN = "taiwan16"


def table(rule: str = "riichi", seed: int = 0, **options: object) -> Rig:
    return rig(rule, entropy_seed=seed, seed=seed, model=EIGHT, **options)


def served(r: Rig) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the tiles of each wall and of each hand, hand after hand, from the simulator's own."""
    return [
        (tuple(map(len, hand["walls"])), tuple(map(len, hand["served"]))) for hand in r.table.truth()["hands"]
    ]


def every_tile_once(r: Rig, tiles: int) -> bool:
    piles = [[*hand["walls"], *hand["served"]] for hand in r.table.truth()["hands"]]
    numbers = [[t for pile in each for t in pile] for each in piles]
    return all(len(n) == len(set(n)) == tiles for n in numbers)


# --- whole hands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_served_hand_does_not_end_in_wrong_walls_or_hands(seed: int) -> None:
    r = table(seed=seed, hands=3)
    assert r.play(), r.controller.state
    assert r.faults() == ()
    check_tiles(r)
    assert served(r) == [(SERVED_136, (13,) * 4)] * 3
    assert every_tile_once(r, 136)
    assert [hand["back"] for hand in r.table.truth()["hands"]] == ["A", "B", "A"]


def test_sixteen_tiles_of_144_are_served_and_leave_walls_of_twenty() -> None:
    options = TableOptions(tiles=144, hands=2, play_us=2 * S, seed=1, model=EIGHT)
    r = Rig(RigOptions(SIXTEEN, 1, options))
    assert r.play(), r.controller.state
    assert r.faults() == ()
    check_tiles(r)
    assert served(r) == [((20,) * 4, (16,) * 4)] * 2
    assert every_tile_once(r, 144)
    assert {(e.wall, e.stack, e.hand) for e in told(r, ev.HandsServed)} == {(0, 1, 16)}
    assert not told(r, ev.DiceThrown)


@pytest.mark.parametrize(("rule", "walls"), [("mcr", (36,) * 4), ("sc_tcy", (28, 26, 28, 26))])
def test_a_rule_that_is_not_served_does_not_move_a_mouth_for_hands(
    rule: str, walls: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    driven: set[str] = set()
    drive = Machine.drive

    def note(machine: Machine, part: str, direction: int, reduced: bool = False) -> None:
        driven.update({part} if direction else ())
        drive(machine, part, direction, reduced)

    monkeypatch.setattr(Machine, "drive", note)
    r = table(rule, hands=2)
    assert r.play(), r.controller.state
    assert served(r) == [(walls, ())] * 2
    assert not {part for part in driven if part[-2:] in HANDS}
    assert "stacker.S1" in driven
    assert len(told(r, ev.BreakAnnounced)) == 2, "the walls are broken by dice"
    assert not told(r, ev.HandsServed)


def test_a_served_hand_is_not_asked_for_dice_and_says_where_play_begins() -> None:
    r = table(hands=2)
    assert r.play()
    words = [shown.display for _, shown in r.shown]
    assert "dicE" not in words
    assert words[words.index("hAnd") + 1] == "E  1"
    assert told(r, ev.HandsServed) == [ev.HandsServed(0, 1, "S1", 13)] * 2
    entries = [e.data for e in r.journal if e.kind == "served"]
    assert [(e["dealer"], e["break"]) for e in entries] == [(0, {"wall": 0, "stack": 1, "side": "S1"})] * 2


def test_dice_are_refused_where_hands_were_served_and_the_reason_is_told() -> None:
    r = standing(model=EIGHT)
    api(r, Intent.DICE)
    api(r, Intent.DICE_SOUTH)
    assert refusals(r)[-2:] == ["refuse.hands_served"] * 2
    run_for(r, 2)
    assert not told(r, ev.DiceThrown)


def test_play_begins_before_the_dealer_who_was_chosen_last() -> None:
    r = standing(model=EIGHT)
    api(r, Intent.DEALER_NEXT)
    run_for(r, 1)
    assert r.controller.hand.opening == ev.HandsServed(0, 1, "S2", 13)
    assert told(r, ev.HandsServed)[-1].side == "S2"
    entries = [e.data for e in r.journal if e.kind == "served"]
    assert entries[-1]["dealer"] == entries[-1]["memory"]["dealer"] == 1


def test_where_play_begins_is_not_forgotten_by_a_host_that_restarts() -> None:
    r = standing(model=EIGHT)
    run_for(r, 60)
    assert r.shown[-1][1].display == "PrES"
    r.restart_daemon()
    run_until(r, lambda: r.controller.connected)
    assert r.controller.hand.opening == ev.HandsServed(0, 1, "S1", 13)
    panel(r, "lift.1")
    run_to(r, "rest")
    run_for(r, 1)
    assert r.shown[-1][1].display == "E  1"


# --- one machine, two kinds of mouths -----------------------------------------------------------------------


def test_no_more_than_two_lifts_turn_at_once_and_the_supply_is_not_asked_for_more_than_it_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rated = {part.name: part.max_ma for part in SimTable(TableOptions(model=EIGHT)).board.description.parts}
    most, lifts, pairs = 0, 0, set()
    drive = Machine.drive

    def note(machine: Machine, part: str, direction: int, reduced: bool = False) -> None:
        nonlocal most, lifts
        drive(machine, part, direction, reduced)
        driven = [name for name, motor in machine.motors.items() if motor.direction]
        turning = tuple(name for name in driven if name.startswith("lift"))
        most, lifts = max(most, sum(map(rated.get, driven))), max(lifts, len(turning))  # type: ignore[arg-type]
        pairs.update({turning} if len(turning) > 1 else ())

    monkeypatch.setattr(Machine, "drive", note)
    r = table(hands=2)
    assert r.play()
    assert len(rated) == 26
    assert lifts == 2
    assert pairs == {(f"lift.{a}1", f"lift.{a}3") for a in "SH"} | {
        (f"lift.{a}2", f"lift.{a}4") for a in "SH"
    }
    assert 6_000 < most <= EIGHT.current.limit_ma, "eight mouths at once draw more than four may"


def test_eight_mouths_are_fed_and_a_motor_above_the_supply_is_not_started() -> None:
    hand = eight_fed()
    (refused,) = hand.stroke("console", m.End.FAR)
    assert isinstance(refused, m.Failed)
    assert refused.reason == m.FailReason.CURRENT


def eight_fed() -> BareHand:
    """Return a board that feeds all eight mouths."""
    hand = bench(model=EIGHT)
    for tile in list(hand.table.boxes[0].tiles):
        tile.move(hand.table.machine.drum.place)
    hand.run("drum", 5000)
    for mouth in range(8):
        (began,) = hand.fill(mouth, 12, 5000)
        assert isinstance(began, m.Accepted)
    return hand


def test_add_does_not_leave_one_of_eight_feeders_running() -> None:
    hand = eight_fed()
    hand.wait(4 * S)
    for key in ("lift.1", "lift.2"):
        hand.table.board.contact(key, True)
    hand.wait(65_000)  # a contact is believed after 15 ms
    feeders = [n for n in hand.table.machine.motors if n.startswith(("drum", "conveyor"))]
    assert len(feeders) == 9
    assert not [n for n in feeders if hand.table.machine.motors[n].direction]
    hand.wait(2 * S)
    aborted = [g for g in messages_of(hand.frames) if isinstance(g, m.Failed)]
    assert {g.reason for g in aborted} == {m.FailReason.ABORTED}
    assert len({g.op for g in aborted}) == 9


def test_a_hand_is_not_raised_beside_what_was_ordered() -> None:
    hand = bench(model=EIGHT)
    for tile in list(hand.table.boxes[0].tiles):
        tile.move(hand.table.machine.drum.place)
    hand.run("drum", 5000)
    hand.fill(4, 13, 5000)
    hand.wait(4 * S)
    hand.command(m.Stop(hand.op(), hand.part("conveyor.H1")))
    hand.wait(2 * S)
    assert not any(motor.direction for name, motor in hand.table.machine.motors.items() if name[-2:] == "H1")
    assert 0 < len(hand.table.machine.side("H1").store) < 13
    (refused,) = hand.stroke("lift.H1", m.End.TURN)
    assert isinstance(refused, m.Failed)
    assert refused.reason == m.FailReason.INTERLOCK


def test_forgotten_tiles_go_in_and_every_count_is_kept() -> None:
    r = homed(model=EIGHT)
    wash(r, but=8)
    run_to(r, "washing")
    run_for(r, 8)
    panel(r, "lift.1", "lift.2")
    run_to(r, "add_open")
    before = r.controller.seen
    assert before is not None
    assert len(before.taken) == 8
    assert sum(before.taken) > 40
    for tile in list(r.table.boxes[0].tiles):
        tile.move(r.table.machine.drum.place)
    r.press("START")
    run_to(r, "rest")
    after = r.controller.seen
    assert after is not None
    assert after.stored == (*SERVED_136, 13, 13, 13, 13)
    assert all(a >= b for a, b in zip(after.taken, before.taken, strict=True))
    check_tiles(r)


@pytest.mark.parametrize(("after_s", "at"), [(1.0, "lift.S1"), (6.5, "lift.H1"), (8.5, "lift.H2")])
def test_a_raise_that_is_cut_is_finished_and_no_wall_or_hand_comes_up_twice(after_s: float, at: str) -> None:
    r = homed(sets=1, model=EIGHT)
    wash(r)
    run_to(r, "rest")
    r.press("START")
    run_to(r, "raising")
    run_for(r, after_s)
    assert r.table.machine.motors[at].direction, "the cut comes while that lift turns"
    r.world.post(r.world.now_us, "table", Fault("power-cut:mains+6s"))
    run_for(r, 12)
    panel(r, "lift.1")
    run_to(r, "stopped")
    run_for(r, 1)
    assert r.shown[-1][1].display in ("cont", f"{at[-2:]}--")
    panel(r, "lift.1")
    run_to(r, "rest")
    stands = {s.name: len(s.wall) for s in r.table.machine.sides}
    assert stands == {f"S{n}": c for n, c in enumerate(SERVED_136, 1)} | dict.fromkeys(HANDS, 13)
    assert not any(s.store.tiles for s in r.table.machine.sides)
    assert r.controller.hand.opening == ev.HandsServed(0, 1, "S1", 13)
    check_tiles(r)


def test_a_hand_that_was_not_taken_holds_the_next_one_and_is_named() -> None:
    r = homed(model=EIGHT)
    wash(r)
    run_to(r, "rest")
    wash(r, box=1)  # the first walls rise
    run_to(r, "raising")
    run_to(r, "rest")
    for side in r.table.machine.sides:
        if side.name != "H3":
            side.pull_wall(r.table.players.table)
    r.press("START")
    run_to(r, "open")
    r.press("START")
    run_to(r, "fault")
    assert r.controller.fault == ev.FaultRaised("E41", {"side": "H3"})
    pull_walls(r)
    check_tiles(r)


# --- what does not fit --------------------------------------------------------------------------------------


def small(name: str, walls: int, hands: int | None = None) -> MachineModel:
    model = load(name)
    hand = replace(model.hand, stacks=hands) if model.hand and hands else model.hand
    return replace(model, store=replace(model.store, stacks=walls), hand=hand)


def test_a_rule_that_a_four_mouth_table_cannot_hold_is_refused_and_moves_nothing() -> None:
    r = homed("riichi", model=small("four-mouth", 14))
    r.press("START")
    run_for(r, 3)
    assert r.controller.state == "rest"
    (refused,) = told(r, ev.Refused)
    assert refused.reason == "refuse.rule_does_not_fit"
    assert refused.values == {"rule": "riichi", "wanted": 17, "side": "S1", "holds": 14}
    assert not r.table.board.executed
    for rule in ("mcr", "sc_tcy"):
        r.world.post(r.world.now_us, "host", ev.Choose("local:1000", rule))
        run_for(r, 0.1)
    assert r.controller.memory.rule == "sc_tcy", "of 14 stacks; 18 are refused as well"
    assert refusals(r) == ["refuse.rule_does_not_fit"] * 2


def test_stores_for_hands_that_are_too_small_leave_whole_walls() -> None:
    r = homed("riichi", model=small("eight-mouth", 20, 6))
    wash(r)
    run_to(r, "rest")
    assert tuple(len(s.store) for s in r.table.machine.sides) == (34, 34, 34, 34, 0, 0, 0, 0)


def test_stores_for_walls_that_are_too_small_for_whole_ones_serve_all_the_same() -> None:
    r = homed("riichi", model=small("eight-mouth", 11))
    wash(r)
    run_to(r, "rest")
    assert tuple(len(s.store) for s in r.table.machine.sides) == (*SERVED_136, 13, 13, 13, 13)
    for rule in ("sc_tcy", "mcr"):
        r.world.post(r.world.now_us, "host", ev.Choose("local:1000", rule))
        run_for(r, 0.1)
    assert {e.values["rule"] for e in told(r, ev.Refused)} == {"sc_tcy", "mcr"}


@pytest.mark.parametrize("part", ["wash", "stored", "standing"])
def test_a_board_of_another_kind_of_table_is_not_asked_for_the_sets_of_the_old_one(part: str) -> None:
    """The journal of a four-mouth table, and the board of an eight-mouth one with tiles in its stores."""
    r = homed(model=EIGHT)
    wash(r)
    run_to(r, "rest")
    run_for(r, 1)
    order = WashOrder("riichi", (34, 34, 34, 34))
    old = Memory("riichi").but(**{part: Standing(order, 0) if part == "standing" else order})
    r.journal.append(ev.Journal(len(r.journal) + 1, "memory", {"memory": old.to_json()}))
    r._written_us.append(0)
    r.restart_daemon()
    run_until(r, lambda: r.controller.connected)
    assert getattr(r.controller.memory, part) is None
    panel(r, "lift.1")
    run_to(r, "stopped")
    panel(r, "lift.1")
    run_to(r, "giving_up")
    run_to(r, "rest")
    pull_walls(r)
    for tile in list(r.table.players.table.tiles):
        tile.move(r.table.boxes[0])
    wash(r)
    run_to(r, "rest")
    assert r.controller.memory.stored == WashOrder("riichi", (*SERVED_136, 13, 13, 13, 13))
    assert r.faults() == ()
    check_tiles(r)


# --- faults -------------------------------------------------------------------------------------------------


PARTS = 3
FIRST = 40 * len(KINDS)  # a round of seeds, in which each kind is the first fault of one hand


@pytest.mark.parametrize("part", range(PARTS))
def test_no_kind_of_fault_ends_otherwise_than_ready_or_named_and_no_store_is_told_wrongly(part: int) -> None:
    seeds = range(FIRST + part, FIRST + len(KINDS), PARTS)
    hands = [run_hand(seed, KINDS, model="eight-mouth") for seed in seeds]
    assert [line for hand in hands for line in hand.wrong] == []
    assert all(hand.ready for hand in hands)
    for hand in hands:
        assert {kind for kind, _ in hand.acted} == set(hand.planned)


def test_the_campaign_leaves_no_kind_of_fault_out() -> None:
    names = tuple(sorted(KINDS))
    assert {faults_of(seed, names)[0] for seed in range(FIRST, FIRST + len(KINDS))} == set(names)


def test_a_ledger_that_is_wrong_about_one_hand_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = campaign_hand.ledger.stores

    def shifted(*asked: object) -> tuple[Count, ...]:
        *most, last = stores(*asked)  # type: ignore[arg-type]
        return (*most, Count(last.least + 1, last.most + 1))

    monkeypatch.setattr(campaign_hand.ledger, "stores", shifted)
    # The hand's rule is drawn first; only riichi is served.
    drawn = (n for n in range(20) if random.Random(f"campaign/{n}").choice(sorted(RULES)) == "riichi")
    seed = next(drawn)
    lines = run_hand(seed, KINDS | {"mixed": ("sets",)}, ("mixed",), "eight-mouth").wrong
    assert any("H4: ledger 14, truth 13" in line for line in lines)


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        (
            "blocked:stacker.H2",
            "E31",
            {"en": "the hand mouth of side 2: the stacker", "zh": "2 号手牌口：推牌机构"},
        ),
        ("dead-eye:H3", "E26", {"en": "the hand mouth of side 3: eye and slot", "zh": "3 号手牌口：光眼"}),
        (
            "stalled:conveyor.H4",
            "E32",
            {"en": "the hand mouth of side 4: the conv", "zh": "4 号手牌口：上牌"},
        ),
        ("blocked:stacker.S2", "E31", {"en": "side S2: the stacker", "zh": "S2 侧：推牌机构"}),
    ],
)
def test_a_fault_of_a_hand_is_not_told_of_the_wall_at_its_side(
    fault: str, code: str, said: dict[str, str]
) -> None:
    r = homed(model=EIGHT)
    wash(r)
    run_to(r, "washing")
    run_for(r, 6)
    r.world.post(r.world.now_us, "table", Fault(fault))
    run_to(r, "fault", 60)
    assert r.controller.fault is not None
    assert r.controller.fault.code == code
    assert r.controller.fault.values["side"] == fault.rpartition(".")[2].rpartition(":")[2]
    for lang in LANGUAGES:
        assert said[lang] in catalogue()[code].title(lang, r.controller.fault.values)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_text_of_a_fault_calls_a_hand_mouth_by_its_letter(lang: str) -> None:
    words = {"en": "the hand mouth of side 2", "zh": "2 号手牌口"}[lang]
    for entry in catalogue().values():
        for values in ({"side": "H2"}, {"sides": "S1: 3, H2: 1"}, {"part": "stacker.H2"}):
            if all(f"{{{key}}}" in entry.name[lang] for key in values):
                full = {"reason": "STALL", "percent": 30, "sensor": "x", "detail": "x", "speed": 2} | values
                title = entry.title(lang, full)
                assert words in title
                assert "H2" not in title
                assert ("S1: 3" in title) == ("sides" in values), "walls keep their short names in lists"


def test_the_ledger_of_a_hand_is_not_more_certain_than_its_lift() -> None:
    r = homed(sets=1, model=EIGHT)
    wash(r)
    run_to(r, "rest")
    assert r.controller.board is not None
    capacity = r.controller.board.description.capacity
    assert [str(c) for c in ledger.stores(r.controller.seen, capacity)][4:] == ["13"] * 4
    r.press("START")
    run_to(r, "raising")
    run_until(r, lambda: bool(r.table.machine.motors["lift.H1"].direction))
    run_for(r, 0.5)
    counts = ledger.stores(r.controller.seen, capacity)
    assert [str(c) for c in counts][4:] == ["0-13", "13", "0-13", "13"]


# --- integrity ----------------------------------------------------------------------------------------------


def host_trace(faces: tuple[str, ...]) -> str:
    """Play one hand and return a digest of everything that the host saw and did."""
    stream = io.StringIO()
    r = rig("riichi", trace=TraceWriter(stream, {}), seed=5, hands=1, faces=faces, model=EIGHT)
    assert r.play()
    assert served(r) == [(SERVED_136, (13,) * 4)]
    return hashlib.sha256(stream.getvalue().encode()).hexdigest()


def test_no_permutation_of_the_faces_changes_who_is_served_what() -> None:
    assert {host_trace(permuted(SETS[136], seed)) for seed in range(12)} == {host_trace(SETS[136])}


def test_a_board_that_leaks_one_bit_of_a_served_tile_does_not_pass_that_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = Board._sensors.fget
    assert honest is not None

    def leaking(board: Board) -> int:
        store = board._machine.side("H1").store.tiles
        red = bool(store) and store[-1].face == "z5"
        return honest(board) | red << 55  # behind the last sensor, in the bits of its byte that are free

    monkeypatch.setattr(Board, "_sensors", property(leaking))
    assert len({host_trace(permuted(SETS[136], seed)) for seed in range(8)}) > 1


@pytest.mark.parametrize("put", [1, 2])
def test_an_unfinished_box_does_not_fill_one_mouth_at_the_cost_of_another_for_ever(put: int) -> None:
    """Tiles are missing: the mouths that lack them are named, hands as well as walls."""
    r = homed(model=EIGHT)
    r.press("START")
    run_to(r, "open")
    put_in(r, but=put)
    r.press("START")
    run_to(r, "fault", 120)
    fault = r.controller.fault
    assert fault is not None
    assert fault.code == "E21"
    lacks = dict(each.split(": ") for each in fault.values["sides"].split(", "))
    assert sum(map(int, lacks.values())) == put
    truth = {s.name: len(s.store) + len(s.mouth.slot) + len(s.mouth.belt) for s in r.table.machine.sides}
    ordered = dict(zip(truth, (*SERVED_136, 13, 13, 13, 13), strict=True))
    assert {name: str(ordered[name] - have) for name, have in truth.items() if have < ordered[name]} == lacks


# --- the commands -------------------------------------------------------------------------------------------


def test_the_campaign_of_another_table_is_not_that_of_four_mouths(monkeypatch: pytest.MonkeyPatch) -> None:
    run, played = CliRunner().invoke, []
    begin = SimTable.__init__

    def note(table: SimTable, options: TableOptions, boot_id: int = 1) -> None:
        played.append(options.model.table)
        begin(table, options, boot_id)

    monkeypatch.setattr(SimTable, "__init__", note)
    told = run(campaign.main, ["--hands", "1", "--seed", "3", "--model", "eight-mouth", "--lang", "en"])
    assert told.exit_code == 0
    assert "1 hands passed" in told.output
    assert set(played) == {"eight-mouth"}


@pytest.mark.parametrize(("lang", "word"), [("en", "cannot be used"), ("zh", "不能使用")])
def test_a_model_that_is_not_there_is_a_wrong_question(
    lang: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = CliRunner().invoke(campaign.main, ["--model", "nine-mouth", "--lang", lang])
    assert told.exit_code == 2
    assert word in told.output
    assert figures.main(["--model", "nine-mouth", "--lang", lang]) == 2
    assert word in capsys.readouterr().err


def test_a_wash_of_eight_mouths_is_not_timed_without_its_hands() -> None:
    (figure,) = figures_table.washes(1, EIGHT)
    mouth = next(a.value for a in figure.against if a.name == "mouth")
    assert 0 < mouth < figure.value, "no wash is faster than its slowest mouth"
