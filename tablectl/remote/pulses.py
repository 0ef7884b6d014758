"""LIRC mode2 words, as the kernel's /dev/lirc0 gives them, to pulses and the silences between them."""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tablectl.errors import TablectlError

WORD_BYTES = 4
VALUE_MASK = 0xFFFFFF
_WORDS = struct.Struct("<I").iter_unpack
SPACE, PULSE, FREQUENCY, TIMEOUT, OVERFLOW = range(5)  # the upper byte of a word; the lower three are µs

# The silence that the end of a capture stands for: rc-core's timeout while only "lirc" is enabled.
END_TIMEOUT_US = 125_000


# One mark: where it starts in stream time, the silence before it, and its length, all in µs. One comes for
# every bit, and a plain tuple costs a tenth of anything that has a name to make.
Pulse = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Silence:
    """The line has been quiet this long so far; the next pulse tells the true length."""

    us: int


@dataclass(frozen=True, slots=True)
class Timeout:
    """The kernel gave up waiting for an edge: whatever was on the air has ended."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Words are missing or senseless here; with `lost` nobody knows for how long."""

    lost: bool


Item = Pulse | Silence | Timeout | Broken


class PulseReader:
    """Cut a byte stream into items, however it arrives; holds three bytes at most.

    A silence shorter than `tell_from_us` is told with the pulse that ends it and not by itself.
    """

    def __init__(self, tell_from_us: int = 0) -> None:
        self._tell_from_us = tell_from_us
        self._half = b""
        self._quiet_from_us = 0  # stream time at the end of the last pulse
        self._silence_us = 0
        self._timed_out = False

    def feed(self, data: bytes) -> list[Item]:
        """Return what the whole words of `data` say; half a word waits for its rest."""
        data = self._half + data
        whole = len(data) - len(data) % WORD_BYTES
        self._half = data[whole:]
        items: list[Item] = []
        for (word,) in _WORDS(data[:whole]):
            kind, us = word >> 24, word & VALUE_MASK
            if kind == PULSE and us:
                start_us = self._quiet_from_us + self._silence_us
                items.append((start_us, self._silence_us, us))
                self._quiet_from_us, self._silence_us, self._timed_out = start_us + us, 0, False
            elif kind == SPACE and us:
                # After a TIMEOUT come a space counted from then on and, from edge drivers, one more with the
                # whole gap. Of spaces in a row the last is the true one; one alone lacks the timeout's part.
                self._silence_us = us + (self._silence_us if self._timed_out else 0)
                self._timed_out = False
                if self._silence_us >= self._tell_from_us:
                    items.append(Silence(self._silence_us))
            elif kind == TIMEOUT:
                self._silence_us, self._timed_out = us, True
                items.append(Timeout())
            elif kind != FREQUENCY:
                items.append(Broken(lost=kind == OVERFLOW))
        return items


_SIGNED = re.compile(r"[+-][0-9]{1,9}")
_PLAIN = re.compile(r"[0-9]{1,9}")
_KINDS = {"pulse": PULSE, "space": SPACE, "timeout": TIMEOUT}


def parse_text(text: str, file: str) -> bytes:
    """Return the words of a capture: lines of mode2 ("pulse 9000") or signed µs ("+9000 -4500 …").

    The words end with a TIMEOUT, as a receiver that falls silent ends them. `file` is named in errors.
    """
    words = bytearray()
    for number, line in enumerate(text.splitlines(), 1):
        tokens = line.partition("#")[0].split()
        for kind, us in _line(tokens, file, number, line):
            words += (kind << 24 | min(us, VALUE_MASK)).to_bytes(WORD_BYTES, "little")
    words += (TIMEOUT << 24 | END_TIMEOUT_US).to_bytes(WORD_BYTES, "little")
    return bytes(words)


def _line(tokens: list[str], file: str, number: int, line: str) -> Iterator[tuple[int, int]]:
    match tokens:
        case [("carrier" | "frequency"), _]:
            return
        case [("pulse" | "space" | "timeout") as kind, us] if _PLAIN.fullmatch(us):
            yield _KINDS[kind], int(us)
        case _ if all(_SIGNED.fullmatch(token) for token in tokens):
            for token in tokens:
                yield (PULSE if token[0] == "+" else SPACE), int(token[1:])
        case _:
            raise TablectlError("remote.bad_capture", file=file, line=number, text=line.strip()[:60])
