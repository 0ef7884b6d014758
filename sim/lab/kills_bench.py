"""The processes of one run of a kill campaign: what is started, killed, started again and asked."""

import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, TypeVar

from sim.lab.kills_plan import HANDS, PLAY_US, Kind, Plan
from sim.lab.lircd import lircd
from sim.lab.processes import DEADLINE_S, Control, Table
from tablectl import trace
from tablectl.journal import reader
from tablectl.journal.chain import Entry

_T = TypeVar("_T")


class Bench:
    """Daemon, simulated table and, where it is to be killed, a real lircd between them; use as `with`."""

    def __init__(self, plan: Plan, folder: Path, speed: float) -> None:
        self.plan = plan
        self.speed = speed
        self.said: list[str] = []  # by processes that have ended
        self.table = Table(folder, speed, self.said.append)
        self._folder = folder
        self._trace = folder / "trace"
        self._programs = ExitStack()
        self._control: Control
        self._processes: dict[Kind, subprocess.Popen[str]] = {}

    def __enter__(self) -> "Bench":
        with ExitStack() as started:
            started.push(self._programs)
            self.start_simulator(self.plan.seed)
            if self.plan.kind is Kind.LIRCD:
                self.start_lircd()
            self.start_daemon()
            started.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._programs.close()

    # --- processes ------------------------------------------------------------------------------------------

    def start_simulator(self, seed: int) -> None:
        """Start a simulated table at the place of the one that was."""
        plan = self.plan
        self._processes[Kind.SIMULATOR], self._control = self._enter(
            self.table.simulator(
                f"--seed={seed}", f"--tiles={plan.tiles}", f"--hands={HANDS}",
                f"--play-s={PLAY_US / 1_000_000}", f"--repair={','.join(map(str, plan.walls))}",
            )
        )  # fmt: skip

    def start_daemon(self) -> None:
        """Start the daemon; it may have no board yet."""
        remote, options = None, list[str]()
        if self.plan.kind is Kind.LIRCD:
            remote, options = f"lircd:{self._folder / 'lircd'}", [f"--trace={self._trace}"]
        self._processes[Kind.DAEMON] = self._enter(
            self.table.daemon_waiting(remote, self.plan.rule, *options)
        )

    def start_lircd(self) -> None:
        """Start lircd, with the simulated table's receiver as its device."""
        self._processes[Kind.LIRCD], _ = self._enter(lircd(self._folder, self.table.lirc, self.said.append))

    def kill(self, kind: Kind) -> None:
        """Kill a process as nobody can refuse."""
        if kind is Kind.SIMULATOR:
            # As udev does, if sooner: the number of the dead pty may at once be that of another table.
            self.table.port.unlink()
        self._processes[kind].kill()
        self._processes[kind].wait()

    def _enter(self, program: AbstractContextManager[_T]) -> _T:
        return self._programs.enter_context(program)

    # --- what is asked --------------------------------------------------------------------------------------

    def control(self, do: str, **values: Any) -> dict[str, Any]:
        """Give the simulator a command."""
        return self._control(do, **values)

    def truth(self) -> dict[str, Any]:
        """Return what the simulator knows."""
        return self._control("truth")

    def status(self) -> dict[str, Any]:
        """Return what the daemon says."""
        return self.table.api.status()

    def journal(self) -> tuple[Entry, ...]:
        """Return the whole journal."""
        return tuple(reader.read(self.table.journal))

    def last_entry(self) -> int:
        """Return the number of the last entry of the journal."""
        with reader.reading(self.table.journal) as journal:
            return journal.last(1)[-1].id

    def losses(self) -> tuple[str, ...]:
        """End the daemon, and return why the remote's input was lost, each time that the host was told."""
        self._processes[Kind.DAEMON].terminate()
        self._processes[Kind.DAEMON].wait(DEADLINE_S)
        return tuple(_losses(self._trace)) if self._trace.exists() else ()


def _losses(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as stream:
        _, calls = trace.read(stream, file.name)
        yield from (c.event["why"] for c in calls if c.core == "remote" and c.event["$"] == "Lost")
