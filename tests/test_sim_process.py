"""The simulated table as a program: its port, its control socket, its options."""

import os
import select
import subprocess
import sys
import tty
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from processes import DEADLINE_S, Control, listens, program, wait_for

from firmware_protocol import frames
from firmware_protocol import messages as m
from firmware_protocol.codes import FrameKind
from firmware_protocol.framing import Deframer
from firmware_protocol.pace import LEAD_US, PacedClock
from sim.model import FOLDER
from sim.process import Process, ProcessOptions
from sim.table import TableOptions


@contextmanager
def sim(folder: Path, *options: str) -> Iterator[Control]:
    arguments = (sys.executable, "-m", "sim", "--pty", str(folder / "tty"), "--control", str(folder / "ctl"))
    with program(*arguments, *options):
        wait_for(lambda: listens(folder / "ctl"), "the control socket")
        control = Control(folder / "ctl")
        try:
            yield control
        finally:
            control.close()


class Port:
    """The host's end of the wire, by hand."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        tty.setraw(self.fd)
        self._deframer = Deframer()

    def read(self, seconds: float) -> bytes | None:
        """Return what comes, None where nothing does."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        return os.read(self.fd, 4096) if ready else None

    def hello(self, nonce: int, seconds: float = DEADLINE_S) -> m.HelloAck | None:
        os.write(self.fd, frames.build_plain(m.Hello(nonce, 0)))
        while (data := self.read(seconds)) is not None:
            for body in self._deframer.feed(data):
                frame = frames.parse(body)
                if frame and frame.kind is FrameKind.HELLO_ACK and (ack := m.HelloAck.parse(frame.payload)):
                    return ack
        return None

    def kinds(self) -> set[FrameKind]:
        """Return the kinds of the frames that come now."""
        found = [frames.parse(body) for body in self._deframer.feed(self.read(0.05) or b"")]
        return {frame.kind for frame in found if frame}

    def hung_up(self) -> bool:
        """Tell whether the other end has gone: end of file or EIO."""
        try:
            return self.read(0.05) == b""
        except OSError:
            return True

    def close(self) -> None:
        with suppress(OSError):
            os.close(self.fd)


def test_a_pulled_cable_hangs_the_port_up_and_a_plugged_one_makes_it_again(tmp_path: Path) -> None:
    with sim(tmp_path) as control:
        port = Port(tmp_path / "tty")
        first = port.hello(1)
        assert first is not None
        for _ in range(2):  # pulling twice is pulling once
            assert control("fault", spec="unplug:wire") == {}
        wait_for(port.hung_up, "the port hangs up")
        with pytest.raises(OSError, match="Input/output error"):
            os.write(port.fd, b"x")
        port.close()
        assert not (tmp_path / "tty").is_symlink()
        control("press", key="START")  # it lives on
        for _ in range(2):
            assert control("mend", spec="unplug:wire") == {}
        again = Port(tmp_path / "tty")
        second = again.hello(2)
        assert second is not None
        assert second.boot_id == first.boot_id  # the board knows nothing of it
        again.close()
    assert not (tmp_path / "tty").is_symlink()


def test_a_table_without_mains_is_silent_and_lives_on(tmp_path: Path) -> None:
    with sim(tmp_path, "--speed", "10") as control:
        port = Port(tmp_path / "tty")
        first = port.hello(1)
        assert first is not None
        assert control("fault", spec="power-cut:mains") == {}
        while port.read(0.2) is not None:
            pass
        assert port.hello(2, seconds=0.5) is None
        assert not port.hung_up()
        assert "places" in control("truth")
        assert control("mend", spec="power-cut:mains") == {}
        second = port.hello(3)
        assert second is not None
        assert second.boot_id != first.boot_id
        port.close()


def test_the_wired_stop_is_opened_and_closed_from_outside(tmp_path: Path) -> None:
    with sim(tmp_path) as control:
        port = Port(tmp_path / "tty")
        for nonce, is_open in ((1, True), (2, False)):
            assert control("stop_line", open=is_open) == {}
            ack = port.hello(nonce)
            assert ack is not None
            assert ack.stop == m.StopReason.WIRED
            assert bool(ack.sensors >> 31) is False
        port.close()


def test_no_panel_key_is_pressed_too_shortly_to_be_believed(tmp_path: Path) -> None:
    with sim(tmp_path) as control:
        port = Port(tmp_path / "tty")
        assert port.hello(1) is not None
        for down in (True, False):
            control("panel_key", key="lift.1", down=down)
        wait_for(lambda: FrameKind.EVENT in port.kinds(), "the board tells of the key")
        port.close()


def test_the_control_socket_names_faults_and_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with sim(tmp_path) as control:
        told: dict[str, Any] = control("faults")
        assert told["jam"] == {"says": "a tile stands half in the slot", "parts": ["S1", "S2", "S3", "S4"]}
        assert "power-cut" in told
        for command, why in (
            ({"do": "fault", "spec": "magic:S1"}, "no kind of fault"),
            ({"do": "mend", "spec": "jam:drum"}, "S1, S2, S3, S4"),
            ({"do": "mend"}, "spec"),
            ({"do": "stop_line"}, "open"),
            ({"do": "panel_key", "key": "lift.9", "down": True}, "lift.1, lift.2"),
            ({"do": "press", "key": "MAGIC"}, "MAGIC"),
            ({"do": "dance"}, "truth, panel"),
        ):
            answer = control(**command)
            assert why in answer["error"], command
        assert control("panel") is not None


@pytest.mark.parametrize(("lang", "word"), [("en", "Nothing was started"), ("zh", "没有启动")])
@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("mix_bias = 0.2", "mix_bias = 1.5", "drum.mix_bias"),
        ("belt_ms = 700", "belt_ms = 'soon'", "mouth.belt_ms"),
        ("[store]", "[stores]", "stores"),
        ("mouths = 4", "mouths =", "line"),
    ],
)
def test_a_bad_model_is_refused_before_anything_is_made(
    old: str, new: str, why: str, lang: str, word: str, tmp_path: Path
) -> None:
    text = (FOLDER / "four-mouth.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "bad.toml").write_text(text.replace(old, new), encoding="utf-8")
    options = ("--pty", str(tmp_path / "tty"), "--model", str(tmp_path / "bad.toml"), "--lang", lang)
    done = subprocess.run(
        [sys.executable, "-m", "sim", *options], capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "bad.toml" in done.stderr
    assert why in done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "tty").is_symlink()


def test_a_model_of_ones_own_is_used(tmp_path: Path) -> None:
    text = (FOLDER / "four-mouth.toml").read_text(encoding="utf-8")
    (tmp_path / "own.toml").write_text(text.replace('"four-mouth"', '"own-mouth"'), encoding="utf-8")
    with sim(tmp_path, "--model", str(tmp_path / "own.toml")) as control:
        assert "places" in control("truth")


def test_a_table_that_serves_hands_is_not_another_program(tmp_path: Path) -> None:
    with sim(tmp_path, "--table", "eight-mouth", "--repair", "20,20,22,22,13,13,13,13") as control:
        assert {f"store.{kind}{n}" for kind in "SH" for n in (1, 2, 3, 4)} <= set(control("truth")["places"])
        assert "H3" in control("faults")["jam"]["parts"]


@pytest.mark.parametrize(
    ("walls", "table"),
    [
        *((walls, "four-mouth") for walls in ("34", "34,34,34", "34,34,34,many", "34,34,34,-1", "")),
        ("34,34,34,34", "eight-mouth"),
    ],
)
def test_walls_that_no_table_has_are_not_given_to_the_players(walls: str, table: str, tmp_path: Path) -> None:
    pty = str(tmp_path / "tty")
    done = subprocess.run(
        [sys.executable, "-m", "sim", "--pty", pty, "--table", table, f"--repair={walls}"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert done.returncode == 2
    assert "34,34,34,34" in done.stderr
    assert not (tmp_path / "tty").is_symlink()


def test_bytes_that_were_read_late_lend_the_clock_no_time_beyond_their_own(tmp_path: Path) -> None:
    """A late loop at twenty times real time must not bring the board's silence nearer."""
    real_s = 100.0
    options = ProcessOptions(tmp_path / "tty", None, None, 20.0)
    process = Process(options, TableOptions(hands=0, faults=("jam:S2@0.1s",)), boot_id=1)
    clock = process._clock = PacedClock(20.0, lambda: real_s)
    port = Port(tmp_path / "tty")
    os.write(port.fd, frames.build_plain(m.Hello(1, 0)))
    real_s += 0.01  # 200 ms, and what was due at 100 ms has not been done yet
    process._now_us = clock.now_us()
    process._read_wire()
    real_s += 0.9
    assert clock.now_us() < 100_000 + LEAD_US
    port.close()
    process._close()
