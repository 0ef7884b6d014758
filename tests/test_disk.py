"""The disk that is slow, locked, full or read-only: the session lives, or everything stands by name."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from processes import Control, Table, unprivileged, wait_for

from tablectl.journal import reader
from tablectl.journal.chain import first_broken
from tablectl.journal.store import PATIENCE_S
from tablectl.texts import LANGUAGES, TEXTS

STALL_S = 3.0


def washing(table: Table, control: Control) -> None:
    """Let the simulated players bring the table into a wash that has begun to count."""
    wait_for(lambda: table.api.state() == "washing", "a wash")
    wait_for(lambda: sum(table.api.status()["counts"]["taken"]) > 4, "the first tiles")


def press(table: Table, intent: str) -> None:
    assert table.api.call("POST", "/v1/press", {"intent": intent})[0] == 200


def entries(table: Table) -> int:
    return len(list(reader.read(table.journal)))


@contextmanager
def locked(table: Table) -> Iterator[None]:
    """Hold the journal's write lock from outside, as a backup program that misbehaves."""
    with closing(sqlite3.connect(table.journal, timeout=30)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.rollback()


def stands(control: Control) -> bool:
    """Tell whether no tile changes its place any more, by the simulator's own word."""
    before = control("truth")["places"]
    time.sleep(0.5)
    return bool(control("truth")["places"] == before)


def test_a_disk_that_stalls_for_3_s_in_a_wash_costs_no_ping(tmp_path: Path) -> None:
    table = Table(tmp_path, speed=1.0)
    with table.sim("--hands=1") as control, table.daemon():
        washing(table, control)
        before = table.api.status()
        with locked(table):
            written = entries(table)
            end = time.monotonic() + STALL_S
            while time.monotonic() < end:
                press(table, "MUTE")  # something to write, all the time
                time.sleep(0.1)
            assert entries(table) == written, "the disk did stall"
            during = table.api.status()
        assert during["state"] == "washing"
        wait_for(lambda: entries(table) > written + 10, "what waited to be written")
        after = table.api.status()
        assert before["link"]["sessions"] == after["link"]["sessions"] == 1
        assert before["board"]["boot_id"] == after["board"]["boot_id"]
        assert sum(during["counts"]["taken"]) > sum(before["counts"]["taken"]), "the wash went on meanwhile"
        wait_for(lambda: table.api.state() == "rest", "the end of the wash")
        assert table.api.status()["stored"]
        assert control("truth")["violations"] == []
    assert not list(reader.read(table.journal, "fault"))
    assert first_broken(reader.read(table.journal)) is None


def refuses_to_move(table: Table, control: Control, reason: str) -> None:
    """The table stands in E16 for that reason, whatever is pressed; the daemon answers."""
    wait_for(lambda: table.api.state() == "fault", "the fault")
    fault = table.api.status()["fault"]
    assert (fault["code"], fault["values"]["detail"]) == ("E16", reason)
    for lang in LANGUAGES:
        assert TEXTS(f"reason.{reason}", lang) in fault["text"][lang][0]
    assert stands(control)
    status, answer = table.api.call("POST", "/v1/press", {"intent": "RESET"})
    assert status == 200
    assert [r["reason"] for r in answer["refused"]] == ["refuse.journal_dead"]
    assert stands(control)
    assert table.api.status()["connected"]


def test_a_lock_longer_than_sqlites_patience_ends_in_a_named_fault_and_not_in_a_crash(tmp_path: Path) -> None:
    table = Table(tmp_path, speed=1.0)
    with table.sim("--hands=1") as control, table.daemon() as daemon:
        washing(table, control)
        with locked(table):
            press(table, "MUTE")
            time.sleep(PATIENCE_S - 2)
            assert table.api.state() == "washing", "a slow disk is not a dead one"
            refuses_to_move(table, control, "disk_locked")
        assert daemon.poll() is None
    assert first_broken(reader.read(table.journal)) is None
    with table.sim(), table.daemon_waiting():  # the restart that the fault asks for
        assert table.api.state() == "unhomed"
    assert first_broken(reader.read(table.journal)) is None


def test_an_order_that_waits_for_a_locked_disk_does_not_move_anything_later(tmp_path: Path) -> None:
    table = Table(tmp_path, speed=1.0)
    with table.sim() as control, table.daemon():
        for down in (True, False):
            control("panel_key", key="lift.1", down=down)
        wait_for(lambda: table.api.state() == "rest", "homing")
        with locked(table):
            press(table, "START")
            wait_for(lambda: table.api.state() == "fault", "the fault")
        assert table.api.status()["fault"]["code"] == "E16"
        time.sleep(1)
        assert "console.down" in table.api.status()["counts"]["sensors"]


def test_stop_does_not_wait_for_a_disk_that_takes_nothing(tmp_path: Path) -> None:
    table = Table(tmp_path, speed=1.0)
    with table.sim("--hands=1") as control, table.daemon():
        washing(table, control)
        with locked(table):
            press(table, "MUTE")  # something that the disk does not take
            written = entries(table)
            control("press", key="STOP")
            wait_for(lambda: table.api.state() != "washing", "the stop")
            assert table.api.state() == "unhomed", "it was the key, and no fault of the disk"
            assert stands(control)
            assert entries(table) == written
    assert first_broken(reader.read(table.journal)) is None


def test_a_full_disk_in_a_wash_stops_everything_by_name_and_a_restart_is_refused(tmp_path: Path) -> None:
    table = Table(tmp_path)
    with table.sim("--hands=1") as control:
        with table.daemon() as daemon:
            washing(table, control)
            # No file of this process may grow any more: what a full disk or a quota does to a log that is
            # appended to, without being root.
            size = table.journal.with_name("journal.db-wal").stat().st_size
            resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (size, size))
            press(table, "MUTE")
            refuses_to_move(table, control, "disk_error")
            assert daemon.poll() is None
            daemon.kill()
            daemon.wait()
        assert first_broken(reader.read(table.journal)) is None
        table.api.path.unlink()
        before = entries(table)
        for lang in LANGUAGES:
            again = restarted(table, lang, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)))
            assert again.returncode == 2
            assert again.stderr == TEXTS("journal.disk_error", lang, file=table.journal) + "\n"
        assert entries(table) == before
        assert not table.api.path.exists()
        with table.daemon():  # there is room again
            assert entries(table) > before
    assert first_broken(reader.read(table.journal)) is None


def restarted(
    table: Table, lang: str, prepare: Callable[[], Any] | None = None
) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "tablectl", "run", f"--config={table.config}", f"--lang={lang}"]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        arguments, capture_output=True, text=True, timeout=60, env=environment, preexec_fn=prepare
    )


# --- what may not be written --------------------------------------------------------------------------------


@pytest.fixture
def house() -> Iterator[Table]:
    """A table whose folder others may use, with a journal in a room of its own."""
    folder = Path(tempfile.mkdtemp(prefix="tablectl-disk-"))
    folder.chmod(0o777)
    (folder / "room").mkdir()
    table = Table(folder)
    table.journal = folder / "room" / "journal.db"
    with table.daemon_waiting():
        pass
    for file in folder.iterdir():
        if file.is_file():
            file.chmod(0o666)
    yield table
    (folder / "room").chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("what", ["file", "folder", "both", "new"])
def test_a_read_only_journal_is_refused_at_the_start_and_nothing_is_lost(
    house: Table, what: str, lang: str
) -> None:
    room = house.journal.parent
    if what == "new":
        house.journal.unlink()
    else:
        house.journal.chmod(0o444 if what in ("file", "both") else 0o666)
    room.chmod(0o777 if what == "file" else 0o555)
    before = house.journal.read_bytes() if what != "new" else None
    told = unprivileged("run", f"--config={house.config}", f"--lang={lang}")
    assert told.returncode == 2
    assert "Traceback" not in told.stderr
    assert str(house.journal) in told.stderr
    sentence = {"en": "The table does not move without its record", "zh": "没有记录牌桌不会动作"}
    assert sentence[lang] in told.stderr
    assert not house.api.path.exists()
    if before is not None:
        assert house.journal.read_bytes() == before
        assert first_broken(reader.read(house.journal)) is None
