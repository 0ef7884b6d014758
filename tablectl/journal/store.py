"""The journal on disk: SQLite, written by one thread of its own; the event loop never waits for the disk."""

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tablectl.errors import TablectlError
from tablectl.journal.chain import GENESIS, Entry, canonical, chained

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY, wall TEXT NOT NULL, time_us INTEGER NOT NULL,
    kind TEXT NOT NULL, data TEXT NOT NULL, hash TEXT NOT NULL
) STRICT
"""
OnWritten = Callable[[int], None]
OnFailed = Callable[[str], None]
_Record = tuple[int, str, int, str, str]


class Store:
    """An append-only journal file. `on_written` and `on_failed` are called from the writer's thread."""

    def __init__(self, path: Path, on_written: OnWritten, on_failed: OnFailed) -> None:
        self._on_written = on_written
        self._on_failed = on_failed
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(_connect(path)) as db:
                db.execute(_SCHEMA)
                last = db.execute("SELECT id, hash FROM entry ORDER BY id DESC LIMIT 1").fetchone()
        except (OSError, sqlite3.Error) as error:
            raise TablectlError("journal.unusable", file=path, reason=error) from error
        self.last_id: int = last[0] if last else 0
        self._last_hash: str = last[1] if last else GENESIS
        self._queue: queue.SimpleQueue[_Record | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    def append(self, id_: int, time_us: int, kind: str, data: dict[str, Any]) -> None:
        """Queue an entry for the writer."""
        wall = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._queue.put((id_, wall, time_us, kind, canonical(data)))

    def close(self) -> None:
        """Write what is queued and end the writer."""
        self._queue.put(None)
        self._thread.join()

    def _write(self) -> None:
        try:
            with closing(_connect(self._path)) as db:
                self._serve(db)
        except sqlite3.Error as error:
            self._on_failed(str(error))

    def _serve(self, db: sqlite3.Connection) -> None:
        """Write what is queued, a transaction for all that waits, until told to end.

        What a full disk has refused is kept, and written with the next entry that finds room.
        """
        ended = False
        waiting: list[_Record] = []
        while not ended:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            ended = None in batch
            waiting += [r for r in batch if r is not None]
            try:
                self._commit(db, waiting)
            except sqlite3.Error as error:
                self._on_failed(str(error))
                continue
            if waiting:
                self._on_written(waiting[-1][0])
            waiting.clear()

    def _commit(self, db: sqlite3.Connection, records: list[_Record]) -> None:
        last = self._last_hash
        with db:
            for record in records:
                entry = chained(last, *record)
                last = entry.hash
                row = (entry.id, entry.wall, entry.time_us, entry.kind, entry.data, entry.hash)
                db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?)", row)
        self._last_hash = last


def read(path: Path, kind: str | None = None) -> Iterator[Entry]:
    """Return the entries of a journal file in order, those of one kind where `kind` is given."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as db:
        rows = db.execute(
            "SELECT id, wall, time_us, kind, data, hash FROM entry WHERE ?1 IS NULL OR kind = ?1 ORDER BY id",
            (kind,),
        )
        for row in rows:
            yield Entry(*row)


def last_with(path: Path, key: str) -> str | None:
    """Return the data of the newest entry whose data have `key`, None where there is none."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as db:
        row = db.execute(
            "SELECT data FROM entry WHERE json_extract(data, '$.' || ?) IS NOT NULL ORDER BY id DESC LIMIT 1",
            (key,),
        ).fetchone()
    return row[0] if row else None


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")  # an entry that lets a motor turn is on the disk before it does
    return db
