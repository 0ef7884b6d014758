"""Fetches the board's description chunk by chunk and keeps it for the next session."""

import zlib

from firmware_protocol.description import Description
from firmware_protocol.errors import DescriptionError
from firmware_protocol.messages import Chunk

PATIENCE_US = 10_000_000  # without a chunk: five tries each way take less, so the board does not answer


class DescriptionFetch:
    """The description that is known, by its hash, and the one that is being fetched."""

    def __init__(self) -> None:
        self.give_up_us: int | None = None
        self._known: tuple[int, Description] | None = None
        self._wanted = 0
        self._data = b""

    def known(self, wanted: int) -> Description | None:
        """Return the description of that hash, where it is known."""
        return self._known[1] if self._known and self._known[0] == wanted else None

    def begin(self, wanted: int, now_us: int) -> int:
        """Start fetching the description of that hash; return the offset to ask for."""
        self._wanted = wanted
        self._data = b""
        self.give_up_us = now_us + PATIENCE_US
        return 0

    def stop(self) -> None:
        """Fetch no more."""
        self.give_up_us = None

    def take(self, chunk: Chunk, now_us: int) -> Description | int | None:
        """Return the next offset to ask for, the description once it is whole, None for a stray chunk."""
        if chunk.offset != len(self._data) or self.give_up_us is None:
            return None
        self._data += chunk.data
        self.give_up_us = now_us + PATIENCE_US
        if chunk.data and len(self._data) < chunk.total:
            return len(self._data)
        self.stop()
        if zlib.crc32(self._data) != self._wanted:
            raise DescriptionError("description.hash")
        description = Description.from_bytes(self._data)
        self._known = (self._wanted, description)
        return description
