"""The journal: nothing changed in it goes unseen, nothing said to be written is lost."""

import json
import sqlite3
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.errors import TablectlError
from tablectl.journal import store
from tablectl.journal.chain import GENESIS, Entry, canonical, chained, first_broken


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
    entries = list(store.read(path))
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
    assert first_broken(store.read(path)) is None
    assert len(list(store.read(path))) == 6


@settings(max_examples=25)
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
    assert first_broken(store.read(path)) == at


def test_the_newest_memory_is_found_among_other_entries(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    writer = Writer(path)
    writer.store.append(1, 1, "state", {"memory": {"rule": "mcr"}})
    writer.store.append(2, 2, "state", {"memory": {"rule": "riichi"}})
    writer.store.append(3, 3, "key", {"intent": "START"})
    writer.store.close()
    assert json.loads(store.last_with(path, "memory") or "") == {"memory": {"rule": "riichi"}}
    assert store.last_with(path, "nothing") is None


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
    assert [e.id for e in store.read(path)] == [1, 2, 3]
    assert first_broken(store.read(path)) is None
