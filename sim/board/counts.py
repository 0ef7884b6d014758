"""What a board has counted, in memory that outlives its power: tiles per mouth since a store was emptied.

The eye sees a tile enter the belt, the slot's sensor sees a stack leave for the store, the stacker's closed
end tells that whatever lay in the slot has left it. None is taken for the other, so that a dirty eye shows as
a disagreement and not as a wrong store. A count that is not in doubt is right; one in doubt is the most that
the store can hold.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

STACK = 2  # tiles
UNKNOWN = 0xC0  # high bits of the stored byte: how much is in the store is not known
_MOST = 0x3F


class Push(Enum):
    """What is on its way from the slot into the store, until the stacker's closed end is seen."""

    NOTHING = auto()
    STACK = auto()  # what lies in the slot; not counted yet
    LEFT = auto()  # counted: the slot's sensor saw a stack leave
    SINGLE = auto()  # one tile, which no sensor sees in the slot; not counted yet


_COMING = {Push.NOTHING: 0, Push.STACK: STACK, Push.LEFT: 0, Push.SINGLE: 1}


@dataclass(slots=True)
class Mouth:
    """The memory of one mouth."""

    taken: int = 0
    stored: int = 0
    ordered: int = 0  # by the last FILL; a lift raises nothing less
    unsure: bool = False
    push: Push = Push.NOTHING
    left_us: int = 0  # when the slot's sensor saw the stack leave
    fed: bool = False  # the conveyor has run forward since the slot was last pushed empty
    doubtful_eye: bool = False  # it counted what cannot be, or tiles went back past it: trust no single tile
    lifting: bool = False  # the lift is on its way: the store holds its tiles or none
    belt_empty: bool = False  # the belt has run back until nothing can lie on it, and not forward since


@dataclass(slots=True)
class Counts:
    """Every mouth's memory; mouths count from 0."""

    mouths: int
    of: list[Mouth] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.of = [Mouth() for _ in range(self.mouths)]

    # --- what is seen ---------------------------------------------------------------------------------------

    def saw_tiles(self, mouth: int, count: int, direction: int) -> None:
        """The eye has seen tiles pass at one moment; two at once cannot be."""
        at = self.of[mouth]
        at.taken = max(0, at.taken + direction * count)
        at.doubtful_eye |= count > 1

    def feeds(self, mouth: int, direction: int) -> None:
        """The conveyor begins to run: tiles may come to the slot, or go back past the eye."""
        at = self.of[mouth]
        at.fed |= direction > 0
        at.belt_empty &= direction < 0
        at.doubtful_eye |= direction < 0

    def pushes(self, mouth: int, single: bool, full: bool) -> None:
        """A stroke begins at the stacker's open end; `full` is what the slot's sensor tells."""
        at = self.of[mouth]
        if at.push is Push.SINGLE and not single:
            at.unsure |= full  # it may lie in the slot still, or in the store
        if full or at.fed:
            at.push = Push.SINGLE if single else Push.STACK

    def stack_leaves(self, mouth: int, now_us: int) -> None:
        """The slot is no longer full while its stacker moves: nothing else empties it."""
        at = self.of[mouth]
        at.stored += STACK
        at.unsure |= at.push is not Push.STACK  # it left twice, or was more than the one tile
        at.push, at.left_us = Push.LEFT, now_us

    def stacker_closed(self, mouth: int, now_us: int, near_us: int, full: bool, feeding: bool) -> None:
        """The stacker is at its closed end, or was then: what lay in the slot is in the store.

        `near_us` is how shortly before this a stack leaves the slot; `full` is what the slot's sensor tells.
        """
        at = self.of[mouth]
        match at.push:
            case Push.SINGLE:
                at.stored += STACK if full else 1
                at.unsure |= full or at.doubtful_eye
            case Push.LEFT:
                at.unsure |= full or abs(now_us - at.left_us) > near_us
            case _ if full or at.fed:
                at.stored += STACK  # at most: nothing tells how many lay there
                at.unsure = True
        at.push = Push.NOTHING
        at.fed = feeding

    def stacker_open(self, mouth: int, full: bool) -> None:
        """The stacker is back without having been closed: what lay in the slot lies there, if it is seen."""
        at = self.of[mouth]
        if at.push is Push.STACK and not full:
            at.stored += STACK  # at most
        if at.push is Push.LEFT or (at.push is Push.STACK and not full):
            at.unsure = True
        if at.push is not Push.SINGLE:
            at.push = Push.NOTHING

    def lift_turned(self, mouth: int, straight: bool, in_slot: int) -> None:
        """The lift has regained home; a straight turn has left the wall on its latches and the store empty.

        `in_slot` tiles are seen in the slot: they are there, whatever the store was taken to hold.
        """
        at = self.of[mouth]
        if straight:
            at.doubtful_eye = at.push is Push.SINGLE
            settled = not at.unsure and at.push is Push.NOTHING
            left = at.taken - at.stored if settled or not at.belt_empty else 0
            at.taken, at.stored, at.ordered = max(left, in_slot), 0, 0
            at.unsure, at.push = False, Push.NOTHING
        else:
            at.unsure = True

    def in_doubt(self, mouth: int) -> None:
        """A lift has stopped somewhere on its way, or a technician has turned what moves these tiles."""
        self.of[mouth].unsure = True

    def belt_is_empty(self, mouth: int, in_slot: int) -> None:
        """The belt has run back long enough: what was taken is in the store, or in the slot and seen."""
        at = self.of[mouth]
        at.taken, at.belt_empty = at.stored + in_slot, True

    # --- what follows ---------------------------------------------------------------------------------------

    def waiting(self, mouth: int) -> int:
        """Return how many counted tiles are on the belt and in the slot."""
        return self.of[mouth].taken - self.of[mouth].stored

    def complete(self, mouth: int) -> bool:
        """Tell whether a store may be raised: as full as ordered, with nothing on its way to it.

        One whose count is in doubt is raised to settle it, as soon as its belt is known to be empty.
        """
        at = self.of[mouth]
        whole = at.taken == at.stored == at.ordered and at.push is Push.NOTHING
        return whole or (at.belt_empty and not self.sure(mouth))

    def most(self, mouth: int) -> int:
        """Return the most that the store can hold now."""
        at = self.of[mouth]
        return min(_MOST, at.stored + _COMING[at.push])

    def sure(self, mouth: int) -> bool:
        """Tell whether the store holds exactly `most`."""
        at = self.of[mouth]
        return not (at.unsure or at.lifting) and at.push is Push.NOTHING

    def to_wire(self) -> bytes:
        """Return two bytes per mouth, as messages carry them."""
        values: list[int] = []
        for mouth in range(self.mouths):
            values.append(min(255, self.of[mouth].taken))
            values.append(self.most(mouth) | (0 if self.sure(mouth) else UNKNOWN))
        return bytes(values)
