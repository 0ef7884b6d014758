"""One hand of a campaign: faults at moments of its own, people who mend and go on, and what must always hold.

The same hand is first played without a fault: that tells how long it lasts and when people push tiles in, and
so which moments a fault can come at. A fault counts where it came while the hand was being played; what
people do wrong with tiles counts where they did it.
"""

import random
from dataclasses import dataclass

from sim.lab.campaign_plan import faults_of
from sim.lab.rig import Rig, RigOptions, ordered
from sim.model import load
from sim.table import Fault, Mend, TableOptions
from tablectl.table import events as ev
from tablectl.table import ledger
from tablectl.table.faults import catalogue

S = 1_000_000
RULES = {"riichi": 136, "sc_tcy": 108, "mcr": 144}
LIMIT_US = 1500 * S
LOOK_US = 300_000
STILL_US = 1 * S  # a table that rests so long has told everything
PATIENCE_US = 30 * S
SILENCE_US = 720_000
PUSH_US = 1_400_000  # no player pushes tiles in sooner after the console is up
PASSING = ("power-cut", "unplug")  # nothing that is said at the table can tell that these last
PEOPLE = ("missing", "extra", "mixed")  # what people do with tiles; it happens when they push them in
DARK = "no power"
DENIED = 2  # so often do people believe a table that says that nothing was put in
_RESTS = ("rest", "stopped", "unhomed", "fault", "loaded", "open", "add_open")

Kinds = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one hand: faults that acted with the state of the cycle, codes told, what was wrong."""

    seed: int
    planned: tuple[str, ...]
    acted: tuple[tuple[str, str], ...]
    codes: tuple[str, ...]
    wrong: tuple[str, ...]
    ready: bool


@dataclass(frozen=True, slots=True)
class Planned:
    """A fault and its moment."""

    at_us: int
    kind: str
    part: str
    lasts: str

    @property
    def now(self) -> str:
        """Return the fault as it is given when its moment has come."""
        return f"{self.kind}:{self.part}{self.lasts}"

    def __str__(self) -> str:
        return f"{self.kind}:{self.part}@{self.at_us / S:.1f}s{self.lasts}"


@dataclass(frozen=True, slots=True)
class Calm:
    """The hand without a fault: when it ends, and until when people can still push tiles in wrong."""

    ends_us: int
    pushes_us: tuple[int, ...]

    def last_us(self, kind: str) -> int:
        """Return the last moment at which a fault of that kind can act."""
        if kind == "missing":
            return self.pushes_us[-1]
        # Both sets lie outside the machine only before the first of them is put in.
        return self.pushes_us[0] if kind in PEOPLE else self.ends_us

    def push_us(self, at_us: int) -> int:
        """Return when tiles are pushed in next."""
        return next((t for t in self.pushes_us if t >= at_us), self.ends_us)


def run_hand(
    seed: int, kinds: Kinds, only: tuple[str, ...] | None = None, model: str = "four-mouth"
) -> Outcome:
    """Play the hand with that seed, with the faults of the plan or those named by `only`."""
    rng = random.Random(f"campaign/{seed}")
    rule = rng.choice(sorted(RULES))
    calm = _calm(Rig(_options(rule, seed, model)))
    names = only or faults_of(seed, tuple(sorted(kinds)))
    planned = sorted((_draw(n, rng.choice(kinds[n]), calm, rng) for n in names), key=lambda p: p.at_us)
    watch = _Watch(Rig(_options(rule, seed, model)), f"{model} seed {seed} {rule}", planned)
    watch.play()
    return Outcome(
        seed, tuple(names), tuple(watch.acted), tuple(watch.codes), tuple(watch.wrong), watch.ended()
    )


def _options(rule: str, seed: int, name: str = "four-mouth") -> RigOptions:
    model = load(name)
    table = TableOptions(
        RULES[rule], seed=seed, play_us=2 * S, repair=True, complete=ordered(rule, model), model=model
    )
    return RigOptions(rule, seed, table)


def _calm(rig: Rig) -> Calm:
    if not rig.play() or rig.faults():
        raise RuntimeError(f"a hand without a fault does not end well: {rig.options}")
    opened = [t for t, e in rig.announced if isinstance(e, ev.StateChanged) and e.new == "open"]
    return Calm(rig.world.now_us, tuple(t + PUSH_US for t in opened))


def _draw(kind: str, part: str, calm: Calm, rng: random.Random) -> Planned:
    at_us = rng.randrange(0, calm.last_us(kind), S // 10)
    # What people do wrong must not be over before they have done it.
    least_s = (calm.push_us(at_us) - at_us) / S + 1 if kind in PEOPLE else 0.5
    passes = rng.random() < 0.5 or kind in PASSING
    lasts = f"+{rng.uniform(least_s, least_s + 20):.1f}s" if passes else ""
    return Planned(at_us, kind, part, lasts)


class _Watch:
    """Plays one hand and holds it against what must be true of it."""

    def __init__(self, rig: Rig, name: str, planned: list[Planned]) -> None:
        self.acted: list[tuple[str, str]] = []
        self.codes: list[str] = []
        self.wrong: list[str] = []
        self._rig = rig
        self._name = f"{name} {' '.join(map(str, planned))}"
        self._planned = planned
        self._come: list[Planned] = []
        self._said: set[str] = set()
        self._seen = self._slips = 0
        self._lost_us = self._still_us = 0
        self._denied = 0
        self._state = ""

    def play(self) -> None:
        """Go from look to look until the hand has ended."""
        world = self._rig.world
        while world.now_us < LIMIT_US and not self.ended():
            world.run(self._next_us())
            self._look()
            if self._planned and self._planned[0].at_us <= world.now_us and not self.ended():
                self._let_come(self._planned.pop(0))
        self._end()

    def ended(self) -> bool:
        """Tell whether the hand was played and the table rests."""
        return self._rig.table.players.done and self._rig.controller.state == "rest"

    def _next_us(self) -> int:
        """Return when to look next: soon, when a fault is due, when motors must stand after a silence."""
        now_us = self._rig.world.now_us
        moments = [p.at_us for p in self._planned[:1]] + [self._rig.last_byte_us + SILENCE_US + 1]
        return min([now_us + LOOK_US, *(max(t, now_us) for t in moments if t > now_us)])

    def _let_come(self, planned: Planned) -> None:
        self._come.append(planned)
        if planned.kind not in PEOPLE:
            self.acted.append((planned.kind, self._where()))
        self._rig.world.post(self._rig.world.now_us, "table", Fault(planned.now))

    def _where(self) -> str:
        return str(self._rig.controller.state) if self._rig.powered else DARK

    def _look(self) -> None:
        rig = self._rig
        slips = rig.table.players.slips
        for kind in slips[self._slips :]:
            if kind not in [k for k, _ in self.acted]:
                self.acted.append((kind, self._where()))
        self._slips = len(slips)
        for _, effect in rig.announced[self._seen :]:
            if isinstance(effect, ev.FaultRaised):
                self._code(effect.code)
            elif isinstance(effect, ev.StateChanged):
                self._denied += effect.new == "halting" and bool(rig.table.machine.drum.place.tiles)
            elif isinstance(effect, ev.Crashed):
                self._wrong(f"crash {effect.error.strip().splitlines()[-1]}")
        self._seen = len(rig.announced)
        self._technician()
        quiet_us = rig.world.now_us - rig.last_byte_us
        driven = [name for name, m in rig.table.machine.motors.items() if m.direction]
        if quiet_us > SILENCE_US and driven and rig.last_byte_us:
            self._wrong(f"{driven} on {quiet_us // 1000} ms after the host's last byte")
        state = rig.controller.state
        if state != self._state or rig.controller.moving or not rig.controller.connected:
            self._state, self._still_us = state, rig.world.now_us
        elif state in _RESTS and rig.world.now_us - self._still_us > STILL_US:
            self._ledger()

    def _end(self) -> None:
        rig = self._rig
        if not self.ended():
            display = rig.shown[-1][1].display if rig.shown else ""
            self._wrong(f"not ended: {rig.controller.state} {display} {rig.faults()[-4:]}")
        for violation in rig.table.machine.violations:
            self._wrong(violation)
        held = sorted(t.number for p in rig.table.places() for t in p.tiles)
        if held != sorted(t.number for t in rig.table.tiles):
            self._wrong("tiles lost or doubled")

    def _technician(self) -> None:
        """A table that has said nothing for long, or says what is not so, is looked at and mended."""
        rig = self._rig
        waits = rig.controller.state == "open" and not rig.table.machine.console.on["console.up"]
        if rig.controller.connected and not waits:
            self._lost_us = rig.world.now_us
        lost = rig.world.now_us - self._lost_us > PATIENCE_US
        if not lost and self._denied < DENIED:
            return
        self._lost_us, self._denied = rig.world.now_us, 0
        for planned in self._come:
            rig.world.post(rig.world.now_us, "table", Mend(planned.now))
        if waits and lost:
            rig.press("START")

    def _code(self, code: str) -> None:
        self.codes.append(code)
        meant = {kind for cause in catalogue()[code].simulated[:3] for kind in cause}
        came = sorted({p.kind for p in self._come})
        if not meant & set(came):
            self._wrong(f"{code} is none of {came}")

    def _ledger(self) -> None:
        rig = self._rig
        board = rig.controller.board
        if board is None:
            return
        counts = ledger.stores(
            rig.controller.seen, board.description.capacity, rig.controller.memory.disturbed
        )
        for side, count in zip(rig.table.machine.sides, counts, strict=True):
            if not count.least <= len(side.store) <= count.most:
                self._wrong(f"{side.name}: ledger {count}, truth {len(side.store)}")

    def _wrong(self, what: str) -> None:
        if what not in self._said:
            self._said.add(what)
            self.wrong.append(f"{self._name}: t={self._rig.world.now_us / S:.1f} {what}")
