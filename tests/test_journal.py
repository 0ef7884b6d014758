"""The journal: nothing changed in it goes unseen, nothing said to be written is lost."""

import json
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.errors import TablectlError
from tablectl.journal import reader, store
from tablectl.journal.chain import GENESIS, Broken, Entry, canonical, chained, first_broken, verify


def chain(count: int) -> list[Entry]:
    entries: list[Entry] = []
    for n in range(1, count + 1):
        previous = entries[-1].hash if entries else GENESIS
        entries.append(
            chained(previous, n, f"2026-01-01T00:00:{n:02d}.000+00:00", n, "key", canonical({"n": n}))
        )
    return entries


def test_an_untouched_chain_is_not_called_broken() -> None:
    assert first_broken(chain(20)) is None
    assert first_broken([]) is None


@given(at=st.integers(0, 19), field=st.sampled_from(["id", "wall", "time_us", "kind", "data", "hash"]))
def test_no_changed_field_goes_unseen(at: int, field: str) -> None:
    entries = chain(20)
    old = entries[at]
    values = {name: getattr(old, name) for name in ("id", "wall", "time_us", "kind", "data", "hash")}
    values[field] = values[field] + 1 if isinstance(values[field], int) else values[field] + "0"
    entries[at] = Entry(**values)
    assert first_broken(entries) == at + 1


@given(at=st.integers(0, 18))
def test_no_deleted_or_exchanged_entry_goes_unseen(at: int) -> None:
    entries = chain(20)
    assert first_broken(entries[:at] + entries[at + 1 :]) == at + 1
    entries[at], entries[at + 1] = entries[at + 1], entries[at]
    assert first_broken(entries) == at + 1


def other(n: int) -> Entry:
    """An entry that was not written by the table, with a hash that fits its own content."""
    return chained(GENESIS, n, "2026-01-01T00:00:00.000+00:00", 0, "dice", canonical({"faces": [6, 6]}))


@given(at=st.integers(0, 20))
def test_no_inserted_entry_goes_unseen_and_is_told_by_its_place(at: int) -> None:
    entries = chain(20)
    inserted = [*entries[:at], other(at + 1), *entries[at:]]
    broken = verify(inserted).broken
    # At the very beginning such an entry follows from nothing, as a first one does: then the next one breaks.
    assert broken == (Broken(2, 1, "number") if at == 0 else Broken(at + 1, at + 1, "hash"))


@given(first=st.integers(0, 18), count=st.integers(1, 5))
def test_missing_entries_are_not_told_as_something_else(first: int, count: int) -> None:
    entries = chain(25)
    left = entries[:first] + entries[first + count :]
    verdict = verify(left)
    assert verdict.broken == Broken(first + 1, first + count + 1, "missing")
    assert verdict.entries == first
    assert verdict.head == (entries[first - 1].hash if first else GENESIS)


def test_a_sound_chain_is_not_told_with_another_head_or_span() -> None:
    entries = chain(20)
    verdict = verify(entries)
    assert (verdict.entries, verdict.first, verdict.last) == (20, entries[0], entries[-1])
    assert verdict.head == entries[-1].hash
    assert verify([]).head == GENESIS


@given(
    field=st.sampled_from(["wall", "time_us", "kind", "data"]),
    value=st.one_of(st.none(), st.binary(), st.floats(), st.just("\udcff"), st.integers()),
)
def test_no_column_of_a_strange_type_stops_the_check(field: str, value: object) -> None:
    entries = chain(3)
    values = {name: getattr(entries[1], name) for name in ("id", "wall", "time_us", "kind", "data", "hash")}
    if values[field] == value:
        return
    entries[1] = Entry(**{**values, field: value})
    assert first_broken(entries) == 2


class Writer:
    """A store and what it has told."""

    def __init__(self, path: Path) -> None:
        self.written: list[int] = []
        self.failed: list[str] = []
        self.told = threading.Event()
        self.store = store.Store(path, self._on_written, self._on_failed)

    def _on_written(self, id_: int) -> None:
        self.written.append(id_)
        self.told.set()

    def _on_failed(self, why: str) -> None:
        self.failed.append(why)
        self.told.set()


def test_what_was_said_to_be_written_is_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "journal.db"
    writer = Writer(path)
    for n in range(1, 51):
        writer.store.append(n, n * 10, "key", {"n": n, "text": "东风"})
    writer.store.close()
    assert writer.written[-1] == 50
    assert writer.written == sorted(writer.written)
    entries = list(reader.read(path))
    assert [e.id for e in entries] == list(range(1, 51))
    assert json.loads(entries[-1].data) == {"n": 50, "text": "东风"}
    assert first_broken(entries) is None


def test_a_new_process_continues_the_chain(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    for begin in (1, 4):
        writer = Writer(path)
        assert writer.store.last_id == begin - 1
        for n in range(begin, begin + 3):
            writer.store.append(n, n, "key", {})
        writer.store.close()
    assert first_broken(reader.read(path)) is None
    assert len(list(reader.read(path))) == 6


@settings(max_examples=25, deadline=None)
@given(column=st.sampled_from(["wall", "time_us", "kind", "data", "hash"]), at=st.integers(1, 6))
def test_a_row_changed_in_the_file_is_found(
    tmp_path_factory: pytest.TempPathFactory, column: str, at: int
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.db"
    writer = Writer(path)
    for n in range(1, 7):
        writer.store.append(n, n, "key", {"n": n})
    writer.store.close()
    db = sqlite3.connect(path)
    with db:
        db.execute(f"UPDATE entry SET {column} = {column} || '7' WHERE id = ?", (at,))
    db.close()
    assert first_broken(reader.read(path)) == at


def test_the_newest_memory_is_found_among_other_entries(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    writer = Writer(path)
    writer.store.append(1, 1, "state", {"memory": {"rule": "mcr"}})
    writer.store.append(2, 2, "state", {"memory": {"rule": "riichi"}})
    writer.store.append(3, 3, "key", {"intent": "START"})
    writer.store.close()
    assert json.loads(reader.last_with(path, "memory") or "") == {"memory": {"rule": "riichi"}}
    assert reader.last_with(path, "nothing") is None


@pytest.mark.parametrize("content", [b"no database at all, and long enough to be looked at" * 40, None])
def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "journal.db"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(TablectlError) as caught:
        Writer(path)
    assert str(path) in caught.value.text("zh")
    assert path.is_dir() if content is None else path.read_bytes() == content


def test_a_disk_that_fails_later_is_told(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    writer = Writer(path)
    db = sqlite3.connect(path)
    with db:
        db.execute("DROP TABLE entry")
    db.close()
    writer.store.append(1, 1, "key", {})
    assert writer.told.wait(20)
    assert writer.written == []
    assert "entry" in writer.failed[0]


def test_what_a_full_disk_refused_is_not_lost_when_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "timeout": 0.05}))
    writer = Writer(path)
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")  # nobody else can write
    for n in (1, 2):
        writer.told.clear()
        writer.store.append(n, n, "key", {"n": n})
        assert writer.told.wait(20)
    assert (len(writer.failed), writer.written) == (2, [])
    other.rollback()
    other.close()
    writer.told.clear()
    writer.store.append(3, 3, "key", {"n": 3})
    assert writer.told.wait(20)
    writer.store.close()
    assert writer.written == [3]
    assert [e.id for e in reader.read(path)] == [1, 2, 3]
    assert first_broken(reader.read(path)) is None


def test_the_first_entry_of_a_run_is_on_the_disk_when_begin_returns(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    writer = Writer(path)
    writer.store.begin(1, 0, "start", {"version": "1"})
    assert [e.kind for e in reader.read(path)] == ["start"]
    writer.store.append(2, 1, "key", {})
    writer.store.close()
    assert first_broken(reader.read(path)) is None
    assert writer.written == [2]


def limited(path: Path) -> Writer:
    """Return a writer whose file is full: SQLite's own limit on pages gives the error of a full disk."""
    writer = Writer(path)
    pages = writer.store._db.execute("PRAGMA page_count").fetchone()[0]
    writer.store._db.execute(f"PRAGMA max_page_count = {pages}")
    return writer


def test_a_full_disk_is_told_as_one_at_the_start_and_later(tmp_path: Path) -> None:
    much = {"text": "x" * 100_000}
    late = limited(tmp_path / "late.db")
    late.store.append(1, 0, "key", much)
    assert late.told.wait(20)
    assert (late.written, late.failed) == ([], ["disk_full"])
    late.told.clear()
    late.store._db.execute("PRAGMA max_page_count = 100000")
    late.store.append(2, 0, "key", {})
    assert late.told.wait(20)
    late.store.close()
    assert late.written == [2]
    assert [e.id for e in reader.read(tmp_path / "late.db")] == [1, 2]
    early = limited(tmp_path / "early.db")
    with pytest.raises(TablectlError) as caught:
        early.store.begin(1, 0, "start", much)
    assert caught.value.key == "journal.full"
    assert list(reader.read(tmp_path / "early.db")) == []


def test_an_end_of_the_writer_that_nobody_thought_of_is_told_too(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "journal.db")
    writer.store.append(1, 0, "key", {"n": 1})
    writer.store.append(2, 2**70, "key", {})  # more than SQLite's integers hold: OverflowError
    writer.store.close()
    assert len(writer.failed) == 1


def test_a_reader_that_stands_still_does_not_keep_the_writer_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    writer = Writer(path)
    for n in range(1, 4):
        writer.store.append(n, n, "key", {})
    writer.store.close()
    writer = Writer(path)
    with reader.reading(path) as opened:
        entries = opened.entries()
        assert next(entries).id == 1  # and there it stands, in the middle
        writer.store.append(4, 4, "key", {})
        writer.store.close()
        assert writer.written == [4]
        assert [e.id for e in entries] == [2, 3, 4]


def test_reading_does_not_drop_the_locks_that_this_process_holds_on_its_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    writer = Writer(path)
    writer.store.begin(1, 0, "start", {})
    assert len(list(reader.read(path))) == 1
    # Another process that takes itself for the last one would take the write-ahead log away.
    leave = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("SELECT * FROM entry")
db.close()
"""
    subprocess.run([sys.executable, "-c", leave, str(path)], check=True, timeout=60)
    assert path.with_name("journal.db-wal").exists()
    writer.store.close()


def test_more_entries_than_a_page_are_not_cut_or_doubled(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    writer = Writer(path)
    for n in range(1, 1102):
        writer.store.append(n, n, "key" if n % 2 else "state", {})
    writer.store.close()
    assert [e.id for e in reader.read(path)] == list(range(1, 1102))
    assert [e.id for e in reader.read(path, "key")] == list(range(1, 1102, 2))
    with reader.reading(path) as opened:
        assert [e.id for e in opened.last(3, reader.Chosen("state"))] == [1096, 1098, 1100]
