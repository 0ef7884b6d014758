"""Hands with random faults: a small run of the campaign, and that the campaign can see what it looks for."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_protocol.core import TICK
from sim.board import Board
from sim.lab import campaign, campaign_hand
from sim.lab.campaign import LEAST, OF, Report, fault_kinds, run
from sim.lab.campaign_hand import PEOPLE, Outcome, run_hand
from sim.lab.campaign_plan import faults_of
from sim.lab.rig import Rig
from sim.table import Fault, Mains, SimTable, TableOptions
from sim.tiles import Place
from tablectl.table import events as ev
from tablectl.table.faults import catalogue
from tablectl.table.ledger import Count

S = 1_000_000
KINDS = fault_kinds()
NAMES = tuple(sorted(KINDS))


@pytest.fixture(scope="module")
def report() -> Report:
    return run(len(KINDS), seed=0)


def test_no_hand_with_a_fault_ends_otherwise_than_ready_or_named(report: Report) -> None:
    assert report.wrong == []
    assert report.ready == report.hands


def test_no_kind_of_fault_is_left_out_and_none_comes_when_the_hand_is_over(report: Report) -> None:
    assert all(report.by_kind.values())
    assert report.faultless == 0
    assert sum(report.by_kind.values()) >= report.hands


@settings(max_examples=20)
@given(st.integers(0, 1_000_000))
def test_no_kind_comes_more_seldom_than_wanted_whatever_the_first_seed(seed: int) -> None:
    planned = Counter(kind for n in range(OF) for kind in faults_of(seed + n, NAMES))
    assert set(planned) == set(NAMES)
    assert min(planned.values()) >= LEAST + 5, "a few come too late to act"
    assert sum(planned.values()) > OF


def test_every_fault_of_the_simulator_is_meant_by_some_code() -> None:
    meant = {kind for entry in catalogue().values() for cause in entry.simulated for kind in cause}
    silent = {"key-stuck", "key-bouncing", "mixed"}  # no sensor sees backs; a key that sticks is only a key
    assert set(KINDS) - silent <= meant
    assert meant <= set(KINDS)


def hand(seed: int, kind: str, part: str) -> Outcome:
    return run_hand(seed, {**KINDS, kind: (part,)}, (kind,))


def test_a_ledger_that_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hand(0, "mixed", "sets").wrong == ()
    stores = campaign_hand.ledger.stores
    shifted = lambda *a: tuple(Count(c.least + 1, c.most + 1) for c in stores(*a))  # noqa: E731
    monkeypatch.setattr(campaign_hand.ledger, "stores", shifted)
    assert any("ledger" in line for line in hand(0, "mixed", "sets").wrong)


def test_a_wrong_code_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same hand with a controller that names the lift where the stacker is held."""
    honest = hand(3, "blocked", "stacker.S1")
    assert "E31" in honest.codes
    assert honest.wrong == ()
    monkeypatch.setattr("tablectl.table.controller.faults.of_failure", lambda *_: ("E51", {"side": "S1"}))
    assert any("E51 is none of ['blocked']" in line for line in hand(3, "blocked", "stacker.S1").wrong)


def test_a_motor_that_runs_on_in_silence_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = next(s for s in range(50) if ("unplug", "washing") in hand(s, "unplug", "wire").acted)
    assert hand(seed, "unplug", "wire").wrong == ()
    monkeypatch.setattr(Board, "_silent_at", None)
    assert any("after the host's last byte" in line for line in hand(seed, "unplug", "wire").wrong)


def test_a_fault_that_came_too_late_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a plan for a hand twice as long, faults that come after the end count for nothing."""
    calm = campaign_hand._calm

    def longer(rig: Rig) -> Any:
        found = calm(rig)
        return campaign_hand.Calm(20 * found.ends_us, found.pushes_us)

    monkeypatch.setattr(campaign_hand, "_calm", longer)
    outcomes = [hand(seed, "late", "drum") for seed in range(6)]
    assert any(o.acted == () for o in outcomes)
    assert all(o.ready for o in outcomes)
    told = Report(NAMES)
    for each in outcomes:
        told.add(each)
    assert told.planned["late"] == 6
    assert told.faultless == 6 - told.by_kind["late"] > 0


@pytest.mark.parametrize("kind", PEOPLE)
def test_what_people_do_wrong_counts_where_they_did_it(kind: str) -> None:
    for seed in range(3):
        assert hand(seed, kind, KINDS[kind][0]).acted == ((kind, "open"),)


def test_the_same_seed_gives_the_same_campaign_whatever_the_number_of_processes() -> None:
    alone, together = run(6, seed=40), run(6, seed=40, jobs=2)
    assert alone == together
    assert alone.hands == 6
    assert run(6, seed=46) != alone


def test_a_table_of_states_does_not_lose_a_fault() -> None:
    told = Report(NAMES)
    told.add(Outcome(1, ("jam", "door"), (("jam", "washing"), ("door", campaign.DARK)), ("E31",), (), True))
    told.add(Outcome(2, ("jam",), (("jam", "washing"),), (), ("seed 2: wrong", "seed 2: worse"), False))
    head, *rows, sums = campaign.table(told)
    assert head.split("  ")[-1].split() == ["washing", "no", "power", "all"]
    assert next(r.split() for r in rows if r.startswith("jam")) == ["jam", "2", "-", "2"]
    assert next(r.split() for r in rows if r.startswith("door")) == ["door", "-", "1", "1"]
    assert sums.split() == ["2", "1", "3"]
    assert told.bad_hands == 1
    for lang in ("en", "zh"):
        assert [line for line in campaign.lines(told, lang, True) if line.startswith("WRONG")] == [
            "WRONG seed 2: wrong",
            "WRONG seed 2: worse",
        ]


def test_a_long_campaign_that_tried_a_kind_too_seldom_does_not_pass() -> None:
    def campaign_of(times: int) -> Report:
        told = Report(("jam", "door"))
        for n in range(OF):
            kind = "jam" if n >= times else "door"
            told.add(Outcome(n, (kind,), ((kind, "rest"),), (), (), True))
        return told

    assert campaign_of(LEAST - 1).short
    assert not campaign_of(LEAST).short


# --- what people do -----------------------------------------------------------------------------------------


class Open:
    """An open table, and where the tiles of both sets lie."""

    def __init__(self, display: str = "PuSH") -> None:
        complete = (34,) * 4
        self.table = SimTable(TableOptions(hands=1, repair=True, complete=complete))
        self.people = self.table.players
        self.drum = self.table.machine.drum.place
        self.table.machine.console.on["console.up"] = True
        self.people.read(display)

    def lay(self, place: Place, **backs: int) -> None:
        """Move tiles of a set from its box."""
        for back, count in backs.items():
            box = self.table.boxes["AB".index(back)]
            for tile in list(box.tiles[:count]):
                tile.move(place)

    def lies(self, place: Place) -> dict[str, int]:
        return dict(Counter(t.back for t in place.tiles))

    def push(self) -> None:
        self.people._push_in()


def test_a_tile_left_in_the_drum_does_not_keep_the_other_set_out() -> None:
    at = Open()
    at.lay(at.drum, A=1)
    for side in at.table.machine.sides:
        at.lay(side.store, A=33 if side.name == "S1" else 34)
    at.lay(at.table.machine.sides[0].store, B=1)
    at.push()
    assert at.lies(at.drum) == {"A": 1, "B": 135}


def test_two_sets_on_the_table_do_not_both_go_in_and_are_told_by_their_backs() -> None:
    at = Open()
    at.lay(at.drum, B=132, A=4)
    at.lay(at.people.table, A=132, B=4)
    at.push()
    assert at.lies(at.drum) == {"B": 136}
    assert at.lies(at.people.table) == {"A": 136}


def test_tiles_of_a_set_that_lie_in_the_other_ones_box_are_found_where_a_set_was_given_up() -> None:
    at = Open()
    at.lay(at.drum, A=12)
    at.lay(at.people.table, A=120, B=5)  # four of A lie elsewhere
    at.push()
    assert at.lies(at.drum) == {"A": 136}


def test_a_set_that_lies_in_the_drum_gets_no_second_one() -> None:
    at = Open()
    at.lay(at.drum, A=136)
    at.push()
    assert at.lies(at.drum) == {"A": 136}


@pytest.mark.parametrize(("said", "key"), [("E21 ", "ADD"), ("E25 ", "ADD"), ("E31 ", "START")])
def test_nobody_goes_on_without_the_tiles_that_the_table_asks_for(said: str, key: str) -> None:
    at = Open(said)
    for side in at.table.machine.sides:
        at.lay(side.store, A=33)
    at.lay(at.people.table, A=4)
    assert at.people._wish("cont") == (key, 0)
    at.people.read("Add ")
    at.push()
    assert at.lies(at.drum) == {"A": 4}


def test_what_lies_about_of_the_other_set_is_not_put_in_where_tiles_are_missing() -> None:
    at = Open("E21 ")
    for side in at.table.machine.sides:
        at.lay(side.store, A=33)
    at.lay(at.people.table, B=4)
    assert at.people._wish("cont") == ("START", 0)


def test_a_wall_under_which_a_lift_is_held_is_pulled_off_and_no_other() -> None:
    at = Open("E41 ")
    first, second, third, _ = at.table.machine.sides
    at.lay(first.wall, A=34)
    at.lay(second.store, A=34)
    at.lay(third.wall, A=8)
    at.lay(third.store, A=1)
    at.people._act("RESET", 0)
    assert [at.lies(s.wall) for s in (first, second, third)] == [{"A": 34}, {}, {}]
    assert at.lies(at.people.table) == {"A": 8}


def test_a_table_that_denies_the_tiles_in_it_is_looked_at() -> None:
    """A drum that has lost its plug before the first wash brings no tile to any eye."""
    unplugged = campaign_hand.Planned(5 * S, "disconnected", "drum", "")
    watch = campaign_hand._Watch(Rig(campaign_hand._options("riichi", 1)), "unplugged", [unplugged])
    watch.play()
    assert watch.ended()
    assert (watch.wrong, watch.codes) == ([], [])
    halts = [e for _, e in watch._rig.announced if isinstance(e, ev.StateChanged) and e.new == "halting"]
    assert len(halts) == campaign_hand.DENIED


def test_a_set_that_was_never_put_in_is_put_in_by_add_and_not_the_one_in_play() -> None:
    """A fault cuts the opening: START raises what is stored, then washes what nobody has put in."""
    at = Open("LoAd")
    at.lay(at.people.table, A=135, B=1)
    at.people._in_play, at.people._pulled = "A", True
    at.lay(at.table.machine.sides[2].mouth.slot, A=1)
    at.people._act("START", 0)
    at.people.read("   1")
    assert at.people._wish("   1") == ("ADD", 0)
    at.people.read("Add ")
    at.push()
    assert at.lies(at.drum) == {"B": 135}
    assert at.lies(at.people.table) == {"A": 135, "B": 1}
    assert at.people._wish("   1") == ("", 0)


def test_a_set_that_was_put_in_before_a_fault_is_not_put_in_again() -> None:
    at = Open()
    at.push()
    at.people.read("LoAd")
    at.people._act("START", 0)
    assert at.people._wish("dicE") == ("DICE", 0)


def test_a_stray_tile_of_the_set_that_goes_in_late_is_not_left_on_the_table() -> None:
    at = Open("LoAd")
    at.lay(at.people.table, B=1)
    at.lay(at.people.table, A=136)
    at.people._in_play, at.people._pulled = "A", True
    at.people._act("START", 0)
    at.people.read("Add ")
    at.push()
    assert at.lies(at.drum) == {"B": 136}
    assert at.lies(at.people.table) == {"A": 136}


def test_a_table_with_a_dead_sensor_is_mended_and_switched_off_and_on_and_not_reset() -> None:
    at = Open("E53 ")
    at.table.handle(Fault("dead:console.down"), 0)
    shown: list[object] = []
    at.people._press = lambda key, held_us: shown.append(key)
    at.table.agenda.at(1, lambda: at.people._act("RESET", 0))
    shown += at.table.handle(TICK, 1)
    shown += at.table.handle(TICK, 5 * S)
    assert [e for e in shown if isinstance(e, str | Mains)] == [Mains(False), Mains(True)]
    assert at.table.machine.tells("console.down") is at.table.machine.console.on["console.down"]


def test_a_wash_that_has_a_part_of_its_set_gets_the_rest_of_it_and_not_the_other_one() -> None:
    """A set was given up, and a fault cut the opening: some of it lies in the drum, the rest on the table."""
    at = Open("LoAd")
    at.lay(at.drum, A=30)
    at.lay(at.people.table, A=106)
    at.people._act("START", 0)
    at.people.read("Add ")
    at.push()
    assert at.lies(at.drum) == {"A": 136}
    assert at.lies(at.table.boxes[1]) == {"B": 136}
