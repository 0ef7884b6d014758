"""Every message, with its number and layout in one table; integers are little endian.

A trailing field of type bytes takes what is left of the payload. Numbers below 0x10 travel in frames of their
own kind; the rest travel in sequenced DATA frames, events in EVENT frames.
"""

from dataclasses import dataclass

from firmware_protocol.codes import (
    FOREVER,
    MINOR,
    NO_PART,
    VERSION,
    End,
    FailReason,
    FrameKind,
    Phase,
    ResetCause,
    StopReason,
)
from firmware_protocol.message import REGISTRY, Message, Sender, message, parse_numbered

# --- frames of their own kind -------------------------------------------------------------------------------


@message(0x01, Sender.HOST, "IB")
@dataclass(frozen=True, slots=True)
class Hello(Message):
    """Open a session."""

    nonce: int
    minor: int


@message(0x02, Sender.BOARD, "IIB8sBHIHBIBBBII", tail=True)
@dataclass(frozen=True, slots=True)
class HelloAck(Message):
    """The session is open; this is who I am and how things stand. With nonce 0: there is no session.

    `op` and `part` name the move in progress, as the non-volatile memory has it. `stop` is the StopReason
    that is latched and `stop_number` counts latches, so that an old CLEAR cannot leave a new stop. `counts`
    are two bytes per mouth: tiles taken at the eye and tiles pushed into the store since it was last emptied;
    behind them the bits of the sensors from the 33rd on, eight a byte, where there are so many.
    """

    nonce: int
    boot_id: int
    reset_cause: int
    uid: bytes
    minor: int
    firmware: int
    description_hash: int
    rx_window: int
    keys: int
    op: int
    part: int
    stop: int
    stop_number: int
    clock_ms: int
    sensors: int
    counts: bytes


@message(0x03, Sender.HOST, "BB")
@dataclass(frozen=True, slots=True)
class StopAll(Message):
    """Stop everything now. `number` (1…255) tells this stop's answer from an earlier one's."""

    reason: int
    number: int


@message(0x04, Sender.BOARD, "BBBII", tail=True)
@dataclass(frozen=True, slots=True)
class Stopped(Message):
    """Everything stands; the session is void. `answers` is the STOP ALL's number, 0 for a stop of my own."""

    reason: int
    stop_number: int
    answers: int
    clock_ms: int
    sensors: int
    counts: bytes


@message(0x05, Sender.HOST, "BB")
@dataclass(frozen=True, slots=True)
class Clear(Message):
    """Leave the stop of that reason and number; motion still needs a new HELLO."""

    reason: int
    stop_number: int


@message(0x07, Sender.HOST, "H")
@dataclass(frozen=True, slots=True)
class Ping(Message):
    """I am here."""

    number: int


@message(0x08, Sender.BOARD, "HI")
@dataclass(frozen=True, slots=True)
class Pong(Message):
    """So am I; the answer to the ping of that number."""

    number: int
    clock_ms: int


@message(0x09, Sender.BOARD, "II", tail=True)
@dataclass(frozen=True, slots=True)
class Status(Message):
    """Complete sensors and counts, periodic, best effort."""

    clock_ms: int
    sensors: int
    counts: bytes


@message(0x0B, Sender.HOST, "B")
@dataclass(frozen=True, slots=True)
class EventAck(Message):
    """The board's events up to this number have arrived."""

    number: int


# --- commands, host to board --------------------------------------------------------------------------------


@message(0x20, Sender.HOST, "IBbH")
@dataclass(frozen=True, slots=True)
class Run(Message):
    """Run a drum or conveyor (`direction` 1, or -1 to give belt tiles back) until STOP or the lease ends."""

    op: int
    part: int
    direction: int
    lease_ms: int


@message(0x21, Sender.HOST, "IBB")
@dataclass(frozen=True, slots=True)
class Stroke(Message):
    """Move a stacker, lift or the console to an end."""

    op: int
    part: int
    end: int


@message(0x22, Sender.HOST, "IBBH")
@dataclass(frozen=True, slots=True)
class Fill(Message):
    """Fill a mouth's store to `tiles` half-stacks, counted since it was last emptied."""

    op: int
    mouth: int
    tiles: int
    lease_ms: int


@message(0x23, Sender.HOST, "IB")
@dataclass(frozen=True, slots=True)
class Stop(Message):
    """Stop one part (or a mouth's FILL, by its conveyor)."""

    op: int
    part: int


@message(0x24, Sender.HOST, "IH")
@dataclass(frozen=True, slots=True)
class Renew(Message):
    """Extend the lease of a running operation; one that has ended is never started again."""

    op: int
    lease_ms: int


@message(0x25, Sender.HOST, "IIH", tail=True)
@dataclass(frozen=True, slots=True)
class Panel(Message):
    """Set every lamp, the buzzer and the display at once."""

    op: int
    lamps: int
    buzzer_ms: int
    display: bytes


@message(0x26, Sender.HOST, "H")
@dataclass(frozen=True, slots=True)
class Describe(Message):
    """Ask for the description from `offset` on."""

    offset: int


@message(0x27, Sender.HOST, "IBbH")
@dataclass(frozen=True, slots=True)
class Jog(Message):
    """Turn one motor at reduced current while a technician holds a button; with the door open, too."""

    op: int
    part: int
    direction: int
    lease_ms: int


# --- replies, board to host ---------------------------------------------------------------------------------


@message(0x40, Sender.BOARD, "I")
@dataclass(frozen=True, slots=True)
class Accepted(Message):
    """The operation was begun."""

    op: int


@message(0x41, Sender.BOARD, "III", tail=True)
@dataclass(frozen=True, slots=True)
class Done(Message):
    """The operation ended as ordered."""

    op: int
    clock_ms: int
    sensors: int
    counts: bytes


@message(0x42, Sender.BOARD, "IBII", tail=True)
@dataclass(frozen=True, slots=True)
class Failed(Message):
    """The operation was refused or ended without success."""

    op: int
    reason: int
    clock_ms: int
    sensors: int
    counts: bytes


@message(0x43, Sender.BOARD, "HH", tail=True)
@dataclass(frozen=True, slots=True)
class Chunk(Message):
    """A piece of the description."""

    offset: int
    total: int
    data: bytes


@message(0x44, Sender.BOARD, "BB")
@dataclass(frozen=True, slots=True)
class Unsupported(Message):
    """The message of that number, in the DATA frame of that sequence, is unknown or not of this layout."""

    number: int
    sequence: int


# --- events, board to host, numbered and repeated until acknowledged ----------------------------------------


@message(0x60, Sender.BOARD, "BBI")
@dataclass(frozen=True, slots=True)
class KeyEvent(Message):
    """A panel key went down or up."""

    key: int
    phase: int
    clock_ms: int


@message(0x61, Sender.BOARD, "BI")
@dataclass(frozen=True, slots=True)
class SensorMissed(Message):
    """An end sensor told nothing although its mechanism has passed it; the move went on without it."""

    sensor: int
    clock_ms: int


Order = (
    Run | Stroke | Fill | Stop | Panel | Jog
)  # have an operation id of their own: accepted, then done or failed
COMMANDS = (Run, Stroke, Fill, Stop, Renew, Panel, Describe, Jog)

__all__ = [
    "COMMANDS", "FOREVER", "MINOR", "NO_PART", "REGISTRY", "VERSION", "Accepted", "Chunk", "Clear",
    "Describe", "Done", "End", "EventAck", "FailReason", "Failed", "Fill", "FrameKind", "Hello",
    "HelloAck", "Jog", "KeyEvent", "Message", "Order", "Panel", "Phase", "Ping", "Pong", "Renew",
    "ResetCause", "Run", "Sender", "SensorMissed", "Status", "Stop", "StopAll", "StopReason",
    "Stopped", "Stroke", "Unsupported", "parse_numbered",
]  # fmt: skip
