"""What goes into the supervisor of the port and what comes out of it."""

from dataclasses import dataclass
from enum import StrEnum


class Trouble(StrEnum):
    """Why there is no board on a port; each has its text under `port.trouble`."""

    NOT_FOUND = "not_found"  # no port to try
    MISSING = "missing"  # the path is not there
    BUSY = "busy"  # another program has it
    DENIED = "denied"  # no permission
    UNUSABLE = "unusable"  # it cannot be opened or configured for another reason
    LOST = "lost"  # it was open, and is gone
    MUTE = "mute"  # open, and not one byte came
    NO_BOARD = "no_board"  # bytes, but no HELLO of a board
    OTHER_BOARD = "other_board"  # the board is not this table's
    REFUSED = "refused"  # the board does not fit this program


@dataclass(frozen=True, slots=True)
class UsbPlace:
    """A USB device by where it is plugged in: names of ports change, and some adapters have no serial."""

    bus: int
    ports: tuple[int, ...]  # from the root hub down
    vendor: int
    product: int


@dataclass(frozen=True, slots=True)
class FoundPort:
    """A serial port of this computer; `usb` where it is an adapter."""

    path: str
    usb: UsbPlace | None


# --- events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Begin:
    """Look for the board."""


@dataclass(frozen=True, slots=True)
class PortsListed:
    """The serial ports that are there now."""

    ports: tuple[FoundPort, ...]


@dataclass(frozen=True, slots=True)
class PortOpened:
    """The order `id` was carried out."""

    id: int


@dataclass(frozen=True, slots=True)
class OpenFailed:
    """The order `id` could not be carried out."""

    id: int
    trouble: Trouble
    detail: str


@dataclass(frozen=True, slots=True)
class PortHeard:
    """The first byte came since this port was opened."""

    id: int


@dataclass(frozen=True, slots=True)
class PortLost:
    """The port has gone, and has been closed."""

    id: int
    detail: str


@dataclass(frozen=True, slots=True)
class UsbDone:
    """The reset is over; `detail` says why it failed."""

    detail: str = ""


# --- effects ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListPorts:
    """List the serial ports; `also` is a path, perhaps a link, to be looked up among them."""

    also: str = ""


@dataclass(frozen=True, slots=True)
class OpenPort:
    """Open a port; PortOpened or OpenFailed with this id must come of it."""

    id: int
    path: str


@dataclass(frozen=True, slots=True)
class ClosePort:
    """Close the port that is open."""

    why: Trouble


@dataclass(frozen=True, slots=True)
class ResetUsb:
    """Reset a USB device; UsbDone must come of it."""

    usb: UsbPlace


@dataclass(frozen=True, slots=True)
class PortTrouble:
    """There is no board on a port; told once for each new reason."""

    trouble: Trouble
    path: str
    detail: str


PortOrder = ListPorts | OpenPort | ClosePort | ResetUsb
PortReport = Begin | PortsListed | PortOpened | OpenFailed | PortHeard | PortLost | UsbDone
