"""What travels into the controller and out of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from firmware_protocol.description import Description
from tablectl.rules.dealer import Result

OpId = int
JournalId = int


@dataclass(frozen=True, slots=True)
class BoardState:
    """What the board's sensors see and what it has counted, per mouth, since each store was last emptied.

    `unsure` tells that nobody saw what a lift did: the store holds `stored` tiles or none.
    """

    clock_ms: int
    sensors: tuple[str, ...]
    taken: tuple[int, ...]
    stored: tuple[int, ...]
    unsure: tuple[bool, ...] = ()


# --- events -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """A session with the board is open; `stop` is the StopReason that is latched there."""

    uid: str
    boot_id: int
    reset_cause: str
    firmware: int
    stop: int
    keys: tuple[str, ...]
    description: Description
    state: BoardState


@dataclass(frozen=True, slots=True)
class Status:
    """The board's periodic report."""

    state: BoardState


@dataclass(frozen=True, slots=True)
class Accepted:
    """An operation was begun."""

    op: OpId


@dataclass(frozen=True, slots=True)
class Done:
    """An operation ended as ordered."""

    op: OpId
    state: BoardState


@dataclass(frozen=True, slots=True)
class Failed:
    """An operation was refused or ended without success; `reason` is a FailReason's name."""

    op: OpId
    reason: str
    state: BoardState


@dataclass(frozen=True, slots=True)
class Stopped:
    """Everything stands; `reason` is a StopReason. What was under way ended so or is `unknown`."""

    reason: int
    state: BoardState
    not_executed: tuple[OpId, ...] = ()
    unknown: tuple[OpId, ...] = ()


@dataclass(frozen=True, slots=True)
class PanelKey:
    """A key of the panel went down or up."""

    key: str
    down: bool


@dataclass(frozen=True, slots=True)
class SensorMissed:
    """An end sensor told nothing though its mechanism has passed it; the board goes on without it."""

    sensor: str


@dataclass(frozen=True, slots=True)
class Jog:
    """A program's button for one motor is held (technician mode): `direction` is 1 or -1."""

    source: str
    part: str
    direction: int


@dataclass(frozen=True, slots=True)
class Sent:
    """An order has left for the board."""

    op: OpId


@dataclass(frozen=True, slots=True)
class NotSent:
    """An order that waited for the disk was dropped: a stop overtook it."""

    op: OpId


@dataclass(frozen=True, slots=True)
class Journaled:
    """A journal entry is on the disk."""

    id: JournalId


@dataclass(frozen=True, slots=True)
class JournalFailed:
    """The journal cannot be written."""

    detail: str


@dataclass(frozen=True, slots=True)
class Entropy:
    """Random bytes from the operating system."""

    id: int
    data: bytes


@dataclass(frozen=True, slots=True)
class LinkLost:
    """The session with the board is over; of each open order it is said whether it can have been executed."""

    reason: str
    detail: str
    not_executed: tuple[OpId, ...] = ()  # never left, or proven not received
    unknown: tuple[OpId, ...] = ()


@dataclass(frozen=True, slots=True)
class Crashed:
    """A core raised an exception; everything was told to stop."""

    core: str
    error: str


@dataclass(frozen=True, slots=True)
class Heard:
    """A remote was heard that is not obeyed: not `paired`, or its key has no meaning."""

    user_code: int
    data_code: int
    paired: bool


@dataclass(frozen=True, slots=True)
class Choose:
    """Somebody chooses a rule or a gear for the next wash."""

    source: str
    rule: str


@dataclass(frozen=True, slots=True)
class HandEnded:
    """Somebody says how the hand of the standing set ended."""

    source: str
    result: Result


# --- effects ------------------------------------------------------------------------------------------------


class Verb(StrEnum):
    """What a command asks of a part."""

    RUN = "run"
    RUN_BACK = "run_back"
    STROKE_HOME = "stroke_home"
    STROKE_FAR = "stroke_far"
    STROKE_TURN = "stroke_turn"
    STROKE_HOME_TIMED = "stroke_home_timed"
    STROKE_FAR_TIMED = "stroke_far_timed"
    JOG = "jog"
    JOG_BACK = "jog_back"
    FILL = "fill"
    STOP = "stop"
    RENEW = "renew"


@dataclass(frozen=True, slots=True)
class Command:
    """One order to the board; it waits for the journal entry `after` where one is named."""

    op: OpId
    verb: Verb
    part: str
    tiles: int = 0
    after: JournalId | None = None


@dataclass(frozen=True, slots=True)
class StopAll:
    """Stop everything now."""


@dataclass(frozen=True, slots=True)
class ClearStop:
    """Leave the board's stop of that reason and open a new session."""

    reason: int


@dataclass(frozen=True, slots=True)
class Panel:
    """What lamps, buzzer and display show."""

    op: OpId
    display: str
    lamps: tuple[str, ...]
    buzzer_ms: int


@dataclass(frozen=True, slots=True)
class Journal:
    """Write an entry; `Journaled(id)` answers."""

    id: JournalId
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EntropyWanted:
    """Draw `count` random bytes; `Entropy(id)` answers."""

    id: int
    count: int


@dataclass(frozen=True, slots=True)
class FaultRaised:
    """Something is wrong with the table; `code` stands in the fault catalogue."""

    code: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WarningRaised:
    """Something will need care; the table goes on."""

    code: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RuleChosen:
    """Another rule was chosen; `next_wash` tells that the wash under way keeps its own."""

    rule: str
    next_wash: bool


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a rule or a number cannot be chosen: a text key and its values."""

    reason: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class HandOver:
    """A hand has ended: who deals the next one (machine seat), its round, deal, repeats and number."""

    dealer: int
    round_wind: str
    deal: int
    streak: int
    hand: int
    match_over: bool


@dataclass(frozen=True, slots=True)
class SameSetWanted:
    """The drum still holds `tiles` of the set that was played: no other set may be put in now."""

    rule: str
    tiles: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A key was not obeyed; `reason` is a text key."""

    source: str
    intent: str
    reason: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Washed:
    """A set is washed and stored; `took_us` runs from the drum's start to the ready lamp."""

    rule: str
    took_us: int


@dataclass(frozen=True, slots=True)
class DiceThrown:
    """A ruled throw of the dice, by the seat (absolute) that threw."""

    seat: int
    faces: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BreakAnnounced:
    """Where the walls are broken: seat from the dealer, first stack taken from its owner's right."""

    wall: int
    stack: int
    side: str
    takes: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class HandsServed:
    """Each player has `hand` tiles; the dealer draws first, from the stack that is named as for a break."""

    wall: int
    stack: int
    side: str
    hand: int


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of a wash have changed: tiles taken at the eyes and pushed into the stores, per mouth."""

    taken: tuple[int, ...]
    stored: tuple[int, ...]
    mouths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The cycle went from one state to another."""

    old: str
    new: str
