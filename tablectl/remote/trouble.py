"""Why the remote's input is not heard."""

from dataclasses import dataclass
from enum import StrEnum


class Trouble(StrEnum):
    """What is wrong with an input; each has its text under `remote.trouble`."""

    MISSING = "missing"  # the path is not there
    NO_SERVER = "no_server"  # nobody listens on the socket
    DENIED = "denied"  # no permission
    BUSY = "busy"  # another program has it for itself
    TRANSMITTER = "transmitter"  # it sends and does not receive
    SCANCODES = "scancodes"  # it gives whole keys only, decoded by its own hardware
    NO_RECEIVER = "no_receiver"  # something else than an infrared device
    UNUSABLE = "unusable"  # it cannot be opened or set up for another reason
    LOST = "lost"  # it was open, and is gone


class UnheardError(Exception):
    """An input cannot be heard; the text is the system's."""

    def __init__(self, trouble: Trouble, detail: str) -> None:
        super().__init__(detail)
        self.trouble = trouble


@dataclass(frozen=True, slots=True)
class InputTrouble:
    """The input at `path` is not heard; told once for each new reason."""

    trouble: Trouble
    path: str
    detail: str
