"""Following a journal: what is written from now on, whichever file stands in its place.

Each look opens the file anew. So a journal that was moved away, restored from a backup or overwritten is seen
as what it is; and between two looks nothing is held, so that a daemon that ends leaves one whole file behind.
"""

from collections.abc import Iterator
from pathlib import Path

from tablectl.errors import TablectlError
from tablectl.journal.chain import Entry
from tablectl.journal.reader import Chosen, Reader, reading

NOTED = 10_000  # entries whose hashes are remembered: by them a backup is told from another journal
PATIENCE = 2  # looks in a row that may fail in silence: a file may be away for one, or half copied


class Follower:
    """Begins behind what `reader` has shown, up to the number `after`."""

    def __init__(self, path: Path, reader: Reader, chosen: Chosen, after: int | None) -> None:
        self._path = path
        self._chosen = chosen
        self._after = after or 0
        self._noted = reader.hashes(0, NOTED)
        self._failed = 0
        self.trouble: TablectlError | None = None  # why nothing has been read for some time
        self.kept: int | None = (
            None  # set where the file is another: the last followed entry that it has, or 0
        )

    def look(self) -> Iterator[tuple[Entry, Reader]]:
        """Yield each new entry, with the reader that it came from."""
        self.kept = None
        try:
            with reading(self._path) as reader:
                self._compare(reader)
                for entry in reader.entries(self._chosen, self._after):
                    self._after = entry.id
                    yield entry, reader
                new = reader.hashes(max(self._noted, default=0), NOTED)
            self._noted = dict([*self._noted.items(), *new.items()][-NOTED:])
            self._failed, self.trouble = 0, None
        except TablectlError as error:
            self._failed += 1
            self.trouble = error if self._failed > PATIENCE else None

    def _compare(self, reader: Reader) -> None:
        """Go back to the last entry that is still what was followed."""
        last = max(self._noted, default=0)
        if last == 0 or reader.hashes(last - 1, 1, upto=last) == {last: self._noted[last]}:
            return
        there = reader.hashes(min(self._noted) - 1, NOTED, upto=last)
        self._noted = {n: hash_ for n, hash_ in there.items() if self._noted.get(n) == hash_}
        self.kept = max(self._noted, default=0)
        self._after = min(self._after, self.kept)
