"""What goes into the host's end of the link and what comes out of it."""

from dataclasses import dataclass, field
from enum import StrEnum

from firmware_protocol.core import Tick
from firmware_protocol.description import Description
from firmware_protocol.message import Message
from firmware_protocol.messages import HelloAck, Stopped
from firmware_protocol.operations import Outcome
from firmware_protocol.texts import Told

# --- events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opened:
    """The port is open; begin."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The port is gone."""


@dataclass(frozen=True, slots=True)
class Received:
    """Bytes came in."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Send:
    """Send a command in this session."""

    message: Message


@dataclass(frozen=True, slots=True)
class StopEverything:
    """Stop the whole table, ahead of everything else."""


@dataclass(frozen=True, slots=True)
class ClearStop:
    """Leave the stop that the board reported for `reason`, in a new session; `Up` tells what came of it."""

    reason: int


# --- effects ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transmit:
    """Write bytes; where `urgent`, drop the output buffer first: what has not left shall not leave."""

    data: bytes
    urgent: bool = False


@dataclass(frozen=True, slots=True)
class Up:
    """A session is open."""

    hello: HelloAck
    description: Description


@dataclass(frozen=True, slots=True)
class Incoming:
    """A reply, event or status came; `event` is its number where it is an event."""

    message: Message
    event: int | None = None


@dataclass(frozen=True, slots=True)
class NotSent:
    """There is no session: this order was not sent and never will be."""

    op: int


@dataclass(frozen=True, slots=True)
class NotSupported:
    """The board does not know this order, or not in this layout; it has not been executed."""

    op: int


@dataclass(frozen=True, slots=True)
class EventsLost:
    """The board had more events than it could keep; so many never came."""

    count: int


@dataclass(frozen=True, slots=True)
class Halted:
    """Everything stands and the session is over: a STOP ALL was answered, or the board stopped by itself."""

    stopped: Stopped
    outcome: Outcome


class DownReason(StrEnum):
    """Why there is no session any more."""

    CLOSED = "closed"  # the port
    SILENT = "silent"  # four pings unanswered
    UNACKNOWLEDGED = "unacknowledged"  # five tries of one frame
    RESET = "reset"  # the board has restarted
    VOIDED = "voided"  # the board has given the session up
    STOP_UNANSWERED = "stop_unanswered"
    VERSION = "version"
    DESCRIPTION = "description"
    OVERFLOW = "overflow"  # more commands than the queue takes
    CLEARED = "cleared"  # not a loss: given up by us for a CLEAR and a new HELLO


@dataclass(frozen=True, slots=True)
class Down:
    """The session is over, or none can be opened."""

    reason: DownReason
    detail: Told | None = None  # what is wrong with the board, where it is refused
    outcome: Outcome = field(default_factory=Outcome)


HostEffect = Transmit | Up | Incoming | NotSent | NotSupported | EventsLost | Halted | Down
HostEvent = Opened | Closed | Received | Send | StopEverything | ClearStop | Tick
