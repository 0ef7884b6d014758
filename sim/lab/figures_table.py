"""Figures of what runs in this process alone: decoder, codec, a wash, and the whole table's virtual speed."""

import random
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from firmware_protocol import bench
from sim.lab.figure import Against, Figure, Rule, Watch
from sim.lab.rig import Rig, RigOptions
from sim.lab.wash import PROBE_US, wash
from sim.model import MachineModel
from sim.remote import JITTER_US, frame, words
from sim.table import TableOptions
from tablectl.remote.nec import Frame, NecDecoder, Words

READ_WORDS = 64
GAP_US = 40_000
PERIOD_US = 108_000
WASH_SPEED = 500  # times real time, from START to walls stored
HAND_SPEED = 1_000  # over a hand with 600 s of play
PLAY_US = 600_000_000
TILES = 136
_ONE_FROM_US = 1_120
_LIMIT_US = 3_600_000_000

_Run = tuple[float, float]  # speed in real time, and in processor time


class WrongError(Exception):
    """What was to be timed did not do its work; a figure of it would say nothing."""


def nec(frames: int, rounds: int) -> tuple[Figure, ...]:
    """Time our decoder on the words of a virtual remote, beside one pass over the same words."""
    rng = random.Random(1)
    signed = []
    for _ in range(frames):
        sent = frame(rng.randrange(256), rng.randrange(256))
        signed += [-GAP_US, *(us + rng.randint(-JITTER_US, JITTER_US) for us in sent)]
    data = words([*signed, -GAP_US])
    reads = [data[at : at + 4 * READ_WORDS] for at in range(0, len(data), 4 * READ_WORDS)]

    def decode() -> int:
        decoder = NecDecoder()
        step_us = frames * PERIOD_US // len(reads)
        found = (decoder.handle(Words(read), n * step_us) for n, read in enumerate(reads))
        return sum(isinstance(each, Frame) for some in found for each in some)

    def one_pass() -> int:
        """Take every word apart and compare it once: no decoder in Python can do without."""
        return sum(
            word & 0xFF_FFFF > _ONE_FROM_US for read in reads for (word,) in struct.iter_unpack("<I", read)
        )

    if (found := decode()) != frames:
        raise WrongError(f"{found} of {frames} frames decoded")
    watch = Watch()
    ours, bound = _best((decode, one_pass), rounds)
    against = (Against("pass", frames / bound), Against("air", 1e6 / PERIOD_US))
    return (Figure("nec", frames / ours, "/s", against, watch.foreign()),)


def _best(calls: tuple[Callable[[], object], ...], rounds: int) -> list[float]:
    """Return the shortest time of each call, made in turn."""
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for n, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[n] = min(best[n], time.perf_counter() - start)
    return best


def codec(frames: int, rounds: int) -> tuple[Figure, ...]:
    """Time the wire's codec beside its bound, and beside the package `cobs` where that is installed."""
    watch = Watch()
    found = {speed.name: speed.both for speed in bench.measure(frames, rounds)}
    against = tuple(Against(name, found[name]) for name in ("bound", "peer") if name in found)
    return (Figure("codec", found["codec"], "/s", against, watch.foreign()),)


def washes(count: int, model: MachineModel) -> tuple[Figure, ...]:
    """Wash `count` sets by the host, beside its slowest mouth's time and beside no host."""
    watch = Watch()
    took, mouths, alone = [], [], []
    for seed in range(count):
        rig = _rig(model, seed)
        start_us = _run_to(rig, "washing")
        eyes = _watch_eyes(rig)
        took.append(_run_to(rig, "probing") - start_us)
        mouths.append(max(times[-1] - times[0] for times in eyes.values()))
        bare = wash(model, TILES, seed).seconds
        if bare is None:
            raise WrongError(f"the wash with seed {seed} never ended")
        alone.append(1e6 * bare - PROBE_US)
    against = (Against("mouth", _mean_s(mouths)), Against("alone", _mean_s(alone)))
    return (Figure("wash", _mean_s(took), "s", against, watch.foreign()),)


def _mean_s(values_us: Sequence[float]) -> float:
    return sum(values_us) / len(values_us) / 1e6


def _watch_eyes(rig: Rig) -> dict[str, list[int]]:
    """Note when a tile passes each mouth's eye from now on."""
    machine = rig.table.machine
    told = machine.on_eye
    times: defaultdict[str, list[int]] = defaultdict(list)

    def note(mouth: str, peaks: tuple[int, ...], direction: int) -> None:
        times[mouth].append(rig.table.agenda.now_us)
        told(mouth, peaks, direction)

    machine.on_eye = note
    return times


def virtual_speed(rounds: int, model: MachineModel, play_us: int = PLAY_US) -> tuple[Figure, ...]:
    """Time host and table on the virtual clock: a wash without an idle second, and a hand that is played."""
    return (
        _speed("speed_wash", WASH_SPEED, [partial(_wash, model, seed) for seed in range(rounds)]),
        _speed("speed_hand", HAND_SPEED, [partial(_hand, model, seed, play_us) for seed in range(rounds)]),
    )


def _speed(name: str, asked: int, runs: Sequence[Callable[[], _Run]]) -> Figure:
    """Return the best run's speed, beside what it would be with the processor to itself."""
    watch = Watch()
    real, own = max(run() for run in runs)
    against = (Against("asked", asked, Rule.LEAST), Against("own", own))
    return Figure(name, real, "×", against, watch.foreign())


def _timed(run: Callable[[], int]) -> _Run:
    """Return table time over real time, and over this process's own, of a run that returns the former."""
    real, own = time.perf_counter(), time.process_time()
    table_s = run() / 1e6
    return table_s / (time.perf_counter() - real), table_s / (time.process_time() - own)


def _wash(model: MachineModel, seed: int) -> _Run:
    rig = _rig(model, seed)
    start_us = _run_to(rig, "closing")  # by the START that also washes
    return _timed(lambda: _run_to(rig, "rest") - start_us)


def _hand(model: MachineModel, seed: int, play_us: int) -> _Run:
    rig = _rig(model, seed, play_us)

    def play() -> int:
        if not rig.play(_LIMIT_US) or rig.faults():
            raise WrongError(f"the hand ended in {rig.controller.state} with {rig.faults()}")
        return rig.world.now_us

    return _timed(play)


def _rig(model: MachineModel, seed: int, play_us: int = 0) -> Rig:
    options = TableOptions(tiles=TILES, hands=1, play_us=play_us, seed=seed, model=model)
    return Rig(RigOptions("riichi", seed, options))


def _run_to(rig: Rig, state: str) -> int:
    """Run until the cycle is in a state, and return the time."""
    if not rig.world.run(rig.world.now_us + _LIMIT_US, lambda: rig.controller.state == state):
        raise WrongError(f"never {state}: {rig.controller.state}, {rig.faults()}")
    return rig.world.now_us
