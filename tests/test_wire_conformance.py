"""The conformance suite: a good board passes, a board with one defect fails where the defect is."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from virtual_port import VirtualPort, board_on_a_pty

from firmware_protocol import board_link, window
from firmware_protocol import messages as m
from firmware_protocol.catalogue import LANGUAGES
from firmware_protocol.conformance import CHECKS, TEXTS, line, main, run
from firmware_protocol.framing import cobs_decode
from sim.board import Board
from sim.model import load
from sim.table import SimTable, StopLine, TableOptions


def failures(port: VirtualPort) -> set[str]:
    return {v.check for v in run(port, motion=True) if v.result == "FAIL"}


NEEDS_OPEN_LINE = {"jog-wired"}


@pytest.mark.parametrize("model", ["four-mouth", "eight-mouth"])
def test_the_simulated_board_keeps_every_promise(model: str) -> None:
    table = SimTable(TableOptions(hands=0, model=load(model)))
    left = [v for v in run(VirtualPort(table), motion=True) if v.result != "PASS"]
    assert {(v.check, v.result) for v in left} == {(check, "SKIP") for check in NEEDS_OPEN_LINE}


def verdict_with_open_line(table: SimTable) -> str:
    """Return how the check ends that needs an open wired stop, behind a description that was fetched."""
    table.handle(StopLine(True), 0)
    verdicts = {v.check: v.result for v in run(VirtualPort(table), motion=True)}
    return verdicts["jog-wired"]


def test_the_wired_stop_is_tried_where_it_is_open() -> None:
    assert verdict_with_open_line(SimTable(TableOptions(hands=0))) == "PASS"


def test_a_board_that_jogs_with_an_open_wired_stop_fails_there(monkeypatch: pytest.MonkeyPatch) -> None:
    table = SimTable(TableOptions(hands=0))
    real = table.board._refusal

    def refusal(move: Any) -> m.FailReason | None:
        return None if isinstance(move, m.Jog) else real(move)

    monkeypatch.setattr(table.board, "_refusal", refusal)
    assert verdict_with_open_line(table) == "FAIL"


def test_nothing_moves_without_leave() -> None:
    port = VirtualPort()
    verdicts = list(run(port, motion=False))
    assert {v.result for v in verdicts} == {"PASS", "SKIP"}
    assert {v.check for v in verdicts if v.result == "SKIP"} == {c.name for c in CHECKS if c.moves}
    assert port.table.board.executed == []


def test_the_suite_leaves_the_table_standing() -> None:
    port = VirtualPort()
    list(run(port, motion=True))
    assert port.table.board._stop == m.StopReason.HOST
    assert not port.table.board._ops


Patch = Callable[[pytest.MonkeyPatch, Board], None]


def _no_crc(patch: pytest.MonkeyPatch, board: Board) -> None:
    def check(run: bytes) -> bytes | None:
        raw = cobs_decode(run)
        return raw[:-4] if raw and len(raw) > 8 else None

    patch.setattr(board._link._deframer, "_check", check)


def _doubles(patch: pytest.MonkeyPatch, board: Board) -> None:
    real = window.Window._data

    def data(self: window.Window, frame: Any, now_us: int, willing: bool) -> bytes | None:
        again = frame.sequence - self._expected & 0xFF >= 128
        return frame.payload if again else real(self, frame, now_us, willing)

    patch.setattr(window.Window, "_data", data)
    patch.setattr(board_link.ResultTable, "begin", lambda self, op: None)


def _nak_storm(patch: pytest.MonkeyPatch, board: Board) -> None:
    real = window.Window._data

    def data(self: window.Window, frame: Any, now_us: int, willing: bool) -> bytes | None:
        self._rejecting = False
        return real(self, frame, now_us, willing)

    patch.setattr(window.Window, "_data", data)


def _forgets_results(patch: pytest.MonkeyPatch, board: Board) -> None:
    patch.setattr(board_link.ResultTable, "begin", lambda self, op: None)


def _wide_window(patch: pytest.MonkeyPatch, board: Board) -> None:
    patch.setattr(window, "WINDOW", 8)


def _silent_about_unknown(patch: pytest.MonkeyPatch, board: Board) -> None:
    real = board._link._data
    drop = m.Unsupported
    patch.setattr(board._link, "_data", lambda message: None if isinstance(message, drop) else real(message))


def _clears_anything(patch: pytest.MonkeyPatch, board: Board) -> None:
    real = board._command

    def command(message: m.Message) -> None:
        if isinstance(message, m.Clear):
            board._stop = m.StopReason.NONE
        else:
            real(message)

    patch.setattr(board, "_command", command)


def _stops_once(patch: pytest.MonkeyPatch, board: Board) -> None:
    real = board._stop_all

    def stop_all(reason: m.StopReason, answers: int = 0) -> None:
        if not board._stop:
            real(reason, answers)

    patch.setattr(board, "_stop_all", stop_all)


def _long_leases(patch: pytest.MonkeyPatch, board: Board) -> None:
    moves = board._moves

    def set_lease(operation: Any, lease_ms: int) -> None:
        operation.lease = board._agenda.after(
            2_000 * lease_ms, lambda: moves._fail(operation, m.FailReason.LEASE)
        )

    patch.setattr(moves, "_set_lease", set_lease)


def _no_interlocks(patch: pytest.MonkeyPatch, board: Board) -> None:
    interlocks = board._moves._interlocks
    real = interlocks._stroke

    def refusal(*asked: Any) -> m.FailReason | None:
        reason = real(*asked)
        return None if reason is m.FailReason.INTERLOCK else reason

    patch.setattr(interlocks, "_stroke", refusal)


def _never_silent(patch: pytest.MonkeyPatch, board: Board) -> None:
    patch.setattr(Board, "_silent_at", None)


def _jogs_for_ever(patch: pytest.MonkeyPatch, board: Board) -> None:
    moves = board._moves
    real = moves._set_lease

    def set_lease(operation: Any, lease_ms: int) -> None:
        if not operation.jog:
            real(operation, lease_ms)

    patch.setattr(moves, "_set_lease", set_lease)


def _jogs_as_long_as_asked(patch: pytest.MonkeyPatch, board: Board) -> None:
    patch.setattr("sim.board.moves.JOG_LEASE_MS", 5_000)


def _jogs_without_renewal(patch: pytest.MonkeyPatch, board: Board) -> None:
    real = board._moves.renew

    def renew(op: int, lease_ms: int) -> None:
        if not any(operation.jog for operation in board._ops.values()):
            real(op, lease_ms)

    patch.setattr(board._moves, "renew", renew)


def _jogs_beside_others(patch: pytest.MonkeyPatch, board: Board) -> None:
    patch.setattr(board._moves._interlocks, "_moving", dict)


def _moves_beside_a_jog(patch: pytest.MonkeyPatch, board: Board) -> None:
    interlocks = board._moves._interlocks
    patch.setattr(interlocks, "_moving", lambda: {i: False for i, o in board._ops.items() if not o.jog})


def _jogs_under_no_stop(patch: pytest.MonkeyPatch, board: Board) -> None:
    real = board._refusal
    patch.setattr(board, "_refusal", lambda move: m.FailReason.STOPPED if board._stop else real(move))


def _jogs_on_after_a_stop(patch: pytest.MonkeyPatch, board: Board) -> None:
    moves = board._moves

    def stop_all() -> None:
        for operation in list(board._ops.values()):
            if not operation.jog:
                moves._fail(operation, m.FailReason.ABORTED)

    patch.setattr(moves, "stop_all", stop_all)


def _jogs_against_anything(patch: pytest.MonkeyPatch, board: Board) -> None:
    patch.setattr(board._moves._interlocks, "_pushes_freely", lambda stacker: True)


def _times_from_anywhere(patch: pytest.MonkeyPatch, board: Board) -> None:
    patch.setattr(board._moves._interlocks, "_timed", lambda part, end, key: None)


def _reopens(patch: pytest.MonkeyPatch, board: Board) -> None:
    patch.setattr(board_link.BoardLink, "repeats", lambda self, nonce: False)
    patch.setattr(board._link, "_nonces", board_link.deque(maxlen=0))


MUTANTS: dict[str, tuple[Patch, set[str]]] = {
    "accepts damaged frames": (_no_crc, {"damaged"}),
    "delivers duplicates": (_doubles, {"duplicate-frame", "op-again", "op-table"}),
    "sends a NAK for every frame": (_nak_storm, {"one-nak"}),
    "keeps no results": (_forgets_results, {"op-again", "op-table"}),
    "has eight replies open": (_wide_window, {"reply-window"}),
    "is silent about what it does not know": (_silent_about_unknown, {"unsupported"}),
    "clears whatever is named": (_clears_anything, {"clear-wrong"}),
    "answers only the first STOP ALL": (_stops_once, {"stop-all"}),
    "grants what is asked, twice": (_long_leases, {"lease", "lease-limit"}),
    "has no interlocks": (
        _no_interlocks,
        {"raise-under-console", "raise-behind-stacker", "push-against-tray"},
    ),
    "runs on without a host": (_never_silent, {"silence"}),
    "ignores the lease of a jog": (_jogs_for_ever, {"jog-lease", "jog-renewed"}),
    "lets a jog last as long as asked": (_jogs_as_long_as_asked, {"jog-lease", "jog-renewed"}),
    "renews no jog": (_jogs_without_renewal, {"jog-renewed"}),
    "jogs while another motor moves": (_jogs_beside_others, {"jog-busy", "jog-alone"}),
    "moves another motor during a jog": (_moves_beside_a_jog, {"jog-alone"}),
    "jogs under no stop": (_jogs_under_no_stop, {"jog-stopped"}),
    "jogs on after STOP ALL": (_jogs_on_after_a_stop, {"jog-stopped"}),
    "jogs a stacker against a tray": (_jogs_against_anything, {"jog-tray"}),
    "moves a console by time from anywhere": (_times_from_anywhere, {"timed-unseen", "timed-key"}),
    "opens any HELLO's session again": (_reopens, {"hello-again", "hello-old"}),
}


@pytest.mark.parametrize(
    "check", ["raise-under-console", "raise-behind-stacker", "push-against-tray", "jog-tray"]
)
def test_a_board_whose_hand_mouths_have_no_interlocks_does_not_pass(
    check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SimTable(TableOptions(hands=0, model=load("eight-mouth")))
    interlocks = table.board._moves._interlocks
    for name in ("_stroke", "_jog"):
        real = getattr(interlocks, name)

        def refusal(part: Any, *more: Any, real: Any = real) -> m.FailReason | None:
            reason = real(part, *more)
            return None if part.mouth.startswith("H") and reason is m.FailReason.INTERLOCK else reason

        monkeypatch.setattr(interlocks, name, refusal)
    (verdict,) = [v for v in run(VirtualPort(table), motion=True) if v.check == check]
    assert verdict.result == "FAIL"
    assert verdict.came.startswith("H1: ")


def test_a_board_that_leaves_out_the_bits_of_its_further_sensors_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = SimTable(TableOptions(hands=0, model=load("eight-mouth")))
    honest = table.board._report
    monkeypatch.setattr(table.board, "_report", lambda: (honest()[0], honest()[1][:16]))
    assert "description" in failures(VirtualPort(table))


@pytest.mark.parametrize(("patch", "wanted"), MUTANTS.values(), ids=MUTANTS)
def test_a_board_with_one_defect_fails_there(
    patch: Patch, wanted: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = SimTable(TableOptions(hands=0))
    patch(monkeypatch, table.board)
    assert wanted <= failures(VirtualPort(table))


def test_a_dead_port_is_one_failure_and_not_forty() -> None:
    class Dead(VirtualPort):
        def write(self, data: bytes) -> None:
            pass

    verdicts = list(run(Dead(), motion=True))
    assert verdicts[0].result == "FAIL"
    assert {v.result for v in verdicts[1:]} == {"SKIP"}


def test_every_check_has_its_texts_in_both_languages() -> None:
    assert len({c.name for c in CHECKS}) == len(CHECKS)
    wanted = {f"check.{c.name}.{part}" for c in CHECKS for part in ("name", "want")}
    keys = TEXTS.keys()
    assert wanted == {k for k in keys if k.startswith("check.")}
    for key in keys:
        assert set(TEXTS.both(key)) == set(LANGUAGES)
    for lang in LANGUAGES:
        for verdict in run(VirtualPort(), motion=False):
            assert line(verdict, lang)


def test_a_failed_check_says_what_was_expected_and_what_came(monkeypatch: pytest.MonkeyPatch) -> None:
    table = SimTable(TableOptions(hands=0))
    _clears_anything(monkeypatch, table.board)
    verdict = next(v for v in run(VirtualPort(table), motion=False) if v.result == "FAIL")
    assert "expected: HOST is still latched; came: Clear" in line(verdict, "en")
    assert "应为" in line(verdict, "zh")


def test_a_board_on_a_real_port_passes(capsys: pytest.CaptureFixture[str]) -> None:
    with board_on_a_pty() as path:
        assert main([path, "--json", "--lang", "zh"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["FAIL"], found["PASS"]) == (0, sum(not c.moves for c in CHECKS))


def test_lines_and_sum_are_printed_in_the_language_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with board_on_a_pty() as path:
        assert main([path, "--lang", "zh"]) == 0
    out = capsys.readouterr().out
    assert "PASS  hello: HELLO 建立会话" in out
    assert "失败 0" in out


@pytest.mark.parametrize(("lang", "word"), [("en", "cannot be opened"), ("zh", "无法打开")])
def test_a_port_that_is_not_there_is_a_wrong_question(
    lang: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["/dev/no-such-port", "--lang", lang]) == 2
    assert word in capsys.readouterr().err


def test_a_wrong_option_is_a_wrong_question(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as over:
        main(["--lang", "de", "x"])
    assert over.value.code == 2
    assert capsys.readouterr().err
