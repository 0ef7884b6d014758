"""The kernel's receiver: its open, ioctls, reads and errors, by the real system calls of another process."""

import errno
import fcntl
import json
import os
import queue
import shutil
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from lirc_kernel import DEVICE, MODE2, SCANCODE, Driver
from processes import DEADLINE_S, Table, wait_for

from firmware_protocol.core import TICK
from sim.remote import frame, words
from tablectl.remote.keymap import load
from tablectl.remote.receiver import Receiver, Words
from tablectl.remote.trouble import InputTrouble, Trouble
from tablectl.service.view import input_trouble
from tablectl.table.intents import Intent, Key, Phase
from tablectl.texts import LANGUAGES

PRELOAD = {"LD_PRELOAD": "libumockdev-preload.so.0"}
START = frame(0x00, 0x45)
PRESSED = [Key("remote:0x00", Intent.START, Phase.DOWN)]

HEAR = """
import asyncio, os, sys
from tablectl.remote.sources import open_source
from tablectl.trace import encode, line
if "nobody" in sys.argv[2:] and os.geteuid() == 0:
    os.setgroups([]), os.setresgid(*[65534] * 3), os.setresuid(*[65534] * 3)
def tell(event):
    sys.stdout.write(line(encode(event)))
    sys.stdout.flush()
asyncio.run(open_source(sys.argv[1]).run(tell))
"""


class Lines:
    """What a process says, line by line, as JSON; `seen` keeps it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._queue: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.seen: list[dict[str, Any]] = []
        threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self) -> None:
        assert self._process.stdout
        with self._process.stdout as stream:
            for line in stream:
                self._queue.put(line)
        self._queue.put("")

    def until(self, **wanted: Any) -> dict[str, Any]:
        """Return the next line that has these values."""
        while True:
            line = self._queue.get(timeout=DEADLINE_S)
            assert line, f"the process has ended ({self._process.poll()}); seen: {self.seen}"
            self.seen.append(json.loads(line))
            if wanted.items() <= self.seen[-1].items():
                return self.seen[-1]


@contextmanager
def process(*arguments: str, env: dict[str, str], ends: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Run a program; it is killed when the block is left, unless its input's end `ends` it."""
    started = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    try:
        yield started
    finally:
        assert started.stdin
        started.stdin.close()
        if not ends:
            started.kill()
        started.wait(DEADLINE_S)


class Kernel:
    """The kernel's side of the device; `env` makes a process see it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process, self._said = process, Lines(process)
        self._waited = 0
        self.env = {**PRELOAD, "UMOCKDEV_DIR": self._said.until()["root"]}

    def __call__(self, order: str, **values: Any) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps([order, values]) + "\n")
        self._process.stdin.flush()
        self._said.until(done=order)

    def until_asked(self, name: str, anew: bool = False) -> None:
        """Wait for an ioctl that succeeds, or for one more since the last wait."""
        if anew:
            del self._said.seen[: self._waited]
        wanted = {"ioctl": name, "errno": 0}
        if not any(wanted.items() <= said.items() for said in self._said.seen):
            self._said.until(**wanted)
        self._waited = len(self._said.seen)

    def done(self, beginning: str) -> list[tuple[str, int]]:
        """Return the ioctls so far that did not fail and whose names begin so, with their values."""
        self("hear", durations_us=[])  # what was asked before has been said by then
        asked = [said for said in self._said.seen if said.get("ioctl", "").startswith(beginning)]
        return [(said["ioctl"], said["value"]) for said in asked if not said["errno"]]


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    assert shutil.which("umockdev-run"), "install the package umockdev, as tests/run does"
    with process(str(ROOT / "tests" / "lirc_kernel.py"), env=PRELOAD, ends=True) as started:
        yield Kernel(started)


@contextmanager
def hearing(env: dict[str, str], url: str = f"lirc:{DEVICE}", *options: str) -> Iterator[Lines]:
    with process("-c", HEAR, url, *options, env=env) as started:
        yield Lines(started)


def keys(data: bytes) -> list[Any]:
    """Return the keys that go down by these words and the quiet after them."""
    receiver = Receiver({0x00}, load("default"))
    effects = [*receiver.handle(Words(data), 0), *receiver.handle(TICK, 100_000)]
    return [effect for effect in effects if isinstance(effect, Key) and effect.phase is Phase.DOWN]


def heard(lines: Lines) -> bytes:
    return b"".join(bytes.fromhex(each["data"]["hex"]) for each in lines.seen if each["$"] == "Words")


def until_heard(lines: Lines, count: int) -> bytes:
    while len(heard(lines)) < count:
        lines.until(**{"$": "Words"})
    return heard(lines)


def lost(lines: Lines) -> tuple[str, str, str]:
    told = lines.until(**{"$": "Lost"})
    return told["trouble"], told["path"], told["why"]


# --- receivers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read_words", [512, 1, 5])
def test_no_word_of_a_receiver_is_lost_however_few_a_read_gives(kernel: Kernel, read_words: int) -> None:
    kernel("plug", read_words=read_words)
    with hearing(kernel.env) as lines:
        kernel.until_asked("SET_REC_MODE")
        kernel("hear", durations_us=START)
        assert until_heard(lines, 4 * len(START)) == words(START)


def test_a_receiver_that_gives_scancodes_unless_it_is_told_does_not_go_on_so(kernel: Kernel) -> None:
    kernel("plug", mode=SCANCODE)
    with hearing(kernel.env) as lines:
        kernel.until_asked("SET_REC_MODE")
        kernel("hear", durations_us=START)
        assert keys(until_heard(lines, 4 * len(START))) == PRESSED
    assert kernel.done("SET_REC_MODE") == [("SET_REC_MODE", MODE2)]


@pytest.mark.parametrize("unknown", [["GET_FEATURES"], ["SET_REC_MODE"]])
def test_a_driver_without_an_ioctl_is_not_refused(kernel: Kernel, unknown: list[str]) -> None:
    kernel("plug", unknown=unknown)
    with hearing(kernel.env) as lines:
        kernel.until_asked("GET_REC_TIMEOUT" if unknown == ["SET_REC_MODE"] else "SET_REC_MODE")
        kernel("hear", durations_us=START)
        assert keys(until_heard(lines, 4 * len(START))) == PRESSED


@pytest.mark.parametrize("timeout_us", [8_000, 12_700, 15_600, 125_000, 1_250_000])
def test_a_time_out_that_does_no_harm_is_not_taken_from_other_programs(
    kernel: Kernel, timeout_us: int
) -> None:
    kernel("plug", timeout_us=timeout_us)
    with hearing(kernel.env) as lines:
        kernel.until_asked("GET_REC_TIMEOUT")
        kernel("hear", durations_us=[*START, -2_000_000])
        assert keys(until_heard(lines, 4 * len(START) + 4)) == PRESSED
    assert kernel.done("SET_REC_TIMEOUT") == []


@pytest.mark.parametrize(
    ("driver", "set_us"),
    [
        ({"timeout_us": 4_000}, 125_000),
        ({"timeout_us": 4_000, "most_us": 100_000}, 100_000),
        ({"timeout_us": 4_000, "least_us": 150_000}, 150_000),
        ({"timeout_us": 4_000, "unknown": ["GET_MIN_TIMEOUT", "GET_MAX_TIMEOUT"]}, 125_000),
        ({"timeout_us": 4_000, "unknown": ["GET_REC_TIMEOUT"]}, 125_000),
    ],
)
def test_a_time_out_that_cuts_frames_does_not_stay(
    kernel: Kernel, driver: dict[str, Any], set_us: int
) -> None:
    kernel("plug", **driver)
    with hearing(kernel.env) as lines:
        kernel.until_asked("SET_REC_TIMEOUT")
        kernel("hear", durations_us=START)
        assert keys(until_heard(lines, 4 * len(START))) == PRESSED
    assert kernel.done("SET_REC_TIMEOUT") == [("SET_REC_TIMEOUT", set_us)]
    # The check can fail: cut so short, this very frame is no press.
    cut = Driver(timeout_us=4_000)
    cut.hear(START)
    assert keys(b"".join(cut.fifo)) == []


@pytest.mark.parametrize(
    "driver",
    [
        {"timeout_us": 4_000, "most_us": 0},
        {"timeout_us": 4_000, "unknown": ["SET_REC_TIMEOUT"]},
        {"timeout_us": 4_000, "unknown": ["GET_MAX_TIMEOUT"], "most_us": 90_000},
    ],
)
def test_a_receiver_whose_time_out_cannot_be_set_is_not_given_up(
    kernel: Kernel, driver: dict[str, Any]
) -> None:
    kernel("plug", **driver)
    with hearing(kernel.env) as lines:
        kernel.until_asked("SET_REC_MODE")
        kernel("hear", durations_us=[560, -560, 560])
        assert until_heard(lines, 12) == words([560, -560, 560])
    assert kernel.done("SET_REC_TIMEOUT") == []


# --- what is none -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("driver", "trouble", "why"),
    [
        ({"kind": "transmitter"}, "transmitter", "LIRC_GET_FEATURES 0x10000002"),
        ({"kind": "transmitter", "most_us": 0}, "transmitter", "LIRC_GET_FEATURES 0x00000002"),
        ({"kind": "scancode", "most_us": 0}, "scancodes", "LIRC_GET_FEATURES 0x00080000"),
        ({"kind": "scancode", "unknown": ["GET_FEATURES"]}, "no_receiver", os.strerror(errno.EINVAL)),
        ({"kind": "transmitter", "unknown": ["GET_FEATURES"]}, "no_receiver", os.strerror(errno.ENOTTY)),
    ],
)
def test_a_device_that_gives_no_pulses_is_not_listened_to(
    kernel: Kernel, driver: dict[str, Any], trouble: str, why: str
) -> None:
    kernel("plug", **driver)
    with hearing(kernel.env) as lines:
        assert lost(lines) == (trouble, DEVICE, why)
    assert kernel.done("SET") == []


def test_a_receiver_that_was_unplugged_is_not_lost_for_good(kernel: Kernel) -> None:
    kernel("plug")
    with hearing(kernel.env) as lines:
        for _ in range(2):
            kernel.until_asked("SET_REC_MODE", anew=True)
            kernel("hear", durations_us=START)
            until_heard(lines, 4 * len(START))
            lines.seen.clear()
            kernel("unplug")
            assert lost(lines) == ("lost", DEVICE, os.strerror(errno.ENODEV))
            assert lost(lines) == ("missing", DEVICE, os.strerror(errno.ENOENT))
            kernel("plug")


@pytest.fixture
def terminal() -> Iterator[tuple[int, str]]:
    """A character device of the real kernel that others may open, and a descriptor of it."""
    master, slave = os.openpty()
    os.fchmod(slave, 0o666)
    yield slave, os.ttyname(slave)
    os.close(master)
    os.close(slave)


def test_a_busy_or_forbidden_device_is_not_told_as_another_trouble(terminal: tuple[int, str]) -> None:
    slave, path = terminal
    with hearing({}, f"lirc:{path}", "nobody") as lines:
        assert lost(lines) == ("no_receiver", path, os.strerror(errno.ENOTTY))
        fcntl.ioctl(slave, termios.TIOCEXCL)
        assert lost(lines) == ("busy", path, os.strerror(errno.EBUSY))
        fcntl.ioctl(slave, termios.TIOCNXCL)
        assert lost(lines) == ("no_receiver", path, os.strerror(errno.ENOTTY))
        os.fchmod(slave, 0)
        assert lost(lines) == ("denied", path, os.strerror(errno.EACCES))


def test_no_trouble_of_an_input_goes_without_words_on_what_to_do() -> None:
    texts = set()
    for trouble in Trouble:
        told = input_trouble(InputTrouble(trouble, "/dev/lirc9", "some detail"))
        assert (told["reason"], told["path"], told["detail"]) == (trouble, "/dev/lirc9", "some detail")
        for lang, keys_work in zip(LANGUAGES, ("The panel keys work.", "面板按键照常可用"), strict=True):
            text = told["text"][lang]
            assert all(part in text for part in ("/dev/lirc9", "some detail", keys_work))
            texts.add(text)
    assert len(texts) == len(Trouble) * len(LANGUAGES)


# --- the daemon ---------------------------------------------------------------------------------------------


def test_the_daemon_does_not_keep_to_itself_why_the_remote_is_not_heard(
    kernel: Kernel, tmp_path: Path
) -> None:
    table = Table(tmp_path)
    table.env = kernel.env
    with table.sim() as control, table.daemon(f"lirc:{DEVICE}"):
        remote = wait_for(lambda: closed(table), "the missing receiver")
        assert (remote["reason"], remote["path"]) == ("missing", DEVICE)
        told = subprocess.run(
            [sys.executable, "-m", "tablectl", "status", f"--socket={table.api.path}", "--lang=zh"],
            capture_output=True,
            text=True,
        )
        assert remote["text"]["zh"] in told.stdout.splitlines()

        kernel("plug")
        wait_for(lambda: table.api.status()["remote"]["is_open"], "the receiver")
        assert closed(table) is None
        for down in (True, False):
            control("panel_key", key="lift.1", down=down)
        wait_for(lambda: table.api.state() == "rest", "homing")
        kernel("hear", durations_us=START)
        wait_for(lambda: table.api.state() == "open", "the console")

        kernel("unplug")
        wait_for(lambda: closed(table), "the loss")
        assert table.api.status()["remote"]["input"] == f"lirc:{DEVICE}"


def closed(table: Table) -> Any:
    return table.api.status()["remote"]["why_closed"]
