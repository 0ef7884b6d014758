"""The supervisor of the port: one port at a time, none too soon, no reset under a session. Virtual time."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest
from helpers import rig, run_for, told
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_protocol import host_link as hl
from firmware_protocol.catalogue import LANGUAGES
from firmware_protocol.core import TICK
from firmware_protocol.texts import Told
from tablectl.board import port_types as pt
from tablectl.board import supervisor as sup
from tablectl.board.port_types import FoundPort, Trouble, UsbPlace
from tablectl.board.supervisor import State, Supervisor
from tablectl.service import view
from tablectl.table import events as ev
from tablectl.texts import TEXTS

S = 1_000_000
PATH = "/dev/ttyUSB0"
A = FoundPort("/dev/ttyUSB0", UsbPlace(1, (2,), 0x1A86, 0x7523))
B = FoundPort("/dev/ttyUSB1", UsbPlace(1, (3,), 0x1A86, 0x7523))  # the same make: the same by-id name
SOLDERED = FoundPort("/dev/ttyS0", None)


def a_hello() -> ev.Hello:
    r = rig()
    run_for(r, 1)
    assert r.controller.board is not None
    return r.controller.board


HELLO = a_hello()


def hello(uid: str) -> ev.Hello:
    return replace(HELLO, uid=uid)


SILENT = ev.LinkLost("silent", "")
STOPPED = ev.Stopped(1, HELLO.state, (), ())


@dataclass
class Shell:
    """A shell and a session that do at once what they are ordered, as `outcome` says of each path."""

    core: Supervisor
    ports: list[FoundPort]
    outcome: Callable[[str], Any]  # Trouble of opening; "mute", "noise", or the uid of the board that answers
    now: int = 0
    open: str = ""
    up: bool = False
    opens: list[tuple[int, str]] = field(default_factory=list)
    log: list[tuple[int, str, Any]] = field(default_factory=list)  # "open", "up", "gone", or why it ended
    resets: list[tuple[int, UsbPlace]] = field(default_factory=list)
    told: list[pt.PortTrouble] = field(default_factory=list)
    passed: list[Any] = field(default_factory=list)
    session_open: bool = False

    def give(self, event: Any) -> None:
        waiting = [event]
        while waiting:
            given = waiting.pop(0)
            for effect in self.core.handle(given, self.now):
                waiting += self._carry_out(effect)
            if given is TICK:
                due = self.core.next_deadline()
                assert due is None or due > self.now, "it would be ticked for ever"

    def _carry_out(self, effect: Any) -> list[Any]:
        match effect:
            case pt.ListPorts():
                missing = {A.path, B.path, SOLDERED.path} - {p.path for p in self.ports}
                self.log += [(self.now, path, "gone") for path in sorted(missing)]
                return [pt.PortsListed(tuple(self.ports))]
            case pt.OpenPort(id_, path):
                assert not self.open, f"{path} while {self.open} is open"
                self.opens.append((self.now, path))
                self.log.append((self.now, path, "open"))
                result = self.outcome(path)
                if isinstance(result, Trouble):
                    self.log.append((self.now, path, result))
                    return [pt.OpenFailed(id_, result, "because")]
                self.open = path
                heard = [] if result == "mute" else [pt.PortHeard(id_)]
                answer = [] if result in ("mute", "noise") else [hello(result)]
                return [pt.PortOpened(id_), *heard, *answer]
            case pt.ClosePort(why):
                assert self.open
                self.log.append((self.now, self.open, why))
                self.open, self.up = "", False
            case pt.ResetUsb(place):
                assert not self.open
                assert not self.up
                self.resets.append((self.now, place))
                return [pt.UsbDone()]
            case pt.PortTrouble():
                self.told.append(effect)
            case hl.Opened():
                assert self.open
                assert not self.session_open
                self.session_open = True
            case hl.Closed():
                assert self.session_open, "closed twice"
                self.session_open = False
                return [ev.LinkLost("closed", "")]
            case ev.Hello():
                self.up = True
                self.log.append((self.now, self.open, "up"))
                self.passed.append(effect)
            case _:
                self.up = False
                self.passed.append(effect)
        return []

    def run(self, seconds: float) -> None:
        end = self.now + round(seconds * S)
        while (due := self.core.next_deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.give(TICK)
        self.now = end

    def lose(self) -> None:
        self.log.append((self.now, self.open, Trouble.LOST))
        self.open, self.up = "", False
        self.give(pt.PortLost(self.core._id, "Input/output error"))


def shell(port: str, ports: list[FoundPort], **outcomes: Any) -> Shell:
    """Return one that has begun; outcomes are by the last part of the path."""
    s = Shell(Supervisor(port), ports, lambda path: outcomes[path.rpartition("/")[2]])
    s.give(pt.Begin())
    return s


# --- every state and every event ----------------------------------------------------------------------------


def core_in(state: State) -> Supervisor:
    """Return a supervisor of a fixed path in a state, at time 0; its attempt is number 1."""
    core = Supervisor(PATH)
    steps: dict[State, list[Any]] = {
        State.IDLE: [],
        State.LISTING: [pt.Begin()],
        State.OPENING: [pt.Begin(), pt.PortsListed((A,))],
        State.WAITING: [pt.Begin(), pt.PortsListed((A,)), pt.OpenFailed(1, Trouble.BUSY, "")],
        State.GREETING: [pt.Begin(), pt.PortsListed((A,)), pt.PortOpened(1)],
        State.UP: [pt.Begin(), pt.PortsListed((A,)), pt.PortOpened(1), HELLO],
        State.RESETTING: [pt.Begin(), pt.PortsListed((A,))],
    }
    for event in steps[state]:
        if state is State.RESETTING and isinstance(event, pt.PortsListed):
            core._record_of(PATH).mute = sup.MUTE_TRIES
        core.handle(event, 0)
    assert core.state is state
    return core


EVENTS: dict[str, Any] = {
    "begin": pt.Begin(),
    "listed": pt.PortsListed((A,)),
    "opened": pt.PortOpened(1),
    "opened of another": pt.PortOpened(7),
    "failed": pt.OpenFailed(1, Trouble.BUSY, ""),
    "failed of another": pt.OpenFailed(7, Trouble.BUSY, ""),
    "heard": pt.PortHeard(1),
    "lost": pt.PortLost(1, "gone"),
    "lost of another": pt.PortLost(7, "gone"),
    "reset done": pt.UsbDone(),
    "hello": HELLO,
    "silent": SILENT,
    "stopped": STOPPED,
    "clear": ev.ClearStop(1),
    "tick": TICK,  # one minute later
}
# Where an event leads; in every other cell the state stays and no order goes out.
LEADS: dict[tuple[State, str], State] = {
    (State.IDLE, "begin"): State.LISTING,
    (State.LISTING, "listed"): State.OPENING,
    (State.OPENING, "opened"): State.GREETING,
    (State.OPENING, "failed"): State.WAITING,
    (State.GREETING, "hello"): State.UP,
    (State.GREETING, "lost"): State.WAITING,
    (State.GREETING, "tick"): State.WAITING,
    (State.UP, "lost"): State.WAITING,
    (State.UP, "silent"): State.GREETING,
    (State.UP, "stopped"): State.GREETING,
    (State.UP, "clear"): State.GREETING,
    (State.RESETTING, "reset done"): State.WAITING,
    (State.WAITING, "tick"): State.LISTING,
}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("name", EVENTS)
def test_no_cell_of_state_and_event_leads_elsewhere(state: State, name: str) -> None:
    core = core_in(state)
    was_open = core.is_open
    effects = core.handle(EVENTS[name], 60 * S if name == "tick" else 1)
    assert core.state is LEADS.get((state, name), state)
    orders = [e for e in effects if isinstance(e, pt.PortOrder)]
    if (state, name) not in LEADS:
        assert orders == []
    if was_open and not core.is_open:
        assert hl.Closed() in effects
        assert bool(orders) is (name == "tick"), "a lost port is closed already, a silent one is to be"
    due = core.next_deadline()
    assert (due is not None) is (core.state in (State.WAITING, State.GREETING)), (
        "waits for ever, or for nothing"
    )


@pytest.mark.parametrize("event", [HELLO, SILENT, STOPPED])
def test_a_wire_that_is_no_port_of_ours_is_not_gated(event: Any) -> None:
    assert core_in(State.IDLE).handle(event, 0) == (event,)


# --- which port ---------------------------------------------------------------------------------------------


def test_two_adapters_of_one_name_do_not_hide_the_board() -> None:
    s = shell("uid:TABLE7", [B, A], ttyUSB0="OTHER", ttyUSB1="TABLE7")
    s.run(2)
    assert [path for _, path in s.opens] == [A.path, B.path]  # by socket, in whatever order they are listed
    assert (s.open, s.core.state) == (B.path, State.UP)
    assert [h.uid for h in s.passed] == ["TABLE7"], "the table hears nothing of the other board"
    assert [(t.trouble, t.path, t.detail) for t in s.told] == [(Trouble.OTHER_BOARD, A.path, "OTHER")]


def test_a_renamed_port_does_not_lose_the_board() -> None:
    s = shell("auto", [A], ttyUSB0="TABLE7", ttyUSB5="TABLE7")
    assert s.open == A.path
    s.ports = [replace(A, path="/dev/ttyUSB5")]
    s.lose()
    s.run(2)
    assert (s.open, s.core.state) == ("/dev/ttyUSB5", State.UP)


def test_auto_does_not_take_another_tables_board_for_its_own_that_is_gone() -> None:
    s = shell("auto", [A], ttyUSB0="TABLE7", ttyUSB1="TABLE8")
    s.ports = [B]
    s.lose()
    s.run(100)
    assert s.core.state is not State.UP
    assert {h.uid for h in s.passed if isinstance(h, ev.Hello)} == {"TABLE7"}
    s.ports = [A, B]
    s.run(20)
    assert s.open == A.path


@pytest.mark.parametrize("other", ["noise", "mute", Trouble.BUSY, Trouble.DENIED, Trouble.UNUSABLE])
def test_a_port_without_a_board_does_not_keep_the_next_from_being_tried(other: Any) -> None:
    s = shell("auto", [A, B], ttyUSB0=other, ttyUSB1="TABLE7")
    s.run(sup.ANSWER_US / S + 2)
    assert s.open == B.path


def test_a_port_of_the_computers_own_is_not_disturbed_unasked() -> None:
    s = shell("auto", [SOLDERED])
    s.run(60)
    assert s.opens == []
    assert [t.trouble for t in s.told] == [Trouble.NOT_FOUND]
    named = shell(SOLDERED.path, [SOLDERED], ttyS0="TABLE7")
    assert named.open == SOLDERED.path


def test_a_board_that_comes_to_a_port_is_found_though_nothing_was_there() -> None:
    s = shell("auto", [], ttyUSB1="TABLE7")
    s.run(600)
    s.ports = [B]
    s.run(2)
    assert s.open == B.path


def test_the_boards_own_port_is_not_tried_after_others() -> None:
    s = shell("auto", [B], ttyUSB0="mute", ttyUSB1="TABLE7")
    s.run(60)
    s.ports = [A, B]
    s.lose()
    s.run(2)
    assert [path for _, path in s.opens] == [B.path, B.path]


# --- when ---------------------------------------------------------------------------------------------------


def gaps(s: Shell) -> list[int]:
    times = [t for t, _ in s.opens]
    return [b - a for a, b in pairwise(times)]


def test_a_port_that_fails_is_not_tried_as_often_as_before_nor_never() -> None:
    s = shell(PATH, [A], ttyUSB0=Trouble.BUSY)
    s.run(200)
    waits = gaps(s)
    assert waits[:6] == [S // 4, S // 2, S, 2 * S, 4 * S, 8 * S]
    assert set(waits[6:]) == {sup.LAST_RETRY_US}
    assert [t.trouble for t in s.told] == [Trouble.BUSY], "told once"


def test_a_plug_put_in_late_does_not_wait_for_the_longest_time() -> None:
    s = shell(PATH, [], ttyUSB0=Trouble.MISSING)
    s.run(600)
    assert max(gaps(s)) <= sup.LIST_US


@pytest.mark.parametrize(("lasts_s", "first_retry"), [(60, True), (1, False)])
def test_only_a_good_session_makes_the_next_retry_quick(lasts_s: int, first_retry: bool) -> None:
    answers: list[Any] = [Trouble.BUSY] * 4 + ["TABLE7"] * 2
    s = Shell(Supervisor(PATH), [A], lambda path: answers.pop(0))
    s.give(pt.Begin())
    s.run(4)
    assert s.core.state is State.UP
    s.run(lasts_s)
    s.lose()
    lost = s.now
    s.run(20)
    assert (s.opens[5][0] - lost == sup.FIRST_RETRY_US) is first_retry


def test_the_clock_of_a_simulated_table_does_not_shorten_what_is_real() -> None:
    s = Shell(Supervisor(PATH, speed=20), [A], lambda path: "mute")
    s.give(pt.Begin())
    s.run(20 * sup.ANSWER_US / S - 1)
    assert s.open == PATH
    s.run(2)
    assert not s.open


def test_a_board_that_falls_silent_is_not_waited_for_on_a_dead_port() -> None:
    for end in (SILENT, STOPPED, ev.ClearStop(1)):
        s = shell(PATH, [A], ttyUSB0="TABLE7")
        s.run(60)
        s.give(end)
        assert s.open, "it may just have been reset"
        s.run(sup.ANSWER_US / S + 1)
        assert len(s.opens) == 2


# --- what the table is told ---------------------------------------------------------------------------------


def test_a_port_opened_in_vain_again_and_again_is_not_told_to_the_table_each_time() -> None:
    s = shell(PATH, [A], ttyUSB0="TABLE7")
    s.outcome = lambda path: "mute"
    s.lose()
    s.run(300)
    assert len(s.opens) > 10
    assert s.passed == [hello("TABLE7"), ev.LinkLost("closed", "")]


def test_a_refused_board_is_told_once_and_looked_at_again() -> None:
    s = shell(PATH, [A], ttyUSB0="noise")
    refusal = ev.LinkLost("version", Told("version.other", {"board": 2, "host": 1}).packed())
    for _ in range(3):
        s.give(refusal)
        s.run(sup.ANSWER_US / S + 2)
    assert s.passed == [refusal]
    assert s.told[0].trouble is Trouble.REFUSED
    assert len(s.opens) > 2, "new firmware would not be noticed"


# --- the reset of an adapter --------------------------------------------------------------------------------


def test_a_hung_adapter_is_reset_and_not_all_the_time() -> None:
    s = shell(PATH, [A], ttyUSB0="mute")
    s.run(1_000)
    times = [t for t, _ in s.resets]
    assert {place for _, place in s.resets} == {A.usb}
    assert len(times) == 4
    assert min(b - a for a, b in pairwise(times)) >= sup.RESET_APART_US
    assert sum(1 for t, _ in s.opens if t < times[0]) == sup.MUTE_TRIES


@pytest.mark.parametrize("what", ["noise", Trouble.BUSY, Trouble.DENIED, Trouble.MISSING, "OTHER"])
def test_no_adapter_is_reset_that_has_not_hung(what: Any) -> None:
    s = shell("uid:TABLE7", [A], ttyUSB0="TABLE7")
    s.outcome = lambda path: what
    s.lose()
    s.run(1_000)
    assert s.resets == []


def test_somebody_elses_silent_adapter_is_not_reset() -> None:
    s = shell("auto", [A, B], ttyUSB0="mute", ttyUSB1="TABLE7")
    s.run(20)
    assert s.open == B.path
    s.outcome = lambda path: "mute"
    s.lose()
    s.run(1_000)
    assert {place for _, place in s.resets} == {B.usb}


def test_an_adapter_that_is_not_there_is_not_reset() -> None:
    s = shell(PATH, [], ttyUSB0="mute")
    s.run(1_000)
    assert len(s.opens) > 10
    assert s.resets == []


# --- anything may happen ------------------------------------------------------------------------------------

RESULTS = st.sampled_from(["mute", "noise", "TABLE7", "OTHER", *Trouble])
STEPS = st.one_of(
    st.tuples(st.just("run"), st.floats(0.01, 40)),
    st.tuples(st.just("lose"), st.none()),
    st.tuples(st.just("silent"), st.none()),
    st.tuples(st.just("outcome"), st.tuples(RESULTS, RESULTS)),
    st.tuples(st.just("ports"), st.lists(st.sampled_from([A, B, SOLDERED]), unique=True)),
    st.tuples(st.just("event"), st.sampled_from(list(EVENTS.values()))),
)


def none_too_soon(log: list[tuple[int, Any]], fixed: bool) -> None:
    """Check the log of one path: each failure in a row doubles the wait, a new plug or a session forgives."""
    fails, may_us = 0, 0
    for now, what in log:
        if what == "open":
            assert now >= may_us
        elif what == "up" or (what == "gone" and not fixed):
            fails = may_us = 0
        elif isinstance(what, Trouble):
            fails += 1
            wait = min(S // 4 * 2 ** (fails - 1), 16 * S)
            may_us = now + (min(wait, S) if what is Trouble.MISSING else wait)


@given(st.sampled_from([PATH, "auto", "uid:TABLE7"]), st.lists(STEPS, max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_history_opens_two_ports_or_one_too_soon_or_resets_under_a_session(
    port: str, steps: list[tuple[str, Any]]
) -> None:
    results: dict[str, Any] = {A.path: "mute", B.path: "TABLE7", SOLDERED.path: "noise"}
    s = Shell(Supervisor(port), [A, B], lambda path: results[path])
    s.give(pt.Begin())
    for name, value in steps:
        match name:
            case "run":
                s.run(value)
            case "lose" if s.open:
                s.lose()
            case "silent" if s.up:
                s.give(SILENT)
            case "outcome":
                results[A.path], results[B.path] = value
            case "ports":
                s.ports = value
            case "event" if not isinstance(value, pt.PortOpened | pt.OpenFailed | pt.PortLost | ev.Hello):
                s.give(value)
        due = s.core.next_deadline()
        assert (due is None) is (s.core.state is State.UP), "it has given up looking"
        assert due is None or due - s.now <= max(sup.LAST_RETRY_US, sup.ANSWER_US)
    # The shell has asserted: one port at a time, no reset with one open.
    for path in (A.path, B.path):
        none_too_soon([(t, what) for t, p, what in s.log if p == path], fixed=port == PATH)
    resets = [t for t, _ in s.resets]
    assert all(b - a >= sup.RESET_APART_US for a, b in pairwise(resets))


@given(st.lists(st.tuples(st.sampled_from(list(EVENTS.values())), st.integers(0, 20 * S)), max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_stale_or_repeated_report_opens_a_second_port(events: list[tuple[Any, int]]) -> None:
    core, now, opened, pending = Supervisor("auto"), 0, False, 0
    for event, later in events:
        now += later
        outcome = isinstance(event, pt.PortOpened | pt.OpenFailed)
        if outcome:  # as a shell would: only of an order that is under way, or of one long over
            event = replace(event, id=pending or 999)
            opened = opened or (isinstance(event, pt.PortOpened) and pending > 0)
            pending = 0
        elif isinstance(event, pt.PortLost) and opened:
            event = replace(event, id=core._id)
            opened = False
        for effect in core.handle(event, now):
            match effect:
                case pt.OpenPort(id_):
                    assert not opened
                    assert not pending
                    pending = id_
                case pt.ClosePort():
                    assert opened
                    opened = False
                case pt.ResetUsb():
                    assert not opened
                    assert not pending
        assert core.is_open is opened


# --- inside the host, and told to people --------------------------------------------------------------------


def test_the_host_does_not_hear_a_board_of_another_uid() -> None:
    r = rig()
    r.host.supervisor = Supervisor("uid:ANOTHER")
    r.host.supervisor.handle(pt.Begin(), 0)
    r.host.supervisor.handle(pt.PortsListed((A,)), 0)
    r.host.supervisor.handle(pt.PortOpened(1), 0)
    run_for(r, 3)
    assert r.controller.board is None
    assert not r.controller.connected
    assert [e.why for _, e in r.announced if isinstance(e, pt.ClosePort)] == [Trouble.OTHER_BOARD]
    assert [t.detail for t in told(r, pt.PortTrouble)] == ["SIM00001"]
    assert not r.session.link.up


@pytest.mark.parametrize("trouble", Trouble)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_trouble_goes_without_a_text_that_names_the_port(trouble: Trouble, lang: str) -> None:
    text = view.port_trouble(pt.PortTrouble(trouble, PATH, "detail"))["text"][lang]
    assert (PATH in text) is (trouble is not Trouble.NOT_FOUND)


def test_no_state_goes_without_a_text() -> None:
    for state in State:
        assert f"port.next.{state}" in TEXTS


def test_status_does_not_hide_why_the_port_is_closed_and_what_comes_next() -> None:
    from tablectl.cli.client import status_lines

    r = rig()
    core = r.host.supervisor = Supervisor(PATH)
    core.handle(pt.Begin(), 0)
    core.handle(pt.PortsListed((A,)), 0)
    core.handle(pt.OpenFailed(1, Trouble.BUSY, "in use"), 0)
    found = view.status(r.host)
    assert (found["port"]["why_closed"]["reason"], found["port"]["tries"]) == ("busy", 1)
    for lang, words in (("en", "Another program has"), ("zh", "其他程序占用")):
        (line,) = [line for line in status_lines(found, lang) if PATH in line]
        assert words in line
        assert " 1 s " in line or " 1 秒" in line
