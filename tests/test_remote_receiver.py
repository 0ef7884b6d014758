"""The receiver: who is obeyed, when a key is down, held and up, and what a keymap may not say."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocol.core import TICK, earliest
from sim.remote import REPEAT_CODE_US, IrWords, Press, Remote, frame, words
from tablectl.errors import TablectlError
from tablectl.remote.keymap import Keymap, builtin, load, parse
from tablectl.remote.receiver import Effect, Foreign, LircdBytes, Lost, Receiver, UnknownKey, Words
from tablectl.table.intents import Intent, Key, Phase

DEFAULT = load("default")
START, ADD = 0x45, 0x46
TIMEOUT_WORD = bytes.fromhex("48E80103")


def key(phase: str, held_us: int = 0, intent: Intent = Intent.START, source: str = "remote:0x00") -> Key:
    return Key(source, intent, Phase(phase), held_us)


def hear(receiver: Receiver, *durations: int, now_us: int = 0) -> tuple[Effect, ...]:
    """Give the receiver these durations, ended by a TIMEOUT."""
    return receiver.handle(Words(words(durations) + TIMEOUT_WORD), now_us)


def play(receiver: Receiver, *presses: tuple[int, Press], **remote: Any) -> list[tuple[int, Effect]]:
    """Press keys of a virtual remote at these times until all is quiet; return what came when."""
    ir, out, waiting = Remote(**remote), [], list(presses)
    while True:
        now_us = earliest(waiting[0][0] if waiting else None, ir.next_deadline(), receiver.next_deadline())
        if now_us is None:
            return out
        event = waiting.pop(0)[1] if waiting and waiting[0][0] == now_us else TICK
        for given_words in ir.handle(event, now_us):
            assert isinstance(given_words, IrWords)
            out += [(now_us, effect) for effect in receiver.handle(Words(given_words.data), now_us)]
        out += [(now_us, effect) for effect in receiver.handle(TICK, now_us)]
        deadline_us = receiver.next_deadline()
        assert deadline_us is None or deadline_us > now_us


# --- who is obeyed ------------------------------------------------------------------------------------


@given(st.sets(st.integers(0, 0xFFFF), max_size=5), st.integers(0, 0xFFFF), st.integers(0, 0xFF))
def test_a_remote_that_is_not_paired_never_moves_the_table(paired: set[int], user: int, data: int) -> None:
    heard = hear(Receiver(paired - {user, user & 0xFF}, DEFAULT), *frame(user, data))
    assert all(isinstance(effect, Foreign) for effect in heard)
    assert len(heard) == 1


def test_a_paired_extended_remote_is_obeyed_by_its_whole_code() -> None:
    receiver = Receiver({0xEF00}, DEFAULT)
    assert hear(receiver, *frame(0xEF00, START)) == (key("down", source="remote:0xEF00"),)
    assert hear(receiver, *frame(0x0000, START))[1:] == (Foreign(0x00, START),)
    assert hear(receiver, *frame(0xEE00, START)) == (Foreign(0xEE00, START),)


def test_an_extended_code_that_looks_like_an_8_bit_one_is_another_remote() -> None:
    durations = [*frame(0x45, START)]
    for bit in range(8, 16):  # the second byte becomes 0x00
        durations[3 + 2 * bit] = -560
    assert hear(Receiver({0x45}, DEFAULT), *durations) == (Foreign(0x45, START),)


def test_a_key_that_the_keymap_does_not_name_does_nothing() -> None:
    receiver = Receiver({0x00}, DEFAULT)
    assert hear(receiver, *frame(0x00, 0xFE)) == (UnknownKey(0x00, 0xFE),)
    assert receiver.next_deadline() is None


# --- down, held, up -----------------------------------------------------------------------------------


def test_a_tap_goes_down_once_and_up_once() -> None:
    heard = play(Receiver({0x00}, DEFAULT), (1_000_000, Press(0x00, START)))
    assert [effect for _, effect in heard] == [key("down"), key("up")]
    (down_us, _), (up_us, _) = heard
    assert down_us - 1_000_000 <= 68_000 + 45_000
    assert up_us - down_us == 250_000


@pytest.mark.parametrize("timeout_us", [125_000, 15_600])
def test_a_held_key_tells_how_long_it_is_held(timeout_us: int) -> None:
    heard = play(Receiver({0x00}, DEFAULT), (0, Press(0x00, START, 1_600_000)), timeout_us=timeout_us)
    *others, up = [effect for _, effect in heard if isinstance(effect, Key)]
    assert [each.phase for each in others] == ["down"] + ["held"] * 14
    for number, each in enumerate(others):
        assert abs(each.held_us - number * 108_000) <= 100
    assert (up.phase, up.held_us) == ("up", others[-1].held_us)


def test_another_key_ends_the_one_before() -> None:
    receiver = Receiver({0x00}, DEFAULT)
    presses = [hear(receiver, -500_000, *frame(0x00, code)) for code in (START, ADD)]
    assert presses == [(key("down"),), (key("up"), key("down", intent=Intent.ADD))]


@pytest.mark.parametrize("other", [(0x01, START), (0x00, 0xFE)])
def test_a_frame_that_is_not_obeyed_ends_the_key_before(other: tuple[int, int]) -> None:
    receiver = Receiver({0x00}, DEFAULT)
    hear(receiver, *frame(0x00, START))
    assert hear(receiver, -40_000, *frame(*other), -40_000, *REPEAT_CODE_US)[0] == key("up")
    assert receiver.next_deadline() is None


def test_a_repeat_read_after_the_key_went_up_is_no_press() -> None:
    receiver = Receiver({0x00}, DEFAULT)
    hear(receiver, *frame(0x00, START))
    assert hear(receiver, -40_000, *REPEAT_CODE_US, now_us=250_000) == (key("up"),)
    assert receiver.stats().repeats == 1


def test_a_remote_that_sends_the_whole_frame_again_presses_once() -> None:
    once = frame(0x00, START)
    again_us = 108_000 - sum(map(abs, once))
    receiver = Receiver({0x00}, DEFAULT)
    heard = hear(receiver, *once, -again_us, *once, -again_us, *once)
    assert heard == (key("down"), key("held", 108_000), key("held", 216_000))


def test_pressing_the_same_key_again_is_a_second_press() -> None:
    heard = play(Receiver({0x00}, DEFAULT), (0, Press(0x00, START)), (0, Press(0x00, START, 120_000)))
    assert [effect.phase for _, effect in heard if isinstance(effect, Key)] == [
        "down", "up", "down", "held", "up",
    ]  # fmt: skip


def test_a_receiver_unplugged_under_a_held_key_leaves_no_key_down() -> None:
    receiver = Receiver({0x00}, DEFAULT)
    hear(receiver, *frame(0x00, START))
    receiver.handle(Words(words([9000]) + b"\1"), 1000)
    assert receiver.handle(Lost("gone"), 2000) == (key("up"),)
    assert receiver.next_deadline() is None
    assert hear(receiver, *REPEAT_CODE_US, now_us=3000) == ()
    assert hear(receiver, *frame(0x00, ADD), now_us=3000) == (key("down", intent=Intent.ADD),)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 400_000),
            st.sampled_from([0x00, 0x01, 0xEF00]),
            st.sampled_from([START, ADD, 0xFE]),
            st.integers(0, 700_000),
        ),
        max_size=6,
    ),
    st.integers(0, 1 << 32),
    st.sampled_from([125_000, 15_600]),
)
def test_every_press_goes_down_and_up_exactly_once(
    plan: list[tuple[int, int, int, int]], seed: int, timeout_us: int
) -> None:
    presses, at_us = [], 0
    for pause_us, user, data, held_us in plan:
        at_us += pause_us
        presses.append((at_us, Press(user, data, held_us)))
    heard = play(Receiver({0x00, 0xEF00}, DEFAULT), *presses, seed=seed, timeout_us=timeout_us)
    obeyed = [each for _, each in presses if each.user_code != 0x01 and each.data_code in DEFAULT.keys]
    keys = [effect for _, effect in heard if isinstance(effect, Key)]
    assert [each.intent for each in keys if each.phase is Phase.DOWN] == [
        DEFAULT.keys[each.data_code] for each in obeyed
    ]
    down: Key | None = None
    for each in keys:
        assert (down is None) == (each.phase is Phase.DOWN)
        assert down is None or (each.source, each.intent) == (down.source, down.intent)
        down = None if each.phase is Phase.UP else each
    assert down is None


# --- lircd and the counters ---------------------------------------------------------------------------


def test_lircds_lines_press_hold_and_release() -> None:
    receiver, out = Receiver({0x00}, DEFAULT), []
    for number, at_us in enumerate((0, 108_000, 216_000)):
        line = f"0000000000ffa25d {number:02x} KEY_POWER TABLE\n".encode()
        out += receiver.handle(LircdBytes(line[:9]), at_us)
        out += receiver.handle(LircdBytes(line[9:]), at_us)
    assert out == [key("down"), key("held", 108_000), key("held", 216_000)]
    assert receiver.next_deadline() == 216_000 + 250_000
    assert receiver.handle(TICK, 466_000) == (key("up", 216_000),)


def test_everything_heard_is_counted_and_a_snapshot_stays() -> None:
    receiver = Receiver({0x00}, DEFAULT)
    before = receiver.stats()
    hear(receiver, *frame(0x00, START), -40_000, *REPEAT_CODE_US, -400_000, *REPEAT_CODE_US)
    hear(receiver, *frame(0x01, START))
    hear(receiver, *frame(0x00, 0xFE))
    hear(receiver, *frame(0x00, START)[:20])
    after = receiver.stats()
    assert (after.frames, after.repeats, after.foreign, after.unknown) == (3, 1, 1, 1)
    assert after.rejects == {"orphan-repeat": 1, "truncated": 1}
    assert (before.frames, dict(before.rejects)) == (0, {})


def test_a_repeat_on_one_input_never_holds_the_key_of_another() -> None:
    receiver = Receiver({0x00}, DEFAULT)
    hear(receiver, *frame(0x00, START))
    line = LircdBytes(b"0000000000ff629d 00 KEY_ADD TABLE\n")
    assert receiver.handle(line, 10_000) == (key("up"), key("down", intent=Intent.ADD))
    assert hear(receiver, -40_000, *REPEAT_CODE_US, now_us=40_000) == ()


# --- keymaps ------------------------------------------------------------------------------------------


def test_the_built_in_keymap_reaches_everything_the_table_can_do() -> None:
    # Its 21 keys have no room for digits: a remote that has them has a keymap of its own.
    assert set(DEFAULT.keys.values()) == {i for i in Intent if not i.startswith("DIGIT_")}
    assert DEFAULT.keys[0x45] is Intent.START
    assert builtin() == ("default",)


def test_a_keymap_of_ones_own_is_read_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "hall.toml"
    file.write_text('name = "大厅"\n[keys]\n0xA = "STOP"\n', encoding="utf-8")
    assert load(file) == load(str(file)) == Keymap("大厅", {0x0A: Intent.STOP})


NAME = 'name = "x"\n'


@pytest.mark.parametrize(
    ("text", "error", "line", "key"),
    [
        (NAME + "[keys]\n0x45 = \n", "syntax", 3, ""),
        (NAME + '[keys]\n0x45 = "START"\n0x45 = "ADD"\n', "syntax", 4, ""),
        (NAME + "[keys", "syntax", 2, ""),
        ('[keys]\n0x45 = "START"\n', "name", 1, ""),
        ('# x\nname = 3\n[keys]\n0x45 = "START"\n', "name", 2, ""),
        (NAME, "no_keys", 1, ""),
        (NAME + "\n[keys]\n", "no_keys", 3, ""),
        (NAME + 'owner = "y"\n[keys]\n0x45 = "START"\n', "unknown", 2, "owner"),
        (NAME + '[keys]\n0x46 = "ADD"\n69 = "START"\n', "code", 4, "69"),
        (NAME + '[keys]\n0x145 = "START"\n', "code", 3, "0x145"),
        (NAME + '[keys]\n0x4 = "ADD"\n0x45 = "Start"\n', "intent", 4, "0x45"),
        (NAME + '[keys]\n"0x45" = ["START"]\n', "intent", 3, "0x45"),
        (NAME + "[keys]\n0x45 = 1\n", "intent", 3, "0x45"),
        (NAME + '[keys]\n0x05 = "ADD"\n0x5 = "START"\n', "twice", 4, "0x5"),
    ],
)
def test_a_bad_keymap_is_refused_with_file_line_and_key(text: str, error: str, line: int, key: str) -> None:
    with pytest.raises(TablectlError) as caught:
        parse(text, "hall.toml")
    assert caught.value.key == f"remote.keymap_{error}"
    assert f"hall.toml, line {line}:" in caught.value.text("en")
    assert f"hall.toml 第 {line} 行" in caught.value.text("zh")
    assert all(key in caught.value.text(lang) for lang in ("en", "zh"))


@pytest.mark.parametrize("write", [None, lambda file: file.write_bytes(b"\xff"), lambda file: file.mkdir()])
def test_a_keymap_that_cannot_be_read_is_named(tmp_path: Path, write: Callable[[Path], None] | None) -> None:
    file = tmp_path / "hall.toml"
    if write:
        write(file)
    with pytest.raises(TablectlError) as caught:
        load(file)
    for lang in ("en", "zh"):
        assert str(file) in caught.value.text(lang)
        assert "default" in caught.value.text(lang)


@given(st.text())
def test_no_text_at_all_breaks_the_keymap_reader(text: str) -> None:
    with pytest.raises(TablectlError):
        parse(text, "f")
