"""`tablectl watch`: nothing that matters is left out, counts do not flood, the end is told."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processes import Table

from tablectl.cli.watch import COUNTS_S, View
from tablectl.remote.trouble import InputTrouble, Trouble
from tablectl.service import view as api_view
from tablectl.table import events as ev
from tablectl.texts import LANGUAGES, TEXTS

EVENTS = (
    ev.StateChanged("closing", "washing"),
    ev.FaultRaised("E31", {"side": "S2"}),
    ev.WarningRaised("E65", {"part": "lift.S1", "percent": 30}),
    ev.Refused("local:1000", "ADD", "refuse.add", {}),
    ev.Washed("riichi", 25_000_000),
    ev.DiceThrown(2, (3, 4)),
    ev.BreakAnnounced(1, 8, "S2", ()),
    ev.HandsServed(0, 1, "S3", 13),
    ev.RuleChosen("mcr", next_wash=True),
    ev.RuleChosen("mcr", next_wash=False),
    InputTrouble(Trouble.DENIED, "/dev/lirc0", "EACCES"),
)


def counted(*taken: int) -> dict[str, Any]:
    names = ("S1", "S2", "S3", "S4", "H1", "H2", "H3", "H4")[: len(taken)]
    return api_view.event(ev.Counted(taken, tuple(n // 2 * 2 for n in taken), names), 0)


def washing(lang: str = "en") -> View:
    view = View(lang)
    view.lines(api_view.event(ev.StateChanged("closing", "washing"), 0), 0.0)
    return view


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
def test_no_event_that_matters_is_left_out_or_told_in_another_language(event: Any, lang: str) -> None:
    lines = View(lang).lines(api_view.event(event, 0), 0.0)
    assert lines
    for line in lines:
        assert any("\u4e00" <= c <= "\u9fff" for c in line) == (lang == "zh"), line


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_fault_is_not_told_without_its_remedy(lang: str) -> None:
    told = api_view.event(EVENTS[1], 0)
    lines = View(lang).lines(told, 0.0)
    assert [line.strip() for line in lines[1:]] == [line.strip() for line in told["text"][lang][1:]]
    assert told["text"][lang][0] in lines[0]


@given(st.lists(st.floats(0, 0.9), max_size=60))
def test_counts_are_not_told_more_often_than_once_a_second_and_the_last_one_is_not_lost(
    waits: list[float],
) -> None:
    view, now_s, told_s, last = washing(), 0.0, [], ""
    for n, wait_s in enumerate(waits, 1):
        due_s = view.due_s(now_s)
        if due_s is not None and due_s <= wait_s:  # as the program does: it waits no longer than that
            held = view.flush(now_s + due_s)
            told_s += [now_s + due_s for _ in held]
            last = held[-1] if held else last
        now_s += wait_s
        lines = view.lines(counted(n, 0, 0, 0), now_s)
        told_s += [now_s for _ in lines]
        last = lines[-1] if lines else last
    gaps = [b - a for a, b in pairwise(told_s)]
    assert all(gap >= COUNTS_S - 1e-6 for gap in gaps)
    rest = view.lines(api_view.event(ev.StateChanged("washing", "probing"), 0), now_s)
    last = rest[0] if len(rest) > 1 else last
    assert f"Counted: {len(waits)} tiles" in last if waits else last == ""


def test_counts_outside_a_wash_are_not_told() -> None:
    assert View("en").lines(counted(1, 2, 3, 4), 0.0) == []
    assert washing().lines(counted(1, 2, 3, 4), 0.0) == [
        "Counted: 10 tiles (S1 1/0, S2 2/2, S3 3/2, S4 4/4: at the eye / stored)"
    ]
    (eight,) = washing().lines(counted(1, 2, 3, 4, 5, 6, 7, 8), 0.0)
    assert "S4 4/4, H1 5/4, H2 6/6, H3 7/6, H4 8/8:" in eight


@contextmanager
def watcher(table: Table, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Run `tablectl watch`; the first line it says is the status."""
    arguments = [sys.executable, "-m", "tablectl", "watch", f"--socket={table.api.path}", *options]
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_watcher_is_told_when_the_daemon_ends_and_when_it_is_killed(tmp_path: Path) -> None:
    table = Table(tmp_path)
    for how, key in ((signal.SIGTERM, "watch.stopped"), (signal.SIGKILL, "watch.lost")):
        with table.daemon_waiting() as daemon, watcher(table) as person, watcher(table, "--json") as reader:
            for each in (person, reader):
                assert each.stdout
                assert each.stdout.readline()
            table.api.call("POST", "/v1/press", {"intent": "START"})
            daemon.send_signal(how)
            said, error = person.communicate(timeout=60)
            lines, same_error = reader.communicate(timeout=60)
            assert person.returncode == reader.returncode == 1
            assert error == same_error == TEXTS(key, "en", socket=table.api.path) + "\n"
            assert "START of local user" in said
            events = [json.loads(line) for line in lines.splitlines()]
            assert "Refused" in {e["event"] for e in events}
            assert (events[-1] == {"event": "End", "reason": "daemon"}) == (how == signal.SIGTERM)
        table.api.path.unlink(missing_ok=True)


def test_no_state_of_a_real_table_is_kept_from_a_watcher(tmp_path: Path) -> None:
    table = Table(tmp_path, speed=10)
    with table.sim() as control, table.daemon(), watcher(table) as person:
        assert person.stdout
        assert person.stdout.readline() == "State: stopped; positions unknown\n"
        for down in (True, False):
            control("panel_key", key="lift.1", down=down)
        for line in person.stdout:
            if line == "State: at rest\n":
                break
        else:
            pytest.fail("the table's rest was never told")


def test_nobody_to_watch_is_told(tmp_path: Path) -> None:
    table = Table(tmp_path)
    with watcher(table) as person:
        _, error = person.communicate(timeout=60)
        assert person.returncode == 2
        assert "No daemon answers" in error
