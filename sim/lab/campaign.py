"""Random hands with random faults: ledger against truth, interlocks, silence, and the codes that are named.

python -m sim.lab.campaign --hands 1000 --seed 0
"""

import random
from collections import Counter
from dataclasses import dataclass, field

import click

from sim.lab.rig import Rig, RigOptions
from sim.table import Mend, SimTable, TableOptions
from tablectl.rules import ruleset
from tablectl.table import events as ev
from tablectl.table import ledger
from tablectl.table.faults import catalogue

S = 1_000_000
RULES = {"riichi": 136, "sc_tcy": 108, "mcr": 144}
LIMIT_S = 1500
SETTLE_S = 0.3
PATIENCE_S = 30
SILENCE_US = 720_000
_RESTS = ("rest", "stopped", "unhomed", "fault", "loaded", "open", "add_open")


@dataclass(slots=True)
class Report:
    """What a campaign has come to."""

    hands: int = 0
    ready: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def fault_kinds() -> dict[str, tuple[str, ...]]:
    """Return every kind of fault with the parts that can have it."""
    return {name: kind.parts for name, kind in SimTable(TableOptions()).faults.kinds.items()}


def run_hand(seed: int, report: Report, kinds: dict[str, tuple[str, ...]], first: str | None = None) -> None:
    """Play one hand with one fault or more, `first` among them; people mend and go on."""
    rng = random.Random(f"campaign/{seed}")
    rule = rng.choice(sorted(RULES))
    names = [first or rng.choice(sorted(kinds))]
    while rng.random() < 0.3:
        names.append(rng.choice(sorted(kinds)))
    specs = tuple(_spec(name, rng.choice(kinds[name]), rng) for name in names)
    options = TableOptions(
        tiles=RULES[rule],
        seed=seed,
        hands=1,
        play_us=2 * S,
        faults=specs,
        repair=True,
        complete=ruleset.load(rule).wall_tiles,
    )
    rig = Rig(RigOptions(rule, seed, options))
    watch = _Watch(rig, report, f"seed {seed} {rule}", names, specs)
    report.hands += 1
    report.kinds.update(names)
    while rig.world.now_us < LIMIT_S * S and not watch.ended():
        rig.world.run(rig.world.now_us + round(SETTLE_S * S))
        watch.look()
    watch.end()


def _spec(kind: str, part: str, rng: random.Random) -> str:
    lasts = f"+{rng.uniform(0.5, 20):.1f}s" if rng.random() < 0.5 or kind in ("power-cut", "unplug") else ""
    return f"{kind}:{part}@{rng.uniform(0, 95):.1f}s{lasts}"


class _Watch:
    """Holds one hand against what must be true of it."""

    def __init__(self, rig: Rig, report: Report, name: str, kinds: list[str], specs: tuple[str, ...]) -> None:
        self._rig = rig
        self._report = report
        self._name = f"{name} {' '.join(specs)}"
        self._specs = specs
        self._lost_us = 0
        self._kinds = set(kinds)
        self._seen = 0
        self._still_us = 0
        self._state = ""

    def ended(self) -> bool:
        """Tell whether the hand was played and the table rests."""
        return self._rig.table.players.done and self._rig.controller.state == "rest"

    def look(self) -> None:
        """Check the ledger at rest, the codes, the motors after a silence."""
        rig = self._rig
        for _, effect in rig.announced[self._seen :]:
            if isinstance(effect, ev.FaultRaised):
                self._code(effect.code)
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
        elif state in _RESTS and rig.world.now_us - self._still_us > 2 * S:
            self._ledger()

    def end(self) -> None:
        """Say whether the hand came to its end."""
        rig = self._rig
        if not self.ended():
            display = rig.shown[-1][1].display if rig.shown else ""
            self._wrong(f"not ended: {rig.controller.state} {display} {rig.faults()[-4:]}")
        else:
            self._report.ready += 1
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
        elif rig.world.now_us - self._lost_us > PATIENCE_S * S:
            self._lost_us = rig.world.now_us
            for spec in self._specs:
                rig.world.post(rig.world.now_us, "table", Mend(spec))
            if waits:
                rig.press("START")

    def _code(self, code: str) -> None:
        self._report.codes[code] += 1
        meant = {kind for cause in catalogue()[code].simulated[:3] for kind in cause}
        if not meant & self._kinds:
            self._wrong(f"{code} is none of {sorted(self._kinds)}")

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
        line = f"{self._name}: t={self._rig.world.now_us / S:.1f} {what}"
        if not any(w.startswith(self._name) and w.endswith(what) for w in self._report.wrong):
            self._report.wrong.append(line)


def run(hands: int, seed: int = 0) -> Report:
    """Run a campaign; every kind of fault takes its turn."""
    report, kinds = Report(), fault_kinds()
    names = sorted(kinds)
    for n in range(hands):
        run_hand(seed + n, report, kinds, names[n % len(names)])
    return report


@click.command()
@click.option("--hands", type=click.IntRange(1), default=100, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def main(hands: int, seed: int) -> None:
    """Run a campaign and print what it came to."""
    report = run(hands, seed)
    click.echo(
        f"{report.hands} hands, {sum(report.kinds.values())} faults, {report.ready} played to their end"
    )
    click.echo("faults: " + ", ".join(f"{k} {n}" for k, n in sorted(report.kinds.items())))
    click.echo("codes: " + ", ".join(f"{k} {n}" for k, n in sorted(report.codes.items())))
    for line in report.wrong:
        click.echo(f"WRONG {line}")
    click.echo(f"{report.hands - len(report.wrong)} passed, {len(report.wrong)} failed")
    raise SystemExit(1 if report.wrong else 0)


if __name__ == "__main__":
    main()
