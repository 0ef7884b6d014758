"""One whole table in one process: host, simulated table and virtual remote on a virtual clock."""

import json
import random
from dataclasses import dataclass, field
from typing import Any

from firmware_protocol import host_link as hl
from sim import keys
from sim.board.describe import describe
from sim.model import MachineModel
from sim.remote import IrWords, Remote
from sim.table import Mains, PanelShows, Plugged, PressRemote, SimTable, TableOptions, WireIn, WireOut
from sim.world import Wire, World
from tablectl.board.session import BoardSession
from tablectl.board.supervisor import AUTO, Supervisor
from tablectl.remote import keymap
from tablectl.remote.receiver import Receiver, Words
from tablectl.rules import ruleset, serving
from tablectl.service.host import Host, Trace
from tablectl.table import events as ev
from tablectl.table.controller import Controller
from tablectl.table.memory import Memory

DISK_US = 2_000  # from an entry to its place on the disk
_NEVER_US = 1 << 62
BOOT_US = 3_000_000  # of a computer that starts anew
DOWN_US = 500_000  # from a process that was killed to the next one


@dataclass(frozen=True, slots=True)
class RigOptions:
    """What a rig is made of; the same options give the same run, byte for byte."""

    rule: str = "riichi"
    entropy_seed: int = 0
    table: TableOptions = field(default_factory=TableOptions)


class Rig:
    """A host and a table that meet on an in-memory wire."""

    def __init__(self, options: RigOptions, trace: Trace | None = None) -> None:
        self.options = options
        self.table = SimTable(options.table)
        self._trace = trace
        self.host = make_host(options, trace)
        self.controller = self.host.controller
        self.session = self.host.session
        self.world = World()
        self.journal: list[ev.Journal] = []
        self._written_us: list[int] = []
        self._cut_us = 0
        self.disk_full = False
        self.last_byte_us = 0  # when the host last sent one
        self.powered = True
        self.announced: list[tuple[int, Any]] = []
        self.shown: list[tuple[int, PanelShows]] = []
        self._entropy = random.Random(f"{options.entropy_seed}/entropy")
        self.world.add("host", self.host, self._from_host)
        self.world.add("table", self.table, self._from_table)
        self.world.add("remote", Remote(options.table.seed), self._from_remote)
        self.to_table = Wire(lambda t, data: self.world.post(t, "table", WireIn(data)))
        self.to_host = Wire(lambda t, data: self.world.post(t, "host", hl.Received(data)))
        self.world.post(0, "host", hl.Opened())

    def press(self, key: str, held_us: int = 0) -> None:
        """Press a key of the remote now."""
        self.world.post(self.world.now_us, "remote", keys.press(key, held_us))

    def play(self, limit_us: int = 600_000_000) -> bool:
        """Go on until the players have played all their hands and the table is at rest or in a fault."""
        return self.world.run(self.world.now_us + limit_us, self._ended)

    def faults(self) -> tuple[str, ...]:
        """Return the codes of all faults so far."""
        return tuple(e.code for _, e in self.announced if isinstance(e, ev.FaultRaised))

    def restart_daemon(self, down_us: int = DOWN_US) -> None:
        """Kill the host and start it anew with what the disk had; the table keeps its power."""
        self._cut_us = self.world.now_us
        self.world.replace("host", Dead())
        self.world.run(self.world.now_us + down_us)
        self._restart_host()

    def _restart_host(self) -> None:
        """Start the host anew from what the disk had when the mains went."""
        on_disk = sum(1 for t in self._written_us if t <= self._cut_us)
        del self.journal[on_disk:], self._written_us[on_disk:]
        last, timing = self._kept("memory"), self._kept("timing")
        memory = Memory.from_json(last) if last else None
        self.host = make_host(self.options, self._trace, memory, on_disk + 1, timing)
        self.controller, self.session = self.host.controller, self.host.session
        self.world.replace("host", self.host)
        self.world.post(self.world.now_us + BOOT_US, "host", hl.Opened())

    def _kept(self, key: str) -> Any:
        """Return the newest value of the journal, as it comes back from the disk: plain JSON."""
        last = next((e.data[key] for e in reversed(self.journal) if key in e.data), None)
        return json.loads(json.dumps(last))

    def _ended(self) -> bool:
        state = self.controller.state
        return state == "fault" or (self.table.players.done and state == "rest")

    def _from_host(self, effect: Any, now_us: int) -> None:
        match effect:
            case hl.Transmit(data):
                self.last_byte_us = now_us
                self.to_table.send(data, now_us)
            case ev.Journal(id_):
                self.journal.append(effect)
                self._write(id_, now_us)
            case ev.EntropyWanted(id_, count):
                self.world.post(now_us, "host", ev.Entropy(id_, self._entropy.randbytes(count)))
            case _:
                self.announced.append((now_us, effect))

    def _write(self, id_: int, now_us: int) -> None:
        """Write an entry, and what a full disk has not taken before."""
        if self.disk_full:
            self._written_us.append(_NEVER_US)
            self.world.post(now_us, "host", ev.JournalFailed("disk full"))
            return
        self._written_us = [t if t < _NEVER_US else now_us + DISK_US for t in self._written_us]
        self._written_us.append(now_us + DISK_US)
        self.world.post(now_us + DISK_US, "host", ev.Journaled(id_))

    def _from_table(self, effect: Any, now_us: int) -> None:
        match effect:
            case WireOut(data):
                self.to_host.send(data, now_us)
            case PressRemote(key, held_us):
                self.world.post(now_us, "remote", keys.press(key, held_us))
            case Plugged(in_):
                self.world.post(now_us, "host", hl.Opened() if in_ else hl.Closed())
            case Mains(False):
                self.powered = False
                self._cut_us = now_us
                self.world.replace("host", Dead())
            case Mains(True):
                self.powered = True
                self._restart_host()
            case PanelShows():
                self.shown.append((now_us, effect))

    def _from_remote(self, effect: IrWords, now_us: int) -> None:
        self.world.post(now_us, "host", Words(effect.data))


class Dead:
    """A host without power."""

    def handle(self, event: Any, now_us: int) -> tuple[Any, ...]:
        """Do nothing."""
        return ()

    def next_deadline(self) -> int | None:
        """Want nothing."""
        return None


def ordered(rule: str, model: MachineModel) -> tuple[int, ...]:
    """Return the tiles that each mouth of such a table is to bring for a rule."""
    return serving.orders(ruleset.load(rule), describe(model).named_mouths)


def make_host(
    options: RigOptions,
    trace: Trace | None = None,
    memory: Memory | None = None,
    next_journal_id: int = 1,
    timing: Any = None,
) -> Host:
    """Return the host of a fresh rig, or of one that restarts with `memory`; a replay begins so, too."""
    controller = Controller(
        memory or Memory(rule=options.rule),
        sets=options.table.sets,
        next_journal_id=next_journal_id,
        timing=timing,
    )
    session = BoardSession(nonce_seed=options.entropy_seed + next_journal_id)
    receiver = Receiver([0x00], keymap.load("default"))
    # The supervisor is never told to begin: the wire of a rig is no port.
    return Host(controller, session, receiver, Supervisor(AUTO), trace)
