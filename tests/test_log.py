"""`tablectl log`: what is shown is what was written, and no change of the file passes `log verify`."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from helpers import api, homed, panel, put_in, run_for, run_to, standing
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import Table, unprivileged, wait_for

from sim.lab.rig import Rig
from sim.model import load
from sim.table import Fault, Mend
from tablectl.cli.log import Noted, check, parse_time
from tablectl.cli.main import main
from tablectl.cli.words import Words
from tablectl.errors import TablectlError
from tablectl.journal import reader
from tablectl.journal.chain import GENESIS, Entry, canonical, chained, verify
from tablectl.journal.store import Store
from tablectl.rules import dealer
from tablectl.table import events as ev
from tablectl.table.intents import Intent
from tablectl.texts import LANGUAGES, TEXTS
from tablectl.trace import encode

NAMES = ("source", "intent", "phase", "reason", "memory", "code", "values", "faces", "seat", "from", "to")
START = {"version": "1", "speed": 1.0, "entropy": "operating system", "configuration": {"rule": "riichi"}}


def written(path: Path, *entries: tuple[str, dict[str, Any]]) -> Path:
    store = Store(path, lambda id_: None, lambda why: None)
    for n, (kind, data) in enumerate(entries, store.last_id + 1):
        store.append(n, n * 1000, kind, data)
    store.close()
    return path


def keys(count: int) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("key", {"source": "panel:lift.1", "intent": "START", "phase": "down", "n": n}) for n in range(count)
    ]


def log(*arguments: Any, lang: str = "en") -> Result:
    return CliRunner().invoke(main, ["log", *map(str, arguments), "--lang", lang])


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("log") / "journal.db", ("start", START), *keys(11))


@pytest.fixture
def copy(journal: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(journal, tmp_path / "journal.db"))


# --- verify -------------------------------------------------------------------------------------------------


def test_a_journal_as_it_was_written_is_not_called_broken(journal: Path) -> None:
    entries = list(reader.read(journal))
    told = log("verify", "--journal", journal)
    assert told.exit_code == 0, told.output
    assert "12 entries" in told.output
    assert entries[-1].hash in told.output
    said = json.loads(log("verify", "--journal", journal, "--json").output)
    assert said == {
        "file": str(journal), "good": True, "entries": 12, "first": entries[0].wall, "last": entries[-1].wall,
        "head": entries[-1].hash, "broken": None, "noted": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "entry", "why"),
    [
        (["UPDATE entry SET data = '{}' WHERE id = 5"], 5, "hash"),
        (["UPDATE entry SET hash = upper(hash) WHERE id = 5"], 5, "hash"),
        (["DELETE FROM entry WHERE id IN (5, 6)"], 5, "missing"),
        (["DELETE FROM entry WHERE id = 1"], 1, "missing"),
        (["UPDATE entry SET id = 0 WHERE id = 1"], 1, "number"),
        (["INSERT INTO entry SELECT -3, wall, time_us, kind, data, hash FROM entry WHERE id = 2"],
          1, "number"),
        (["UPDATE entry SET id = 99 WHERE id = 5", "UPDATE entry SET id = 5 WHERE id = 6",
          "UPDATE entry SET id = 6 WHERE id = 99"], 5, "hash"),
        (["DELETE FROM entry WHERE id = 5", "UPDATE entry SET id = -id WHERE id > 5",
          "UPDATE entry SET id = -id - 1 WHERE id < 0"], 5, "hash"),
        (["UPDATE entry SET kind = CAST(x'ff' AS TEXT) WHERE id = 5"], 5, "hash"),
    ],
)  # fmt: skip
def test_no_change_of_the_file_passes(copy: Path, statements: list[str], entry: int, why: str) -> None:
    change(copy, *statements)
    told = log("verify", "--journal", copy, "--json")
    assert told.exit_code == 1
    said = json.loads(told.output)
    assert (said["good"], said["broken"]["entry"], said["broken"]["why"]) == (False, entry, why)
    assert said["entries"] == entry - 1
    for lang in LANGUAGES:
        told = log("verify", "--journal", copy, lang=lang)
        assert told.exit_code == 1
        first = TEXTS(f"log.verify.{why}", lang, file=copy, expected=entry, found=said["broken"]["found"])
        assert told.output.startswith(first)


def test_a_tail_that_was_cut_off_does_not_pass_beside_a_noted_head(copy: Path) -> None:
    entries = list(reader.read(copy))
    noted = ["--head", entries[-1].hash, "--entries", 12]
    assert log("verify", "--journal", copy, *noted).exit_code == 0
    change(copy, "DELETE FROM entry WHERE id > 9")
    assert log("verify", "--journal", copy).exit_code == 0, "the chain alone cannot know of it"
    for some in (noted, noted[:2], noted[2:]):
        told = log("verify", "--journal", copy, *some)
        assert told.exit_code == 1, some
        assert "tail is missing" in told.output


def rewritten(entries: list[Entry], at: int) -> list[Entry]:
    """What a forger leaves who can count: one entry changed, and every hash from there on made to fit."""
    forged: list[Entry] = []
    for n, e in enumerate(entries):
        data = canonical({"forged": True}) if n == at else e.data
        previous = forged[-1].hash if forged else GENESIS
        forged.append(chained(previous, e.id, e.wall, e.time_us, e.kind, data))
    return forged


def chain(count: int) -> list[Entry]:
    entries: list[Entry] = []
    for n in range(1, count + 1):
        previous = entries[-1].hash if entries else GENESIS
        entries.append(chained(previous, n, "2026-01-01T00:00:00.000+00:00", n, "key", canonical({"n": n})))
    return entries


@given(at=st.integers(0, 19), noted=st.integers(1, 20), more=st.integers(0, 5))
def test_a_journal_written_anew_does_not_pass_beside_a_head_noted_behind_the_forgery(
    at: int, noted: int, more: int
) -> None:
    entries = chain(20 + more)
    forged = rewritten(entries, at)
    assert verify(forged).broken is None
    head = entries[noted - 1].hash
    assert check(iter(entries), Noted(head, noted))[1] is None, "a journal that only grew is sound"
    assert check(iter(entries), Noted(head, None))[1] is None
    behind = noted > at
    assert check(iter(forged), Noted(head, noted))[1] == ("other_head" if behind else None)
    assert check(iter(forged), Noted(head, None))[1] == ("no_head" if behind else None)


@given(left=st.integers(0, 19))
def test_no_truncation_passes_beside_a_noted_head(left: int) -> None:
    entries = chain(20)
    assert check(iter(entries[:left]), Noted(entries[-1].hash, 20))[1] == "cut"
    assert check(iter(entries[:left]), Noted(entries[-1].hash, None))[1] == "no_head"
    assert check(iter(entries[:left]), Noted(None, 20))[1] == "cut"


@settings(max_examples=40, deadline=None)
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_no_flipped_bit_of_the_file_crashes_the_check_or_changes_what_passes(
    journal: Path, at: float, bit: int
) -> None:
    raw = bytearray(journal.read_bytes())
    raw[int(at * len(raw))] ^= 1 << bit
    before = list(reader.read(journal))
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / "journal.db"
        damaged.write_bytes(raw)
        told = log("verify", "--journal", damaged)
        assert told.exit_code in (0, 1, 2)
        assert told.exception is None or isinstance(told.exception, SystemExit)
        assert told.output.strip()
        if told.exit_code == 0:  # the bit was in space that holds nothing, or the tail is not seen any more
            left = list(reader.read(damaged))
            assert left == before[: len(left)]


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:4096] + os.urandom(4096) + path.read_bytes()[8192:])


def foreign(path: Path) -> None:
    path.unlink()
    change(path, "CREATE TABLE other (x)")


@pytest.mark.parametrize(
    ("spoil", "key"),
    [
        (lambda path: path.unlink(), "journal.missing"),
        (lambda path: path.write_text("a diary, and not a short one either\n" * 400), "journal.not_sqlite"),
        (lambda path: path.write_bytes(b""), "journal.no_journal"),
        (foreign, "journal.no_journal"),
        (lambda path: change(path, "ALTER TABLE entry DROP COLUMN hash"), "journal.no_journal"),
        (torn, "journal.damaged"),
    ],
)
@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("what", [["verify"], []], ids=["verify", "log"])
def test_what_is_no_sound_journal_is_not_read_nor_changed(
    copy: Path, spoil: Any, key: str, lang: str, what: list[str]
) -> None:
    spoil(copy)
    before = copy.read_bytes() if copy.exists() else None
    told = log(*what, "--journal", copy, lang=lang)
    assert told.exit_code == 2
    assert told.output == TEXTS(key, lang, file=copy) + "\n"
    assert (copy.read_bytes() if copy.exists() else None) == before


def test_a_folder_is_not_taken_for_a_journal(tmp_path: Path) -> None:
    told = log("verify", "--journal", tmp_path)
    assert told.exit_code == 2
    assert str(tmp_path) in told.output


def test_questions_that_make_no_sense_are_not_answered(journal: Path) -> None:
    for asked in (
        ["--journal", journal, "--config", journal], ["verify", "--journal", journal, "--last", 3],
        ["--journal", journal, "--entries", 3], ["verify", "--journal", journal, "--head", "abc"],
        ["--journal", journal, "--since", "yesterday"], ["--journal", journal, "--kind", "tile"],
        ["--journal", journal, "--last", 0],
    ):  # fmt: skip
        told = log(*asked)
        assert told.exit_code == 2, asked
        assert "Traceback" not in told.output


# --- who may read, and when ---------------------------------------------------------------------------------


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that other users can enter."""
    folder = Path(tempfile.mkdtemp(prefix="tablectl-log-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_somebody_who_may_only_read_is_not_locked_out_of_a_journal_at_rest(public: Path) -> None:
    path = written(public / "journal.db", *keys(5))
    path.chmod(0o444)
    public.chmod(0o555)
    told = unprivileged("log", "verify", "--journal", str(path), "--json")
    public.chmod(0o755)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["entries"] == 5
    assert [p.name for p in public.iterdir()] == ["journal.db"], "reading leaves nothing behind"


def test_somebody_who_may_not_read_is_told_so(public: Path) -> None:
    path = written(public / "journal.db", *keys(2))
    path.chmod(0)
    told = unprivileged("log", "--journal", str(path))
    assert told.returncode == 2
    assert told.stderr == TEXTS("journal.forbidden", "en", file=path) + "\n"


def test_a_journal_is_not_vouched_for_when_a_daemon_began_to_write_it_meanwhile(public: Path) -> None:
    path = written(public / "journal.db", *keys(5))
    with reader.reading(path) as opened:
        opened._frozen = path.stat()  # as for somebody who may only read
        entries = opened.entries()
        next(entries)
        written(path, *keys(5))
        with pytest.raises(TablectlError) as caught:
            list(entries)
    assert caught.value.key == "journal.overtaken"


def test_a_journal_is_not_closed_to_readers_of_a_running_daemon_nor_broken_by_kill_9(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path, speed=10)
    with table.sim("--hands=1") as control, table.daemon() as daemon:
        follower = subprocess.Popen(
            [sys.executable, "-m", "tablectl", "log", "--follow", "--json", "--journal", str(table.journal)],
            stdout=subprocess.PIPE,
            text=True,
        )
        wait_for(lambda: table.api.state() == "washing", "a wash")
        assert log("verify", "--journal", table.journal).exit_code == 0
        wait_for(lambda: control("truth")["hands_played"] == 1 or table.api.status()["standing"], "walls")
        head = json.loads(log("verify", "--journal", table.journal, "--json").output)
        daemon.kill()
        daemon.wait()
    noted = ["--head", head["head"], "--entries", head["entries"]]
    told = log("verify", "--journal", table.journal, *noted, "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.output)["entries"] >= head["entries"]
    follower.terminate()
    followed = [json.loads(line) for line in follower.communicate(timeout=20)[0].splitlines()]
    assert [e["id"] for e in followed] == list(range(1, len(followed) + 1))
    assert {"start", "board", "key", "state"} <= {e["kind"] for e in followed}
    states = [e["data"]["to"] for e in followed if e["kind"] == "state"]
    assert "washing" in states, "what came after the reading began was followed"


# --- in words -----------------------------------------------------------------------------------------------


def entries_of(r: Rig) -> list[Entry]:
    """Return every entry that a table wrote."""
    found: list[Entry] = []
    for each in r.journal:
        previous = found[-1].hash if found else GENESIS
        wall = "2026-01-01T00:00:00.000+00:00"
        found.append(chained(previous, each.id, wall, 0, each.kind, canonical(encode(each.data))))
    return found


def eventful() -> list[Entry]:
    """Return the journal of a table that somebody did nearly everything with, and a start before it."""
    r = homed()
    r.press("START")
    run_to(r, "open")
    put_in(r)
    api(r, Intent.DEALER_NEXT)
    api(r, Intent.ADD)
    r.press("START")
    run_to(r, "washing")
    api(r, Intent.RULE_NEXT)
    api(r, Intent.RULE_PREVIOUS)
    r.world.post(r.world.now_us, "host", ev.Heard(0x01, 0x83, False))
    r.world.post(r.world.now_us, "host", ev.Heard(0x00, 0x83, True))
    r.world.post(r.world.now_us, "host", ev.SensorMissed("stacker.S2.open"))
    run_to(r, "rest")
    r.press("START")
    run_to(r, "open")
    r.press("START")
    run_to(r, "rest")
    api(r, Intent.DICE)
    run_for(r, 1)
    r.world.post(r.world.now_us, "host", ev.Choose("local:1000", "gear_9"))
    r.world.post(r.world.now_us, "host", ev.HandEnded("local:1000", dealer.Result((dealer.Won((1, 2), 3),))))
    run_for(r, 1)
    r.world.post(r.world.now_us, "table", Fault("door:service"))
    run_to(r, "fault")
    panel(r, "lift.1", "lift.2")
    run_to(r, "technician")
    r.world.post(r.world.now_us, "host", ev.Jog("local:1000", "conveyor.S1", -1))
    run_for(r, 1)
    r.world.post(r.world.now_us, "table", Mend("door:service"))
    run_for(r, 1)
    api(r, Intent.RESET)
    run_for(r, 1)
    start = chained(GENESIS, 0, "2026-01-01T00:00:00.000+00:00", 0, "start", canonical(START))
    return [start, *entries_of(r)]


def served() -> list[Entry]:
    """Return what a table wrote down that has served the hands."""
    r = standing("riichi", model=load("eight-mouth"))
    return [entry for entry in entries_of(r) if entry.kind == "served"]


@pytest.fixture(scope="module")
def everything() -> list[Entry]:
    return [*eventful(), *served()]


def test_the_eventful_table_leaves_no_kind_of_entry_out(everything: list[Entry]) -> None:
    # Stroke times are written after many hands only.
    assert {e.kind for e in everything} | {"timing"} == set(Words("en")._kinds)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_entry_of_a_real_table_is_shown_raw_or_in_another_language(
    everything: list[Entry], lang: str
) -> None:
    words = Words(lang)
    for entry in everything:
        line = words.line(entry)
        assert entry.data not in line, entry
        assert "{" not in line, entry
        said = line.split(entry.kind, 1)[1]
        chinese = any("\u4e00" <= c <= "\u9fff" for c in said)
        assert chinese == (lang == "zh"), line


def test_what_people_ask_a_journal_for_is_not_left_out(everything: list[Entry]) -> None:
    words = Words("en")
    text = "\n".join(words.line(e) for e in everything)
    for said in (
        "daemon started: version 1, rule riichi", "START pressed by panel key lift.1", "remote 0x00",
        "hands served, side S1 deals; play begins with the wall of S1, stack 1",
        "DICE pressed by local user 1000", "dice ", "break the wall of", "settings: side S2 deals",
        "settings: rule ", "settings: the service door was opened", "FAULT E18", "warning E66",
        "user code 0x01, key 0x83", "a key without a meaning on remote 0x00: 0x83",
        "conveyor.S1 turned back by local user 1000", "ADD of local user 1000 not obeyed: ADD does nothing",
        "no tile was taken, says local user 1000", "board SIM00001: four-mouth", "at rest → console going up",
    ):  # fmt: skip
        assert said in text, said


def test_a_setting_is_not_told_again_when_only_the_last_entries_are_shown(tmp_path: Path) -> None:
    memory = {"rule": "mcr", "dealer": 1, "disturbed": False}
    changed = [("memory", {"memory": {**memory, "dealer": n}}) for n in (1, 2)]
    path = written(tmp_path / "journal.db", *changed)
    told = log("--journal", path, "--last", 1)
    assert "side S3 deals" in told.output
    assert "mcr" not in told.output


@given(
    kind=st.sampled_from([*Words("en")._kinds, "new"]),
    data=st.one_of(
        st.text(),
        st.dictionaries(
            st.sampled_from(NAMES),
            st.recursive(
                st.none() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
            ),
        ).map(json.dumps),
    ),
    lang=st.sampled_from(LANGUAGES),
)
def test_no_entry_however_strange_stops_the_log_or_writes_to_the_terminal(
    kind: str, data: str, lang: str
) -> None:
    line = Words(lang).line(Entry(1, "no time", 0, kind, data, ""))
    assert line.isprintable()


def test_choices_do_not_show_what_was_not_asked_for(journal: Path, copy: Path) -> None:
    def ids(*arguments: Any) -> list[int]:
        told = log("--journal", copy, "--json", *arguments)
        assert told.exit_code == 0, told.output
        return [json.loads(line)["id"] for line in told.output.splitlines()]

    assert ids() == list(range(1, 13))
    assert ids("--last", 3) == [10, 11, 12]
    assert ids("--kind", "start") == [1]
    assert ids("--kind", "key", "--last", 2) == [11, 12]
    change(copy, "UPDATE entry SET wall = '2020-01-01T00:00:00.000+00:00' WHERE id < 10")
    assert ids("--since", "10d") == [10, 11, 12]
    assert ids("--since", "2019-12-31") == list(range(1, 13))
    assert ids("--since", "2020-01-01T00:00:00.001+00:00") == [10, 11, 12]


def test_json_does_not_lack_what_the_hash_is_made_of(journal: Path) -> None:
    previous = GENESIS
    for line in log("--journal", journal, "--json").output.splitlines():
        e = json.loads(line)
        made = chained(previous, e["id"], e["wall"], e["time_us"], e["kind"], canonical(e["data"]))
        assert made.hash == e["hash"]
        previous = made.hash


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("90s", "2026-12-01T10:28:30.000+00:00"),
        ("10m", "2026-12-01T10:20:00.000+00:00"),
        ("2h", "2026-12-01T08:30:00.000+00:00"),
        ("3d", "2026-11-28T10:30:00.000+00:00"),
        ("18:30", "2026-12-01T10:30:00.000+00:00"),
        ("2026-12-01T18:30:00+08:00", "2026-12-01T10:30:00.000+00:00"),
        ("2026-12-01 10:00+00:00", "2026-12-01T10:00:00.000+00:00"),
    ],
)
def test_a_time_is_not_taken_for_another(said: str, meant: str) -> None:
    assert parse_time(said, datetime.fromisoformat("2026-12-01T18:30:00+08:00")) == meant


@pytest.mark.parametrize("said", ["", "yesterday", "25:00", "10x", "-1m", "2026-13-01", "999999999d"])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_is_no_time_is_told(said: str, lang: str) -> None:
    with pytest.raises(TablectlError) as caught:
        parse_time(said)
    assert repr(said) in caught.value.text(lang)
