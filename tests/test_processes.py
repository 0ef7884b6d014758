"""Real processes joined by a pty and sockets: what only processes show."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from helpers import STACKS, TILES
from processes import Receiver, Table, capture_words, lircd, wait_for

from firmware_protocol.pace import DISK_S
from tablectl.journal import reader
from tablectl.journal.chain import first_broken

DEMO_KEYS = {
    "rule", "hands", "tiles_total", "stacks_per_side", "wash_s", "dice", "break", "frames", "retransmissions",
    "faults",
}  # fmt: skip


def demo(*options: str) -> tuple[int, dict[str, Any], str]:
    """Run `tablectl demo --json` and return its status, the last line's object and the rest."""
    done = subprocess.run(
        [sys.executable, "-m", "tablectl", "demo", "--json", *options],
        capture_output=True,
        text=True,
        timeout=110,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    return done.returncode, json.loads(lines[-1]), done.stderr


@pytest.mark.parametrize("rule", STACKS)
def test_the_demo_does_not_end_without_the_ruled_walls(rule: str) -> None:
    status, told, said = demo("--rule", rule, "--speed", "20")
    assert status == 0, said
    assert told.keys() >= DEMO_KEYS
    assert told["rule"] == rule
    assert told["hands"] == 1
    assert told["tiles_total"] == TILES[rule]
    assert tuple(told["stacks_per_side"]) == STACKS[rule]
    assert [len(throw) for throw in told["dice"]] == ([2, 2] if rule == "mcr" else [2])
    assert set(told["break"]) == {"wall", "stack"}
    assert len(told["wash_s"]) == 1
    assert told["frames"] > 500
    assert told["faults"] == []
    assert "All walls stand as the rule wants them." in said


def test_the_demo_with_an_unplugged_stacker_does_not_say_that_walls_stand() -> None:
    status, told, said = demo("--speed", "20", "--fault", "disconnected:stacker.S3")
    assert status == 1
    assert told["faults"] == ["E31"]
    assert told["stacks_per_side"] == [0, 0, 0, 0]
    assert not told["walls_stand"]
    assert "side S3" in said
    assert "All walls stand" not in said


def test_the_demo_does_not_take_the_daemons_word_for_the_walls() -> None:
    from tablectl.cli.demo_story import Story

    tiles = [list(range(34 * n, 34 * n + 34)) for n in range(4)]
    hand = {"back": "A", "walls": tiles, "stacks": [17] * 4, "served": []}
    story = Story("riichi", ["S1", "S2", "S3", "S4"], breaks=[{"wall": 0, "stack": 6}])
    story.truth = {"hands": [hand], "violations": []}
    assert story.good
    short = {**hand, "walls": [tiles[0][:33], *tiles[1:]]}
    double = {**hand, "walls": [[*tiles[0][:33], 135], *tiles[1:]]}
    other = {**hand, "stacks": [17, 17, 18, 16]}
    for wrong in (short, double, other):
        story.truth = {"hands": [wrong], "violations": []}
        assert not story.good
    story.truth = {"hands": [hand], "violations": ["S1: pushed against a tray that is not home"]}
    assert not story.good


def test_the_demo_does_not_take_the_daemons_word_for_the_hands() -> None:
    from tablectl.cli.demo_story import Story

    numbers = iter(range(136))
    walls = [[next(numbers) for _ in range(n)] for n in (20, 20, 22, 22)]
    served = [[next(numbers) for _ in range(13)] for _ in range(4)]
    hand = {"back": "A", "walls": walls, "stacks": [10, 10, 11, 11], "served": served}
    mouths = [f"{kind}{n}" for kind in "SH" for n in (1, 2, 3, 4)]
    story = Story("riichi", mouths, breaks=[{"wall": 0, "stack": 1, "hand": 13}])
    story.truth = {"hands": [hand], "violations": []}
    assert story.good
    short = {**hand, "served": [served[0][:12], *served[1:]]}
    double = {**hand, "served": [[*served[0][:12], walls[0][0]], *served[1:]]}
    none = {**hand, "served": []}
    for wrong in (short, double, none):
        story.truth = {"hands": [wrong], "violations": []}
        assert not story.good


def test_the_demo_of_an_eight_mouth_table_does_not_end_without_hands_and_walls() -> None:
    status, told, said = demo("--table", "eight-mouth", "--speed", "20")
    assert status == 0, said
    assert told["tiles_total"] == 136
    assert told["stacks_per_side"] == [10, 10, 11, 11]
    assert told["dice"] == []
    assert told["break"] == {"wall": 0, "stack": 1}
    assert "hands served, 13 tiles each" in said
    assert "All walls stand as the rule wants them." in said


def test_the_demo_plays_more_than_one_hand_with_both_sets() -> None:
    status, told, said = demo("--hands", "3", "--speed", "20", "--rule", "sc_tcy", "--seed", "7")
    assert status == 0, said
    assert told["hands"] == len(told["all_hands"]) == len(told["wash_s"]) == 3
    assert all(tuple(h["stacks_per_side"]) == STACKS["sc_tcy"] for h in told["all_hands"])


def test_bad_options_of_the_demo_are_not_played() -> None:
    for options in (
        ["--rule", "chess"],
        ["--table", "nine-mouth"],
        ["--fault", "magic:stacker.S3"],
        ["--fault", "disconnected:roof"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "tablectl", "demo", "--json", *options],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        assert done.returncode == 2, options
        assert done.stdout == ""
        assert options[1].partition(":")[0] in done.stderr
        assert "Traceback" not in done.stderr


# --- the remote, for real -----------------------------------------------------------------------------------


def home(table: Table, control: Any) -> None:
    for down in (True, False):
        control("panel_key", key="lift.1", down=down)
    wait_for(lambda: table.api.state() == "rest", "homing")


def test_a_real_capture_does_not_fail_to_press_start(tmp_path: Path, shared_data: Path) -> None:
    words = capture_words(shared_data / "ir_captures" / "c01_fan_homezest_power.txt")
    receiver = Receiver(tmp_path / "receiver")
    table = Table(tmp_path)
    with table.sim() as control, table.daemon(f"lirc+unix:{receiver.path}"):
        receiver.accept()
        home(table, control)
        receiver.send(words)
        wait_for(lambda: table.api.state() == "open", "the console")
        remote = table.api.status()["remote"]
        assert (remote["frames"], remote["repeats"], remote["foreign"]) == (1, 1, 0)
        assert control("truth")["places"]["drum"] == []
    receiver.close()
    pressed = [json.loads(e.data) for e in reader.read(table.journal, "key")]
    assert {"source": "remote:0x00", "intent": "START", "phase": "down"} in pressed


def test_a_real_lircd_fed_with_the_same_capture_does_not_fail_to_press_start(
    tmp_path: Path, shared_data: Path
) -> None:
    words = capture_words(shared_data / "ir_captures" / "c01_fan_homezest_power.txt")
    receiver = Receiver(tmp_path / "receiver")
    table = Table(tmp_path)
    with (
        lircd(tmp_path, receiver.path) as socket_path,
        table.sim() as control,
        table.daemon(f"lircd:{socket_path}"),
    ):
        receiver.accept()  # lircd opens its device when its first client, the daemon, has come
        home(table, control)
        receiver.send(words)
        wait_for(lambda: table.api.state() == "open", "the console")
    receiver.close()


def test_another_tables_remote_is_heard_and_not_obeyed(tmp_path: Path, shared_data: Path) -> None:
    words = capture_words(shared_data / "ir_captures" / "c04_fan_lasko.txt")
    receiver = Receiver(tmp_path / "receiver")
    table = Table(tmp_path)
    with table.sim() as control, table.daemon(f"lirc+unix:{receiver.path}"):
        receiver.accept()
        home(table, control)
        receiver.send(words)
        wait_for(lambda: table.api.status()["remote"]["foreign"], "the foreign frame")
        assert table.api.state() == "rest"
    receiver.close()
    heard = [json.loads(e.data) for e in reader.read(table.journal, "heard")]
    assert heard == [{"user_code": 0x01, "data_code": 0x83, "paired": False}]


# --- daemon -------------------------------------------------------------------------------------------------


def test_a_second_daemon_is_not_started(tmp_path: Path) -> None:
    table = Table(tmp_path)
    with table.sim(), table.daemon():
        second = subprocess.run(
            [sys.executable, "-m", "tablectl", "run", f"--config={table.config}"],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        assert second.returncode == 2
        assert "Another daemon has this table" in second.stderr
        assert table.api.state() == "unhomed"


def test_press_and_status_do_not_lie(tmp_path: Path) -> None:
    table = Table(tmp_path)

    def tablectl(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tablectl", *arguments, f"--socket={table.api.path}"],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )

    nobody = tablectl("status")
    assert nobody.returncode == 2
    assert "No daemon answers" in nobody.stderr
    with table.sim() as control, table.daemon():
        refused = tablectl("press", "START")
        assert refused.returncode == 1
        assert "needs a person in sight of the table" in refused.stderr
        assert "必须由桌旁的人发起" in tablectl("press", "start", "--lang", "zh").stderr
        home(table, control)
        assert tablectl("press", "START").stdout == "START was accepted.\n"
        wait_for(lambda: table.api.state() == "open", "the console")
        status = tablectl("status")
        assert status.returncode == 0
        assert "State: open: push the tiles in" in status.stdout
        assert "four-mouth" in status.stdout
        assert json.loads(tablectl("status", "--json").stdout)["state"] == "open"
        assert table.api.call("POST", "/v1/press", {"intent": "SELECT_TILE"})[0] == 400
        assert table.api.call("POST", "/v1/press", ["START"])[0] == 400
        assert table.api.call("GET", "/v1/status")[0] == 200
    sources = Counter(json.loads(e.data)["source"] for e in reader.read(table.journal, "key"))
    assert sources[f"local:{os.getuid()}"] == 3


def test_rule_gear_and_hand_do_not_lie(tmp_path: Path) -> None:
    table = Table(tmp_path)

    def tablectl(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tablectl", *arguments, f"--socket={table.api.path}"],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )

    with table.sim("--hands=0"), table.daemon():
        early = tablectl("hand", "--draw")
        assert (early.returncode, early.stderr) == (1, "No hand is ended: no walls stand.\n")
        chosen = tablectl("gear", "26")
        assert (chosen.returncode, chosen.stdout) == (0, "The next wash is gear 26: 92 tiles.\n")
        assert table.api.status()["rule"] == "gear_26"
        assert tablectl("rule", "riichi").stdout == "The next wash is for riichi.\n"
        for asked, says in (
            (("rule", "riichy"), "riichi"),
            (("gear", "1"), "no gear 1"),
            (("hand",), "Say either who won"),
            (("hand", "--winner", "E"), "is no side of the table"),
        ):
            wrong = tablectl(*asked)
            assert (wrong.returncode, wrong.stdout) == (2, "")
            assert says in wrong.stderr
        unfit = tablectl("rule", "vietnamese176", "--lang", "zh")
        assert unfit.returncode == 1
        assert "需要 22 墩" in unfit.stderr
        for target, body in (("/v1/rule", {}), ("/v1/rule", {"gear": "x"}), ("/v1/hand", {"wins": 3})):
            assert table.api.call("POST", target, body)[0] == 400
    with table.sim("--hands=1", "--play-s=600"), table.daemon():
        wait_for(lambda: table.api.status()["standing"], "standing walls")
        told = tablectl("hand", "--winner", "S2", "--from", "S4")
        assert told.returncode == 0, told.stderr
        assert told.stdout == "Match: East round, deal 2, repeat 0; hand 2 is dealt by S2.\n"
        assert tablectl("hand", "--draw").returncode == 1
        assert "hand 2 is dealt by S2" in tablectl("status").stdout
    hands = [json.loads(e.data) for e in reader.read(table.journal, "hand")]
    assert [h["wins"] for h in hands] == [[{"winners": [1], "discarder": 3}]]
    assert hands[0]["source"] == f"local:{os.getuid()}"


def test_a_killed_daemon_does_not_forget_where_the_sets_are(tmp_path: Path) -> None:
    table = Table(tmp_path, speed=10)
    with table.sim("--hands=1") as control:
        with table.daemon() as first:
            wait_for(lambda: table.api.status()["stored"], "a stored set")
            first.kill()
            first.wait()
        assert first_broken(reader.read(table.journal)) is None
        table.api.path.unlink()
        with table.daemon():
            wait_for(lambda: control("truth")["hands_played"] == 1, "the hand")
            assert tuple(control("truth")["hands"][0]["stacks"]) == STACKS["riichi"]
    assert first_broken(reader.read(table.journal)) is None


def test_an_unplugged_board_comes_back_without_the_daemon_being_started_again(tmp_path: Path) -> None:
    table = Table(tmp_path)
    with table.daemon_waiting() as daemon:
        assert table.api.status()["board"] is None
        with table.sim():
            wait_for(lambda: table.api.status()["board"], "the board")
        wait_for(lambda: not table.api.status()["connected"], "the unplugging")
        with table.sim() as control:
            wait_for(lambda: table.api.status()["connected"], "the board again")
            home(table, control)
        assert daemon.poll() is None


def test_a_slow_disk_is_not_called_dead_because_the_clock_is_fast(tmp_path: Path) -> None:
    table = Table(tmp_path, speed=20.0)
    with table.sim() as control, table.daemon():
        home(table, control)
        with closing(sqlite3.connect(table.journal)) as other:
            other.execute("BEGIN IMMEDIATE")  # nothing can be written
            table.api.call("POST", "/v1/press", {"intent": "START"})
            time.sleep(DISK_S + 1)  # the clock has stood, then gone on: 1 s is 20 s of table time
            assert table.api.state() == "opening"
            other.rollback()
        wait_for(lambda: table.api.state() == "open", "the console")
    assert not list(reader.read(table.journal, "fault"))


def test_a_slow_disk_does_not_silence_a_running_wash_because_the_clock_is_fast(tmp_path: Path) -> None:
    table = Table(tmp_path, speed=20.0)
    with table.sim("--hands=1") as control, table.daemon():
        home(table, control)
        table.api.call("POST", "/v1/press", {"intent": "START"})
        wait_for(lambda: table.api.state() == "washing", "the wash")
        with closing(sqlite3.connect(table.journal)) as other:
            other.execute("BEGIN IMMEDIATE")
            table.api.call("POST", "/v1/press", {"intent": "DEALER_NEXT"})  # a key is written down
            time.sleep(2)
            assert table.api.state() == "washing", table.api.status()["fault"]
            other.rollback()
        wait_for(lambda: table.api.state() not in ("washing", "probing"), "the end of the wash")
    assert not list(reader.read(table.journal, "fault"))
