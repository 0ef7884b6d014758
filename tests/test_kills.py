"""Real processes struck in the middle of a hand; and that a campaign sees what it looks for."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sim.lab import kills
from sim.lab.kills import Report, campaign
from sim.lab.kills_judge import MOVES, Look, Seen, Wrong, after, codes, expected, judge, state_at, unwritten
from sim.lab.kills_plan import RULES, Kind, plan
from sim.lab.kills_run import Outcome
from sim.lab.lircd import configuration, missing
from tablectl.journal.chain import GENESIS, Entry, canonical, chained
from tablectl.table.cycle import State

pytestmark = pytest.mark.timeout(900)  # a limit for a busy computer: 30 hands, each of two processes or more
MOMENTS = 6
JOBS = 2 * (os.cpu_count() or 1)  # half of each run is waiting


@pytest.fixture(scope="module")
def reports() -> dict[Kind, Report]:
    assert not missing(), f"{missing()} is missing: install the package `lirc`"
    return {report.kind: report for report in campaign(Kind, MOMENTS, jobs=JOBS)}


@pytest.mark.parametrize("kind", Kind)
def test_no_strike_leaves_a_table_that_is_not_ready_or_a_record_that_lies(
    kind: Kind, reports: dict[Kind, Report]
) -> None:
    report = reports[kind]
    assert not report.wrong, "\n".join(report.lines("en"))
    assert sum(each.ready for each in report.runs) == MOMENTS


def test_no_run_is_judged_without_having_been_looked_at(reports: dict[Kind, Report]) -> None:
    for kind, report in reports.items():
        for each in report.runs:
            assert each.seen is not None
            assert each.seen.looks, kind
            assert each.seen.executed, kind
            assert len(each.seen.truths) == (2 if kind is Kind.SIMULATOR else 1)
            assert bool(each.seen.kept) == bool(each.seen.done) == (kind is Kind.DAEMON)
            assert bool(each.seen.losses) == (kind is Kind.LIRCD)


# --- the plan -----------------------------------------------------------------------------------------------


@given(st.sampled_from(Kind), st.integers(0, 1 << 40))
def test_the_same_seed_does_not_give_another_strike(kind: Kind, seed: int) -> None:
    drawn = plan(kind, seed)
    assert drawn == plan(kind, seed)
    assert 0 <= drawn.moment < 1
    assert drawn.rule in RULES


def test_no_part_of_the_hand_and_neither_way_back_is_left_out() -> None:
    for kind in Kind:
        drawn = [plan(kind, seed) for seed in range(400)]
        for tenth in range(10):
            assert sum(10 * p.moment // 1 == tenth for p in drawn) > 15
        assert 120 < sum(p.late for p in drawn) < 280


def test_every_key_of_the_remote_is_in_lircds_configuration() -> None:
    # What a mode2 recording of a public NEC remote's START gives in lircd's own order of bits.
    assert "KEY_START           0xA25D" in configuration()
    assert "pre_data       0x00FF" in configuration()
    assert configuration().count("    KEY_") == 18


# --- what may be told ---------------------------------------------------------------------------------------


def test_no_code_is_expected_that_the_catalogue_has_no_such_cause_for() -> None:
    """Read off the catalogue's cause lists by hand."""
    assert expected(Kind.DAEMON) == {"E12", "E13"}
    assert expected(Kind.UNPLUG) == {"E10", "E12", "E13", "E61"}
    assert expected(Kind.RESET) == {"E10", "E11", "E23"}
    assert expected(Kind.SIMULATOR) == {"E10", "E11", "E21", "E23", "E25"}
    assert expected(Kind.LIRCD) == frozenset()


def test_no_state_moves_anything_that_is_not_in_the_cycle() -> None:
    assert set(MOVES) <= set(State)


# --- the judge ----------------------------------------------------------------------------------------------


def journal(*said: tuple[str, dict[str, Any]]) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    for number, (kind, data) in enumerate(said, 1):
        previous = entries[-1].hash if entries else GENESIS
        wall = "2026-12-01T00:00:00.000+00:00"
        entries.append(chained(previous, number, wall, number * 1000, kind, canonical(data)))
    return tuple(entries)


def states(*path: str) -> list[tuple[str, dict[str, Any]]]:
    return [("state", {"from": old, "to": new}) for old, new in pairwise(path)]


KEY = ("key", {"source": "remote:0x00", "intent": "START", "phase": "held"})
START = ("start", {"speed": 20.0})
FAULT = ("fault", {"code": "E10", "values": {}})
FIRST = [START, KEY, *states("unhomed", "homing", "rest", "opening", "open", "closing", "washing")]
AGAIN = [KEY, *states("unhomed", "homing", "stopped", "washing", "probing", "rest")]
WASHED = ("stroke console", "stroke console", "run drum", "fill conveyor.S1")
TILES = tuple(range(272))


def truth(**changes: Any) -> dict[str, Any]:
    whole = {"violations": [], "silence": {"longest_us": 700_100}, "places": {"drum": TILES}}
    return {**whole, **changes}


def run_of(kind: Kind, *middle: tuple[str, dict[str, Any]], kept: bool = False) -> Seen:
    """Return an honest run that was struck in its first wash."""
    entries = journal(*FIRST, *middle, *AGAIN)
    drawn = next(p for p in (plan(kind, seed) for seed in range(100)) if p.rule == "riichi")
    return Seen(
        plan=drawn,
        ready=True,
        state="rest",
        struck=len(FIRST),
        kept=entries[: len(FIRST)] if kept else (),
        done=WASHED if kept else (),
        entries=entries,
        executed=(*WASHED, "run drum"),
        truths=(truth(),),
        looks=(Look("rest", ("34", "0-34", "34", "34"), (34, 34, 34, 34), (34, 34, 34, 34)),),
        losses=("end of file",) if kind is Kind.LIRCD else (),
        said="",
    )


HONEST = {
    Kind.DAEMON: run_of(Kind.DAEMON, START, kept=True),
    Kind.SIMULATOR: run_of(Kind.SIMULATOR, FAULT, *states("washing", "fault", "unhomed")),
    Kind.UNPLUG: run_of(Kind.UNPLUG, FAULT, *states("washing", "fault", "unhomed")),
    Kind.RESET: run_of(
        Kind.RESET, ("fault", {"code": "E11", "values": {}}), *states("washing", "fault", "unhomed")
    ),
    Kind.LIRCD: replace(run_of(Kind.LIRCD), entries=journal(*FIRST, *states("washing", "probing", "rest"))),
}
DAEMON, UNPLUG, LIRCD = HONEST[Kind.DAEMON], HONEST[Kind.UNPLUG], HONEST[Kind.LIRCD]


@pytest.mark.parametrize("kind", Kind)
def test_an_honest_run_is_not_called_wrong(kind: Kind) -> None:
    assert judge(HONEST[kind]) == ()


def rewritten(seen: Seen) -> Seen:
    at = len(FIRST) - 1
    entry = replace(seen.entries[at], data=seen.entries[at].data.replace("washing", "raising"))
    return replace(seen, entries=(*seen.entries[:at], entry, *seen.entries[at + 1 :]))


def told_otherwise(seen: Seen, code: str) -> Seen:
    fault = ("fault", {"code": code, "values": {}})
    return run_of(seen.plan.kind, fault, *states("washing", "fault", "unhomed"))


LOOK = UNPLUG.looks[0]
DOCTORED: dict[str, tuple[Seen, str]] = {
    "never ready": (replace(UNPLUG, ready=False, state="fault"), "not_ready"),
    "a program that crashed": (replace(UNPLUG, said="Traceback (most recent call last):\nX"), "crash"),
    "a daemon that loses the journal's end": (replace(DAEMON, kept=DAEMON.kept[:-1]), "unwritten"),
    "a motion that was never written": (
        replace(DAEMON, executed=(*WASHED, "stroke lift.S1", "run drum", "stroke lift.S1")), "unwritten",
    ),
    "a journal begun anew": (replace(DAEMON, entries=journal(*AGAIN)), "vanished"),
    "a journal with another past": (rewritten(DAEMON), "chain"),
    "a ledger that lies": (
        replace(UNPLUG, looks=(replace(LOOK, truth=(34, 34, 33, 34), stored=None),)), "ledger",
    ),
    "an interval that is too narrow": (
        replace(UNPLUG, looks=(replace(LOOK, ledger=("34", "0-33", "34", "34")),)), "ledger",
    ),
    "ready without walls": (
        replace(UNPLUG, looks=(Look("rest", ("0", "0", "0", "0"), (34, 34, 34, 34), (0, 0, 0, 0)),)),
        "false_ready",
    ),
    "a machine that was broken": (replace(UNPLUG, truths=(truth(violations=["S1: x"]),)), "violation"),
    "a board that runs on": (replace(UNPLUG, truths=(truth(silence={"longest_us": 730_000}),)), "silence"),
    "the board that was killed ran on": (
        replace(UNPLUG, truths=(truth(silence={"longest_us": 730_000}), truth())), "silence",
    ),
    "a tile lost": (replace(UNPLUG, truths=(truth(places={"drum": TILES[1:]}),)), "tiles"),
    "a tile doubled": (replace(UNPLUG, truths=(truth(places={"drum": TILES, "floor": [7]}),)), "tiles"),
    "a code without a cause": (told_otherwise(UNPLUG, "E41"), "code"),
    "a loss told by another name": (told_otherwise(UNPLUG, "E61"), "noticed_as"),
    "a code before the strike": (replace(UNPLUG, struck=len(FIRST) + 1), "code_before"),
    "a loss in motion that is no fault": (run_of(Kind.UNPLUG, *states("washing", "unhomed")), "unnoticed"),
    "a loss that nobody noticed": (run_of(Kind.UNPLUG, *states("washing", "probing", "rest")), "unnoticed"),
    "homing that nobody asked for": (
        replace(UNPLUG, entries=journal(*(e for e in [*FIRST, FAULT, *states("washing", "fault"), *AGAIN]
                                          if e != KEY))), "unasked",
    ),
    "a daemon that homes when it starts": (
        replace(DAEMON, entries=journal(*FIRST, START, *AGAIN[1:])), "unasked",
    ),
    "a remote whose loss nobody is told": (replace(LIRCD, losses=()), "loss_untold"),
    "a loss that is told again": (replace(LIRCD, losses=("end of file", "refused", "refused")), "loss_again"),
    "a wash that this stops": (run_of(Kind.LIRCD, *states("washing", "unhomed")), "stopped"),
}  # fmt: skip


@pytest.mark.parametrize("what", DOCTORED)
def test_a_run_that_is_wrong_is_seen(what: str) -> None:
    seen, key = DOCTORED[what]
    assert key in [wrong.key for wrong in judge(seen)]


def test_every_way_to_be_wrong_is_tried() -> None:
    from sim.lab.kills_judge import __file__ as file

    with open(file, encoding="utf-8") as stream:
        named = {part.split('"')[1] for part in stream.read().split("Wrong(")[1:] if part.startswith('"')}
    assert named == {key for _, key in DOCTORED.values()}


@given(st.lists(st.sampled_from(sorted(MOVES)), min_size=1, max_size=8), st.data())
def test_no_motion_of_a_state_that_is_written_is_called_unwritten(
    path: list[str], data: st.DataObject
) -> None:
    """Whatever the states move in their order is written; the same with the last state missing is not."""
    parts = [data.draw(st.sampled_from(MOVES[state])) for state in path]
    motions = [f"run {part}.S1" for part in parts]
    written = journal(*states("unhomed", *path))
    assert unwritten(motions, written) is None
    assert unwritten(motions, ()) == motions[0]
    assert unwritten([*motions, "run roof.S1"], written) == "run roof.S1"


def test_what_was_struck_is_not_taken_for_what_came_of_it() -> None:
    assert state_at(UNPLUG.entries, UNPLUG.struck) == "washing"
    assert state_at((), 0) == "unhomed"
    assert codes(after(UNPLUG)) == ("E10",)


# --- the command --------------------------------------------------------------------------------------------


def outcome(kind: Kind, *wrong: Wrong) -> Callable[[Any, float], Outcome]:
    return lambda drawn, speed: Outcome(drawn, wrong if drawn.seed == 3 else (), HONEST[kind], 0.5)


@pytest.mark.parametrize(("lang", "word"), [("en", "called ready"), ("zh", "称已备好")])
def test_a_wrong_run_is_told_with_a_command_that_repeats_it(
    lang: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = Wrong("false_ready", {"stored": (34,), "truth": (0,)})
    monkeypatch.setattr(kills, "run", outcome(Kind.RESET, wrong))
    told = CliRunner().invoke(kills.main, ["--kind", "reset", "--moments", "4", "--lang", lang])
    assert told.exit_code == 1
    assert word in told.output
    assert "python -m sim.lab.kills --kind reset --moments 1 --seed 3 --speed 20" in told.output


def test_a_campaign_without_a_wrong_run_is_not_called_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "run", outcome(Kind.RESET))
    told = CliRunner().invoke(kills.main, ["--kind", "reset", "--moments", "4", "--lang", "en"])
    assert told.exit_code == 0
    assert "4 runs passed, 0 failed" in told.output
    assert "E11 4" in told.output


def test_a_missing_lircd_is_not_left_out_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "missing", lambda: "lircd")
    monkeypatch.setattr(kills, "run", outcome(Kind.RESET))
    told = CliRunner().invoke(kills.main, ["--moments", "1", "--lang", "en"])
    assert told.exit_code == 2
    assert "Nothing was started" in told.output
    assert CliRunner().invoke(kills.main, ["--kind", "reset", "--moments", "1"]).exit_code == 0


def test_a_run_whose_processes_do_not_come_up_is_not_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    from sim.lab import kills_run

    def nothing(*_: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(kills_run, "_play", nothing)
    failed = kills_run.run(plan(Kind.RESET, 0), 20.0)
    assert [w.key for w in failed.wrong] == ["failed"]
    assert not failed.ready
    assert "no more processes" in "\n".join(Report(Kind.RESET, 20.0, [failed]).lines("en"))


@pytest.mark.parametrize("key", sorted({key for _, key in DOCTORED.values()} | {"failed"}))
def test_nothing_wrong_goes_without_words(key: str) -> None:
    wrongs = [w for seen, _ in DOCTORED.values() for w in judge(seen) if w.key == key]
    report = Report(
        Kind.RESET, 20.0, [Outcome(plan(Kind.RESET, 0), tuple(wrongs or [Wrong(key, {"why": "x"})]))]
    )
    for lang in ("en", "zh"):
        assert len(list(report.lines(lang))) > 2, json.dumps([w.key for w in wrongs])
