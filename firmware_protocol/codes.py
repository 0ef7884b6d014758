"""The numbers that messages carry: kinds of frames, reasons, ends, phases."""

from enum import IntEnum

VERSION = 1  # the major version: of frame kinds and layouts; another one is refused
MINOR = 0  # counts added messages; a peer that lacks one answers UNSUPPORTED
NO_PART = 255


class FrameKind(IntEnum):
    """The low half of a frame's first byte; the high half is VERSION. The first four never change."""

    HELLO = 1
    HELLO_ACK = 2
    STOP_ALL = 3
    STOPPED = 4
    CLEAR = 5
    DATA = 6
    PING = 7
    PONG = 8
    STATUS = 9
    EVENT = 10
    EVENT_ACK = 11
    ACK = 12
    NAK = 13


# A stop is obeyed and believed whatever version the other end speaks; a greeting must be read to be refused.
FOREVER = frozenset({FrameKind.HELLO, FrameKind.HELLO_ACK, FrameKind.STOP_ALL, FrameKind.STOPPED})


class ResetCause(IntEnum):
    """Why the board started."""

    UNKNOWN = 0
    POWER_ON = 1
    WATCHDOG = 2
    BROWN_OUT = 3
    EXTERNAL = 4


class StopReason(IntEnum):
    """Why everything was stopped; CLEAR must name it."""

    NONE = 0
    HOST = 1  # STOP ALL from the host
    SILENCE = 2  # the host was silent for longer than the board's silence_ms
    DOOR = 3
    WIRED = 4  # the wired stop line


class FailReason(IntEnum):
    """Why an operation was refused or ended without success."""

    BAD_ARGUMENT = 1
    INTERLOCK = 2
    TIMEOUT = 3  # the end sensor did not come in time
    STALL = 4
    LEASE = 5
    ABORTED = 6  # by STOP, STOP ALL, ADD or silence
    BUSY = 7
    STOPPED = 8  # everything is stopped until CLEAR
    UNSUPPORTED = 9
    COUNT = 10  # eye and slot of a mouth disagree, or more was taken than is ordered
    CURRENT = 11  # the motors together would draw more than the supply gives
    FEED_STALL = 12  # the conveyor of a FILL is held
    SENSOR = 13  # the other end came again and this one's sensor told nothing: it is dead


class End(IntEnum):
    """Where a STROKE ends."""

    HOME = 0  # stacker open, lift home, console down
    FAR = 1  # stacker closed, console up
    TURN = 2  # lift: leave home and regain it
    HOME_TIMED = 3  # console with a dead lower sensor: down by time, while a lift key is held
    FAR_TIMED = 4  # console with a dead upper sensor: up by time


class Phase(IntEnum):
    """What a panel key did."""

    DOWN = 0
    UP = 1
