"""What a rule set says beyond walls and deal: indicator, wild tiles, phases, first dealer, match length."""

from dataclasses import dataclass
from enum import StrEnum


class Lies(StrEnum):
    """Where an indicator is turned."""

    FRONT = "front"  # the next tile in the order of drawing
    TAIL_STACK = "tail_stack"  # in the n-th stack from the break
    TAIL_TILE = "tail_tile"  # the n-th tile of the tail


class Counted(StrEnum):
    """How far along the tail an indicator lies; a plain number in the file is that many."""

    ROLL = "roll"  # as many as the last throw shows


class Use(StrEnum):
    """What an indicator is for."""

    WILD = "wild"  # it names wild tiles
    BONUS = "bonus"  # it names or is a tile that adds to the score


class Drawn(StrEnum):
    """Whether the indicator itself is ever drawn."""

    NEVER = "never"
    LAST = "last"


class Phase(StrEnum):
    """What players do after the deal, before the first discard."""

    FLOWERS = "flowers"  # 补花: flowers are laid out and replaced, the dealer first
    DINGQUE = "dingque"  # 定缺: each names the suit that he will not keep
    EXCHANGE_ANY = "exchange_any"  # any number of tiles may be swapped
    CHARLESTON = "charleston"  # three tiles right, across, left; a second round by agreement; courtesy
    JOKER = "joker"  # the wild tile is turned


class FirstDealer(StrEnum):
    """How the dealer of the first hand is found."""

    RANDOM = "random"
    DICE = "dice"
    DIE = "die"  # one die, its faces name seats counted from the thrower
    HIGHEST = "highest"  # everybody throws; ties throw again
    TEMPORARY = "temporary"  # the first throw names a temporary dealer, his throw the dealer
    FIRST_SEATED = "first_seated"
    REFEREE = "referee"


@dataclass(frozen=True, slots=True)
class Duties:
    """What players are not free to do: pass a win with the last tiles, make more kongs."""

    forced_win_last: int = 0  # whoever can win with one of so many last tiles has to
    end_if_kong_players: int = 0  # the hand is drawn when so many players have made kongs; 0: never
    max_kongs: int = 0  # no further kong is replaced; 0: as long as there are tiles


@dataclass(frozen=True, slots=True)
class Indicator:
    """A tile that is turned after the deal; the table knows where it lies, never what is on it."""

    lies: Lies
    at: Counted | int
    upper: bool
    use: Use
    drawn: Drawn
    per_kong: bool


@dataclass(frozen=True, slots=True)
class Wild:
    """Which tiles stand for others: fixed ones, or those that follow an indicator in its cycle.

    `of` is in steps from the indicator, 0 is the indicator's own kind; `points` of wilds in a hand,
    by number; `ready_on_any` multiplies a win by self-draw with a hand that any tile completes.
    """

    of: tuple[int, ...] = ()
    fixed: tuple[str, ...] = ()
    cycles: tuple[str, ...] = ()
    discard: bool = True
    four_win: bool = False
    points: tuple[int, ...] = ()
    ready_on_any: int = 1

    @property
    def any(self) -> bool:
        """Tell whether there are wild tiles at all."""
        return bool(self.of or self.fixed)


@dataclass(frozen=True, slots=True)
class Phases:
    """What comes between deal and first discard, in order; all flowers are laid out within `flowers_s`."""

    after_deal: tuple[Phase, ...] = ()
    flowers_s: int | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """How the first dealer is found; with one die, the seat of each face, counted from the thrower."""

    by: FirstDealer
    seats: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MatchLength:
    """How long a match is: rounds in which everybody deals once (0: as long as people like), in hands.

    `formats` are other lengths by their names, in hands without repeats; `swap` are the rounds before which
    opposite and neighbouring players change seats.
    """

    rounds: int = 0
    formats: tuple[tuple[str, int], ...] = ()
    start_points: int = 0
    swap: tuple[int, ...] = ()
