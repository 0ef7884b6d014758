"""STOP ALL on a real pty: nothing that waited comes before it or behind it, however full the buffers are."""

import asyncio
import json
import termios

import pytest

from firmware_protocol import frames
from firmware_protocol import messages as m
from sim.lab import stop
from tablectl.board.port import Port

STOP = frames.build_plain(m.StopAll(1, 1))
QUEUED = frames.build_plain(m.Ping(1), 7) * 3


@pytest.mark.parametrize("full", [False, True], ids=["buffers empty", "buffers full"])
def test_no_queued_byte_reaches_the_wire_before_or_behind_stop_all(full: bool) -> None:
    found = asyncio.run(stop.trials(5, full))
    assert [t.wrong for t in found] == [""] * 5
    for trial in found:
        assert trial.left > 0, "the window had left"
        # A pty's far end holds what it was given; what waits in front of that is the output buffer.
        assert trial.dropped > stop.BUFFER_BYTES if full else trial.dropped == 0


def test_a_port_that_drops_nothing_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Port.write
    monkeypatch.setattr(Port, "write", lambda port, data, urgent=False: honest(port, data))
    monkeypatch.setattr(stop, "_PATIENCE_MS", 300)
    (trial,) = asyncio.run(stop.trials(1, full=True))
    assert trial.wrong == "lost"


def test_a_port_that_keeps_what_the_system_holds_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(termios, "tcflush", lambda fd, queue: None)
    monkeypatch.setattr(stop, "_PATIENCE_MS", 300)
    (trial,) = asyncio.run(stop.trials(1, full=True))
    assert trial.wrong or trial.dropped <= stop.BUFFER_BYTES


@pytest.mark.parametrize(
    ("came", "wrong"),
    [
        (QUEUED[:17] + STOP, ""),
        (STOP, ""),
        (QUEUED, "lost"),
        (QUEUED[:17] + STOP + QUEUED[17:], "behind"),
        (QUEUED[17:] + STOP, "before"),
    ],
)
def test_what_comes_out_of_order_is_not_called_right(came: bytes, wrong: str) -> None:
    assert stop._judge(QUEUED, came, STOP)[2] == wrong


def test_a_frame_that_is_no_stop_is_not_called_one() -> None:
    assert stop._judge(QUEUED, QUEUED[:17], QUEUED[:17])[2] == "sent"


def test_a_stop_that_was_disturbed_is_left_out_and_counted() -> None:
    calm, late = stop.Trial(300, 40, 50, 10, 60, 9), stop.Trial(7_000, 40, 50, 6_500, 60, 9)
    found = stop.summary("full", [calm] * 9 + [late])
    assert (found.trials, found.disturbed, found.max_us, found.all_p99_us) == (10, 1, 300, 7_000)
    slow = stop.summary("full", [stop.Trial(7_000, 40, 50, 0, 60, 9)])
    assert (slow.disturbed, slow.share) == (0, 7)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_command_prints_its_share_of_the_bound(lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    stop.main(["--trials", "2", "--lang", lang])
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) == 4
    assert ("of the bound" in printed, "为上限" in printed) == (lang == "en", lang == "zh")
    stop.main(["--trials", "1", "--json"])
    assert [each["wrong"] for each in json.loads(capsys.readouterr().out)] == [[], []]


def test_the_exit_status_tells_of_a_bound_that_was_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def given(found: stop.Trial) -> int:
        async def trials(count: int, full: bool) -> list[stop.Trial]:
            return [found] * count

        monkeypatch.setattr(stop, "trials", trials)
        return stop.main(["--trials", "3"])

    assert given(stop.Trial(900, 40, 50, 0, 60, 9)) == 0
    assert given(stop.Trial(1_100, 40, 50, 0, 60, 9)) == 1
    assert given(stop.Trial(900, 40, 50, 0, 60, 9, "behind")) == 1
