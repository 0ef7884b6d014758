"""The checked answers of the source documents and of the world's conventions, through their runner."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import conventions
import pytest
from conftest import ROOT
from rules_vectors import ANSWERS, check, main

from tablectl.errors import TablectlError
from tablectl.rules.dealer import Anew, Result, Won, next_dealer
from tablectl.rules.ruleset import load

DATA = Path(__file__).parent / "data"
KINDS = ("tiles", "wall", "dice", "deal", "reserve", "wild")
LATER = ("fan", "payment")


def vectors_of(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / file).read_text(encoding="utf-8").splitlines()]


DOCUMENTS = vectors_of("rules_vectors.jsonl")
ANSWERED = [vector for vector in DOCUMENTS if vector["kind"] in KINDS]
WORLD = vectors_of("conventions.jsonl")
ONE = next(vector for vector in ANSWERED if vector["id"] == "dice_cixi_open2")


def test_the_checked_answers_do_not_differ_from_those_handed_over(shared_data: Path) -> None:
    lines = (shared_data / "rules_vectors.jsonl").read_text(encoding="utf-8").splitlines()
    theirs = [json.loads(line) for line in lines]
    assert [vector["id"] for vector in DOCUMENTS if vector not in theirs] == []
    assert [str(check(v)) for v in theirs if v["kind"] in KINDS and check(v)] == []


@pytest.mark.parametrize("vector", ANSWERED, ids=lambda vector: vector["id"])
def test_no_answer_differs_from_the_documents(vector: dict[str, Any]) -> None:
    failure = check(vector)
    assert failure is None, str(failure)


@pytest.mark.parametrize("vector", WORLD, ids=lambda vector: vector["id"])
def test_no_answer_differs_from_what_people_do_elsewhere(vector: dict[str, Any]) -> None:
    failure = check(vector)
    assert failure is None, str(failure)


def test_no_kind_and_no_operation_of_the_checked_answers_is_passed_over() -> None:
    assert {vector["kind"] for vector in DOCUMENTS} == {*KINDS, *LATER}
    assert {vector["input"]["op"] for vector in ANSWERED} == set(ANSWERS)
    assert len(ANSWERED) == 126
    assert not [v["id"] for v in ANSWERED if all(key.startswith("stated_") for key in v["expected"])]


@pytest.mark.parametrize("kind", LATER)
def test_what_is_not_supported_yet_does_not_fail_as_something_else(kind: str) -> None:
    for vector in (vector for vector in DOCUMENTS if vector["kind"] == kind):
        assert f"got unsupported: {vector['input']['op']}" in str(check(vector))


def test_the_answers_for_the_world_come_from_people_and_sources_alone(shared_data: Path) -> None:
    assert (DATA / "conventions.jsonl").read_text(encoding="utf-8").splitlines() == conventions.lines()
    page = (shared_data.parent / "facts" / "conventions.md").read_text(encoding="utf-8")
    assert {v["source"]["anchor"] for v in WORLD if v["source"]["anchor"] not in page} == set()
    ops = Counter((vector["ruleset"], vector["input"]["op"]) for vector in WORLD)
    for family in conventions.FAMILIES:
        found = [ops[family.rule, op] for op in ("composition", "stacks", "open", "deal", "live_draws")]
        assert found == [1, 1, len(family.throws), 1, 3]


@pytest.mark.parametrize(
    ("rule_id", "asked", "expected"),
    [  # worked out on paper
        # 18 counts to South, whose 18 stacks are all passed: on at the dealer's, his left neighbour.
        ("hongkong", {"op": "open", "rolls": [[6, 6, 6]]}, {"first_stack": {"wall_seat": 0, "stack": 1}}),
        # 144 - 4 x 16 - 1 = 79, of which 16 stay and stay 16.
        ("taiwan16", {"op": "live_draws", "kongs": 2}, {"dealt": 65, "reserve": 16, "live_draws": 61}),
        # 108 - 3 x 13 - 1 = 68; of 18 that stay two more are turned after two kongs.
        ("sanma", {"op": "live_draws", "kongs": 2}, {"indicator": 3, "reserve": 15, "live_draws": 48}),
        # Ten counts to South, whose side has the shorter wall: its ten stacks are all passed.
        ("hefei", {"op": "open", "rolls": [[6, 4]]}, {"first_stack": {"wall_seat": 0, "stack": 1}}),
        # The wall opposite is broken behind stack 7: the tail is 7T 7B 6T 6B 5T 5B 4T.
        ("tianjin", {"op": "deal", "rolls": [[3, 4]]}, {"indicator": "w2s4T", "next_draw": "w1s17B"}),
        ("filipino", {"op": "open", "rolls": [[1, 2]], "dealer": 3}, {"wall_seat": 2, "passed_stacks": 3}),
        ("american", {"op": "live_draws", "kongs": 2}, {"live_draws": 99, "tail_draws": 0}),
    ],
)
def test_what_people_do_is_not_something_else_than_on_paper(
    rule_id: str, asked: dict[str, Any], expected: dict[str, Any]
) -> None:
    failure = check({"id": rule_id, "ruleset": rule_id, "input": asked, "expected": expected})
    assert failure is None, str(failure)


@pytest.mark.parametrize(
    ("rule_id", "held", "absent"),
    [
        ("korean", "9m 9p z7 f5 f8", "1s 9s f1 f4"),  # no bamboo, no seasons
        ("sanma", "1m 9m 2p 8s", "2m 5m 8m f1"),  # no 2-8 of characters
        ("hefei", "2m 8p 2s", "1m 9p 1s z1"),  # 2-8 only
        ("singapore", "a1 a4 f8", "a5 j1 f9"),
        ("vietnamese160", "f16 j1", "a1"),
        ("malaysian3", "1p 9p z1 z7", "1m 9s"),
        ("sc_tcy", "1m 9p 9s", "z1 z5 f1"),
    ],
)
def test_no_tile_is_built_into_walls_that_a_rule_leaves_out(rule_id: str, held: str, absent: str) -> None:
    tiles = load(rule_id).tiles.composition
    assert [kind for kind in held.split() if not tiles.count(kind)] == []
    assert [kind for kind in absent.split() if tiles.count(kind)] == []


# --- the runner ---------------------------------------------------------------------------------------------


def changed(**changes: Any) -> dict[str, Any]:
    return {**ONE, **changes}


def run(tmp_path: Path, capsys: Any, *lines: Any, kind: str = "") -> tuple[int, str, str]:
    file = tmp_path / "some.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines)
    file.write_text("\n".join(texts), encoding="utf-8")
    status = main([str(file), *(["--kind", kind] if kind else [])])
    told = capsys.readouterr()
    return status, told.out, told.err


def test_a_wrong_answer_does_not_pass(tmp_path: Path, capsys: Any) -> None:
    wrong = changed(id="wrong", expected={**ONE["expected"], "passed_stacks": 3})
    status, out, _ = run(tmp_path, capsys, ONE, "", wrong)
    assert (status, out.splitlines()[-1]) == (1, "1 passed, 1 failed")
    assert out.startswith("wrong: expected {")
    assert '"passed_stacks": 3' in out
    assert '"passed_stacks": 2' in out.partition("got ")[2]
    assert run(tmp_path, capsys, ONE)[:2] == (0, "1 passed, 0 failed\n")


def test_a_figure_of_the_document_that_we_do_not_compute_is_not_compared() -> None:
    assert check(changed(expected={**ONE["expected"], "stated_stacks": 99})) is None
    assert check(changed(expected={**ONE["expected"], "stacks": 99})) is not None


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"input": {"op": "open", "sum": 13, "stacks_per_side": 17}}, "2 dice cannot show 13"),
        ({"input": {"op": "open", "sum": 1}}, "2 dice cannot show 1"),
        ({"input": {"op": "open", "rolls": [[3, 7]]}}, "7"),
        ({"input": {"op": "open", "dealer": 4, "sum": 3}}, "4"),
        ({"input": {"op": "stacks", "tiles": 144}}, "136"),
        ({"input": {"op": "stacks"}}, "impossible input: KeyError"),
        ({"input": {"op": "open", "sum": "three"}}, "impossible input: TypeError"),
        ({"input": {"op": "unheard_of"}}, "unsupported: unheard_of"),
        ({"input": {"op": "seat_of_sum", "sum": 3}, "expected": {"colour": "red"}}, "unsupported"),
        ({"ruleset": "unheard_of"}, "unheard_of"),
        ({"ruleset": "paper"}, "paper"),
    ],
)
def test_what_cannot_be_answered_fails_by_name(
    changes: dict[str, Any], told: str, tmp_path: Path, capsys: Any
) -> None:
    status, out, _ = run(tmp_path, capsys, changed(**changes))
    assert (status, out.splitlines()[-1]) == (1, "0 passed, 1 failed")
    assert told in out.partition("got ")[2]


@pytest.mark.parametrize(
    "line",
    ["{", "3", "null", "[]", "{}", '"text"', json.dumps(changed(input={})), json.dumps(changed(expected=3))],
)
def test_a_line_that_is_no_vector_is_told_with_its_number(line: str, tmp_path: Path, capsys: Any) -> None:
    status, out, err = run(tmp_path, capsys, ONE, line)
    assert (status, out) == (2, "")
    assert "some.jsonl: line 2: no vector" in err


def test_no_kind_but_the_wanted_ones_is_run(tmp_path: Path, capsys: Any) -> None:
    some = [
        ONE,
        next(v for v in DOCUMENTS if v["kind"] == "tiles"),
        next(v for v in DOCUMENTS if v["kind"] == "fan"),
    ]
    assert run(tmp_path, capsys, *some, kind="dice")[:2] == (0, "1 passed, 0 failed\n")
    assert run(tmp_path, capsys, *some, kind="dice,tiles")[:2] == (0, "2 passed, 0 failed\n")
    assert run(tmp_path, capsys, *some)[0] == 1


def test_nothing_to_run_does_not_pass(tmp_path: Path, capsys: Any) -> None:
    for kind, lines in (("dies", [ONE]), ("dice,dies", [ONE]), ("", []), ("", ["", " "])):
        status, out, err = run(tmp_path, capsys, *lines, kind=kind)
        assert (status, out) == (2, "")
        assert "no vector of" in err
    assert main([str(tmp_path / "none.jsonl")]) == 2


def test_the_runner_does_not_need_more_than_its_file() -> None:
    command = [sys.executable, "-m", "tests.rules_vectors", str(DATA / "rules_vectors.jsonl")]
    ours = [*command, "--kind", ",".join(KINDS)]
    told = subprocess.run(ours, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (0, "126 passed, 0 failed\n", "")
    every = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert every.returncode == 1
    assert every.stdout.endswith(f"126 passed, {len(DOCUMENTS) - 126} failed\n")


# --- the next dealer ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule_id", "dealer", "result", "expected"),
    [
        ("sc_tcy", 0, Result((Won((2,)), Won((1,), 0))), 2),
        ("sc_tcy", 0, Result((Won((2, 3), 1), Won((0,)))), 1),
        ("sc_tcy", 0, Result((Won((2,), 1), Won((0, 3), 1))), 2),
        ("sc_tcy", 3, Result(), 3),
        ("mcr", 3, Result((Won((3,)),)), 0),
        ("mcr", 1, Result((Won((3,), 0),)), 2),
        ("mcr", 1, Result(ready=frozenset({1})), 2),
        ("riichi", 2, Result((Won((2,)),)), 2),
        ("riichi", 2, Result((Won((1, 2), 0),)), 2),
        ("riichi", 3, Result((Won((1, 2), 3),)), 0),
        ("riichi", 2, Result(ready=frozenset({2, 3})), 2),
        ("riichi", 2, Result(ready=frozenset({3})), 3),
        ("sanma", 2, Result((Won((1,), 2),)), 0),
        ("g71", 2, Result((Won((0,), 2),)), 0),
        ("g71", 2, Result(), 2),
        ("hangzhou", 1, Result((Won((3,), 1),)), 3),
        ("hangzhou", 1, Result((Won((1,), 2),)), 1),
        ("sc_qq_n", 0, Result((Won((3,), 1),)), 1),
        ("sc_qq_n", 0, Result((Won((2, 3), 1),)), 1),
        ("sc_qq_n", 0, Result((Won((3,)),)), 3),
        ("sc_qq_xz", 0, Result(), Anew.DICE),
        ("sc_qq_xz", 0, Result((Won((2,)),)), Anew.DICE),
        ("sc_xindu", 0, Result((Won((2, 3), 1),)), Anew.RANDOM),
        ("cixi", 3, Result((Won((1,), 0),)), 0),
        ("cixi", 3, Result(), 3),
    ],
)
def test_the_deal_does_not_go_to_the_wrong_seat(
    rule_id: str, dealer: int, result: Result, expected: int | Anew
) -> None:
    assert next_dealer(load(rule_id), dealer, result) == expected


@pytest.mark.parametrize(
    ("dealer", "result", "key"),
    [
        (4, Result(), "rules.no_player"),
        (0, Result((Won((5,)),)), "rules.no_player"),
        (0, Result((Won((1,), 7),)), "rules.no_player"),
        (0, Result(ready=frozenset({-1})), "rules.no_player"),
        (0, Result((Won(()),)), "rules.win"),
        (0, Result((Won((1, 1), 2),)), "rules.win"),
        (0, Result((Won((1,), 1),)), "rules.win"),
        (0, Result((Won((1, 2)),)), "rules.discarder_missing"),
    ],
)
def test_a_result_that_cannot_be_does_not_move_the_dealer(dealer: int, result: Result, key: str) -> None:
    with pytest.raises(TablectlError) as refused:
        next_dealer(load("sc_tcy"), dealer, result)
    assert refused.value.key == key
    assert all(refused.value.text(lang) for lang in ("en", "zh"))
