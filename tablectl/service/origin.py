"""What a host is made from: the daemon begins with it, and so does a replay of the daemon's trace."""

from dataclasses import dataclass
from typing import Any

from tablectl.board.session import BoardSession
from tablectl.board.supervisor import Supervisor
from tablectl.remote.keymap import Keymap
from tablectl.remote.receiver import Receiver
from tablectl.service.host import Host, Trace
from tablectl.table.controller import Controller
from tablectl.table.intents import Intent
from tablectl.table.memory import Memory


@dataclass(frozen=True, slots=True)
class Origin:
    """Plain values alone: `memory` and `timing` as the journal keeps them, `keys` data codes and intents."""

    version: str
    speed: float
    port: str
    sets: int
    user_codes: tuple[int, ...]
    keymap: str
    keys: tuple[tuple[int, str], ...]
    memory: dict[str, Any]
    timing: dict[str, Any] | None
    nonce_seed: int
    next_journal_id: int

    def host(self, trace: Trace | None = None) -> Host:
        """Return a host that has done nothing yet."""
        controller = Controller(
            Memory.from_json(self.memory),
            sets=self.sets,
            speed=self.speed,
            next_journal_id=self.next_journal_id,
            timing=self.timing,
        )
        keymap = Keymap(self.keymap, {code: Intent(intent) for code, intent in self.keys})
        receiver = Receiver(self.user_codes, keymap)
        supervisor = Supervisor(self.port, self.speed)
        return Host(controller, BoardSession(self.nonce_seed), receiver, supervisor, trace)
