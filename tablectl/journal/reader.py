"""Reading a journal: while the daemon writes it, after it has gone, and as somebody who may only read.

Entries are read in pages, each a short transaction of its own: a reader that stands still, in a pager or on
^Z, holds nothing that the writer needs.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablectl.errors import TablectlError
from tablectl.journal.chain import Entry

_PAGE = 500
_NOT_MADE = ("SQLITE_CANTOPEN", "SQLITE_READONLY")
_COLUMNS = "id, wall, time_us, kind, data, hash"
_CHOSEN = "(?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR wall >= ?2)"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which entries are wanted: of one kind, not older than a time (ISO 8601, UTC, milliseconds)."""

    kind: str | None = None
    since: str | None = None


class Reader:
    """A journal file, opened for reading only; every TablectlError says what is wrong with the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._frozen: os.stat_result | None = None
        self._db = self._open()

    def close(self) -> None:
        """Let the file go."""
        self._db.close()

    def kinds(self) -> list[str]:
        """Return the kinds of entries in this journal."""
        return [kind for (kind,) in self._all("SELECT DISTINCT kind FROM entry ORDER BY kind")]

    def entries(self, chosen: Chosen = Chosen(), after: int | None = None) -> Iterator[Entry]:
        """Yield the chosen entries in order, those behind the number `after` where it is given."""
        query = (
            f"SELECT {_COLUMNS} FROM entry WHERE {_CHOSEN} AND (?3 IS NULL OR id > ?3) ORDER BY id LIMIT ?4"
        )
        while page := self._all(query, chosen.kind, chosen.since, after, _PAGE):
            yield from (Entry(*row) for row in page)
            after = page[-1][0]
        self._not_overtaken()

    def last(self, count: int, chosen: Chosen = Chosen()) -> list[Entry]:
        """Return the last chosen entries, oldest first."""
        query = f"SELECT {_COLUMNS} FROM entry WHERE {_CHOSEN} ORDER BY id DESC LIMIT ?3"
        return [Entry(*row) for row in reversed(self._all(query, chosen.kind, chosen.since, count))]

    def hashes(self, after: int, limit: int, upto: int | None = None) -> dict[int, str]:
        """Return the hashes of the newest entries behind `after`, by number, oldest first."""
        query = (
            "SELECT id, hash FROM entry WHERE id > ?1 AND (?2 IS NULL OR id <= ?2) ORDER BY id DESC LIMIT ?3"
        )
        return dict(reversed(self._all(query, after, upto, limit)))

    def last_with(self, key: str, before: int | None = None) -> str | None:
        """Return the data of the newest entry, before one where it is given, that have `key`."""
        found = self._all(
            "SELECT data FROM entry WHERE json_valid(data) AND json_extract(data, '$.' || ?1) IS NOT NULL"
            " AND (?2 IS NULL OR id < ?2) ORDER BY id DESC LIMIT 1",
            key,
            before,
        )
        return found[0][0] if found else None

    def _all(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _open(self) -> sqlite3.Connection:
        # Only looked at, never opened by hand: closing a file of SQLite's drops the locks this process holds.
        try:
            self._path.stat()
        except FileNotFoundError as error:
            raise TablectlError("journal.missing", file=self._path) from error
        except PermissionError as error:
            raise TablectlError("journal.forbidden", file=self._path) from error
        except OSError as error:
            raise TablectlError("journal.unreadable", file=self._path, reason=error.strerror) from error
        if not os.access(self._path, os.R_OK):
            raise TablectlError("journal.forbidden", file=self._path)
        try:
            return self._connected("mode=ro")
        except sqlite3.OperationalError as error:
            # The daemon ended in good order and took its side files away, and this reader may not make them:
            # then all there is stands in the one file, and nobody writes it.
            if self._wal().exists() or not error.sqlite_errorname.startswith(_NOT_MADE):
                raise self._error(error) from error
            self._frozen = self._path.stat()
            try:
                return self._connected("immutable=1")
            except sqlite3.Error as second:
                raise self._error(second) from second
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _connected(self, how: str) -> sqlite3.Connection:
        db = sqlite3.connect(f"{self._path.absolute().as_uri()}?{how}", uri=True)
        try:
            db.text_factory = _text
            self._refuse_others(db)
        except BaseException:
            db.close()
            raise
        return db

    def _refuse_others(self, db: sqlite3.Connection) -> None:
        query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'entry'"
        found = db.execute(query).fetchone()
        if not found or "id INTEGER PRIMARY KEY" not in found[0]:
            raise TablectlError("journal.no_journal", file=self._path)
        db.execute(f"SELECT {_COLUMNS} FROM entry LIMIT 0")

    def _wal(self) -> Path:
        return self._path.with_name(self._path.name + "-wal")

    def _not_overtaken(self) -> None:
        """Refuse to vouch for pages that a daemon, started meanwhile, may have changed under this reader."""
        if self._frozen is None:
            return
        now = self._path.stat()
        if self._wal().exists() or (now.st_mtime_ns, now.st_size) != (
            self._frozen.st_mtime_ns,
            self._frozen.st_size,
        ):
            raise TablectlError("journal.overtaken", file=self._path)

    def _error(self, error: sqlite3.Error) -> TablectlError:
        name = getattr(error, "sqlite_errorname", None) or ""
        if name == "SQLITE_NOTADB":
            return TablectlError("journal.not_sqlite", file=self._path)
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_IOERR")):
            return TablectlError("journal.damaged", file=self._path)
        if "no such column" in str(error):
            return TablectlError("journal.no_journal", file=self._path)
        return TablectlError("journal.unreadable", file=self._path, reason=error)


@contextmanager
def reading(path: Path) -> Iterator[Reader]:
    """Open a journal for reading and let it go at the end."""
    with closing(Reader(path)) as reader:
        yield reader


def read(path: Path, kind: str | None = None) -> Iterator[Entry]:
    """Yield the entries of a journal file in order, those of one kind where `kind` is given."""
    with reading(path) as reader:
        yield from reader.entries(Chosen(kind))


def last_with(path: Path, key: str) -> str | None:
    """Return the data of the newest entry that have `key`, None where there is none."""
    with reading(path) as reader:
        return reader.last_with(key)


def _text(raw: bytes) -> str:
    # Bytes that are no UTF-8 were not written by us: they stay told apart, and break the chain.
    return raw.decode("utf-8", "surrogateescape")
