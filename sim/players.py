"""Four people at the table: they read the display, press the remote, push tiles in, pull walls off and play.

They know of the machine only what people see: the display, the console, the walls.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from sim.agenda import Agenda, Entry
from sim.mechanics.machine import Machine
from sim.mechanics.mouth import Mouth
from sim.tiles import Place, Tile

HOLD_US = 1_900_000
SWITCHED_OFF_US = 4_000_000
PATIENCE_US = 6_000_000  # a key that did nothing is pressed again, as people do
_BREAK = re.compile(r"[ESUN][ 0-9]{2}[0-9]")  # the display has no W: West is U
_FAULT = re.compile(r"E[0-9]{2} ")
_SERVED = "hAnd"  # the display says that the hands were served
_WASHES = re.compile(rf" *[0-9]+|dicE|d  [ESUN]|{_SERVED}")  # what is shown while a set is washed
_SENSOR = "E53 "  # an end sensor was found dead: it is believed again when the table was off and on
_LIFT = "E41 "  # the display says that a lift does not come home
_MISSING = ("E21 ", "E25 ")  # the display says that tiles are missing
_SEATS = {"E": "DICE_EAST", "S": "DICE_SOUTH", "U": "DICE_WEST", "N": "DICE_NORTH"}


@dataclass(frozen=True, slots=True)
class WallsSeen:
    """The walls as they stood when the players took them: tile numbers per side, in the order pushed.

    `hands` are those that the machine has served, per side.
    """

    back: str
    walls: tuple[tuple[int, ...], ...]
    hands: tuple[tuple[int, ...], ...] = ()

    @property
    def stacks(self) -> tuple[int, ...]:
        """Return the number of stacks per side, half a stack counting as one."""
        return tuple(-(-len(w) // 2) for w in self.walls)


class Players:
    """They play `hands` hands, `play_us` each, with the sets in `boxes`."""

    def __init__(
        self,
        agenda: Agenda,
        machine: Machine,
        boxes: list[Place],
        hands: int,
        play_us: int,
        seed: int,
        press: Callable[[str, int], None],
        repair: Callable[[], None] | None = None,
        complete: tuple[int, ...] = (),
        mains: Callable[[bool], None] = lambda on: None,
    ) -> None:
        self.table = Place("table")
        self.seen: list[WallsSeen] = []
        self.hands_played = 0
        self._agenda = agenda
        self._machine = machine
        self._boxes = boxes
        self._hands = hands
        self._play_us = play_us
        self._rng = random.Random(f"{seed}/players")
        self._press = press
        self._repair = repair
        self._mains = mains
        self._complete = complete  # tiles of a side's whole wall, as players know their rule
        self._display = ""
        self._playing = False
        self._pulled = False
        self._served: tuple[tuple[int, ...], ...] = ()  # the hands that were taken from their trays
        self._pushed = False
        self._last_key = ""
        self._last_fault = ""
        self._given_up = False  # the walls that come up are what was stored of a wash given up
        self._fed = False  # a set was put in and has not come to walls yet: nobody puts a second one in
        self._owed = False  # the table washes, and the set that lies outside was never put in
        self._in_play = ""  # the back of the walls that were taken last
        self._lose = 0
        self._strange = 0
        self._strangers: list[Tile] = []  # put in by mistake
        self._mixed = False
        self.slips: list[str] = []  # what people have really done wrong, by kind of fault
        self.floor = Place("floor")
        self._plan: Entry | None = None

    @property
    def done(self) -> bool:
        """Tell whether every hand has been played."""
        return self.hands_played >= self._hands

    def read(self, display: str) -> None:
        """See what the display shows now."""
        if display != self._display:
            self._display = display
            self._fed = self._fed and display not in ("rdY ", "UP  ", "nonE", "outP")
            self._owed = self._owed and display not in ("rdY ", "nonE", "outP", "PrES")
            if _FAULT.fullmatch(display):
                self._last_fault = display
            if display == "outP":
                self._given_up, self._pulled, self._playing = True, False, False
            if display == _SERVED or _BREAK.fullmatch(display):
                self._reach_for_hands()
            self._consider()

    def console(self, is_up: bool) -> None:
        """See the console go up, or leave its upper end."""
        self._pushed = False
        if is_up and (self._repair or not self.done):
            self._agenda.after(self._moment(1.5, 2.5), self._push_in)

    def wall(self, side: str) -> None:
        """See one wall come up."""
        if self.done:
            return
        lifted = [s for s in self._machine.sides if s.wall.tiles]
        if len(lifted) == len([s for s in self._machine.sides if s.wall.tiles or s.store.tiles]):
            self._agenda.after(self._moment(2.0, 3.0), self._pull_walls)

    def put_in(self, tiles: list[Tile]) -> None:
        """Push tiles into the drum, with whatever people do wrong this time."""
        order = _shuffled(tiles, self._rng)
        lost, going = order[: self._lose], order[self._lose :]
        for tile in lost:
            tile.move(self.floor)
        for tile in going:
            tile.move(self._machine.drum.place)
        backs = [t.back for t in order]
        mine = _most(backs)
        others = [t for p in (self.table, *self._boxes) for t in p.tiles if t.back != mine]
        self._strangers = others[: self._strange]
        for tile in self._strangers:
            tile.move(self._machine.drum.place)
        done = {"missing": lost, "extra": self._strangers, "mixed": self._mixed and len(set(backs)) > 1}
        self.slips += [kind for kind, really in done.items() if really]
        self._lose = self._strange = 0

    # --- what goes wrong with people ------------------------------------------------------------------------

    def lose(self, count: int) -> None:
        """Leave tiles out the next time a set is put in; with 0 what lies on the floor goes in, if it can."""
        self._lose = count
        if not count and self._machine.console.on["console.up"]:
            for tile in list(self.floor.tiles):
                tile.move(self._machine.drum.place)

    def add_strange(self, count: int) -> None:
        """Put tiles of the other set in, too, the next time; 0 leaves them out."""
        self._strange = count

    def mix(self, count: int) -> None:
        """Exchange tiles of the two sets where both lie outside the machine; 0 sorts them by their backs."""
        self._mixed = False
        if not count:
            self._sort()
            return
        piles = [p for p in (self.table, *self._boxes) if len(p) >= count][:2]
        if len(piles) == 2:
            first, second = (list(p.tiles[:count]) for p in piles)
            for tile in first:
                tile.move(piles[1])
            for tile in second:
                tile.move(piles[0])
            self._mixed = True

    def _pile(self) -> Place | None:
        """Return the pile to push in: the hand that was played, else the set in its box."""
        few = sum(self._complete) // 4  # so many tiles are no set: they were left over
        if len(self._machine.drum.place) > few:
            return self.table  # a set lies in the drum already: only what belongs to it goes in
        stray = len(self.table) < few
        box = next((b for b in self._boxes if b.tiles), None)
        return box if (box and stray) or not self.table.tiles else self.table

    def _set_from(self, pile: Place) -> list[Tile]:
        """Return what goes in: the pile as it lies, with what lies about where it is too small for a set.

        Only where it is too much do people look at the backs: what is of the other set comes out of the drum,
        and what belongs to this one is gathered from everywhere.
        """
        drum, total = self._machine.drum.place, sum(self._complete)
        tiles = list(pile.tiles)
        if total and len(drum) + len(tiles) > total:
            wanted = _most([t.back for t in drum.tiles or tiles])
            for tile in [t for t in drum.tiles if t.back != wanted]:
                tile.move(self.table)
            about = [t for p in (self.table, *self._boxes) for t in p.tiles]
            tiles = [t for t in about if t.back == wanted][: total - len(drum)]
        elif pile is self.table:
            return tiles
        lacks = max(0, total - len(drum) - len(tiles))
        return tiles + [t for t in self.table.tiles if t not in tiles][:lacks]

    def _owed_set(self) -> list[Tile]:
        """Return what goes in where a wash was begun without it: the rest of what is inside, or a set."""
        inside, total = self._inside(), sum(self._complete)
        box = next((b.tiles for b in self._boxes if b.tiles), [])
        begun = [*inside, *self.table.tiles]
        if not self._pulled and len(begun) > total // 4:  # no hand is played with what lies on the table
            mine = _most([t.back for t in begun])
            tiles = [t for t in (*self.table.tiles, *box) if t.back == mine]
        else:
            tiles = [*box, *(t for t in self.table.tiles if t.back != self._in_play)]
        return tiles[: max(0, total - len(inside))]

    def _inside(self) -> list[Tile]:
        """Return the tiles in drum, mouths and stores."""
        mouths = [p for s in self._machine.sides for p in (s.store, s.mouth.belt, s.mouth.slot)]
        return [t for p in (self._machine.drum.place, *mouths) for t in p.tiles]

    def _wrong_tiles(self) -> list[Tile]:
        """Return the tiles that lie on the floor, and those in the drum whose backs are of the other set."""
        drum = self._machine.drum.place.tiles
        return [*self.floor.tiles, *(t for t in self._strangers if t in drum)]

    def _heads(self) -> list[Mouth]:
        """Return the mouths where something lies before a wall that is complete: a technician sees it."""
        complete = zip(self._machine.sides, self._complete, strict=False)
        return [
            s.mouth for s, n in complete if len(s.store) >= n and (s.mouth.slot.tiles or s.mouth.belt.tiles)
        ]

    def _put_right(self) -> None:
        """Put in what lies on the floor or at a head, take out what has the wrong back."""
        for mouth in self._heads():
            mouth.clear_head()
        sides, drum = self._machine.sides, self._machine.drum.place
        if self._complete and all(len(s.store) >= n for s, n in zip(sides, self._complete, strict=True)):
            for tile in list(drum.tiles):
                tile.move(self.table)  # every wall is complete: what is left is too much
            return
        for tile in self._wrong_tiles():
            tile.move(drum if tile.place is self.floor else self.table)
        for tile in self._lacking():
            tile.move(drum)

    def _lacking(self) -> list[Tile]:
        """Return the tiles that lie about and belong to the set in the machine, by their backs."""
        backs = [t.back for t in self._inside()]
        mine = _most(backs)
        about = [t for t in self.table.tiles if t.back == mine]
        return about[: max(0, sum(self._complete) - len(backs))]

    def _sort(self) -> None:
        piles = (self.table, *self._boxes)
        backs = {t.back for pile in piles for t in pile.tiles}
        home = {back: max(piles, key=lambda p: sum(t.back == back for t in p.tiles)) for back in backs}
        for tile in [t for pile in piles for t in pile.tiles]:
            if tile.place is not home[tile.back]:
                tile.move(home[tile.back])

    def _moment(self, least_s: float, most_s: float) -> int:
        return round(1_000_000 * self._rng.uniform(least_s, most_s))

    def _consider(self) -> None:
        if self._plan:
            self._plan.cancel()
            self._plan = None
        word = self._display
        if _BREAK.fullmatch(word) and self._pulled and not self._playing:
            self._playing = True
            self._agenda.after(self._play_us, self._end_hand)
            return
        key, held_us = self._wish(word)
        if key:
            self._plan = self._agenda.after(self._moment(0.6, 1.4), lambda: self._act(key, held_us))

    def _wish(self, word: str) -> tuple[str, int]:
        """Return the key that the display asks for, and how long it wants to be held."""
        if self.done and not self._repair:
            return "", 0
        if word == "HoLd":
            return "START", HOLD_US
        if _FAULT.fullmatch(word) and self._repair:
            return "RESET", 0
        if word == "cont" and self._wants_add() and self._last_key != "ADD":
            return "ADD", 0
        if word == "Add " and self._pushed:
            return "START", 0
        if word in ("cont", "LoAd") or word.endswith("--"):  # a wall that may stand: the lift turns once more
            return "START", 0
        if self.done:
            return "", 0
        if self._owed and _WASHES.fullmatch(word):
            return "ADD", 0
        if word in ("PrES", "rdY ") and not self._playing and not self._pulled:
            return "START", 0
        if word == "PuSH" and self._pushed:
            return "START", 0
        if word == "dicE":
            return "DICE", 0
        if word.startswith("d  "):
            return _SEATS[word[3]], 0
        return "", 0

    def _wants_add(self) -> bool:
        """Tell whether a wash can only go on when somebody has reached into the table."""
        if self._owed or self._wrong_tiles() or self._heads():
            return True
        return self._last_fault in _MISSING and bool(self._lacking())

    def _act(self, key: str, held_us: int) -> None:
        if key == "RESET" and self._repair:
            self._repair()  # first the cause, then the key
            if self._display == _LIFT:
                self._pull_what_is_in_the_way()
            if self._display == _SENSOR:
                self._mains(False)
                self._agenda.after(SWITCHED_OFF_US, lambda: self._mains(True))
                return
        if key == "START" and self._display == "LoAd" and self._complete:
            self._owed = not self._fed and not self.done
        self._last_key = key
        self._press(key, held_us)
        self._plan = self._agenda.after(held_us + PATIENCE_US, self._consider)

    def _push_in(self) -> None:
        if not self._machine.console.on["console.up"]:
            return
        if self._display == "Add ":
            if self._owed:
                self._owed, self._fed = False, True
                self.put_in(self._owed_set())
            else:
                self._put_right()
            self._pushed = True
            self._consider()
            return
        source = self._pile()
        if source is not None and not self._fed and not self.done:
            self._fed = True
            self.put_in(self._set_from(source))
        self._pushed = True
        self._consider()

    def _pull_walls(self) -> None:
        # Hands stay on their trays until the table says that they are hands.
        sides = [s for s in self._machine.sides if self._given_up or not s.spec.hand]
        walls = tuple(tuple(t.number for t in s.wall.tiles) for s in sides)
        backs = [t.back for s in sides for t in s.wall.tiles]
        for side in sides:
            side.pull_wall(self.table)
        if not self._given_up:
            self.seen.append(WallsSeen("+".join(sorted(set(backs))), walls, self._served))
            self._in_play = _most(backs)
            self._pulled = True
        self._given_up, self._served = False, ()
        self._consider()

    def _reach_for_hands(self) -> None:
        if not self.done and any(s.spec.hand and s.wall.tiles for s in self._machine.sides):
            self._agenda.after(self._moment(0.5, 1.5), self._take_hands)

    def _take_hands(self) -> None:
        trays = [s for s in self._machine.sides if s.spec.hand]
        hands = tuple(tuple(t.number for t in s.wall.tiles) for s in trays)
        if not any(hands):
            return
        for tray in trays:
            tray.pull_wall(self.table)
        if self._pulled:
            self.seen[-1] = replace(self.seen[-1], hands=hands)
        else:
            self._served = hands

    def _pull_what_is_in_the_way(self) -> None:
        """Take off the walls under which a lift is held: it has more to bring up."""
        for side in self._machine.sides:
            if side.wall.tiles and side.store.tiles:
                side.pull_wall(self.table)

    def _end_hand(self) -> None:
        self.hands_played += 1
        self._playing = self._pulled = False
        self._consider()


def _most(backs: list[str]) -> str:
    """Return the colour that most of the tiles have, empty where there are none."""
    return max(sorted(set(backs)), key=backs.count, default="")


def _shuffled(tiles: list[Tile], rng: random.Random) -> list[Tile]:
    """Return the tiles in the chance order in which hands push them in; no face is looked at."""
    order = list(tiles)
    rng.shuffle(order)
    return order
