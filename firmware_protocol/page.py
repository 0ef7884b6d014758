"""Writes the tables of PROTOCOL.md from the code: `python -m firmware_protocol.page`; a test compares."""

import re
from collections.abc import Callable
from dataclasses import fields
from enum import IntEnum
from pathlib import Path

from firmware_protocol import board_link, fetch, frames, host_link, operations, ring, timing, window
from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from firmware_protocol.message import REGISTRY, Message

PAGE = Path(__file__).parent / "PROTOCOL.md"

_TYPES = {"B": "u8", "b": "i8", "H": "u16", "I": "u32"}
_BARE = {
    FrameKind.DATA: ("both", "number u8, message", "A command or a reply, in sequence."),
    FrameKind.EVENT: (
        "board",
        "number u8, oldest u8, message number u8, message",
        "An event, repeated until acknowledged; `oldest` is the oldest one that the board still keeps.",
    ),
    FrameKind.ACK: ("both", "–", "Nothing but the acknowledgement in the header."),
    FrameKind.NAK: ("both", "–", "A frame is missing; the acknowledgement in the header says which."),
}
_ENUMS: tuple[type[IntEnum], ...] = (m.ResetCause, m.StopReason, m.FailReason, m.End, m.Phase)

_SESSION = frames.session_of(0x11223344, 0xCAFE0001)
# What each frame is, its wire bytes.
GOLDEN: tuple[tuple[str, bytes], ...] = (
    ("HELLO nonce 0xCAFE0001 minor 0", frames.build_plain(m.Hello(0xCAFE0001, 0))),
    (
        "HELLO_ACK to it, boot id 0x11223344, power-on, uid BOARD001, at rest",
        frames.build_plain(
            m.HelloAck(
                0xCAFE0001,
                0x11223344,
                1,
                b"BOARD001",
                0,
                1,
                0x89ABCDEF,
                256,
                0,
                0,
                255,
                0,
                0,
                1000,
                5,
                bytes(8),
            )
        ),
    ),
    ("STOP_ALL by the host, number 1", frames.build_plain(m.StopAll(1, 1))),
    (
        "STOPPED, latch 1, answer to 1; of that session 3 frames had arrived",
        frames.build_plain(m.Stopped(1, 1, 1, 2000, 5, bytes(8)), _SESSION, 3),
    ),
    ("CLEAR of that stop", frames.build_plain(m.Clear(1, 1))),
    ("PING 1", frames.build_plain(m.Ping(1), _SESSION)),
    ("PONG 1 at 1234 ms, 3 frames have arrived", frames.build_plain(m.Pong(1, 1234), _SESSION, 3)),
    (
        "DATA 0: RUN op 1 part 0 forward, lease 2000 ms",
        frames.build(FrameKind.DATA, m.Run(1, 0, 1, 2000).numbered(), _SESSION, 0, 0),
    ),
    (
        "DATA 0: ACCEPTED op 1; acknowledges DATA 0",
        frames.build(FrameKind.DATA, m.Accepted(1).numbered(), _SESSION, 0, 1),
    ),
    (
        "DATA 255: FILL op 77 mouth 2 to 34 tiles, lease 2000 ms",
        frames.build(FrameKind.DATA, m.Fill(77, 2, 34, 2000).numbered(), _SESSION, 255, 128),
    ),
    (
        "DATA 9: FAILED op 77, interlock",
        frames.build(
            FrameKind.DATA, m.Failed(77, 2, 3000, 5, bytes((34, 30) * 4)).numbered(), _SESSION, 9, 0
        ),
    ),
    (
        "STATUS of eight mouths and 52 sensors, each mouth 13 taken and 12 stored, sensors 0 and 50 on",
        frames.build_plain(
            m.Status(3500, 1, bytes((13, 12) * 8) + (1 << 18).to_bytes(3, "little")), _SESSION
        ),
    ),
    (
        "EVENT 2, oldest 1: key 0 down",
        frames.build(FrameKind.EVENT, bytes((2, 1)) + m.KeyEvent(0, 0, 4000).numbered(), _SESSION, 0, 4),
    ),
    ("EVENT_ACK 2", frames.build_plain(m.EventAck(2), _SESSION, 10)),
    ("ACK: 4 frames have arrived", frames.build(FrameKind.ACK, b"", _SESSION, 0, 4)),
    ("NAK: DATA 4 is missing", frames.build(FrameKind.NAK, b"", _SESSION, 0, 4)),
)


def layout(cls: type[Message]) -> str:
    """Return a message's fields with their types, in order."""
    codes = re.findall(r"\d+s|[BbHI]", cls.LAYOUT.format)
    types = [f"{code[:-1]} bytes" if code.endswith("s") else _TYPES[code] for code in codes]
    types += ["the rest"] * cls.TAIL
    return ", ".join(f"{f.name} {t}" for f, t in zip(fields(cls), types, strict=True)) or "–"


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(c) for c in cells) + " |"


def _name(cls: type[Message]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).upper()


def _meaning(cls: type[Message]) -> str:
    return " ".join((cls.__doc__ or "").split())


def kinds_table() -> str:
    """Return the table of frame kinds."""
    lines = [_row("kind", "name", "from", "payload", "meaning"), _row(*["---"] * 5)]
    for kind in FrameKind:
        if kind in _BARE:
            lines.append(_row(int(kind), kind.name, *_BARE[kind]))
        else:
            cls = REGISTRY[kind]
            lines.append(_row(int(kind), kind.name, cls.SENDER, layout(cls), _meaning(cls)))
    return "\n".join(lines)


def messages_table() -> str:
    """Return the table of messages that travel in DATA and EVENT frames."""
    lines = [_row("number", "name", "from", "layout", "meaning"), _row(*["---"] * 5)]
    for number, cls in sorted(REGISTRY.items()):
        if number >= 0x10:
            lines.append(_row(f"0x{number:02X}", _name(cls), cls.SENDER, layout(cls), _meaning(cls)))
    return "\n".join(lines)


def numbers_table() -> str:
    """Return the table of the numbers that fields carry."""
    lines = [_row("field", "numbers"), _row("---", "---")]
    lines += [_row(e.__name__, ", ".join(f"{int(x)} {x.name}" for x in e)) for e in _ENUMS]
    return "\n".join(lines)


def timing_table() -> str:
    """Return the table of times and bounds."""
    ms = 1000
    rows: tuple[tuple[str, str, str], ...] = (
        (
            "ping",
            f"{timing.PING_US // ms} ms",
            "after the last frame sent, or the last one heard or pinged for",
        ),
        (
            "link lost",
            f"{timing.MISSED_PINGS} missed pings",
            "or five tries of one frame, whichever is first",
        ),
        ("tries of one frame", f"{window.TRIES}", "the first and four repeats"),
        (
            "window",
            f"{window.WINDOW} frames",
            "and no more bytes than the board's rx_window, if more than one",
        ),
        ("pure ACK", f"{window.ACK_US // ms} ms", "if nothing else is sent in that time"),
        ("RTO at first", f"{timing.INITIAL_RTO_US // ms} ms", "then RFC 6298; doubled at each time-out"),
        ("RTO at least", f"{timing.MIN_RTO_US // ms} ms", "from the end of the frame on the wire"),
        ("RTO at most", f"{timing.MAX_RTO_US // ms} ms", ""),
        ("HELLO repeated", f"{host_link.HELLO_US // ms} ms", f"{host_link.HELLO_TRIES} with one nonce"),
        ("STOP_ALL repeated", f"{host_link.STOP_REPEAT_US // ms} ms", "until STOPPED with its number"),
        (
            "STOP_ALL given up",
            f"{host_link.STOP_GIVE_UP_US // ms} ms",
            "link lost; drop the enable line, if any",
        ),
        ("event repeated", f"{ring.REPEAT_US // ms} ms", f"{ring.KEPT} are kept"),
        ("a stranger answered", f"{board_link.NO_SESSION_US // ms} ms", "not more often than this"),
        ("description given up", f"{fetch.PATIENCE_US // ms} ms", "without a chunk, while the link is alive"),
        ("silence stop", "700 ms", "`silence_ms` of the description; counts while something moves"),
        ("results kept", f"{operations.RESULTS}", "operations, by id"),
        ("reply queue", f"{board_link.QUEUE} frames", f"DATA is taken while {board_link.ROOM} are free"),
    )
    return "\n".join([_row("what", "value", "remark"), _row("---", "---", "---"), *(_row(*r) for r in rows)])


def golden_table() -> str:
    """Return the golden frames: hex bytes on the wire and what they say."""
    lines = [f"{wire.hex(' ')}\n    {text}" for text, wire in GOLDEN]
    return f"Session {_SESSION:#06x} = session(boot id 0x11223344, nonce 0xCAFE0001).\n\n```\n" + (
        "\n".join(lines) + "\n```"
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "kinds": kinds_table,
    "messages": messages_table,
    "numbers": numbers_table,
    "timing": timing_table,
    "golden": golden_table,
}


def render(text: str) -> str:
    """Return the page with every generated block made anew."""
    for name, make in BLOCKS.items():
        head, tail = f"<!-- {name} -->\n", "<!-- end -->"
        before, found, rest = text.partition(head)
        _, ended, after = rest.partition(tail)
        if not found or not ended:
            raise ValueError(f"PROTOCOL.md has no block named {name}")
        text = f"{before}{head}{make()}\n{tail}{after}"
    return text


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
