"""The journal's writer: SQLite, served by one thread of its own; the event loop never waits for the disk."""

import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tablectl.errors import TablectlError
from tablectl.journal.chain import GENESIS, canonical, chained

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY, wall TEXT NOT NULL, time_us INTEGER NOT NULL,
    kind TEXT NOT NULL, data TEXT NOT NULL, hash TEXT NOT NULL
) STRICT
"""
# A card that tidies itself up is silent for a second or two; whoever holds the file for longer is a fault.
PATIENCE_S = 5.0
CLOSE_S = 10.0  # a disk that never answers must not keep the daemon from ending
# What SQLite reports, as the reason that people are told: `reason.<name>`, and why a journal is not opened.
_REASONS = {
    "SQLITE_FULL": "disk_full",
    "SQLITE_BUSY": "disk_locked",
    "SQLITE_READONLY": "disk_read_only",
    "SQLITE_IOERR": "disk_error",
    "SQLITE_CORRUPT": "disk_damaged",
}
_UNUSABLE = {
    "disk_full": "journal.full",
    "disk_locked": "journal.locked",
    "disk_read_only": "journal.read_only",
    "disk_error": "journal.disk_error",
    "disk_damaged": "journal.damaged",
}
OnWritten = Callable[[int], None]
OnFailed = Callable[[str], None]
_Record = tuple[int, str, int, str, str]


class Store:
    """An append-only journal file. `on_written` and `on_failed` are called from the writer's thread."""

    def __init__(self, path: Path, on_written: OnWritten, on_failed: OnFailed) -> None:
        self._on_written = on_written
        self._on_failed = on_failed
        self._path = path
        self._failed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = _connect(path)
        except (OSError, sqlite3.Error) as error:
            raise _unusable(path, error) from error
        try:
            self._db.execute(_SCHEMA)
            last = self._db.execute("SELECT id, hash FROM entry ORDER BY id DESC LIMIT 1").fetchone()
        except sqlite3.Error as error:
            self._db.close()
            raise _unusable(path, error) from error
        self.last_id: int = last[0] if last else 0
        self._last_hash: str = last[1] if last else GENESIS
        self._queue: queue.SimpleQueue[_Record | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="journal", daemon=True)
        self._thread.start()

    def begin(self, id_: int, time_us: int, kind: str, data: dict[str, Any]) -> None:
        """Write the first entry of a run before anything is queued; TablectlError where the disk refuses it.

        A journal that can be opened can still be one that cannot be written: full, or read-only.
        """
        try:
            self._commit([_record(id_, time_us, kind, data)])
        except sqlite3.Error as error:
            self.close()
            raise _unusable(self._path, error) from error

    def append(self, id_: int, time_us: int, kind: str, data: dict[str, Any]) -> None:
        """Queue an entry for the writer; one that has failed takes no more."""
        if not self._failed:
            self._queue.put(_record(id_, time_us, kind, data))

    def close(self) -> None:
        """Write what is queued and end the writer, as far as the disk answers."""
        self._queue.put(None)
        self._thread.join(CLOSE_S)

    def _write(self) -> None:
        try:
            self._serve()
        except Exception as error:  # whatever ended the writer, nothing is written any more
            self._failed = True
            self._on_failed(_reason(error))
        finally:
            with suppress(sqlite3.Error):
                self._db.close()

    def _serve(self) -> None:
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
                self._commit(waiting)
            except sqlite3.Error as error:
                self._on_failed(_reason(error))
                continue
            if waiting:
                self._on_written(waiting[-1][0])
            waiting.clear()

    def _commit(self, records: list[_Record]) -> None:
        last = self._last_hash
        with self._db:
            for record in records:
                entry = chained(last, *record)
                last = entry.hash
                row = (entry.id, entry.wall, entry.time_us, entry.kind, entry.data, entry.hash)
                self._db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?)", row)
        self._last_hash = last


def _record(id_: int, time_us: int, kind: str, data: dict[str, Any]) -> _Record:
    return id_, datetime.now(UTC).isoformat(timespec="milliseconds"), time_us, kind, canonical(data)


def _reason(error: Exception) -> str:
    """Return the name of a reason that the catalogue knows, else the error's own words."""
    name = getattr(error, "sqlite_errorname", None) or ""
    primary = "_".join(name.split("_")[:2])  # SQLITE_IOERR_WRITE is a SQLITE_IOERR
    return _REASONS.get(primary, str(error))


def _unusable(path: Path, error: Exception) -> TablectlError:
    reason = _reason(error)
    return TablectlError(_UNUSABLE.get(reason, "journal.unusable"), file=path, reason=reason)


def _connect(path: Path) -> sqlite3.Connection:
    # One connection, opened by the daemon's thread and used by the writer's from its first entry on.
    db = sqlite3.connect(path, timeout=PATIENCE_S, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(
            "PRAGMA synchronous = FULL"
        )  # an entry that lets a motor turn is on the disk before it does
    except sqlite3.Error:
        db.close()
        raise
    return db
