"""The trace of a daemon's decisions on a disk: a disk that takes no more ends the trace and not the table."""

import sys
from pathlib import Path
from typing import Any

from tablectl.errors import TablectlError
from tablectl.service.origin import Origin
from tablectl.trace import TraceWriter


class TraceFile:
    """A trace that is being written; TablectlError where it cannot be begun."""

    def __init__(self, path: Path, origin: Origin) -> None:
        self._path = path
        self._ended = False
        try:
            self._stream = path.open("w", encoding="utf-8")
            self._writer = TraceWriter(self._stream, {"origin": origin})
        except OSError as error:
            raise TablectlError("trace.unwritable", file=path, reason=error.strerror) from error

    def __call__(self, core: str, now_us: int, event: Any, effects: tuple[Any, ...]) -> None:
        """Write one call, where the trace has not ended."""
        if not self._ended:
            try:
                self._writer(core, now_us, event, effects)
            except OSError as error:
                self._fail(error)

    def close(self) -> None:
        """End the trace; one that has failed lacks its end."""
        try:
            if not self._ended:
                self._writer.end()
            self._stream.close()
        except OSError as error:
            self._fail(error)
        self._ended = True

    def _fail(self, error: OSError) -> None:
        if not self._ended:
            told = TablectlError("trace.ended", file=self._path, reason=error.strerror)
            print(f"<4>tablectl: {told}", file=sys.stderr, flush=True)
        self._ended = True
