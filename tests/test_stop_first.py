"""STOP ALL goes out before all else that came of the same event: no entry, no announcement, no screen."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import homed, rig, run_for, run_to, wash
from processes import Table, wait_for

from firmware_protocol import host_link as hl
from sim.lab.rig import Rig
from sim.table import Fault
from tablectl.table import events as ev
from tablectl.table.intents import Intent, Key, Phase


def unhomed() -> Rig:
    r = rig()
    run_for(r, 1)
    return r


def opening() -> Rig:
    r = homed()
    r.press("START")
    run_to(r, "opening")
    return r


def washing() -> Rig:
    r = homed()
    wash(r)
    run_to(r, "washing")
    run_for(r, 2)
    return r


def stop_key(r: Rig) -> None:
    r.world.post(r.world.now_us, "host", Key("remote:0x00", Intent.STOP, Phase.DOWN))


def open_door(r: Rig) -> None:
    r.world.post(r.world.now_us, "table", Fault("door:service"))


def defect(r: Rig) -> None:
    """Let the core that decides break at the next event, once."""

    def broken(event: Any, now_us: int) -> Any:
        del r.controller.handle
        raise ZeroDivisionError

    r.controller.handle = broken  # type: ignore[method-assign]


@pytest.mark.parametrize("why", [stop_key, open_door, defect])
@pytest.mark.parametrize("table", [unhomed, opening, washing])
def test_nothing_is_done_before_the_bytes_of_stop_all(
    table: Callable[[], Rig], why: Callable[[Rig], None]
) -> None:
    r = table()
    handle, found = r.host.handle, []

    def watched(event: Any, now_us: int) -> tuple[Any, ...]:
        found.append(handle(event, now_us))
        return found[-1]

    r.host.handle = watched  # type: ignore[method-assign]
    why(r)
    run_for(r, 1)
    stops = [out for out in found if any(isinstance(e, hl.Transmit) and e.urgent for e in out)]
    assert any(isinstance(e, ev.Journal) for out in stops for e in out), "something that could come first"
    for out in stops:
        are_bytes = [isinstance(e, hl.Transmit) for e in out]
        assert are_bytes == sorted(are_bytes, reverse=True), out


COUNTS_AT_ITS_END = """
import atexit, gc, pathlib
def count():
    pathlib.Path({file!r}).write_text(f"{{gc.get_freeze_count()}} {{len(gc.get_objects())}}")
atexit.register(count)
"""


def test_a_daemon_that_serves_does_not_search_what_its_start_made_for_garbage(tmp_path: Path) -> None:
    counts, site = tmp_path / "counts", tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(COUNTS_AT_ITS_END.format(file=str(counts)))
    table = Table(tmp_path)
    table.env = {"PYTHONPATH": f"{site}:{os.environ.get('PYTHONPATH', '')}"}
    with table.daemon_waiting():
        wait_for(lambda: table.api.state() == "unhomed", "the daemon")
    left_alone, searched = map(int, counts.read_text().split())
    assert left_alone > 10 * searched
