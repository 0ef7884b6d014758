"""`tablectl remote decode`: one object per event, a line for people, and no file is half believed."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_remote_nec import captures, expected

from tablectl.cli.main import main
from tablectl.remote.nec import Reason
from tablectl.texts import TEXTS

FIELDS = ["file", "t_us", "kind", "protocol", "user_code", "data_code", "bytes", "reason"]


def decode(*arguments: object) -> tuple[int, list[dict[str, object]], str]:
    done = CliRunner().invoke(main, ["remote", "decode", "--json", *map(str, arguments)])
    return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def told(events: list[dict[str, object]]) -> list[str]:
    out = []
    for e in events:
        if e["kind"] == "frame":
            out.append(f"{str(e['protocol']).upper()} {e['bytes']}")
        elif e["kind"] == "repeat":
            out.append("R")
        elif e["reason"] == "orphan-repeat":
            out.append("orphan-repeat")
    return out


def test_no_capture_is_told_otherwise_than_it_expects(shared_data: Path) -> None:
    files = [shared_data / "ir_captures" / f"{name}.txt" for name, _ in captures(shared_data)]
    status, events, said = decode(*files)
    assert (status, said) == (0, "")
    wrong = {}
    for file, (name, text) in zip(files, captures(shared_data), strict=True):
        of_file = [e for e in events if e["file"] == str(file)]
        if told(of_file) not in expected(text):
            wrong[name] = told(of_file)
    assert wrong == {}


def test_no_field_of_an_event_is_other_than_described(tmp_path: Path) -> None:
    leader, zero, one = "+9000 -4500", "+560 -560", "+560 -1690"
    air = "".join(f"{byte:08b}"[::-1] for byte in bytes.fromhex("01FE45BA"))
    bits = " ".join(one if bit == "1" else zero for bit in air)
    extended = " ".join(
        one if bit == "1" else zero
        for bit in "".join(f"{byte:08b}"[::-1] for byte in bytes.fromhex("347810EF"))
    )
    file = tmp_path / "a.txt"
    file.write_text(
        f"+100 -20000 {leader} {bits} +560 -40000 +9000 -2250 +560 -500000 +9000 -2250 +560 -90000\n"
        f"{leader} {extended} +560\n"
    )
    status, events, _ = decode(file)
    assert status == 0
    assert all(list(e) == FIELDS and e["file"] == str(file) for e in events)
    frame, repeat, orphan, necx = events
    assert (frame["t_us"], frame["kind"], frame["protocol"]) == (20_100, "frame", "nec")
    assert (frame["user_code"], frame["data_code"], frame["bytes"]) == ("0x01", "0x45", "01FE45BA")
    assert (repeat["kind"], repeat["bytes"], repeat["reason"]) == ("repeat", "01FE45BA", None)
    assert (orphan["kind"], orphan["protocol"], orphan["user_code"]) == ("reject", None, None)
    assert orphan["reason"] == "orphan-repeat"
    assert (necx["protocol"], necx["user_code"], necx["data_code"]) == ("necx", "0x7834", "0x10")


def test_a_bad_file_is_told_and_does_not_hide_the_others(tmp_path: Path, shared_data: Path) -> None:
    bad, good = tmp_path / "bad.txt", shared_data / "ir_captures" / "c01_fan_homezest_power.txt"
    bad.write_text("pulse 9000\nspace 4500\nhello\n")
    status, events, said = decode(bad, tmp_path / "none.txt", good)
    assert status == 2
    assert told(events) == ["NEC 00FF45BA", "R"]
    assert "line 3" in said
    assert "none.txt" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_reject_goes_without_a_persons_words(lang: str, tmp_path: Path) -> None:
    assert all(TEXTS(f"remote.reason.{reason}", lang) for reason in Reason)
    file = tmp_path / "a.txt"
    file.write_text("+9000 -2250 +560\n")
    done = CliRunner().invoke(main, ["remote", "decode", "--lang", lang, str(file)])
    assert TEXTS("remote.reason.orphan-repeat", lang) in done.stdout
