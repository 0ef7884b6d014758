"""What a scenario is made of: a table, and steps. Each step is one action, or an expectation."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sim.table import TableOptions

ALL, NONE = "all", "none"
DOOR, MAINS = "door:service", "power-cut:mains"


class OpenShut(StrEnum):
    """What a door, or a stop line, can be."""

    OPEN = "open"
    SHUT = "shut"


class OnOff(StrEnum):
    """What the mains can be."""

    ON = "on"
    OFF = "off"


class Source(StrEnum):
    """Where tiles lie that can be put in: a set's box, the table, the floor."""

    A = "A"
    B = "B"
    TABLE = "table"
    FLOOR = "floor"


class Back(StrEnum):
    """Which tiles are meant, by their backs."""

    A = "A"
    B = "B"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Press:
    """A key of the remote."""

    key: str
    held_us: int


@dataclass(frozen=True, slots=True)
class PanelPress:
    """Keys of the panel, together."""

    keys: tuple[str, ...]
    held_us: int


@dataclass(frozen=True, slots=True)
class PutIn:
    """Tiles that people push into the open table; None is all that lie there."""

    source: Source
    tiles: int | None


@dataclass(frozen=True, slots=True)
class TakeOut:
    """Tiles that people take out of the open drum."""

    back: Back


@dataclass(frozen=True, slots=True)
class Pull:
    """Walls that people take off their latches."""

    sides: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Break:
    """A fault; its time counts from this step."""

    spec: str


@dataclass(frozen=True, slots=True)
class Repair:
    """A fault that is mended, or all."""

    spec: str


@dataclass(frozen=True, slots=True)
class WiredStop:
    """The wired stop line."""

    is_open: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """Time that passes."""

    us: int


@dataclass(frozen=True, slots=True)
class Expect:
    """What must hold, at the latest in `within_us`; by the names of the file."""

    wants: dict[str, Any]
    within_us: int


Action = Press | PanelPress | PutIn | TakeOut | Pull | Break | Repair | WiredStop | Wait | Expect


@dataclass(frozen=True, slots=True)
class Step:
    """One step, and the line where it stands."""

    line: int
    action: Action


@dataclass(frozen=True, slots=True)
class Scenario:
    """A checked scenario."""

    file: str
    title: dict[str, str]
    rule: str
    table: TableOptions
    steps: tuple[Step, ...]
