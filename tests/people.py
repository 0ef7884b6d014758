"""People with fingers at a table of labelled tiles: what dice, deal and play come to, without our formulas.

They know compass points, their own hands and the chair to their right; nothing is taken from the program.
"""

import cmath
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

CHAIRS = range(4)
AT_HIS_RIGHT = {0: 1, 1: 2, 2: 3, 3: 0}
FACING = {0: 2, 1: 3, 2: 0, 3: 1}


@dataclass(frozen=True)
class Game:
    """What people agree on before they play."""

    walls: tuple[int, ...]  # tiles before each chair
    players: tuple[int, ...] = (0, 1, 2, 3)
    broken: str = "counted"  # whose wall: of the one counted to, the second "thrower", the "dealer", "facing"
    passed: str = "last"  # stacks passed: as the "last" throw shows, or "all" throws
    blocks: int = 3  # how often each takes four tiles
    ending: str = "jump"  # then a "jump", "each" one and the dealer two, the dealer a "stack" or "one"
    kongs: str = "tail"  # where replacements come from: "tail", "front", "nowhere"
    flowers: str = "nowhere"
    kept: tuple[int, ...] = (0,)  # tiles that stay, by kongs; the last number holds on
    line: bool = False  # they stay behind a line that was drawn before any replacement
    turned: tuple[str, str | int, str] | None = None  # ("front" | "stack" | "tile", which | "dice", layer)
    more_turned: bool = False  # one more for each kong
    turned_last: bool = False  # it is drawn when nothing else is left


@dataclass(frozen=True)
class End:
    """Where the tiles have gone when nothing more may be drawn."""

    live: tuple[str, ...]
    replacements: tuple[str, ...]
    left: tuple[str, ...]
    turned: tuple[str, ...]


@functools.cache
def stacks_on_the_table(tiles: tuple[int, ...]) -> tuple[tuple[complex, tuple[str, ...]], ...]:
    """Lay every stack on its spot and walk along them as seen from above, from the south side to the west."""
    spots = []
    for chair, count in enumerate(tiles):
        for number in range(1, count // 2 + count % 2 + 1):
            layers = "TB" if 2 * number <= count else "B"
            # The person at the south side looks north, so his right hand is in the east.
            spot = complex(30 - number, -30) * 1j**chair
            spots.append((spot, tuple(f"w{chair}s{number}{layer}" for layer in layers)))
    return tuple(sorted(spots, key=lambda it: -cmath.phase(it[0])))


class TableOfPeople:
    """Stacks of labelled tiles on a table top and the people round it.

    Chair k stands at the south side turned k times a quarter to the left (counter-clockwise from above).
    """

    def __init__(self, tiles: Sequence[int]) -> None:
        self.walk = [(spot, list(pile)) for spot, pile in stacks_on_the_table(tuple(tiles))]

    def rightmost_stack(self, chair: int) -> int:
        facing = 1j * 1j**chair
        right = facing * -1j
        mine = [
            (spot * right.conjugate()).real if (spot / facing).real == -30 else -math.inf
            for spot, _ in self.walk
        ]
        return mine.index(max(mine))

    def finger(self, start: int, steps: int = 1) -> int:
        for _ in range(steps):
            start = start + 1 if start + 1 < len(self.walk) else 0
        return start

    def take(self, finger: int, layer: str | None = None) -> list[str]:
        pile = self.walk[finger][1]
        return [pile.pop(0) for _ in range(len(pile) if layer is None else 1)]


def point_round(game: Game, start: int, count: int) -> int:
    """One person is 'one'; the next to be counted sits at his right hand; empty chairs do not count."""
    person = start
    for _ in range(count - 1):
        person = AT_HIS_RIGHT[person]
        while person not in game.players:
            person = AT_HIS_RIGHT[person]
    return person


class Hand:
    """One hand as it is dealt by people."""

    def __init__(self, game: Game, dealer: int, sums: Sequence[int]) -> None:
        self.game, self.sums = game, sums
        self.table = TableOfPeople(game.walls)
        counted = point_round(game, dealer, sums[0])
        self.thrower = counted if len(sums) > 1 else dealer
        self.owner = {"counted": counted, "thrower": counted, "dealer": dealer, "facing": FACING[dealer]}[
            game.broken
        ]
        self.count = sums[-1] if game.passed == "last" else sum(sums)
        self.gap = self.table.finger(self.table.rightmost_stack(self.owner), self.count)
        self.first = self.table.walk[self.gap][1][0]
        self._at = self.gap
        self.people = [point_round(game, dealer, n + 1) for n in range(len(game.players))]
        self.hands: dict[int, list[str]] = {person: [] for person in CHAIRS}
        for _ in range(game.blocks):
            for person in self.people:
                self.hands[person] += self._next(4)
        self._last_tiles()
        self.draws, self.tail = self._around(), self._backwards()

    def all_tiles(self) -> list[str]:
        return [label for _, pile in stacks_on_the_table(tuple(self.game.walls)) for label in pile]

    def _settled(self) -> int:
        """Move the finger on to a stack that still has tiles."""
        while not self.table.walk[self._at][1]:
            self._at = self.table.finger(self._at)
        return self._at

    def _next(self, tiles: int) -> list[str]:
        return [self.table.walk[self._settled()][1].pop(0) for _ in range(tiles)]

    def _last_tiles(self) -> None:
        dealer, *others = self.people
        ending = self.game.ending
        if ending == "jump" and len(others) == 3:  # 跳牌
            for stack in (self._settled(), self.table.finger(self._settled(), 2)):
                self.hands[dealer] += self.table.take(stack, "T")
        else:
            self.hands[dealer] += self._next(2 if ending == "stack" else 1)
        for person in others if ending != "one" else ():
            self.hands[person] += self._next(1)
        if ending == "each" or (ending == "jump" and len(others) < 3):
            self.hands[dealer] += self._next(1)

    def _around(self) -> list[str]:
        found, spot = [], self.gap
        for _ in self.table.walk:
            found += self.table.walk[spot][1]
            spot = self.table.finger(spot)
        return found

    def _backwards(self) -> list[str]:
        found, spot = [], self.gap
        for _ in self.table.walk:
            spot = spot - 1 if spot else len(self.table.walk) - 1
            found += self.table.walk[spot][1]
        return found

    def indicators(self, kongs: int) -> list[str]:
        if self.game.turned is None:
            return []
        where, which, layer = self.game.turned
        wanted = 1 + (kongs if self.game.more_turned else 0)
        if where == "front":
            return self.draws[:wanted]
        nth = self.sums[-1] if which == "dice" else int(which)
        if where == "tile":
            return self.tail[nth - 1 : nth - 1 + wanted]
        found, spot, passed = [], self.gap, 0
        while len(found) < wanted:
            spot = spot - 1 if spot else len(self.table.walk) - 1
            passed += 1
            if passed >= nth:
                found += [label for label in self.table.walk[spot][1] if label.endswith(layer)]
        return found

    def played_to_the_end(self, kongs: int = 0, flowers: int = 0) -> End:
        """Take every tile that may be taken, one by one."""
        game, turned = self.game, self.indicators(kongs)
        lying = list(self.draws)
        for label in turned:
            lying.remove(label)
        behind = [label for label in self.tail if label not in turned]
        replacements = []
        for source in [game.kongs] * kongs + [game.flowers] * flowers:
            if source == "tail":
                label = behind.pop(0)
                lying.remove(label)
                replacements.append(label)
        kept = game.kept[kongs] if kongs < len(game.kept) else game.kept[-1]
        guarded = set(self.draws[len(self.draws) - kept :]) if game.line else set()
        # Turned tiles that lie at the tail are some of those that stay.
        stays = kept - (len(turned) if game.turned and game.turned[0] != "front" else 0)
        live = []
        while lying and (lying[0] not in guarded if game.line else len(lying) > stays):
            live.append(lying.pop(0))
        if game.turned_last:
            live += turned
        return End(tuple(live), tuple(replacements), tuple(lying), tuple(turned))
