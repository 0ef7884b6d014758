"""The scaled clock: two processes of one simulated table do not call each other dead while they wait."""

from hypothesis import given
from hypothesis import strategies as st

from firmware_protocol.pace import DISK_S, LEAD_US, PATIENCE_S, PacedClock
from firmware_protocol.timing import PING_US

LOOK_S = 0.02


class Real:
    """A monotonic clock that the test moves."""

    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def wait(real: Real, clock: PacedClock, seconds: float) -> None:
    """Let time pass for a process that looks again and again."""
    for _ in range(round(seconds / LOOK_S)):
        real.s += LOOK_S
        clock.now_us()


@given(st.lists(st.tuples(st.floats(0, 3), st.booleans()), max_size=40), st.sampled_from([1.0, 5.0, 20.0]))
def test_the_clock_never_goes_back_nor_faster_than_its_speed(
    steps: list[tuple[float, bool]], speed: float
) -> None:
    real = Real()
    clock = PacedClock(speed, real)
    before = 0
    for step_s, heard in steps:
        real.s += step_s
        now = clock.now_us()
        assert before <= now <= before + step_s * speed * 1_000_000 + 2
        before = now
        if heard:
            clock.heard()


def test_a_real_boards_clock_is_the_plain_one() -> None:
    real = Real()
    clock = PacedClock(1.0, real)
    clock.heard()
    real.s += 0.9
    assert abs(clock.now_us() - 900_000) <= 1


def test_a_late_host_does_not_run_into_the_boards_silence() -> None:
    real = Real()
    clock = PacedClock(20.0, real)
    clock.heard()
    real.s += 0.5  # ten seconds of table time
    assert clock.now_us() == LEAD_US < 700_000
    clock.heard()
    real.s += 0.01
    assert abs(clock.now_us() - LEAD_US - 200_000) <= 1


def test_a_word_taken_in_at_an_earlier_time_does_not_lend_the_time_since() -> None:
    real = Real()
    clock = PacedClock(20.0, real)
    real.s += 0.01  # nobody has spoken yet: 200 ms
    clock.heard(50_000)
    real.s += 0.5
    assert clock.now_us() == 50_000 + LEAD_US
    clock.heard(60_000)  # the clock is further already: it stands, and does not go back
    real.s += 0.5
    assert clock.now_us() == 60_000 + LEAD_US


def test_a_ping_is_due_before_the_clock_stands() -> None:
    assert PING_US < LEAD_US


def test_a_dead_host_is_not_waited_for_for_ever() -> None:
    real = Real()
    clock = PacedClock(20.0, real)
    clock.heard()
    wait(real, clock, PATIENCE_S + 0.2)
    assert clock.now_us() > 2_000_000


def test_a_process_that_has_slept_itself_does_not_call_the_other_dead() -> None:
    real = Real()
    clock = PacedClock(20.0, real)
    clock.heard()
    real.s += 10 * PATIENCE_S  # off the processor: what has come meanwhile is not read yet
    assert clock.now_us() == LEAD_US
    clock.heard()
    real.s += 0.01
    assert abs(clock.now_us() - LEAD_US - 200_000) <= 1


def test_a_disk_that_takes_a_while_is_not_called_dead_at_twenty_times_real_time() -> None:
    real = Real()
    clock = PacedClock(20.0, real)
    clock.asked_disk()
    real.s += 0.3  # six seconds of table time
    clock.asked_disk()  # what is written behind it does not let time go on
    wait(real, clock, 1.5)
    assert clock.now_us() == LEAD_US
    clock.disk_answered()
    real.s += 0.01
    assert abs(clock.now_us() - LEAD_US - 200_000) <= 1


def test_a_dead_disk_is_not_waited_for_for_ever() -> None:
    real = Real()
    clock = PacedClock(20.0, real)
    clock.asked_disk()
    wait(real, clock, DISK_S + 0.5)
    assert clock.now_us() > 5_000_000


def test_a_host_that_waits_for_its_disk_is_not_called_silent() -> None:
    real = Real()
    host, board = PacedClock(20.0, real), PacedClock(20.0, real)
    board.heard()
    host.asked_disk()
    for _ in range(int(DISK_S * 1_000)):
        real.s += 0.001
        host.now_us()
        assert board.now_us() < 700_000
