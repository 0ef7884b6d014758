"""What systemd is told: not ready too early, no ping from a dead loop, no waiting for a manager."""

import asyncio
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from processes import LateError, Table, wait_for

from tablectl.service.notify import Notifier, summary
from tablectl.table import events as ev
from tablectl.table.cycle import State
from tablectl.texts import LANGUAGES


class Manager:
    """The service manager's socket."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._sock.bind("\0" + address[1:] if address.startswith("@") else address)
        self._sock.setblocking(False)
        self.heard: list[str] = []

    def hear(self) -> list[str]:
        """Return every line that was told until now."""
        while True:
            try:
                self.heard += self._sock.recv(65536).decode().splitlines()
            except BlockingIOError:
                return self.heard

    def close(self) -> None:
        self._sock.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    address = str(tmp_path / "notify") if request.param == "path" else f"@tablectl-test-{os.getpid()}"
    with closing(Manager(address)) as each:
        yield each


def test_no_field_is_told_wrongly_or_twice(manager: Manager) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": manager.address})
    notifier.status("too early")
    notifier.ready("at rest")
    notifier.status("at rest")
    notifier.status("washing")
    notifier.stopping()
    notifier.status("too late")
    assert manager.hear() == ["READY=1", "STATUS=at rest", "STATUS=washing", "STOPPING=1"]


@pytest.mark.parametrize(
    "address", [None, "", "relative", "/nonexistent/notify", "@nobody-listens", "vsock:2:1"]
)
def test_a_missing_manager_stops_nothing(address: str | None) -> None:
    notifier = Notifier({} if address is None else {"NOTIFY_SOCKET": address})
    notifier.ready("at rest")
    notifier.stopping()


def test_a_manager_that_does_not_read_keeps_nobody_waiting(manager: Manager) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": manager.address})
    notifier.ready("")
    for n in range(5000):  # far more than a socket holds: a blocking one would stand here for ever
        notifier.status(str(n))
    assert len(manager.hear()) < 5000


@pytest.mark.parametrize(
    ("environ", "ping_s"),
    [
        ({"WATCHDOG_USEC": "10000000"}, 5.0),
        ({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "77"}, 5.0),
        ({"WATCHDOG_USEC": "10000000", "WATCHDOG_PID": "78"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_not_pinged_for_another_process_or_too_late(
    environ: dict[str, str], ping_s: float | None
) -> None:
    assert Notifier(environ, pid=77).ping_s == ping_s


def test_a_loop_without_a_watchdog_is_not_kept_busy() -> None:
    asyncio.run(asyncio.wait_for(Notifier({}).keep_watch(), 5))


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_status_is_one_line_whatever_is_in_it(lang: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8" if lang == "zh" else "C.UTF-8")
    fault = ev.FaultRaised("E16", {"detail": "bad\nWATCHDOG=1"})
    line = summary(State.FAULT, fault, connected=False)
    assert len(line.splitlines()) == 1
    assert "E16" in line
    assert ("no board" in line) == (lang == "en")
    assert ("主板未连接" in line) == (lang == "zh")
    assert summary(State.REST, None, connected=True) in ("at rest", "待机")


def test_a_daemon_is_not_called_ready_before_it_can_be_used_nor_alive_when_its_loop_stands(
    manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", manager.address)
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    table = Table(tmp_path)
    with table.daemon_waiting() as daemon:
        wait_for(lambda: "READY=1" in manager.hear(), "READY")
        assert table.api.status()["state"] == "unhomed", "who is told that it is ready may use it"
        wait_for(lambda: manager.hear().count("WATCHDOG=1") > 3, "pings")
        assert manager.heard.index("READY=1") < manager.heard.index("WATCHDOG=1")
        assert manager.heard[1] == "STATUS=stopped; positions unknown; no board"
        with table.sim():
            on_line = "STATUS=stopped; positions unknown"
            wait_for(lambda: on_line in manager.hear(), "the board in the status")
        os.kill(daemon.pid, signal.SIGSTOP)  # the loop stands
        wait_for(lambda: state_of(daemon.pid) == "T", "the daemon to stand")
        manager.hear()
        told = len(manager.heard)
        with pytest.raises(TimeoutError):
            asyncio.run(ping(manager, told))
        os.kill(daemon.pid, signal.SIGCONT)
        wait_for(lambda: len(manager.hear()) > told, "pings again")
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(30)
    assert manager.hear()[-1] == "STOPPING=1"


async def ping(manager: Manager, told: int) -> None:
    """Wait ten periods for anything to be told."""
    async with asyncio.timeout(1.0):
        while len(manager.hear()) == told:
            await asyncio.sleep(0.05)


def state_of(pid: int) -> str:
    found = re.search(r"\) (\w)", Path(f"/proc/{pid}/stat").read_text())
    assert found
    return found[1]


def test_a_daemon_whose_journal_is_refused_is_never_called_ready(
    manager: Manager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", manager.address)
    table = Table(tmp_path)
    table.journal.write_text("no journal " * 1000)
    with pytest.raises(LateError, match="cannot be used"), table.daemon_waiting():
        pass
    assert manager.hear() == []
