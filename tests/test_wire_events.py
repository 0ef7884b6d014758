"""Events: none lost without being told, none twice, none out of order, whatever the line does."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_bench import WIRES, Bench

from firmware_protocol import host_link as hl
from firmware_protocol import messages as m
from firmware_protocol.ring import KEPT, EventInbox, EventOutbox
from sim.table import PanelKey


def key(n: int) -> m.KeyEvent:
    return m.KeyEvent(n & 0xFF, m.Phase.DOWN, n)


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.5]), st.integers(1, 700))
def test_each_event_is_delivered_once_and_in_order_past_the_wrap(
    seed: int, chance: float, count: int
) -> None:
    rng = random.Random(seed)
    outbox, inbox = EventOutbox(), EventInbox()
    delivered: list[int] = []
    raised = 0
    stale: list[tuple[int, int, int]] = []
    while raised < count or outbox.pending:
        if raised < count and len(outbox.pending) < KEPT:
            outbox.add(key(raised))
            raised += 1
        batch = [(number, outbox.oldest, msg.clock_ms) for number, msg in outbox.pending]
        rng.shuffle(batch)
        if stale and rng.random() < chance:
            batch.append(rng.choice(stale))
        for number, oldest, content in batch:
            if rng.random() < chance:
                continue
            deliver, lost = inbox.take(number, oldest)
            assert not lost
            if deliver:
                delivered.append(content)
            if inbox.last and rng.random() >= chance:
                outbox.acknowledge(inbox.last)
        stale = (stale + batch)[-20:]
    assert delivered == list(range(count))


def test_an_acknowledgement_that_nobody_waits_for_changes_nothing() -> None:
    outbox = EventOutbox()
    for n in range(5):
        outbox.add(key(n))
    for number in (0, 6, 100, 200, 255):
        assert not outbox.acknowledge(number)
    assert len(outbox.pending) == 5
    assert outbox.acknowledge(3)
    assert [n for n, _ in outbox.pending] == [4, 5]


@given(st.integers(0, 600), st.integers(1, 40))
def test_events_that_no_longer_fit_are_told_as_lost_and_the_rest_arrives(before: int, burst: int) -> None:
    outbox, inbox = EventOutbox(), EventInbox()
    for n in range(before):
        number = outbox.add(key(n))
        assert inbox.take(number, outbox.oldest) == (True, 0)
        outbox.acknowledge(number)
    for n in range(burst):
        outbox.add(key(n))
    results = [inbox.take(number, outbox.oldest) for number, _ in outbox.pending]
    assert all(deliver for deliver, _ in results)
    assert sum(lost for _, lost in results) == max(0, burst - KEPT)


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255)), max_size=50))
def test_a_board_that_numbers_nonsense_raises_nothing(pairs: list[tuple[int, int]]) -> None:
    inbox = EventInbox()
    for number, oldest in pairs:
        inbox.take(number, oldest)
        assert 0 <= inbox.last <= 255


@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_every_press_of_a_panel_key_arrives_once_and_in_order(wire: hl.Outcome) -> None:
    bench = Bench(wire, seed=3)
    bench.until(hl.Up)
    for n in range(300):
        bench.give(PanelKey(f"dice.S{n // 2 % 4 + 1}", down=n % 2 == 0), "table")
        bench.run(0.08)
    bench.run(3)
    keys = [(e.key - 2, e.phase) for e in bench.heard(m.KeyEvent)]
    assert keys == [(n // 2 % 4, n % 2) for n in range(300)]
    assert not [s for s in bench.said if isinstance(s, hl.Down | hl.EventsLost)]


def test_events_are_repeated_each_100_ms_until_the_host_has_them() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.cut = True
    bench.give(PanelKey("dice.S1", True), "table")
    bench.run(0.3)
    assert not bench.heard(m.KeyEvent)
    bench.cut = False
    bench.run(0.2)
    assert len(bench.heard(m.KeyEvent)) == 1
    sent = bench.table.board.counters.sent
    bench.run(0.2)
    assert bench.table.board.counters.sent <= sent + 2  # a status, a pong; the event is not repeated any more


def test_a_burst_of_keys_while_the_line_is_dead_tells_what_was_lost() -> None:
    bench = Bench()
    bench.until(hl.Up)
    bench.cut = True
    for n in range(40):
        bench.give(PanelKey("dice.S1", n % 2 == 0), "table")
        bench.run(0.017)  # longer than a contact chatters
    bench.cut = False
    bench.run(1)
    assert sum(s.count for s in bench.said if isinstance(s, hl.EventsLost)) == 40 - KEPT
    assert len(bench.heard(m.KeyEvent)) == KEPT
