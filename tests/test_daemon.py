"""The daemon's shell: its clock rings though events never cease, and nothing is done after its end."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tablectl.config import load
from tablectl.remote.receiver import Words
from tablectl.service.daemon import Daemon

PATIENCE_S = 20.0  # a limit: where the clock never rings, nothing but this ends the wait


def with_daemon(folder: Path, act: Callable[[Daemon], Awaitable[None]], trace: Path | None = None) -> Daemon:
    """Run a daemon without a board in this process, let `act` use it, and end it as a signal does."""
    file = folder / "tablectl.toml"
    file.write_text(
        f'[table]\nport = "{folder / "no-board"}"\nrule = "riichi"\nsets = 2\n'
        f'[remote]\ninput = "lirc+unix:{folder / "no-remote"}"\nuser_codes = ["0x00"]\nkeymap = "default"\n'
        f'[service]\nsocket = "{folder / "api"}"\njournal = "{folder / "journal.db"}"\n',
        encoding="utf-8",
    )

    async def main() -> Daemon:
        daemon = Daemon(load(file), trace=trace)
        running = asyncio.create_task(daemon.run())
        await act(daemon)
        daemon._finish()
        await running
        return daemon

    return asyncio.run(main())


def test_a_daemon_that_always_has_something_to_read_does_not_forget_what_is_due(tmp_path: Path) -> None:
    looked_again = False

    async def flood(daemon: Daemon) -> None:
        nonlocal looked_again
        end = time.monotonic() + PATIENCE_S
        while not looked_again and time.monotonic() < end:
            daemon.dispatch(Words(b""))  # in every round of the loop, before its timers
            await asyncio.sleep(0)
            looked_again = daemon._host.supervisor.tries > 1

    with_daemon(tmp_path, flood)
    assert looked_again, "the port was never tried again"


def test_what_comes_after_the_end_is_not_written_into_a_closed_trace(tmp_path: Path) -> None:
    async def nothing(daemon: Daemon) -> None:
        await asyncio.sleep(0)

    trace = tmp_path / "trace"
    daemon = with_daemon(tmp_path, nothing, trace)
    written = trace.read_bytes()
    assert written
    assert daemon.dispatch(Words(b"")) == []  # the disk's last answer, a timer: the loop may still have them
    assert trace.read_bytes() == written
