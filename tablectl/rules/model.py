"""A rule set: what one file of `data/` says about tiles, walls, dice, deal, tail and dealer."""

from dataclasses import dataclass
from enum import StrEnum

from tablectl.rules.course import Duties, Indicator, MatchLength, Phases, Start, Wild
from tablectl.rules.tiles import Composition
from tablectl.rules.walls import Walls


class Status(StrEnum):
    """How far a source carries."""

    PLAYABLE = "playable"
    EXPERIMENTAL = "experimental"  # something that players need is missing or guessed


class WallBy(StrEnum):
    """How the dice name the wall that is broken."""

    SEAT_OF_SUM = "seat_of_sum"  # the first sum, counted counter-clockwise from the dealer, who is one
    SECOND_THROWER = "second_thrower"
    DEALER = "dealer"
    OPPOSITE = "opposite"


class PassedBy(StrEnum):
    """How the dice say how many stacks are passed; a plain number in the file is that many."""

    SUM = "sum"  # of the last throw
    TOTAL = "total"  # of all throws


class Last(StrEnum):
    """How the hands are completed after the blocks of four tiles."""

    JUMP = "jump"  # 跳牌: the dealer takes the upper tiles of the next stack and the next but one
    ONE_EACH = "one_each"  # one each, then the dealer one more; for any players the same tiles as the jump
    DEALER_STACK = "dealer_stack"  # the dealer a whole stack, the others one each
    DEALER_ONE = "dealer_one"  # the blocks fill the hands, the dealer takes one more


class From(StrEnum):
    """Where a replacement tile is drawn."""

    FRONT = "front"
    TAIL = "tail"
    NONE = "none"  # the rule knows no such replacement


class Measure(StrEnum):
    """What the number of kept tiles counts."""

    LEFT = "left"  # tiles that lie there at the end
    ORIGINAL = "original"  # tiles behind a line counted from the first tail, those taken since included


class StartBy(StrEnum):
    """How the first stack is found where hands are served."""

    DEALER = "dealer"  # counted from the right end of the dealer's own wall, without dice
    DICE = "dice"  # as the rule's dice name it


class Win(StrEnum):
    """Who deals after a win."""

    FIRST_WINNER = "first_winner"
    DISCARDER = "discarder"  # after a self-drawn win its winner
    NEXT_SEAT = "next_seat"
    STAY_IF_DEALER_ELSE_NEXT = "stay_if_dealer_else_next"
    DICE = "dice"
    RANDOM = "random"


class Draw(StrEnum):
    """Who deals after an exhaustive draw."""

    STAY = "stay"
    STAY_IF_DEALER_READY = "stay_if_dealer_ready"
    NEXT_SEAT = "next_seat"
    DICE = "dice"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Names:
    """What players call the rule set."""

    en: str
    zh: str


@dataclass(frozen=True, slots=True)
class Source:
    """The document that gives the rule set, and words that stand in it."""

    document: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Unstated:
    """A value that the source does not give: where it stands, what was chosen (as JSON), and why.

    `why` is the name of a reason; people read it in their language.
    """

    path: str
    chosen: str
    why: str


@dataclass(frozen=True, slots=True)
class Title:
    """A rule set of which a source gives the name and too little to build and deal the walls."""

    id: str
    names: Names
    source: Source
    reason: Names


@dataclass(frozen=True, slots=True)
class TileSet:
    """The whole set, and how much of it is built into walls; the rest stays in the drum.

    `flowers_also` are kinds that are laid out and replaced as flowers are, whatever is on them.
    """

    composition: Composition
    in_play: int
    left_in_drum: int
    flowers_also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dice:
    """How many dice are thrown how often, and what they say; `height_cm` from which hands let them fall."""

    count: int
    throws: int
    wall: WallBy
    passed: PassedBy | int
    height_cm: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Dealing:
    """How hands are taken: `blocks` rounds of four tiles, then the last ones."""

    hand: int
    blocks: int
    last: Last

    def takers(self, players: int) -> tuple[int, ...]:
        """Return for each tile in draw order who takes it, as a place in the turn order from the dealer."""
        turn = range(players)
        last = {
            Last.JUMP: (*turn, 0),
            Last.ONE_EACH: (*turn, 0),
            Last.DEALER_STACK: (0, *turn),
            Last.DEALER_ONE: (0,),
        }
        blocks = tuple(who for _ in range(self.blocks) for who in turn for _ in range(4))
        return blocks + last[self.last]


@dataclass(frozen=True, slots=True)
class Tail:
    """Where replacements come from, and how many tiles are kept, by kongs made; the last number holds on."""

    kong: From
    flower: From
    measure: Measure
    keep: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Served:
    """What a machine with mouths for hands does: `hand` tiles to each player, `tiles` into the four walls.

    Nobody deals then; the dealer draws first, and completes his hand by it. `passed` stacks are passed where
    no dice are thrown.
    """

    hand: int
    tiles: tuple[int, int, int, int]
    start: StartBy
    passed: int


@dataclass(frozen=True, slots=True)
class Succession:
    """Who deals next: after a win, after one discard with several winners, after a drawn hand.

    `floor_max`: each repeat climbs a floor (上楼), up to that many; 0 where a rule knows none.
    """

    win: Win
    multi: Win
    draw: Draw
    floor_max: int = 0


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Everything the table must know of one way to play; `players` are machine seats in turn order."""

    id: str
    names: Names
    source: Source
    unstated: tuple[Unstated, ...]
    tiles: TileSet
    players: tuple[int, ...]
    wall_tiles: tuple[int, int, int, int]
    dice: Dice
    dealing: Dealing
    tail: Tail
    next_dealer: Succession
    status: Status
    missing: Names | None  # of an experimental one
    duties: Duties
    indicator: Indicator | None
    wild: Wild
    phases: Phases
    first_dealer: Start
    match: MatchLength
    served: Served | None = None  # where the rule says how hands are served
    gear: int = 0  # of a table; what is played in it is not known

    @property
    def total(self) -> int:
        """Return the number of tiles in the walls."""
        return sum(self.wall_tiles)

    @property
    def walls(self) -> Walls:
        """Return the walls that the machine builds for this rule, sides S1..S4."""
        return Walls(self.wall_tiles)

    @property
    def dealt(self) -> int:
        """Return the number of tiles in all hands after the deal."""
        return len(self.dealing.takers(len(self.players)))
