"""What is killed, when in the hand, and for how long it is away: by kind and seed alone."""

import random
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from sim.lab.rig import Rig, RigOptions
from sim.table import TableOptions
from tablectl.rules import ruleset
from tablectl.table import events as ev

S = 1_000_000
RULES = {"riichi": 136, "sc_tcy": 108, "mcr": 144}
PLAY_US = 2 * S
HANDS = 2  # people stay until a set is ready again, however late in the first hand the strike comes
_SEEDS = 1 << 31


class Kind(StrEnum):
    """What is done to a table in the middle of a hand."""

    DAEMON = "daemon"  # kill -9; the service manager starts it again
    SIMULATOR = "simulator"  # kill -9; board and machine are gone, and another table comes to the same port
    UNPLUG = "unplug"  # the board's cable is pulled and put in again
    RESET = "reset"  # the board restarts
    LIRCD = "lircd"  # kill -9; the service manager starts it again


@dataclass(frozen=True, slots=True)
class Plan:
    """One strike; `moment` is a share of the hand from its first START until the dice are thrown.

    `late`: what was taken away comes back only when the table stands; otherwise as soon as it can.
    """

    kind: Kind
    seed: int
    rule: str
    moment: float
    late: bool
    other_seed: int  # of the table that comes instead

    @property
    def tiles(self) -> int:
        """Return the tiles of a set."""
        return RULES[self.rule]

    @property
    def walls(self) -> tuple[int, ...]:
        """Return the tiles of each side's wall."""
        return ruleset.load(self.rule).wall_tiles

    @property
    def strike_us(self) -> int:
        """Return how long after the first START the strike comes, in table time."""
        return round(self.moment * hand_us(self.rule, self.seed))


def plan(kind: Kind, seed: int) -> Plan:
    """Return the strike of that kind with that seed."""
    rng = random.Random(f"kills/{kind}/{seed}")
    rule = rng.choice(sorted(RULES))
    return Plan(kind, seed, rule, rng.random(), rng.random() < 0.5, rng.randrange(_SEEDS))


@cache
def hand_us(rule: str, seed: int) -> int:
    """Return how long the same hand lasts in virtual time, from the first START until the dice are thrown."""
    table = TableOptions(RULES[rule], seed=seed, play_us=PLAY_US)
    rig = Rig(RigOptions(rule, seed, table))
    if not rig.play() or rig.faults():
        raise RuntimeError(f"a hand that nothing strikes does not end well: {rule}, seed {seed}")
    began = next(t for t, e in rig.announced if isinstance(e, ev.StateChanged) and e.new == "opening")
    thrown = [t for t, e in rig.announced if isinstance(e, ev.BreakAnnounced)]
    return thrown[-1] - began
