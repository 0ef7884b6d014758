"""Captures on disk: what a file of recorded pulses holds, event by event."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tablectl.errors import TablectlError
from tablectl.remote.nec import Decoded, EndOfInput, Frame, NecDecoder, Reject, Words
from tablectl.remote.pulses import parse_text


@dataclass(frozen=True, slots=True)
class Heard:
    """One event of a capture as programs read it; codes and bytes are None where there are none."""

    file: str
    t_us: int
    kind: str
    protocol: str | None
    user_code: str | None
    data_code: str | None
    bytes: str | None
    reason: str | None


def decode_file(file: Path) -> Iterator[Heard]:
    """Yield what a capture holds, its end a gap; TablectlError where it cannot be read or is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise TablectlError("remote.no_capture", file=file, reason=reason) from error
    decoder = NecDecoder()
    decoded = decoder.handle(Words(parse_text(text, str(file))), 0)
    for each in (*decoded, *decoder.handle(EndOfInput(), 0)):
        yield _heard(str(file), each)


def _heard(file: str, each: Decoded) -> Heard:
    if isinstance(each, Reject):
        return Heard(file, each.t_us, "reject", None, None, None, None, str(each.reason))
    frame = each if isinstance(each, Frame) else each.frame
    return Heard(
        file,
        each.t_us,
        "frame" if isinstance(each, Frame) else "repeat",
        frame.protocol,
        f"0x{frame.user_code:0{2 if frame.protocol == 'nec' else 4}X}",
        f"0x{frame.data_code:02X}",
        frame.raw.hex().upper(),
        None,
    )
