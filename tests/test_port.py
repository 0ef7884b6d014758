"""The port for real: ptys that vanish, are busy, forbidden or full of noise; USB through a fake backend."""

import asyncio
import errno
import fcntl
import json
import os
import select
import subprocess
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import serial
import usb.core
from processes import DEADLINE_S
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo
from usb.backend import IBackend
from virtual_port import board_on_a_pty

from firmware_protocol import host_link as hl
from firmware_protocol.core import TICK
from sim.lab.rig import RigOptions, make_host
from tablectl.board import discover, port
from tablectl.board import port_types as pt
from tablectl.board import usb as usb_reset
from tablectl.board.port import Port
from tablectl.board.port_types import FoundPort, Trouble, UsbPlace
from tablectl.board.supervisor import Supervisor
from tablectl.table import events as ev

ROOT = Path(__file__).resolve().parent.parent
PLACES = [UsbPlace(1, (n,), 0x1A86, 0x7523) for n in range(1, 4)]
SPEED = 0.2  # of the supervisor's patience: a second for an answer instead of five


class Line:
    """A host on ports of this computer, driven as the daemon drives it."""

    def __init__(self, wanted: str) -> None:
        self.found: list[FoundPort] = []
        self.told: list[pt.PortTrouble] = []
        self.opened: list[str] = []
        self.host = make_host(RigOptions())
        self.core = self.host.supervisor = Supervisor(wanted, SPEED)
        self.port = Port(self.dispatch, lambda also: tuple(self.found))
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def dispatch(self, event: Any) -> None:
        now = time.monotonic_ns() // 1000
        for effect in self.host.handle(event, now):
            match effect:
                case hl.Transmit(data, urgent):
                    self.port.write(data, urgent)
                case pt.OpenPort(_, path):
                    self.opened.append(path)
                    self.port.do(effect)
                case pt.ListPorts() | pt.ClosePort() | pt.ResetUsb():
                    self.port.do(effect)
                case ev.Journal(id_):
                    self._loop.call_soon(self.dispatch, ev.Journaled(id_))
                case pt.PortTrouble():
                    self.told.append(effect)
        if self._timer:
            self._timer.cancel()
        if (due := self.host.next_deadline()) is not None:
            self._timer = self._loop.call_later(max(0, due - now) / 1e6, self.dispatch, TICK)

    async def until(self, what: Callable[[], Any], why: str) -> None:
        end = time.monotonic() + DEADLINE_S
        while not what():
            assert time.monotonic() < end, f"in vain: {why}; {self.told}"
            await asyncio.sleep(0.01)

    async def end(self) -> None:
        if self._timer:
            self._timer.cancel()
        await self.port.end()


def descriptors() -> set[str]:
    """Return what this process has open of terminals."""
    return {os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if _is_open(n)} & {
        str(path) for path in Path("/dev/pts").iterdir()
    }


def _is_open(number: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{number}")


def play(wanted: str, story: Callable[[Line], Any]) -> None:
    async def run() -> None:
        line = Line(wanted)
        try:
            await story(line)
        finally:
            await line.end()

    asyncio.run(run())


@contextmanager
def noise_on_a_pty() -> Iterator[str]:
    """Something that sends without end, and never what a board would."""
    master, slave = os.openpty()
    tty.setraw(slave)
    over = threading.Event()

    def send() -> None:
        os.set_blocking(master, False)
        while not over.wait(0.01):
            try:
                os.write(master, b"AT\r\n\x00\x03\x11\x00\xff")
            except BlockingIOError:
                termios.tcflush(slave, termios.TCIFLUSH)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield os.ttyname(slave)
    finally:
        over.set()
        thread.join()
        os.close(master)
        os.close(slave)


# --- found, lost, found again -------------------------------------------------------------------------------


def test_a_board_that_comes_back_under_another_name_is_not_lost() -> None:
    async def story(line: Line) -> None:
        with ExitStack() as first, board_on_a_pty(b"SIM00009") as other, ExitStack() as second:
            path = first.enter_context(board_on_a_pty(b"SIM00007"))
            line.found = [FoundPort(other, PLACES[0]), FoundPort(path, PLACES[1])]
            line.dispatch(pt.Begin())
            await line.until(lambda: line.host.controller.connected, "a session")
            assert line.host.controller.board.uid == "SIM00007"
            # The new name is there before the old one has gone: it cannot be the same one.
            renamed = second.enter_context(board_on_a_pty(b"SIM00007"))
            line.found = [FoundPort(other, PLACES[0]), FoundPort(renamed, PLACES[2])]
            first.close()
            await line.until(lambda: not line.host.controller.connected, "the unplugging")
            assert path not in descriptors(), "while it is held, the kernel gives the board another name"
            await line.until(lambda: line.host.controller.connected, "the board again")
            assert line.core.path == renamed != path
            assert line.host.controller.board.uid == "SIM00007"
            assert other in line.opened, "the other board was asked who it is, and left"

    play("uid:SIM00007", story)


def test_noise_does_not_keep_the_board_from_being_found() -> None:
    async def story(line: Line) -> None:
        with noise_on_a_pty() as noise, board_on_a_pty() as board:
            line.found = [FoundPort(noise, PLACES[0]), FoundPort(board, PLACES[1])]
            line.dispatch(pt.Begin())
            await line.until(lambda: line.host.controller.connected, "a session")
            assert line.opened[0] == noise
            assert line.core.path == board
            assert (line.told[0].trouble, line.told[0].path) == (Trouble.NO_BOARD, noise)

    play("auto", story)


def test_a_closed_port_does_not_stay_open() -> None:
    before = descriptors()

    async def story(line: Line) -> None:
        line.dispatch(pt.Begin())
        await line.until(lambda: line.host.controller.connected, "a session")

    with board_on_a_pty() as path:
        play(path, story)
    assert descriptors() == before


def test_a_stop_written_last_is_not_thrown_away_with_the_port(pty_pair: tuple[int, int, str]) -> None:
    master, _, path = pty_pair

    async def run() -> None:
        opened = asyncio.Event()
        shell = Port(lambda event: opened.set() if event == pt.PortOpened(1) else None)
        shell.do(pt.OpenPort(1, path))
        await asyncio.wait_for(opened.wait(), DEADLINE_S)
        shell.write(b"stop", urgent=True)
        await shell.end()

    asyncio.run(run())
    assert os.read(master, 16) == b"stop"


# --- as a user without privileges ---------------------------------------------------------------------------


@contextmanager
def stranger(path: str) -> Iterator[Callable[[], dict[str, str]]]:
    """Run a program without privileges that looks for a board on a port; gives what it says next."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "port_of_a_stranger.py"), path],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    stream = process.stdout
    try:
        yield lambda: json.loads(stream.readline())
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def pty_pair() -> Iterator[tuple[int, int, str]]:
    """Both ends of a pty and the path of its port, which everybody may open."""
    master, slave = os.openpty()
    tty.setraw(slave)
    path = os.ttyname(slave)
    os.chmod(path, 0o666)
    yield master, slave, path
    os.close(master)
    os.close(slave)


def test_a_port_that_another_has_locked_is_not_stolen(pty_pair: tuple[int, int, str]) -> None:
    master, _, path = pty_pair
    owner = os.open(path, os.O_RDWR | os.O_NOCTTY)
    fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with stranger(path) as says:
        assert says()["trouble"] == Trouble.BUSY
        assert not select.select([master], [], [], 0)[0], "it wrote to a port that is not its own"
        os.write(owner, b"mine")
        assert os.read(master, 16) == b"mine"
        os.close(owner)
        assert says() == {"open": path}


def test_a_port_that_another_has_exclusively_is_not_stolen(pty_pair: tuple[int, int, str]) -> None:
    master, slave, path = pty_pair
    fcntl.ioctl(slave, termios.TIOCEXCL)
    with stranger(path) as says:
        assert says()["trouble"] == Trouble.BUSY
        assert not select.select([master], [], [], 0)[0]
        fcntl.ioctl(slave, termios.TIOCNXCL)
        assert says() == {"open": path}


def test_a_port_of_ours_is_not_opened_by_another(
    pty_pair: tuple[int, int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pty_pair[2]
    monkeypatch.setattr(
        port, "_outlives_us", lambda fd: False
    )  # as an adapter, which forgets at the last close
    ours = port.open_port(path)
    fcntl.flock(ours.fileno(), fcntl.LOCK_UN)  # whoever asks for no lock meets TIOCEXCL alone
    with stranger(path) as says:
        assert says() == {"trouble": "busy", "detail": os.strerror(errno.EBUSY)}
        ours.close()


def test_a_pty_does_not_stay_closed_to_all_after_a_killed_owner(pty_pair: tuple[int, int, str]) -> None:
    path = pty_pair[2]
    ours = port.open_port(path)
    os.close(ours.fd)  # as the kernel does for a process that is killed: nothing is undone
    ours.fd = None
    ours.close()  # what is left: pipes of its own
    with stranger(path) as says:
        assert says() == {"open": path}


def test_a_port_without_permission_is_told_and_taken_when_it_is_given(pty_pair: tuple[int, int, str]) -> None:
    path = pty_pair[2]
    os.chmod(path, 0)
    with stranger(path) as says:
        assert says()["trouble"] == Trouble.DENIED
        os.chmod(path, 0o666)
        assert says() == {"open": path}


# --- what an error of the system means ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "trouble"),
    [
        (lambda folder: folder / "none", Trouble.MISSING),
        (lambda folder: folder, Trouble.UNUSABLE),
        (lambda folder: Path("/dev/null"), Trouble.UNUSABLE),
    ],
    ids=["missing", "folder", "no terminal"],
)
def test_what_is_no_port_is_not_called_something_else(
    tmp_path: Path, make: Callable[[Path], Path], trouble: Trouble
) -> None:
    with pytest.raises((OSError, ValueError, termios.error)) as caught:
        port.open_port(str(make(tmp_path)))
    assert port.failure(caught.value)[0] is trouble


def test_the_words_of_an_error_are_the_systems() -> None:
    assert port.failure(serial.SerialException(errno.EACCES, "could not open port x: y")) == (
        Trouble.DENIED,
        os.strerror(errno.EACCES),
    )
    assert port.failure(termios.error(errno.EIO, "x")) == (Trouble.UNUSABLE, os.strerror(errno.EIO))
    assert port.failure(serial.SerialException("no number")) == (Trouble.UNUSABLE, "no number")


# --- USB ----------------------------------------------------------------------------------------------------


class Bus(IBackend):
    """A USB bus as pyusb sees it: devices by place, of which each counts its resets."""

    def __init__(self, *places: UsbPlace, error: int = 0) -> None:
        self.places = places
        self.error = error
        self.opened: list[UsbPlace] = []
        self.reset: list[UsbPlace] = []

    def enumerate_devices(self) -> Iterator[UsbPlace]:
        return iter(self.places)

    def get_device_descriptor(self, dev: UsbPlace) -> Any:
        fields = [
            *("bLength", "bDescriptorType", "bcdUSB", "bDeviceClass", "bDeviceSubClass", "bDeviceProtocol"),
            *("bMaxPacketSize0", "bcdDevice", "iManufacturer", "iProduct", "iSerialNumber"),
            *("bNumConfigurations", "address", "port_number", "speed"),
        ]
        numbers = dict.fromkeys(fields, 1)
        more = {"idVendor": dev.vendor, "idProduct": dev.product, "bus": dev.bus, "port_numbers": dev.ports}
        return type("Descriptor", (), {**numbers, **more})()

    def open_device(self, dev: UsbPlace) -> UsbPlace:
        self.opened.append(dev)
        return dev

    def close_device(self, dev_handle: UsbPlace) -> None:
        self.opened.remove(dev_handle)

    def reset_device(self, dev_handle: UsbPlace) -> None:
        if self.error:
            raise usb.core.USBError(os.strerror(self.error), -1, self.error)
        self.reset.append(dev_handle)


def test_no_other_adapter_is_reset_than_the_one_in_that_socket() -> None:
    behind_a_hub = UsbPlace(1, (2, 2), 0x1A86, 0x7523)
    other_bus = UsbPlace(2, (2,), 0x1A86, 0x7523)
    bus = Bus(PLACES[0], behind_a_hub, other_bus, PLACES[1], PLACES[2])
    assert usb_reset.reset(PLACES[1], bus) == ""
    assert bus.reset == [PLACES[1]]
    assert bus.opened == [], "it is not given back"


def test_another_device_in_the_socket_is_not_reset() -> None:
    bus = Bus(UsbPlace(1, (2,), 0x046D, 0xC31C))
    assert usb_reset.reset(PLACES[1], bus) == os.strerror(errno.ENODEV)
    assert bus.reset == []


def test_a_reset_that_fails_says_why() -> None:
    bus = Bus(PLACES[1], error=errno.EACCES)
    assert usb_reset.reset(PLACES[1], bus) == os.strerror(errno.EACCES)
    assert bus.opened == []


def test_a_device_enumerated_anew_by_its_reset_is_no_failure() -> None:
    assert usb_reset.reset(PLACES[1], Bus(PLACES[1], error=errno.ENOENT)) == ""


@pytest.mark.parametrize("fails", [False, True])
def test_a_reset_ordered_of_the_shell_does_not_go_unreported(fails: bool) -> None:
    bus = Bus(PLACES[0])
    reported: list[Any] = []

    def reset(place: UsbPlace) -> str:
        if fails:
            raise RuntimeError("a library's own")
        return usb_reset.reset(place, bus)

    async def run() -> None:
        shell = Port(reported.append, lambda also: (), reset)
        shell.do(pt.ResetUsb(PLACES[0]))
        await asyncio.wait_for(asyncio.gather(*shell._tasks), DEADLINE_S)
        await shell.end()

    asyncio.run(run())
    assert reported == [pt.UsbDone("a library's own" if fails else "")]
    assert bus.reset == ([] if fails else [PLACES[0]])


# --- the list of ports --------------------------------------------------------------------------------------


def listed(path: str, location: str | None, vid: int | None = 0x1A86) -> ListPortInfo:
    info = ListPortInfo(path)
    info.location, info.vid, info.pid = location, vid, 0x7523
    return info


def test_the_socket_of_an_adapter_is_not_misread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ttyUSB0", "ttyUSB1", "ttyACM0", "ttyS0"):
        (tmp_path / name).touch()
    link = tmp_path / "tablectl-board"
    link.symlink_to(tmp_path / "ttyUSB1")
    here = [
        listed(f"{tmp_path}/ttyUSB0", "1-2"),
        listed(f"{tmp_path}/ttyUSB1", "1-10.4.3"),
        listed(f"{tmp_path}/ttyACM0", "3-1:1.0"),
        listed(f"{tmp_path}/ttyS0", None, None),
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: here)
    found = {p.path.rpartition("/")[2]: p.usb for p in discover.ports(str(link))}
    assert found == {
        "ttyUSB0": UsbPlace(1, (2,), 0x1A86, 0x7523),
        "ttyUSB1": UsbPlace(1, (10, 4, 3), 0x1A86, 0x7523),
        "ttyACM0": UsbPlace(3, (1,), 0x1A86, 0x7523),
        "ttyS0": None,
        "tablectl-board": UsbPlace(1, (10, 4, 3), 0x1A86, 0x7523),
    }
    assert str(tmp_path / "none") not in {p.path for p in discover.ports(str(tmp_path / "none"))}
