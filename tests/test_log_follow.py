"""`tablectl log --follow` on real files: another file in the journal's place is seen, nothing shown twice."""

import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import DEADLINE_S, Table
from test_log import keys, written

from tablectl.journal import follow, reader
from tablectl.journal.chain import Entry
from tablectl.journal.follow import PATIENCE, Follower
from tablectl.journal.reader import Chosen, reading
from tablectl.texts import TEXTS

ENDED = ""


class Follow:
    """A running `tablectl log --follow`; what it says on either stream comes line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.entries: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.told: queue.SimpleQueue[str] = queue.SimpleQueue()
        for stream, into in ((process.stdout, self.entries), (process.stderr, self.told)):
            threading.Thread(target=self._pump, args=(stream, into), daemon=True).start()

    @staticmethod
    def _pump(stream: Any, into: "queue.SimpleQueue[str]") -> None:
        with stream:
            for line in stream:
                into.put(line)
        into.put(ENDED)

    def ids(self, count: int) -> list[int]:
        """Return the numbers of the next entries."""
        return [json.loads(self.entries.get(timeout=DEADLINE_S))["id"] for _ in range(count)]


@contextmanager
def following(path: Path, *options: str) -> Iterator[Follow]:
    command = [sys.executable, "-m", "tablectl", "log", "--follow", "--json", f"--journal={path}", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    try:
        yield Follow(process)
    finally:
        process.kill()
        process.wait()


def said(path: Path, kept: int) -> str:
    return TEXTS("log.replaced", "en", file=path, kept=kept) + "\n"


def test_a_journal_moved_away_does_not_hide_the_next_one(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.db", *keys(5))
    with following(path) as log:
        assert log.ids(5) == [1, 2, 3, 4, 5]
        written(path, *keys(2))
        assert log.ids(2) == [6, 7]
        path.rename(tmp_path / "journal.1.db")
        written(path, ("start", {}), *keys(1))
        assert log.ids(2) == [1, 2]
        assert log.told.get(timeout=DEADLINE_S) == said(path, 0)
        written(path, *keys(8))
        assert log.ids(8) == list(range(3, 11))
        assert log.told.empty()


@pytest.mark.parametrize("restore", [os.replace, shutil.copyfile], ids=["renamed", "overwritten"])
def test_a_backup_that_was_restored_does_not_hide_what_is_written_to_it(
    tmp_path: Path, restore: Callable[[Path, Path], object]
) -> None:
    path = written(tmp_path / "journal.db", *keys(5))
    backup = Path(shutil.copyfile(path, tmp_path / "backup.db"))
    written(path, *keys(4))
    with following(path, "--last=2") as log:
        assert log.ids(2) == [8, 9]
        written(path, *keys(1))
        assert log.ids(1) == [10], "it follows now, and no longer reads what was there"
        restore(backup, path)
        written(path, ("start", {}), *keys(7))
        assert log.ids(8) == list(range(6, 14)), "not what the backup and the screen have in common"
        assert log.told.get(timeout=DEADLINE_S) == said(path, 5)


def test_a_copy_of_the_same_journal_is_not_shown_again_nor_told(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.db", *keys(5))
    with following(path) as log:
        assert log.ids(5) == [1, 2, 3, 4, 5]
        os.replace(shutil.copyfile(path, tmp_path / "copy.db"), path)
        written(path, *keys(1))
        assert log.ids(1) == [6]
        assert log.told.empty()


def test_a_journal_that_is_away_or_half_copied_is_told_once_and_not_given_up(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.db", *keys(3))
    with following(path) as log:
        assert log.ids(3) == [1, 2, 3]
        path.unlink()
        assert log.told.get(timeout=DEADLINE_S) == TEXTS("journal.missing", "en", file=path) + "\n"
        path.write_bytes(b"half a file, and not the better one\n" * 300)
        assert log.told.get(timeout=DEADLINE_S) == TEXTS("journal.not_sqlite", "en", file=path) + "\n"
        path.unlink()
        written(path, *keys(2))
        assert log.ids(2) == [1, 2]
        assert log.told.get(timeout=DEADLINE_S) == said(path, 0)
        assert log.told.empty()


def test_a_new_journals_settings_are_not_told_as_changes_of_the_old_ones(tmp_path: Path) -> None:
    memory = {"memory": {"rule": "mcr", "dealer": 1, "disturbed": False}}
    path = written(tmp_path / "journal.db", ("memory", memory))
    command = [sys.executable, "-m", "tablectl", "log", "--follow", f"--journal={path}"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    try:
        assert process.stdout
        assert "mcr" in process.stdout.readline()
        path.rename(tmp_path / "old.db")
        written(path, ("memory", memory))
        assert "mcr" in process.stdout.readline(), "the first word on the settings of this journal"
    finally:
        process.kill()
        process.communicate()


def test_a_daemon_that_began_a_new_journal_is_followed(tmp_path: Path) -> None:
    table = Table(tmp_path)
    with table.daemon_waiting():
        pass
    with following(table.journal, "--kind=start") as log:
        assert log.ids(1) == [1]
        with table.daemon_waiting():
            second = log.ids(1)
            assert second[0] > 1
        (tmp_path / "old").mkdir()
        for part in tmp_path.glob("journal.db*"):  # one file, or three where a look was being taken just then
            part.rename(tmp_path / "old" / part.name)
        with table.daemon_waiting():
            assert log.ids(1) == [1]
    assert len(list(reader.read(tmp_path / "old" / "journal.db", "start"))) == 2


def test_a_follower_holds_no_file_between_two_looks(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.db", *keys(1))
    with reading(path) as opened:
        follower = Follower(path, opened, Chosen(), 1)
        assert held(path), "the check can fail"
    written(path, *keys(1))
    assert [entry.id for entry, _ in follower.look()] == [2]
    assert held(path) == []
    written(path, *keys(1))
    assert [p.name for p in tmp_path.iterdir()] == ["journal.db"], "whoever wrote it has left one whole file"


def held(path: Path) -> list[str]:
    links = []
    for fd in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of this very look
            links.append(os.readlink(fd))
    return [link for link in links if link.startswith(str(path))]


# --- every way in which files may follow each other ---------------------------------------------------------


def independent(before: list[Entry], now: list[Entry]) -> list[Entry]:
    """Return what is new in a file, entry beside entry."""
    for n, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            return now[n:]
    return now[len(before) :]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(1, 4)),
        st.tuples(st.just("back_up"), st.just(0)),
        st.tuples(st.just("restore"), st.just(0)),
        st.tuples(st.just("overwrite"), st.just(0)),
        st.tuples(st.just("anew"), st.integers(1, 4)),
        st.tuples(st.just("look"), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=60)
@given(STEPS)
def test_no_order_of_files_hides_an_entry_or_shows_one_twice(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, backup = Path(folder, "journal.db"), Path(folder, "backup.db")
        written(path, *keys(2))
        shutil.copyfile(path, backup)
        with reading(path) as opened:
            follower = Follower(path, opened, Chosen(), 2)
        seen = list(reader.read(path))
        for step, count in [*steps, ("look", 0)]:
            match step:
                case "write":
                    written(path, *keys(count))
                case "back_up":
                    shutil.copyfile(path, backup)
                case "restore":
                    os.replace(shutil.copyfile(backup, Path(folder, "copy.db")), path)
                case "overwrite":
                    shutil.copyfile(backup, path)
                case "anew":
                    path.unlink()
                    written(path, *keys(count))
                case "look":
                    now = list(reader.read(path))
                    assert [entry for entry, _ in follower.look()] == independent(seen, now)
                    turned = seen[: len(now)] != now[: len(seen)] or len(now) < len(seen)
                    assert (follower.kept is not None) == turned
                    seen = now


def test_a_backup_older_than_what_is_remembered_is_shown_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "NOTED", 3)
    path = written(tmp_path / "journal.db", *keys(2))
    backup = Path(shutil.copyfile(path, tmp_path / "backup.db"))
    written(path, *keys(6))
    with reading(path) as opened:
        follower = Follower(path, opened, Chosen(), 8)
    os.replace(backup, path)
    assert [entry.id for entry, _ in follower.look()] == [1, 2]
    assert follower.kept == 0


def test_a_file_that_is_away_for_a_moment_is_not_told(tmp_path: Path) -> None:
    path = written(tmp_path / "journal.db", *keys(1))
    with reading(path) as opened:
        follower = Follower(path, opened, Chosen(), 1)
    path.rename(tmp_path / "away")
    for _ in range(PATIENCE):
        assert list(follower.look()) == []
        assert follower.trouble is None
    assert list(follower.look()) == []
    assert follower.trouble
    assert follower.trouble.key == "journal.missing"
    (tmp_path / "away").rename(path)
    written(path, *keys(1))
    assert [entry.id for entry, _ in follower.look()] == [2]
    assert follower.trouble is None
