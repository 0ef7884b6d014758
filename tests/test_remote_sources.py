"""The sources over FIFOs, sockets, files and a real lircd: nothing lost, leaked or given up."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from firmware_protocol.core import TICK, Tick
from sim.remote import PERIOD_US, REPEAT_CODE_US, Press, Remote, frame, words
from tablectl.errors import TablectlError
from tablectl.remote.keymap import load
from tablectl.remote.nec import Frame, NecDecoder, Repeat
from tablectl.remote.receiver import LircdBytes, Lost, Receiver, Words
from tablectl.remote.sources import (
    DeviceSource,
    FileSource,
    LiveSource,
    SocketSource,
    Source,
    SourceEvent,
    open_source,
)
from tablectl.table.intents import Intent, Key, Phase

START_WORDS = words(frame(0x00, 0x45))


@pytest.fixture(autouse=True)
def no_descriptor_stays_open() -> Iterator[None]:
    before = set(os.listdir("/proc/self/fd"))
    yield
    assert set(os.listdir("/proc/self/fd")) == before


class Listener:
    """Collects what a source tells and lets a test wait for it."""

    def __init__(self) -> None:
        self.events: list[SourceEvent] = []
        self._news = asyncio.Event()

    def __call__(self, event: SourceEvent) -> None:
        self.events.append(event)
        self._news.set()

    @property
    def data(self) -> bytes:
        return b"".join(event.data for event in self.events if not isinstance(event, Lost))

    @property
    def losses(self) -> list[str]:
        return [event.why for event in self.events if isinstance(event, Lost)]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not condition():
                self._news.clear()
                await self._news.wait()


def listen(source: Source, talk: Callable[[Listener], Awaitable[None]]) -> Listener:
    """Run the source while `talk` goes on, then cancel it."""

    async def both() -> Listener:
        listener = Listener()
        running = asyncio.create_task(source.run(listener))
        try:
            await talk(listener)
        finally:
            running.cancel()
            (ended,) = await asyncio.gather(running, return_exceptions=True)
            assert isinstance(ended, asyncio.CancelledError), ended
        assert not source.connected
        return listener

    return asyncio.run(both())


async def at_once(_: float) -> None:
    await asyncio.sleep(0)


async def fifo_writer(path: Path) -> int:
    """Open the FIFO for writing as soon as the source reads it."""
    while True:
        try:
            return os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # no reader yet
            await asyncio.sleep(0.005)


def unix_server(path: Path) -> socket.socket:
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    server.setblocking(False)
    return server


# --- device, socket, file -----------------------------------------------------------------------------


def test_words_through_a_fifo_arrive_and_a_writer_that_comes_back_is_heard(tmp_path: Path) -> None:
    path = tmp_path / "lirc0"
    os.mkfifo(path)

    async def talk(heard: Listener) -> None:
        for times in (1, 2):
            fd = await fifo_writer(path)
            os.write(fd, START_WORDS[:33])
            await heard.until(lambda: len(heard.data) % len(START_WORDS) == 33)
            os.write(fd, START_WORDS[33:])
            os.close(fd)
            await heard.until(lambda n=times: len(heard.losses) == n)

    heard = listen(DeviceSource(str(path), sleep=at_once), talk)
    assert heard.data == START_WORDS * 2
    assert heard.losses == ["end of file"] * 2
    assert all(isinstance(event, Words | Lost) for event in heard.events)


@pytest.mark.parametrize("wrap", [Words, LircdBytes])
def test_a_server_that_dies_is_found_again(tmp_path: Path, wrap: type[Words] | type[LircdBytes]) -> None:
    path = tmp_path / "socket"

    async def talk(heard: Listener) -> None:
        loop = asyncio.get_running_loop()
        for times in (1, 2):
            with closing(unix_server(path)) as server:
                connection, _ = await loop.sock_accept(server)
                with connection:
                    await loop.sock_sendall(connection, START_WORDS)
                    await heard.until(lambda n=times: len(heard.data) == n * len(START_WORDS))
            path.unlink()

    heard = listen(SocketSource(str(path), wrap, sleep=at_once), talk)
    assert heard.data == START_WORDS * 2
    assert all(isinstance(event, wrap | Lost) for event in heard.events)


def test_a_device_that_is_not_there_is_told_once_and_tried_ever_more_slowly(tmp_path: Path) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0)

    async def talk(heard: Listener) -> None:
        async with asyncio.timeout(20):
            while len(waits) < 8:
                await asyncio.sleep(0)

    for source in (
        DeviceSource(str(tmp_path / "none"), sleep),
        SocketSource(str(tmp_path / "none"), Words, sleep),
    ):
        waits.clear()
        assert listen(source, talk).losses == ["No such file or directory"]
        assert waits[:8] == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0]


def test_a_connection_that_spoke_starts_the_back_off_anew(tmp_path: Path) -> None:
    waits: list[float] = []
    path = tmp_path / "lirc0"

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            os.mkfifo(path)
        await asyncio.sleep(0)

    async def talk(heard: Listener) -> None:
        fd = await fifo_writer(path)
        os.write(fd, START_WORDS)
        os.close(fd)
        await heard.until(lambda: len(heard.losses) == 2)

    assert listen(DeviceSource(str(path), sleep), talk).data == START_WORDS
    assert waits[:4] == [0.1, 0.2, 0.4, 0.1]


def test_what_is_no_receiver_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(START_WORDS)

    async def talk(heard: Listener) -> None:
        await heard.until(lambda: heard.losses != [])

    for path, why in (
        (tmp_path / "file", "No such device"),
        (Path("/dev/zero"), "Inappropriate ioctl for device"),
    ):
        heard = listen(DeviceSource(str(path), at_once), talk)
        assert heard.data == b""
        assert heard.losses == [why]


def test_an_error_of_the_listener_is_not_taken_for_a_lost_device(tmp_path: Path) -> None:
    path = tmp_path / "lirc0"
    os.mkfifo(path)

    def on_event(event: SourceEvent) -> None:
        raise OSError("disk full")

    async def go() -> None:
        running = asyncio.create_task(DeviceSource(str(path)).run(on_event))
        os.close(await fifo_writer_with(path, START_WORDS))
        with pytest.raises(OSError, match="disk full"):
            await running

    asyncio.run(go())


async def fifo_writer_with(path: Path, data: bytes) -> int:
    fd = await fifo_writer(path)
    os.write(fd, data)
    return fd


@pytest.mark.parametrize("url", ["lirc:{}/fifo", "lirc+unix:{}/socket", "lircd:{}/socket", "lirc:{}/none"])
def test_cancelling_while_nothing_comes_closes_everything(tmp_path: Path, url: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with closing(unix_server(tmp_path / "socket")):

        async def talk(heard: Listener) -> None:
            for _ in range(20):
                await asyncio.sleep(0)

        assert listen(open_source(url.format(tmp_path)), talk).data == b""


def test_a_capture_file_is_heard_to_its_last_key(shared_data: Path) -> None:
    heard: list[SourceEvent] = []
    asyncio.run(open_source(f"file:{shared_data}/ir_captures/c01_fan_homezest_power.txt").run(heard.append))
    receiver = Receiver({0x00}, load("default"))
    keys = [key for event in heard for key in receiver.handle(event, 0)]
    assert [key.phase for key in keys if isinstance(key, Key)] == [Phase.DOWN, Phase.HELD]


# --- URLs ---------------------------------------------------------------------------------------------


def test_each_url_opens_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("+9000 -4500 +560")
    kinds: dict[str, type[Source]] = {
        "lirc": DeviceSource,
        "lirc+unix": SocketSource,
        "lircd": SocketSource,
        "file": FileSource,
    }
    for kind, of_type in kinds.items():
        source = open_source(f"{kind}:{tmp_path}/x")
        assert type(source) is of_type
        assert not isinstance(source, LiveSource) or source.path == f"{tmp_path}/x"


@pytest.mark.parametrize(
    "url", ["", "lirc", "lirc:", "/dev/lirc0", "http://x", "LIRC:/dev/lirc0", "lirc:/\0"]
)
def test_a_url_that_names_no_input_is_refused_in_both_languages(url: str) -> None:
    with pytest.raises(TablectlError) as caught:
        open_source(url)
    assert caught.value.key == "remote.bad_url"
    for lang in ("en", "zh"):
        assert repr(url) in caught.value.text(lang)
        assert "lircd:/run/lirc/lircd" in caught.value.text(lang)


@pytest.mark.parametrize(
    ("content", "key"), [(None, "no_capture"), (b"\xff\xfe", "no_capture"), (b"+9000\nx", "bad_capture")]
)
def test_a_bad_capture_file_is_refused_when_it_is_opened(
    tmp_path: Path, content: bytes | None, key: str
) -> None:
    path = tmp_path / "capture.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TablectlError) as caught:
        open_source(f"file:{path}")
    assert caught.value.key == f"remote.{key}"
    assert all(str(path) in caught.value.text(lang) for lang in ("en", "zh"))


# --- a real lircd -------------------------------------------------------------------------------------

CONF = """begin remote
  name TABLE
  bits 32
  flags SPACE_ENC|CONST_LENGTH
  eps 30
  aeps 100
  header 9000 4500
  one 560 1690
  zero 560 560
  ptrail 560
  repeat 9000 2250
  gap 108000
  begin codes
    KEY_START 0x00FFA25D
    KEY_ADD   0x00FF629D
    KEY_OTHER 0x8166817E
  end codes
end remote
"""


class Lircd:
    """A real lircd whose receiver is a unix socket of this test."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("lircd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
        plugins = [*Path("/usr").glob("lib*/lirc/plugins"), *Path("/usr").glob("lib*/*/lirc/plugins")]
        assert program, "install Debian's package lirc"
        assert plugins, "install Debian's package lirc"
        self.socket = folder / "lircd"
        self._device = unix_server(folder / "lirc0")
        (folder / "options").write_text("[lircd]\n")  # else the host's own options are the fallback
        (folder / "conf").write_text(CONF)
        self._process = subprocess.Popen(
            [
                program,
                "--nodaemon",
                "-H",
                "default",
                "-d",
                "lirc0",
                "-o",
                "lircd",
                "-O",
                "options",
                "-P",
                "pid",
                "-L",
                "log",
                "-U",
                plugins[0],
                "conf",
            ],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    async def receiver(self) -> socket.socket:
        """Return lircd's end of the device, which it opens for its first client."""
        async with asyncio.timeout(20):
            connection, _ = await asyncio.get_running_loop().sock_accept(self._device)
        return connection

    def close(self) -> None:
        self._device.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(10)


def presses(*codes: tuple[int, int, int], pause_us: int = 1_000_000) -> bytes:
    """Return the words that the kernel gives for presses (user code, data code, repeats)."""
    remote, data, now_us = Remote(), b"", 0
    for user_code, data_code, repeats in codes:
        event: Press | Tick = Press(user_code, data_code, repeats * PERIOD_US + 1)
        end_us = now_us + repeats * PERIOD_US + pause_us
        while now_us < end_us:
            data += b"".join(read.data for read in remote.handle(event, now_us))
            event, now_us = TICK, min(remote.next_deadline() or end_us, end_us)
    return data


def test_a_real_lircd_hears_the_same_presses_as_the_decoder(tmp_path: Path) -> None:
    data = presses((0, 0x45, 2), (0x6681, 0x81, 0), (0, 0x46, 5), (0, 0x45, 0), (0, 0x45, 1))
    ours = Receiver({0x00, 0x6681}, load("default"))
    theirs = Receiver({0x00, 0x6681}, load("default"))

    with ExitStack() as stack:
        lircd = Lircd(tmp_path)
        stack.callback(lircd.close)

        async def talk(heard: Listener) -> None:
            connection = await lircd.receiver()
            with connection:
                await asyncio.get_running_loop().sock_sendall(connection, data)
                await heard.until(lambda: heard.data.count(b"\n") >= 13)

        heard = listen(SocketSource(str(lircd.socket), LircdBytes, at_once), talk)

    def told(receiver: Receiver, events: list[SourceEvent]) -> list[object]:
        effects = [effect for event in events for effect in receiver.handle(event, 0)]
        return [(e.source, e.intent, e.phase) if isinstance(e, Key) else e for e in effects]

    lines = [event for event in heard.events if isinstance(event, LircdBytes)]
    assert told(theirs, [*lines]) == told(ours, [Words(data)])
    assert (theirs.stats().frames, theirs.stats().repeats) == (5, 8)
    assert (ours.stats().frames, ours.stats().repeats) == (5, 8)


def test_our_decoder_drops_the_phantom_press_that_a_real_lircd_reports(tmp_path: Path) -> None:
    data = presses((0, 0x45, 0)) + words([-2_000_000, *REPEAT_CODE_US, -96_000])
    with ExitStack() as stack:
        lircd = Lircd(tmp_path)
        stack.callback(lircd.close)

        async def talk(heard: Listener) -> None:
            connection = await lircd.receiver()
            with connection:
                await asyncio.get_running_loop().sock_sendall(connection, data)
                await heard.until(lambda: heard.data.count(b"\n") >= 2)

        heard = listen(SocketSource(str(lircd.socket), LircdBytes, at_once), talk)
    assert heard.data.count(b"00ffa25d") == 2
    decoded = NecDecoder().handle(Words(data), 0)
    assert [type(each) for each in decoded if isinstance(each, Frame | Repeat)] == [Frame]


def test_a_key_goes_from_the_air_through_a_real_lircd_to_an_intent(tmp_path: Path) -> None:
    receiver = Receiver({0x00}, load("default"))
    with ExitStack() as stack:
        lircd = Lircd(tmp_path)
        stack.callback(lircd.close)

        async def talk(heard: Listener) -> None:
            connection = await lircd.receiver()
            with connection:
                await asyncio.get_running_loop().sock_sendall(connection, presses((0, 0x46, 0)))
                await heard.until(lambda: b"\n" in heard.data)

        heard = listen(open_source(f"lircd:{lircd.socket}"), talk)
    keys = [effect for event in heard.events for effect in receiver.handle(event, 0)]
    assert keys[:1] == [Key("remote:0x00", Intent.ADD, Phase.DOWN)]
