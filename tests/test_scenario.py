"""Scenarios: those that come with it pass, a wrong one fails at its line, a bad file runs nothing."""

import dataclasses
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sim import __main__ as program
from sim.faults import Faults, FaultSpecError
from sim.lab import scenario, scenario_run
from sim.lab.scenario_file import FOLDER, parse, read, shipped
from sim.lab.scenario_run import Run
from sim.process import Process, ProcessOptions
from sim.table import SimTable, TableOptions
from tablectl.errors import TablectlError
from tablectl.table.ledger import Count
from tablectl.texts import LANGUAGES, TEXTS

S = 1_000_000
KINDS = SimTable(TableOptions(hands=0)).faults.kinds
HEAD = """\
[title]
en = "a test"
zh = "测试"

[table]
rule = "riichi"

"""


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def steps(*bodies: str) -> str:
    return HEAD + "".join(f"[[step]]\n{body}\n\n" for body in bodies)


def run(text: str) -> Run:
    done = Run(parse(text.encode(), "test.toml"))
    list(done.steps())
    return done


def line_of(text: str, part: str) -> int:
    (line,) = [n for n, each in enumerate(text.splitlines(), 1) if part in each]
    return line


def program_of(tmp_path: Path, *texts: str, options: tuple[str, ...] = ()) -> Any:
    files = []
    for number, text in enumerate(texts):
        file = tmp_path / f"{number}.toml"
        file.write_text(text, encoding="utf-8")
        files.append(str(file))
    return CliRunner().invoke(scenario.main, [*files, *options])


# --- those that come with it --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shipped())
def test_no_scenario_that_comes_with_it_fails(name: str) -> None:
    done = Run(read(name))
    assert [r for r in done.steps() if not r.good] == []
    assert done.good
    assert done.rig.table.machine.violations == []


def test_no_scenario_that_comes_with_it_is_unknown_to_the_help() -> None:
    assert len(shipped()) >= 5
    for lang in LANGUAGES:
        assert all(name in TEXTS("help.scenario_run", lang) for name in shipped())


@pytest.mark.parametrize(
    ("name", "right", "wrong", "key"),
    [
        ("first-walls", "stacks = [17, 17, 17, 17]", "stacks = [17, 17, 17, 16]", "stacks"),
        ("first-walls", 'display = "PuSH"', 'display = "Push"', "display"),
        ("first-walls", 'ledger = ["0", "0", "0", "0"]', 'ledger = ["0", "0", "0", "0-34"]', "ledger"),
        ("stacker-unplugged", '{ state = "fault", fault = "E31", display = "E31 ", lamps = ["reset"] }',
         '{ fault = "E32" }', "fault"),
        ("power-cut-in-raise", '"0-34", "34", "0-34", "34"', '"34", "34", "34", "34"', "ledger"),
        ("first-walls", 'lamps = ["reset"], dark = ["ready"]', 'dark = ["reset"]', "dark"),
        ("add-in-wash", "tiles = 138", "tiles = 137", ""),
    ],
)  # fmt: skip
def test_an_expectation_that_does_not_hold_does_not_pass(name: str, right: str, wrong: str, key: str) -> None:
    assert right in text_of(name)
    text = text_of(name).replace(right, wrong)
    done = run(text)
    if not key:
        assert done.good  # it is not the change of a file that fails it
        return
    assert not done.good
    last = done.results[-1]
    assert key in [m.key for m in last.misses]  # time has passed: others may hold no longer
    assert last.step.line == line_of(text, wrong)
    assert len(done.results) < len(done.scenario.steps) or last.number == len(done.scenario.steps)


def test_a_failed_step_is_told_with_what_was_expected_found_and_said(tmp_path: Path) -> None:
    text = text_of("first-walls").replace("[17, 17, 17, 17]", "[17, 17, 17, 16]")
    told = program_of(tmp_path, text)
    assert told.exit_code == 1
    line, step = line_of(text, "[17, 17, 17, 16]"), 14
    (missed,) = [t for t in told.output.splitlines() if "stacks should be" in t]
    assert all(
        part in missed for part in (f"step {step}", f"line {line}:", "[17, 17, 17, 16]", "[17, 17, 17, 17]")
    )
    after = told.output.partition("The table said last:")[2]
    assert TEXTS("state.raising", "en") in after
    assert f"failed at step {step} of" in after
    numbered = [t for t in told.output.splitlines() if " s  " in t and t.endswith(("ok", "FAILED"))]
    assert len(numbered) == step, "one line per step, none after the one that failed"
    zh = program_of(tmp_path, text, options=("--lang", "zh"))
    assert "should be" not in zh.output
    assert f"第 {line} 行" in zh.output


def test_a_scenario_does_not_go_otherwise_the_second_time(tmp_path: Path) -> None:
    first, second = (program_of(tmp_path, text_of("add-in-wash")).output for _ in range(2))
    assert "passed" in first
    assert first == second


def test_what_programs_read_does_not_lack_a_step_or_what_was_missed(tmp_path: Path) -> None:
    wrong = text_of("extra-tile").replace('fault = "E24", display = "E24 "', 'fault = "E21"')
    told = program_of(tmp_path, text_of("extra-tile"), wrong, options=("--json",))
    assert told.exit_code == 1
    good, bad = json.loads(told.output)
    assert (good["passed"], bad["passed"]) == (True, False)
    assert all(step["passed"] for step in good["steps"])
    assert "said" not in good
    last = bad["steps"][-1]
    assert last["line"] == line_of(wrong, "E21")
    assert last["missed"] == [{"key": "fault", "expected": "E21", "found": "E24"}]
    assert [e["code"] for e in bad["said"] if e["event"] == "FaultRaised"] == ["E24"]


# --- what steps do ------------------------------------------------------------------------------------------


def test_an_expectation_does_not_wait_longer_than_it_says() -> None:
    late = run(steps("wait = 1", 'panel = ["lift.1"]', 'press = "START"', 'expect = { state = "open" }'))
    assert [m.found for m in late.results[-1].misses] == ["opening"]
    began_us = late.results[-1].time_us
    short = run(
        steps(
            "wait = 1", 'panel = ["lift.1"]', 'press = "START"', 'expect = { state = "open" }\nwithin = 0.5'
        )
    )
    assert not short.good
    assert short.results[-1].time_us == began_us + S // 2


def test_a_fault_does_not_come_before_its_time_or_stay_after_it() -> None:
    done = run(
        steps(
            "wait = 1",
            'fault = "door:service@3s+2s"',
            "wait = 2.9",
            'expect = { fault = "none" }',
            'expect = { fault = "E18" }\nwithin = 0.2',
            'press = "RESET"',
            'expect = { fault = "E18" }',
            "wait = 2",
            'press = "RESET"',
            'expect = { fault = "none", state = "unhomed" }',
        )
    )
    assert done.good


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('put_in = "A"', "console_not_up"),
        ('take_out = "A"', "console_not_up"),
        ('pull = "all"', "no_wall"),
        ('pull = ["S2"]', "no_wall"),
    ],
)
def test_people_do_not_do_what_nobody_could(body: str, why: str) -> None:
    done = run(steps("wait = 1", body, "wait = 1"))
    assert [r.impossible for r in done.results] == ["", why]
    for lang in LANGUAGES:
        (_, told) = scenario.step_lines(done.results[-1], lang)
        assert "12" in told, "the line where it stands"


OPENED = ("wait = 1", 'panel = ["lift.1"]', 'press = "START"', 'expect = { state = "open" }\nwithin = 4')


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('put_in = "floor"', "too_few_tiles"),
        ('put_in = "table"\ntiles = 1', "too_few_tiles"),
        ('take_out = "B"', "no_such_tile"),
    ],
)
def test_nobody_moves_tiles_that_are_not_there(body: str, why: str) -> None:
    done = run(steps(*OPENED, 'put_in = "A"\ntiles = 100', body))
    assert done.results[-1].impossible == why
    assert len(done.rig.table.machine.drum.place) == 100


def test_the_mains_take_the_host_down_with_them_and_lamps_are_not_lit_without_power() -> None:
    done = run(steps("wait = 1", 'mains = "off"', "wait = 1", 'expect = { lamps = ["reset"] }'))
    assert [m.found for m in done.results[-1].misses] == [()]
    assert run(
        steps("wait = 1", 'mains = "off"', 'mains = "on"', 'expect = { lamps = ["reset"] }\nwithin = 9')
    ).good


def test_the_wired_stop_is_not_forgotten_when_it_is_released() -> None:
    done = run(
        steps(
            "wait = 1",
            'wired_stop = "open"',
            'expect = { fault = "E17" }\nwithin = 1',
            'wired_stop = "shut"',
            "wait = 1",
            'expect = { fault = "E17" }',
        )
    )
    assert done.good


def test_a_ledger_that_is_as_written_and_not_true_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of("first-walls").replace('["34", "34", "34", "34"]', '["33", "34", "34", "34"]')
    told = (Count(33, 33), *[Count(34, 34)] * 3)
    monkeypatch.setattr(scenario_run.ledger, "stores", lambda *_: told)
    done = run(text)
    (miss,) = done.results[-1].misses
    assert (miss.key, miss.expected, miss.found) == ("ledger S1", 34, Count(33, 33))


# --- bad files ----------------------------------------------------------------------------------------------

GOOD = steps(
    'press = "START"\nheld = 1.9',
    'put_in = "A"\ntiles = 4',
    'fault = "jam:S2@12s+5s"',
    'expect = { state = "fault", fault = "E31", stacks = [0, 0, 0, 0], lamps = ["reset"] }\nwithin = 30',
)


def refused(text: str) -> TablectlError:
    with pytest.raises(TablectlError) as caught:
        parse(text.encode(), "bad.toml")
    for lang in LANGUAGES:
        assert "bad.toml" in caught.value.text(lang)
    assert caught.value.text("en") != caught.value.text("zh")
    return caught.value


def test_the_file_that_the_bad_ones_are_made_of_is_not_refused() -> None:
    assert len(parse(GOOD.encode(), "good.toml").steps) == 4


@pytest.mark.parametrize(
    ("old", "new", "key", "what"),
    [
        ('rule = "riichi"', 'rule = "chess"', "table.rule", "unknown_choice"),
        ('rule = "riichi"', 'rule = "riichi"\ntiles = 135', "table.tiles", "unknown_choice"),
        ('rule = "riichi"', 'rule = "riichi"\nsets = 3', "table.sets", "out_of_range"),
        ('rule = "riichi"', 'rule = "riichi"\nseed = "x"', "table.seed", "wrong_type"),
        ('rule = "riichi"', 'rule = "riichi"\nhands = 3', "table.hands", "unknown_key"),
        ('rule = "riichi"', 'rule = "riichi"\nmodel = "nine-mouth"', "table.model", "bad_model"),
        ('zh = "测试"', "", "title.zh", "missing_key"),
        ('press = "START"', 'press = "SELECT_TILE"', "step[1].press", "unknown_choice"),
        ('press = "START"', "press = 1", "step[1].press", "wrong_type"),
        ("held = 1.9", "hold = 1.9", "step[1].hold", "unknown_key"),
        ("held = 1.9", "held = 0", "step[1].held", "out_of_range"),
        ("held = 1.9", "held = nan", "step[1].held", "out_of_range"),
        ("held = 1.9", 'held = "1.9"', "step[1].held", "wrong_type"),
        ("held = 1.9", "held = true", "step[1].held", "wrong_type"),
        ('put_in = "A"', 'put_in = "C"', "step[2].put_in", "unknown_choice"),
        ("tiles = 4", "tiles = 137", "step[2].tiles", "out_of_range"),
        ("tiles = 4", "wait = 4", "step[2]", "one_action"),
        ('put_in = "A"\n', "", "step[2]", "one_action"),
        ("jam:S2@12s+5s", "magic:S2", "step[3].fault", "bad_fault.kind"),
        ("jam:S2@12s+5s", "jam:S7", "step[3].fault", "bad_fault.part"),
        ("jam:S2@12s+5s", "jam:S2@soon", "step[3].fault", "bad_fault.grammar"),
        ('state = "fault"', 'state = "happy"', "step[4].expect.state", "unknown_choice"),
        ('state = "fault"', 'state = "rest"', "step[4].expect.fault", "not_together"),
        ('fault = "E31"', 'fault = "none"', "step[4].expect.fault", "not_together"),
        ('fault = "E31"', 'fault = "E99"', "step[4].expect.fault", "unknown_choice"),
        ('fault = "E31"', 'fault = "E65"', "step[4].expect.fault", "unknown_choice"),  # it only warns
        ('fault = "E31"', 'display = "wrong"', "step[4].expect.display", "no_display"),
        ("stacks = [0, 0, 0, 0]", "stacks = [0, 0, 0]", "step[4].expect.stacks", "wrong_type"),
        ("stacks = [0, 0, 0, 0]", "stacks = [0, 0, 0, 30]", "step[4].expect.stacks", "out_of_range"),
        ("stacks = [0, 0, 0, 0]", 'ledger = ["0", "0", "0"]', "step[4].expect.ledger", "no_ledger"),
        ("stacks = [0, 0, 0, 0]", 'ledger = ["0", "0", "0", "9-3"]', "step[4].expect.ledger", "no_count"),
        ("stacks = [0, 0, 0, 0]", 'ledger = ["0", "0", "0", "99"]', "step[4].expect.ledger", "no_count"),
        ("stacks = [0, 0, 0, 0]", 'ledger = ["0", "0", "0", "-1"]', "step[4].expect.ledger", "no_count"),
        ('lamps = ["reset"]', 'lamps = ["red"]', "step[4].expect.lamps", "unknown_choice"),
        ('lamps = ["reset"]', 'lamps = ["reset"], dark = ["reset"]', "step[4].expect.dark", "lit_and_dark"),
        ('lamps = ["reset"]', "heat = 3", "step[4].expect.heat", "unknown_key"),
        ("within = 30", "within = -1", "step[4].within", "out_of_range"),
    ],
)
def test_a_mistake_does_not_pass_or_hide_its_place(old: str, new: str, key: str, what: str) -> None:
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new)
    error = refused(text)
    assert (error.key, error.values["key"].rstrip(".")) == (f"scenario.{what}", key)
    at = line_of(GOOD, old.strip().splitlines()[-1])
    if key.endswith("]"):  # a step as a whole: where it begins
        at = [n for n, each in enumerate(text.splitlines(), 1) if each == "[[step]]"][int(key[5]) - 1]
    elif what == "missing_key":
        at = line_of(text, "[title]")
    elif "\n" in new:
        at += 1
    assert error.values["line"] == at


def test_an_expectation_of_nothing_is_refused() -> None:
    assert refused(steps("expect = {}")).key == "scenario.nothing_expected"
    assert refused(steps("expect = 3")).key == "scenario.wrong_type"


@pytest.mark.parametrize("text", [HEAD, HEAD.replace("[title]", "step = []\n[title]")])
def test_a_file_without_steps_is_refused(text: str) -> None:
    assert refused(text).key in ("scenario.no_steps", "scenario.wrong_type")


def test_a_set_that_the_table_has_not_is_refused() -> None:
    error = refused(steps('put_in = "B"').replace('rule = "riichi"', 'rule = "riichi"\nsets = 1'))
    assert (error.key, error.values["line"]) == ("scenario.one_set", 10)


def test_nothing_runs_where_one_of_several_files_is_bad(tmp_path: Path) -> None:
    bad = GOOD.replace('rule = "riichi"', 'rule = "chess"')
    told = program_of(tmp_path, text_of("first-walls"), bad, GOOD.replace("held", "hold"))
    assert told.exit_code == 2
    assert told.stdout == ""
    assert f"{tmp_path}/1.toml:{line_of(bad, 'chess')}" in told.stderr
    assert f"{tmp_path}/2.toml:{line_of(GOOD, 'held')}" in told.stderr
    for missing in ("nowhere.toml", "unheard-of"):
        gone = CliRunner().invoke(scenario.main, [missing, "--lang", "zh"])
        assert gone.exit_code == 2
        assert missing in gone.stderr
        assert "first-walls" in gone.stderr


def toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float() if math.isnan(value) or math.isinf(value):
            return repr(value)
        case str():
            return json.dumps(value)
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
        case _:
            return repr(value)


VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(-5, 200),
        st.floats(),
        st.sampled_from(
            ["", " ", "A", "all", "S1", "START", "lift.1", "jam:S2", "open", "E31", "0-34", "rest"]
        ),
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["state", "x"]), inner),
    max_leaves=4,
)
ACTIONS = ["press", "panel", "put_in", "take_out", "pull", "fault", "mend", "door", "mains", "wired_stop"]
NAMES = st.sampled_from([*ACTIONS, "wait", "expect", "held", "tiles", "within", "x"])


@given(st.lists(st.dictionaries(NAMES, VALUES, max_size=3), max_size=3))
def test_no_file_at_all_ends_otherwise_than_read_or_refused(found: list[dict[str, Any]]) -> None:
    text = HEAD + "".join(
        "[[step]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in each.items()) for each in found
    )
    try:
        assert len(parse(text.encode(), "any.toml").steps) == len(found)
    except TablectlError as error:
        for lang in LANGUAGES:
            assert "any.toml:" in error.text(lang)
        assert 1 <= error.values["line"] <= len(text.splitlines())


# --- the command --------------------------------------------------------------------------------------------


def tablectl(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tablectl", "scenario", "run", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def test_the_command_does_not_lose_what_the_program_said_or_its_exit_status(tmp_path: Path) -> None:
    good, wrong, bad = (tmp_path / f"{n}.toml" for n in ("good", "wrong", "bad"))
    good.write_text(steps('expect = { state = "unhomed" }\nwithin = 2'), encoding="utf-8")
    wrong.write_text(steps('expect = { state = "rest" }\nwithin = 2'), encoding="utf-8")
    bad.write_text(steps("expect = {}"), encoding="utf-8")
    fine = tablectl(str(good), "--json", "--lang", "zh")
    assert (fine.returncode, json.loads(fine.stdout)[0]["passed"], fine.stderr) == (0, True, "")
    failed = tablectl(str(good), str(wrong), "--lang", "zh")
    assert failed.returncode == 1
    assert TEXTS("scenario.failed", "zh") in failed.stdout
    refused_ = tablectl(str(bad), "--lang", "en")
    assert (refused_.returncode, refused_.stdout) == (2, "")
    assert f"{bad}:9: " in refused_.stderr


# --- every fault, by every way ------------------------------------------------------------------------------


class Came:
    """Which parts a kind of fault came to, and was mended at."""

    def __init__(self, faults: Faults, kind: str) -> None:
        self.broken: list[str] = []
        self.mended: list[str] = []
        faults.kinds[kind] = dataclasses.replace(
            faults.kinds[kind], act=self.broken.append, mend=self.mended.append
        )


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_fault_is_lost_on_its_way_from_a_scenario(kind: str) -> None:
    part = KINDS[kind].parts[-1]
    spec = f"{kind}:{part}"
    done = Run(
        parse(
            steps(
                f'fault = "{spec}@2s+1s"', "wait = 1.9", "wait = 0.2", "wait = 1",
                f'fault = "{spec}"', f'mend = "{spec}"', f'fault = "{spec}"', 'mend = "all"',
            ).encode(),
            "test.toml",
        )
    )  # fmt: skip
    came = Came(done.rig.table.faults, kind)
    seen = [(len(came.broken), len(came.mended)) for _ in done.steps()]
    assert seen == [(0, 0), (0, 0), (1, 0), (1, 1), (2, 1), (2, 2), (3, 2), (3, 5)]
    assert set(came.broken) == set(came.mended) == {part}


@pytest.fixture
def process(tmp_path: Path) -> Any:
    made = Process(ProcessOptions(tmp_path / "tty", None, None, 1.0), TableOptions(hands=0), boot_id=1)
    yield made
    made.end()
    made.run()  # it only tidies up


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_fault_is_lost_on_its_way_from_the_control_socket(kind: str, process: Process) -> None:
    part = KINDS[kind].parts[-1]
    came = Came(process._table.faults, kind)
    for do, seen in (("fault", came.broken), ("mend", came.mended)):
        assert process._answer(json.dumps({"do": do, "spec": f"{kind}:{part}"}).encode()) == {}
        assert seen == [part]
    assert "error" in process._answer(json.dumps({"do": "fault", "spec": f"{kind}:nowhere"}).encode())
    assert came.broken == [part]


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_fault_is_lost_on_its_way_from_the_option(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = KINDS[kind].parts[-1]
    tables: list[SimTable] = []

    class Quiet:
        def __init__(self, _: ProcessOptions, options: TableOptions, boot_id: int) -> None:
            tables.append(SimTable(options, boot_id))

        def run(self) -> None:
            pass

    monkeypatch.setattr(program, "Process", Quiet)
    monkeypatch.setattr(program.signal, "signal", lambda *_: None)
    told = CliRunner().invoke(program.main, ["--pty", str(tmp_path / "tty"), "--fault", f"{kind}:{part}@2s"])
    assert told.exit_code == 0, told.output
    came = Came(tables[0].faults, kind)
    tables[0].agenda.run_until(2 * S - 1)
    assert came.broken == []
    tables[0].agenda.run_until(2 * S)
    assert came.broken == [part]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("spec", ["magic:S1", "jam:S5", "jam"])
def test_a_fault_that_cannot_be_is_not_refused_in_the_other_language(
    lang: str, spec: str, tmp_path: Path
) -> None:
    with pytest.raises(FaultSpecError) as refused_:
        SimTable(TableOptions(hands=0)).faults.parse(spec)
    options = ["--pty", str(tmp_path / "tty"), "--fault", spec, "--lang", lang]
    told = CliRunner().invoke(program.main, options)
    assert told.exit_code == 2
    assert [each for each in LANGUAGES if refused_.value.text(each) in told.output] == [lang]
