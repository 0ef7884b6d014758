"""The whole table in virtual time: walls against the simulator's own tiles, integrity, determinism."""

import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import STACKS, TILES, check_tiles, permuted, rig, told

from sim.board import Board
from sim.lab.rig import Rig
from sim.tiles import SETS
from tablectl.table import events as ev
from tablectl.trace import TraceWriter

HANDS = 200
RUNS = [(rule, seed) for seed in range(17) for rule in STACKS]
HANDS_PER_RUN = 4  # 17 seeds × 3 rules × 4 hands = 204


def independent_break(dice: list[tuple[int, ...]], stacks: tuple[int, ...]) -> tuple[int, int]:
    """Walk round the walls with a finger, clockwise from the right end of the named wall, as people do."""
    first = sum(dice[0])
    wall = {1: 0, 2: 1, 3: 2, 0: 3}[first % 4]
    fingers = sum(map(sum, dice))
    stack = 0
    for _ in range(fingers + 1):
        stack += 1
        if stack > stacks[wall]:
            wall, stack = (wall + 3) % 4, 1
    return wall, stack


@pytest.mark.parametrize(("rule", "seed"), RUNS)
def test_a_seeded_hand_does_not_end_in_wrong_walls(rule: str, seed: int) -> None:
    r = rig(rule, entropy_seed=seed, seed=seed, hands=HANDS_PER_RUN)
    assert r.play(), r.controller.state
    assert r.faults() == ()
    check_tiles(r)
    truth = r.table.truth()["hands"]
    assert len(truth) == HANDS_PER_RUN
    for n, hand in enumerate(truth):
        assert hand["stacks"] == STACKS[rule]
        numbers = [t for wall in hand["walls"] for t in wall]
        assert len(numbers) == len(set(numbers)) == TILES[rule]
        assert hand["back"] == "AB"[n % 2], "the two sets take turns"


def test_the_campaign_does_not_shrink_below_its_number_of_hands() -> None:
    assert len(RUNS) * HANDS_PER_RUN >= HANDS


@pytest.mark.parametrize("rule", STACKS)
def test_the_announced_break_is_not_another_than_fingers_find(rule: str) -> None:
    for seed in range(4):
        r = rig(rule, entropy_seed=seed, seed=seed, hands=3)
        assert r.play()
        throws = iter(told(r, ev.DiceThrown))
        for opening in told(r, ev.BreakAnnounced):
            dice = [next(throws).faces for _ in range(2 if rule == "mcr" else 1)]
            assert all(len(t) == 2 and set(t) <= set(range(1, 7)) for t in dice)
            assert (opening.wall, opening.stack) == independent_break(dice, STACKS[rule])
            hands = [len(take) for take in opening.takes]
            assert sorted(hands) == [13, 13, 13, 14]
            assert len({place for take in opening.takes for place in take}) == 53
        assert len(told(r, ev.BreakAnnounced)) == 3


def test_dice_are_not_drawn_before_the_walls_stand() -> None:
    r = rig("mcr", hands=3)
    assert r.play()
    standing = False
    for _, effect in r.announced:
        if isinstance(effect, ev.StateChanged):
            standing = standing or effect.old == "raising"
            standing = standing and effect.new != "opening"
        if isinstance(effect, ev.DiceThrown):
            assert standing


# --- integrity ----------------------------------------------------------------------------------------------


def host_trace(faces: tuple[str, ...]) -> str:
    """Play one hand and return a digest of everything that the host saw and did."""
    stream = io.StringIO()
    r = rig("riichi", trace=TraceWriter(stream, {}), seed=5, hands=1, faces=faces)
    assert r.play()
    return hashlib.sha256(stream.getvalue().encode()).hexdigest()


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_no_permutation_of_the_faces_changes_what_the_controller_does(first: int) -> None:
    traces = {host_trace(permuted(SETS[136], seed)) for seed in range(first, first + 25)}
    assert traces == {host_trace(SETS[136])}


def test_a_board_that_leaks_one_bit_of_a_face_does_not_pass_that_test(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = Board._sensors.fget
    assert honest is not None

    def leaking(board: Board) -> int:
        store = board._machine.sides[0].store.tiles
        red = bool(store) and store[-1].face == "z5"
        return honest(board) | red << 31

    monkeypatch.setattr(Board, "_sensors", property(leaking))
    # The bit is on the wire whether or not the host knows a name for it: compare the bytes themselves.
    assert len({host_trace(permuted(SETS[136], seed)) for seed in range(8)}) > 1


# Every field that a message, an event, a record or a setting of the host has. A new name must be written
# down here, and whoever does so answers the question whether it can hold what lies on a tile. "faces" are
# those of dice.
FIELDS = """
acknowledge acknowledged after also answers boot_id broken bus buzzer_ms capacity causes clear clock_ms code
core count counts cut damaged data data_code deal dealer departed_us description description_hash detail
dice direction discarder display disturbed down duplicates end ended entries error event events_lost
expected faces fails firmware first floor found frames hand hash held_us hello id intent journal key keymap
keys kind lamps last last_us learned lease_ms least leftover limit_us loaded long match match_over
max_lease_ms max_ma max_total_ma mean_us means memory message minor mistrust most mouth mouths mute
naks_received naks_sent name new next_journal_id next_wash nonce nonce_seed not_before_us not_executed
number offset old op operations order ordered_us out_of_order outcome over oversize paired part parts path
payload pending phase play port ports product raising ready reason received record_jog recount remedy remote
resent reset_cause result retransmitted round round_wind rule rx_window seat seen sensor sensors sent
sent_us sequence session sessions sets severity side silence_ms simulated since slowed socket source speed
stack stacks standing state stop stop_number stopped stopping stored strangers streak stroke_ms table taken
takes throws tiles time_us timeouts timing to took_us total trouble uid unknown unsure urgent usb user_code
user_codes values vendor verb version wall warned wash washed_us when why winners wins without
"""


def fields_of_the_host() -> set[str]:
    import dataclasses
    import importlib
    import pkgutil

    import firmware_protocol
    import tablectl.board
    import tablectl.journal
    import tablectl.service
    import tablectl.table
    from tablectl import config

    modules = [config]
    for package in (firmware_protocol, tablectl.table, tablectl.board, tablectl.service, tablectl.journal):
        for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
            if not info.ispkg and not info.name.endswith((".conformance", ".page", ".bench")):
                modules.append(importlib.import_module(info.name))
    classes = {cls for module in modules for cls in vars(module).values() if isinstance(cls, type)}
    found = {f.name for cls in classes if dataclasses.is_dataclass(cls) for f in dataclasses.fields(cls)}
    found |= {name for cls in classes if issubclass(cls, tuple) for name in getattr(cls, "_fields", ())}
    return {name for name in found if not name.startswith("_")}


def test_no_field_that_travels_is_added_without_asking_whether_it_can_hold_a_face() -> None:
    assert fields_of_the_host() == set(FIELDS.split())


# --- determinism --------------------------------------------------------------------------------------------

TRACE_PROGRAM = """
import sys
from helpers import rig
from tablectl.trace import TraceWriter
seed = int(sys.argv[1])
r = rig("mcr", entropy_seed=seed, trace=TraceWriter(sys.stdout, {"seed": seed}), seed=seed, hands=2)
assert r.play()
"""


def trace_of_a_process(seed: int, hash_seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-c", TRACE_PROGRAM, str(seed)]
    return subprocess.run(command, env=environment, capture_output=True, check=True, timeout=100).stdout


def test_the_trace_does_not_depend_on_the_process_or_its_hash_seed() -> None:
    first = trace_of_a_process(3, "1")
    assert len(first.splitlines()) > 1000
    assert first == trace_of_a_process(3, "4242")
    other = trace_of_a_process(4, "1")
    assert first.splitlines()[1:] != other.splitlines()[1:]


def replayed(r: Rig, lines: list[str]) -> list[Any]:
    from sim.lab.replay import Replay
    from sim.lab.rig import make_host

    return list(Replay(lines, "trace", make_host(r.options)).differences())


def test_replaying_a_trace_does_not_give_another_effect() -> None:
    stream = io.StringIO()
    trace = TraceWriter(stream, {})
    r = rig("riichi", entropy_seed=9, trace=trace, seed=9, hands=2)
    assert r.play()
    trace.end()
    lines = stream.getvalue().splitlines()
    assert len(lines) > 1000
    assert replayed(r, lines) == []
    # The check can fail: another first effect of one call is found, at its line.
    at = next(i for i, text in enumerate(lines) if '"$":"StateChanged"' in text)
    lines[at] = lines[at].replace('"new":"homing"', '"new":"rest"')
    assert [d.line for d in replayed(r, lines)] == [at + 1]
