"""PROTOCOL.md: what the page says is what the code does."""

import re
from pathlib import Path

import pytest

from firmware_protocol import frames, page
from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from firmware_protocol.framing import Deframer, encode
from firmware_protocol.message import REGISTRY

TEXT = page.PAGE.read_text(encoding="utf-8")


def test_no_table_of_the_page_is_older_than_the_code() -> None:
    assert page.render(TEXT) == TEXT, "run: python -m firmware_protocol.page"


def rows(block: str) -> list[list[str]]:
    body = TEXT.split(f"<!-- {block} -->\n")[1].split("<!-- end -->")[0]
    return [[c.strip() for c in line.strip("|").split("|")] for line in body.splitlines()[2:]]


def test_the_message_table_of_the_page_is_that_of_the_code() -> None:
    found = {int(row[0], 16): row for row in rows("messages")}
    assert set(found) == {n for n in REGISTRY if n >= 0x10}
    for number, row in found.items():
        cls = REGISTRY[number]
        assert row[1].replace("_", "") == cls.__name__.upper()
        assert row[2] == cls.SENDER
        sizes = {"u8": 1, "i8": 1, "u16": 2, "u32": 4, "8 bytes": 8, "the rest": 0}
        types = [re.split(r" ", part, maxsplit=1)[1] for part in row[3].split(", ")]
        assert sum(sizes[t] for t in types) == cls.LAYOUT.size
        assert ("the rest" in types) == cls.TAIL


def test_every_frame_kind_stands_in_the_page() -> None:
    assert {(int(row[0]), row[1]) for row in rows("kinds")} == {(int(k), k.name) for k in FrameKind}


def golden() -> list[tuple[str, bytes]]:
    body = TEXT.split("```\n")[1].split("\n```")[0].splitlines()
    return [(body[i + 1].strip(), bytes.fromhex(body[i])) for i in range(0, len(body), 2)]


@pytest.mark.parametrize(("says", "wire"), golden(), ids=lambda v: v if isinstance(v, str) else "")
def test_a_golden_frame_of_the_page_is_read_and_written_again(says: str, wire: bytes) -> None:
    (body,) = Deframer().feed(wire)
    assert encode(body) == wire
    frame = frames.parse(body)
    assert frame is not None
    assert says.startswith(frame.kind.name)
    again = frames.build(frame.kind, frame.payload, frame.session, frame.sequence, frame.acknowledge)
    assert again == wire
    message: m.Message | None
    if frame.kind is FrameKind.DATA:
        message = m.parse_numbered(frame.payload)
        assert message is not None
        assert f"DATA {frame.sequence}: {type(message).__name__.upper()}" in says
    elif frame.kind is FrameKind.EVENT:
        message = m.parse_numbered(frame.payload[2:])
        assert isinstance(message, m.KeyEvent)
    elif frame.kind not in (FrameKind.ACK, FrameKind.NAK):
        message = REGISTRY[frame.kind].parse(frame.payload)
        assert message is not None


def test_the_golden_frames_leave_no_kind_out() -> None:
    kinds = {frames.parse(Deframer().feed(wire)[0]).kind for _, wire in golden()}
    assert kinds == set(FrameKind)


def test_every_file_that_the_page_names_is_there() -> None:
    for name in re.findall(r"`(\w+\.py)`", TEXT):
        assert (Path(page.__file__).parent / name).is_file()
