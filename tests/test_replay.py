"""A trace of the real daemon, at a real pty, replays to the same bytes; what is no whole trace is told."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import Control, Table, wait_for

from sim.lab import replay
from sim.lab.replay import Difference, Replay
from tablectl.cli.main import main
from tablectl.errors import TablectlError
from tablectl.table.states import State
from tablectl.texts import LANGUAGES, TEXTS


def lift_key(table: Table, control: Control) -> None:
    """Press a lift key until the table moves; one that has only just met its board may not have heard."""

    def moved() -> bool:
        for down in (True, False):
            control("panel_key", key="lift.1", down=down)
        time.sleep(0.2)
        return table.api.state() != State.UNHOMED

    wait_for(moved, "a motion")


def remote_key(table: Table, control: Control, key: str) -> None:
    heard = table.api.status()["remote"]["frames"]
    control("press", key=key, held_us=400_000)
    wait_for(lambda: table.api.status()["remote"]["frames"] > heard, "the key")


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Record a hand, a cable pulled and a STOP, then a daemon that begins with what the first one left."""
    folder = tmp_path_factory.mktemp("traced")
    table, files = Table(folder), (folder / "first", folder / "second")
    with table.sim("--hands=1") as control:
        table.options = (f"--trace={files[0]}",)
        with table.daemon():
            wait_for(lambda: table.api.status()["stored"], "a wash")
            control("fault", spec="unplug:wire")
            wait_for(lambda: not table.api.status()["connected"], "the loss of the board")
            control("mend", spec="unplug:wire")
            wait_for(lambda: table.api.status()["connected"], "the board")
            lift_key(table, control)
            for key in ("START", "DICE", "STOP"):
                remote_key(table, control, key)
        table.options = (f"--trace={files[1]}",)
        with table.daemon():
            lift_key(table, control)
    return files


def lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines(keepends=True)


def differences(trace: list[str]) -> list[Difference]:
    return list(Replay(trace, "trace").differences())


def test_a_real_trace_does_not_replay_to_other_effects(traced: tuple[Path, Path]) -> None:
    for file in traced:
        assert differences(lines(file)) == []
    calls = [json.loads(text) for text in lines(traced[0])[1:-1]]
    assert len(calls) > 1_000
    assert {core for _, core, _, _ in calls} == {"port", "session", "remote", "table"}


def test_another_effect_or_another_beginning_does_not_pass(traced: tuple[Path, Path]) -> None:
    trace = lines(traced[0])
    at = next(n for n, text in enumerate(trace) if '"$":"StateChanged"' in text)
    other = [*trace[:at], trace[at].replace('"new":"homing"', '"new":"rest"'), *trace[at + 1 :]]
    assert [(d.line, d.core) for d in differences(other)] == [(at + 1, "table")]
    head = json.loads(trace[0])
    for name, value in (("user_codes", [1]), ("keys", []), ("nonce_seed", 0), ("next_journal_id", 1000)):
        begun = json.dumps({**head, "origin": {**head["origin"], name: value}})
        assert differences([begun, *trace[1:]]), name


@settings(max_examples=30)
@given(at=st.floats(0, 1, exclude_max=True))
def test_a_trace_that_was_cut_is_not_taken_for_a_whole_one(traced: tuple[Path, Path], at: float) -> None:
    whole = traced[1].read_text(encoding="utf-8")
    cut = whole[: int(at * (len(whole) - 1))]
    calls = max(0, cut.count("\n") - 1)
    with pytest.raises(TablectlError) as caught:
        differences(cut.splitlines(keepends=True))
    assert caught.value.key == ("trace.cut" if "\n" in cut else "trace.no_trace")
    assert "\n" not in cut or caught.value.values["calls"] == calls


FOREIGN = (
    "hello", "null", "[]", "{}", "7", '{"calls":3}', "[1,2,3,4]", '[1,"table",{"$":"Tick"}]',
    '[1,"table",{"$":"Tick"},{}]', '[1,"table",{},[]]', '[1,"kitchen",{"$":"Tick"},[]]',
    '[1,"table",{"$":"Popen"},[]]', '[1,"table",{"$":"Tick","x":1},[]]', '["1","table",{"$":"Tick"},[]]',
    '[1,"table",{"$":"Key","source":"x","intent":"SELECT","phase":"down","held_us":0},[]]',
    '[1,"session",{"$":"Received","data":{"hex":"0g"}},[]]',
)  # fmt: skip


@pytest.mark.parametrize("text", FOREIGN)
def test_a_foreign_line_is_named_and_nothing_behind_it_is_believed(
    traced: tuple[Path, Path], text: str
) -> None:
    trace = lines(traced[1])
    for at in (1, len(trace) // 2, len(trace) - 1):
        with pytest.raises(TablectlError) as caught:
            differences([*trace[:at], text + "\n", *trace[at:]])
        assert caught.value.key == "trace.foreign"
        assert caught.value.values["line"] == at + 1
        for lang in LANGUAGES:
            assert all(part in caught.value.text(lang) for part in ("trace", str(at + 1), repr(text[:60])))


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1))
def test_no_line_at_all_breaks_the_reader(traced: tuple[Path, Path], text: str) -> None:
    trace = lines(traced[1])
    with pytest.raises(TablectlError):
        differences([*trace[:3], text + "\n", *trace[3:]])


def test_a_trace_with_lines_taken_out_is_not_taken_for_a_whole_one(traced: tuple[Path, Path]) -> None:
    trace = lines(traced[1])
    with pytest.raises(TablectlError) as caught:
        differences([*trace[:-2], trace[-1]])
    assert (caught.value.key, caught.value.values["line"]) == ("trace.foreign", len(trace) - 1)


# --- the command --------------------------------------------------------------------------------------------


def replayed(*arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sim.lab.replay", *map(str, arguments)], capture_output=True, text=True
    )


def test_the_command_tells_same_from_other_from_no_trace(traced: tuple[Path, Path], tmp_path: Path) -> None:
    done = replayed(traced[1])
    calls = len(lines(traced[1])) - 2
    assert (done.returncode, done.stdout) == (0, f"{calls} calls replayed, 0 came out otherwise\n")
    other = tmp_path / "other"
    other.write_text(traced[1].read_text().replace('"new":"homing"', '"new":"rest"'), encoding="utf-8")
    done = replayed(other, "--json")
    assert done.returncode == 1
    assert {json.loads(line)["core"] for line in done.stdout.splitlines()} == {"table"}


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize(
    ("spoil", "key"),
    [
        (lambda text: None, "unreadable"),
        (lambda text: b"", "no_trace"),
        (lambda text: b"\xff" + text, "no_trace"),
        (lambda text: b"SQLite format 3\0", "no_trace"),
        (lambda text: text.replace(b'"format":2', b'"format":1', 1), "format"),
        (lambda text: text.replace(b'"origin"', b'"origen"', 1), "no_origin"),
        (
            lambda text: text.replace(b'"memory":{', b'"memory":{"x":{', 1).replace(b"}", b"}}", 1),
            "no_origin",
        ),
        (lambda text: text[:-20], "cut"),
        (lambda text: text.replace(b'"Tick"', b'"Tock"', 1), "foreign"),
    ],
)
def test_what_is_no_whole_trace_is_told_in_both_languages(
    traced: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[bytes], bytes | None],
    key: str,
    lang: str,
) -> None:
    file = tmp_path / "spoiled"
    if (content := spoil(traced[1].read_bytes())) is not None:
        file.write_bytes(content)
    with pytest.raises(TablectlError) as caught:
        replay.replay(str(file), False, lang)
    assert caught.value.key == f"trace.{key}"
    capsys.readouterr()
    assert replay.main([str(file), "--lang", lang]) == 2
    assert capsys.readouterr().err == caught.value.text(lang) + "\n"
    assert str(file) in caught.value.text(lang)


def test_a_disk_that_takes_no_trace_does_not_stop_the_table(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.options = ("--trace=/dev/full",)
    with table.sim() as control, table.daemon() as daemon:
        lift_key(table, control)
        assert daemon.poll() is None
    refused = CliRunner().invoke(main, ["run", f"--config={table.config}", f"--trace={tmp_path}/none/trace"])
    assert refused.exit_code == 2
    assert (
        refused.output
        == TEXTS("trace.unwritable", "en", file=f"{tmp_path}/none/trace", reason="No such file or directory")
        + "\n"
    )
