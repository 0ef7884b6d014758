"""The strikes of a kill campaign, and what the service manager, udev or a hand does about them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sim.lab.kills_bench import Bench
from sim.lab.kills_judge import SILENCE_MS
from sim.lab.kills_plan import Kind
from sim.lab.processes import wait_for
from tablectl.journal.chain import Entry

_AWAY_S = 1.0  # of a process that does not come back at once
_STANDS_US = (SILENCE_MS + 100) * 1000
_PRESS_US = 500_000  # a key that was not heard is pressed again


@dataclass(frozen=True, slots=True)
class Struck:
    """What was seen of a strike; `back_s` is how long the host took to work with what had come back."""

    last: int  # the number of the last journal entry before it
    back_s: float
    kept: tuple[Entry, ...] = ()  # the journal as the killed daemon has left it
    done: tuple[str, ...] = ()  # what the board had been ordered to move by then
    before: dict[str, Any] | None = None  # the last word of the simulator that was killed


def strike(bench: Bench) -> Struck:
    """Strike, put right what a person need not put right, and wait until the host works again."""
    strikes: dict[Kind, Callable[[Bench], Struck]] = {
        Kind.DAEMON: _kill_daemon,
        Kind.SIMULATOR: _kill_simulator,
        Kind.UNPLUG: _unplug,
        Kind.RESET: _reset,
        Kind.LIRCD: _kill_lircd,
    }
    return strikes[bench.plan.kind](bench)


def _kill_daemon(bench: Bench) -> Struck:
    bench.kill(Kind.DAEMON)
    kept = bench.journal()
    if bench.plan.late:
        _let_it_stand(bench)
    done = tuple(bench.truth()["executed"])
    start = time.monotonic()
    bench.start_daemon()
    return Struck(kept[-1].id, _back(bench, start), kept, done)


def _kill_simulator(bench: Bench) -> Struck:
    last, before = bench.last_entry(), bench.truth()
    bench.kill(Kind.SIMULATOR)
    _wait_for_the_loss(bench)
    if bench.plan.late:
        time.sleep(_AWAY_S)
    start = time.monotonic()
    bench.start_simulator(bench.plan.other_seed)
    return Struck(last, _back(bench, start), before=before)


def _unplug(bench: Bench) -> Struck:
    last = bench.last_entry()
    bench.control("fault", spec="unplug:wire")
    _wait_for_the_loss(bench)
    if bench.plan.late:
        _let_it_stand(bench)
    start = time.monotonic()
    bench.control("mend", spec="unplug:wire")
    return Struck(last, _back(bench, start))


def _reset(bench: Bench) -> Struck:
    last, before = bench.last_entry(), int(bench.status()["board"]["boot_id"])
    start = time.monotonic()
    bench.control("fault", spec="reset:board")
    return Struck(last, _back(bench, start, lambda status: int(status["board"]["boot_id"]) != before))


def _kill_lircd(bench: Bench) -> Struck:
    last = bench.last_entry()
    bench.kill(Kind.LIRCD)
    if bench.plan.late:
        time.sleep(_AWAY_S)
    start = time.monotonic()
    bench.start_lircd()
    frames, pressed_us = int(bench.status()["remote"]["frames"]), 0

    def heard(status: dict[str, Any]) -> bool:
        nonlocal pressed_us
        now_us = int(bench.truth()["time_us"])
        if now_us > pressed_us + _PRESS_US:
            pressed_us = now_us
            bench.control("press", key="STATUS")  # it moves nothing
        return int(status["remote"]["frames"]) > frames

    return Struck(last, _back(bench, start, heard))


def _wait_for_the_loss(bench: Bench) -> None:
    wait_for(lambda: not bench.status()["connected"], "the loss of the board")


def _let_it_stand(bench: Bench) -> None:
    """Wait until the board must have noticed that nobody speaks to it."""

    def stands() -> bool:
        truth = bench.truth()
        return int(truth["time_us"]) > int(truth["silence"]["heard_us"]) + _STANDS_US

    wait_for(stands, "the board's own stop")


def _back(bench: Bench, start: float, works: Callable[[dict[str, Any]], bool] = lambda status: True) -> float:
    def back() -> bool:
        status = bench.status()
        return bool(status["connected"]) and works(status)

    wait_for(back, f"the way back from {bench.plan.kind}")
    return time.monotonic() - start
