"""The decoder against captures of real remotes, noise, cut streams, orphan repeats, and LIRC's decoder."""

import pickle
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from firmware_protocol.core import TICK
from sim.remote import REPEAT_CODE_US, frame, words
from tablectl.errors import TablectlError
from tablectl.remote.lircd import LINE_LIMIT_BYTES, LircdReader, raw_bytes
from tablectl.remote.nec import Decoded, EndOfInput, Frame, NecDecoder, Reason, Reject, Repeat, Words
from tablectl.remote.pulses import PulseReader, parse_text

START = Frame(0, "nec", 0x00, 0x45, bytes.fromhex("00FF45BA"))
TIMEOUT_WORD, OVERFLOW_WORD = bytes.fromhex("48E80103"), bytes.fromhex("FFFFFF04")
FREQUENCY_WORD, ZERO_WORD = bytes.fromhex("70940002"), bytes(4)


def decode(data: bytes, *, read_bytes: int | None = None, end: bool = True) -> tuple[Decoded, ...]:
    decoder, out = NecDecoder(), []
    for i in range(0, len(data), read_bytes or len(data) or 1):
        out += decoder.handle(Words(data[i : i + (read_bytes or len(data))]), 0)
    return (*out, *(decoder.handle(EndOfInput(), 0) if end else ()))


def reasons(found: Iterable[Decoded]) -> list[str]:
    return [each.reason for each in found if isinstance(each, Reject)]


def held(*gaps_us: int) -> list[int]:
    """START's frame and a repeat after each gap, in signed µs."""
    out = [*frame(0x00, 0x45)]
    for gap_us in gaps_us:
        out += (-gap_us, *REPEAT_CODE_US)
    return out


FRAME_US = sum(map(abs, frame(0x00, 0x45)))
REPEAT_US = sum(map(abs, REPEAT_CODE_US))


# --- captures of real remotes -------------------------------------------------------------------------


def captures(folder: Path, of_class: str | None = None) -> Iterator[tuple[str, str]]:
    found = sorted((folder / "ir_captures").glob("*.txt"))
    assert len(found) >= 42
    for file in found:
        text = file.read_text(encoding="utf-8")
        if of_class is None or f"# class: {of_class}" in text:
            yield file.stem, text


def expected(text: str) -> list[list[str]]:
    """Return each answer that the `# expect:` line allows, as told() would tell it."""
    match = re.search(r"^# expect: (.*)$", text, re.MULTILINE)
    assert match
    return [list(_answer(side)) for side in match[1].split("|")]


def _answer(side: str) -> Iterator[str]:
    orphan = "orphan" in side
    for part in re.sub(r"\(.*?\)", "", side).split(";"):
        part, _, times = part.strip().partition(" x")
        if part != "none":
            yield from ["orphan-repeat" if orphan and part == "R" else part] * int(times or 1)


def told(found: Iterable[Decoded]) -> list[str]:
    out = []
    for each in found:
        match each:
            case Frame():
                out.append(f"{each.protocol.upper()} {each.raw.hex().upper()}")
            case Repeat():
                out.append("R")
            case Reject(_, Reason.ORPHAN_REPEAT):
                out.append("orphan-repeat")
    return out


def test_no_capture_of_a_real_remote_is_misread(shared_data: Path) -> None:
    wrong = {}
    for name, text in captures(shared_data):
        got = told(decode(parse_text(text, name)))
        if got not in expected(text):
            wrong[name] = got
    assert wrong == {}


@pytest.mark.parametrize("scale", [0.8, 0.9, 1.0, 1.1, 1.2])
@pytest.mark.parametrize("read_words", [1, 7, 64])
def test_no_clean_capture_is_lost_to_a_slow_or_fast_remote(
    shared_data: Path, scale: float, read_words: int
) -> None:
    for name, text in captures(shared_data, "clean"):
        durations = [
            round(int(us) * scale) for us in re.findall(r"^[+-].*$", text, re.M) for us in us.split()
        ]
        got = told(decode(words(durations), read_bytes=4 * read_words))
        assert got in expected(text), name


# --- the stream ---------------------------------------------------------------------------------------

NOISE = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.lists(st.integers(-20_000, 20_000).filter(bool), max_size=12).map(words),
        st.lists(st.sampled_from([9000, -4500, -2250, 560, -560, -1690, -40_000]), max_size=12).map(words),
        st.sampled_from([TIMEOUT_WORD, OVERFLOW_WORD, FREQUENCY_WORD, ZERO_WORD]),
        st.just(words(held(40_000, 96_000))),
    ),
    max_size=12,
).map(b"".join)


@given(NOISE, st.lists(st.integers(0, 600), max_size=20))
def test_where_a_read_is_cut_changes_nothing(data: bytes, cuts: list[int]) -> None:
    decoder, out = NecDecoder(), []
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in pairwise(edges):
        out += decoder.handle(Words(data[start:end]), 0)
    assert (*out, *decoder.handle(EndOfInput(), 0)) == decode(data)


@given(st.lists(st.one_of(NOISE, st.just(None)), max_size=8))
def test_noise_never_raises_and_a_deadline_never_stays_behind(reads: list[bytes | None]) -> None:
    decoder, now_us = NecDecoder(), 0
    for data in reads:
        now_us += 9000
        decoder.handle(TICK if data is None else Words(data), now_us)
        decoder.handle(TICK, now_us)
        deadline_us = decoder.next_deadline()
        assert deadline_us is None or deadline_us > now_us


def test_hours_of_noise_take_no_memory() -> None:
    decoder, noise = NecDecoder(), words([9000, -4500, *[560, -560] * 20, 300, -200]) * 200
    sizes = set()
    for _ in range(20):
        decoder.handle(Words(noise + b"\1"), 0)
        decoder.handle(Words(b"\0\0\0" * 3), 0)
        sizes.add(len(pickle.dumps(decoder.__dict__, protocol=4)) // 64)
    assert max(sizes) <= min(sizes) + 1


def test_a_leader_in_the_middle_of_a_frame_begins_a_new_one() -> None:
    for cut in range(1, len(frame(0x00, 0x45)) - 1):
        stump = frame(0x00, 0x45)[:cut]
        found = decode(words([*stump, *([-600] if cut % 2 else []), *frame(0x01, 0x46)]))
        assert told(found) == ["NEC 01FE46B9"], cut


@pytest.mark.parametrize(
    "word", [OVERFLOW_WORD, ZERO_WORD, bytes.fromhex("00000001"), bytes.fromhex("01000007")]
)
def test_a_frame_with_words_missing_is_no_press(word: bytes) -> None:
    whole = words(frame(0x00, 0x45))
    for at in range(4, len(whole), 4):
        assert reasons(decode(whole[:at] + word + whole[at:]))[:1] == ["broken"]
        assert told(decode(whole[:at] + word + whole[at:])) == []


def test_a_frequency_word_costs_nothing() -> None:
    whole = words(frame(0x00, 0x45))
    spread = FREQUENCY_WORD.join(whole[i : i + 4] for i in range(0, len(whole), 4))
    assert decode(spread) == (START,)


def test_words_that_the_kernel_puts_after_a_timeout_do_not_bend_the_time() -> None:
    one, gap_us = words(frame(0x00, 0x45)), 400_000
    after_timeout = words([-(gap_us - 125_000 + 15_000)])
    edge_driver = one + TIMEOUT_WORD + after_timeout + words([-gap_us]) + one
    other_driver = one + TIMEOUT_WORD + words([-(gap_us - 125_000)]) + one
    plain = one + words([-gap_us]) + one
    starts = [[found.t_us for found in decode(data)] for data in (edge_driver, other_driver, plain)]
    assert starts == [[0, FRAME_US + gap_us]] * 3


def test_a_leading_space_counts_as_time() -> None:
    assert [found.t_us for found in decode(words([-500_000, *frame(0, 1)]))] == [500_000]


# --- the gap ------------------------------------------------------------------------------------------


def test_a_frame_without_any_gap_is_out_at_its_deadline_and_not_before() -> None:
    decoder = NecDecoder()
    assert decoder.handle(Words(words(frame(0x00, 0x45))), 7000) == ()
    decoder.handle(Words(FREQUENCY_WORD[:2]), 20_000)
    assert decoder.next_deadline() == 7000 + 25_000
    assert decoder.handle(TICK, 31_999) == ()
    assert decoder.handle(TICK, 32_000) == (START,)
    assert decoder.next_deadline() is None


@pytest.mark.parametrize("proof", [words([-8000]), TIMEOUT_WORD])
def test_a_gap_that_is_proven_waits_for_no_deadline(proof: bytes) -> None:
    assert decode(words(frame(0x00, 0x45)) + proof, end=False) == (START,)


def test_a_short_silence_is_no_gap() -> None:
    decoder = NecDecoder()
    assert decoder.handle(Words(words([*frame(0x00, 0x45), -7999])), 0) == ()
    assert reasons(decoder.handle(Words(words([560])), 0)) == ["no-gap"]
    assert decoder.next_deadline() is None


@pytest.mark.parametrize("extra", [8, 16])
def test_a_longer_code_that_begins_like_a_frame_is_no_press(extra: int) -> None:
    tail = [-560, 560] * extra
    assert reasons(decode(words([*frame(0x00, 0x45), *tail]))) == ["no-gap"]


def test_a_frame_cut_short_is_no_press() -> None:
    for cut in range(1, len(frame(0x00, 0x45))):
        assert told(decode(words(frame(0x00, 0x45)[:cut]) + TIMEOUT_WORD)) == []


@example(user_code=0xFE, data_code=0x45, bit=8)  # on the air FE 00: extended, and yet 0x00FE
@given(user_code=st.integers(0, 0xFFFF), data_code=st.integers(0, 0xFF), bit=st.integers(0, 31))
def test_a_wrong_bit_never_gives_another_key(user_code: int, data_code: int, bit: int) -> None:
    durations = [*frame(user_code, data_code)]
    durations[3 + 2 * bit] = -1690 if durations[3 + 2 * bit] == -560 else -560
    found = decode(words(durations))
    if bit >= 16:
        assert reasons(found) == ["inverse"]
    else:  # the user code has no check of its own once extended codes are heard: the pairing rejects it
        assert isinstance(found[0], Frame)
        assert found[0].data_code == data_code
        (sent,) = decode(words(frame(user_code, data_code)))
        assert isinstance(sent, Frame)
        assert (found[0].protocol, found[0].user_code) != (sent.protocol, sent.user_code)


# --- repeats ------------------------------------------------------------------------------------------


def test_repeats_belong_to_the_frame_before_them() -> None:
    found = decode(words(held(40_000, 96_000, 96_000)))
    assert found[0] == START
    assert [type(each) for each in found] == [Frame, Repeat, Repeat, Repeat]
    assert {each.frame for each in found if isinstance(each, Repeat)} == {START}


def test_one_damaged_repeat_does_not_end_a_press() -> None:
    durations = held(40_000, 96_000, 96_000)
    assert durations[-5:-3] == [560, -96_000]
    durations[-5] = 70  # the end pulse of the second repeat
    assert told(decode(words(durations))) == ["NEC 00FF45BA", "R", "R"]


@given(st.integers(250_001 - FRAME_US, 0xFFFFFF))
def test_a_repeat_that_comes_late_is_no_press(gap_us: int) -> None:
    found = decode(words(held(gap_us, 96_000)))
    assert told(found) == ["NEC 00FF45BA", "orphan-repeat", "orphan-repeat"]


def test_a_repeat_just_in_time_counts() -> None:
    assert told(decode(words(held(250_000 - FRAME_US, 250_000 - REPEAT_US)))) == ["NEC 00FF45BA", "R", "R"]


@given(NOISE)
def test_a_repeat_without_a_frame_is_never_a_press(noise: bytes) -> None:
    alone = words([-600_000, *REPEAT_CODE_US, -96_000, *REPEAT_CODE_US])
    found = decode(noise + bytes(-len(noise) % 4) + alone)
    assert told(found)[-2:] == ["orphan-repeat"] * 2


@pytest.mark.parametrize(
    "between",
    [
        [*frame(0x00, 0x45)[:9], -20_000],  # a frame cut off
        [*frame(0x1234, 0x08)[:-2], -560, 560, -560, 560, -20_000],  # a longer code
    ],
)
def test_a_repeat_after_another_frame_however_damaged_is_no_press_of_the_old_key(between: list[int]) -> None:
    durations = [*frame(0x00, 0x45), -20_000, *between, *REPEAT_CODE_US]
    assert told(decode(words(durations))) == ["NEC 00FF45BA", "orphan-repeat"]


def test_a_repeat_after_lost_words_is_no_press() -> None:
    data = words([*frame(0x00, 0x45), -40_000]) + OVERFLOW_WORD + words(REPEAT_CODE_US)
    assert told(decode(data)) == ["NEC 00FF45BA", "orphan-repeat"]


# --- captures as text ---------------------------------------------------------------------------------


def test_mode2_lines_and_signed_numbers_are_the_same_capture() -> None:
    signed = "+9000 -4500 # leader\n+560 -40000"
    lines = "carrier 38000\npulse 9000\nspace 4500\n\n# x\npulse 560\nspace 40000\ntimeout 125000\n"
    whole = words([9000, -4500, 560, -40_000])
    assert parse_text(signed, "f") == whole + TIMEOUT_WORD
    assert parse_text(lines, "f") == whole + 2 * TIMEOUT_WORD


@pytest.mark.parametrize(
    "line", ["pulse", "pulse -3", "9000", "+9000 4500", "tone 3", "pulse ９", "+" + "9" * 5000]
)
def test_a_bad_line_of_a_capture_is_named(line: str) -> None:
    with pytest.raises(TablectlError) as caught:
        parse_text(f"+9000\n{line}\n", "some.txt")
    assert caught.value.key == "remote.bad_capture"
    for lang in ("en", "zh"):
        assert "some.txt" in caught.value.text(lang)
        assert "2" in caught.value.text(lang)


@given(st.binary(max_size=64))
def test_a_reader_keeps_less_than_a_word(data: bytes) -> None:
    reader = PulseReader()
    list(reader.feed(data))
    assert len(reader._half) < 4


# --- lircd's lines ------------------------------------------------------------------------------------


def lines(*text: str) -> bytes:
    return "".join(f"{line}\n" for line in text).encode()


LIRCD_HELD = lines(
    "0000000000ffa25d 00 KEY_POWER MJTABLE",
    "BEGIN",
    "SIGHUP",
    "0000000000ff629d 00 KEY_INSIDE PACKET",
    "END",
    "0000000000ffa25d 01 KEY_POWER MJTABLE",
    "0000000000ffa25d ff KEY_POWER MJTABLE",
    "0000000000ffa25d 12c KEY_POWER MJTABLE",
    "0000000000ffa25d 00 KEY_POWER_EVUP MJTABLE",
    "000000008166817e 00 KEY_POWER MJEXT",
)


def test_bits_that_lircd_writes_first_on_air_first_are_turned_back() -> None:
    assert raw_bytes(0x00FFA25D) == bytes.fromhex("00FF45BA")
    assert LircdReader().feed(lines("0000000000ffa25d 00 KEY_POWER MJTABLE"), 0) == (START,)


@given(st.lists(st.integers(0, len(LIRCD_HELD)), max_size=8))
def test_where_lircds_lines_are_cut_changes_nothing(cuts: list[int]) -> None:
    reader, out = LircdReader(), []
    edges = [0, *sorted(cuts), len(LIRCD_HELD)]
    for start, end in pairwise(edges):
        out += reader.feed(LIRCD_HELD[start:end], 0)
    assert told(out) == ["NEC 00FF45BA", "R", "R", "R", "NECX 8166817E"]


def test_a_repeat_line_without_its_first_line_is_no_press() -> None:
    reader = LircdReader()
    assert told(reader.feed(lines("0000000000ffa25d 05 KEY_POWER MJTABLE"), 0)) == ["orphan-repeat"]
    reader.feed(lines("0000000000ffa25d 00 KEY_POWER MJTABLE"), 0)
    assert told(reader.feed(lines("0000000000ff629d 01 KEY_SHUFFLE MJTABLE"), 0)) == ["orphan-repeat"]
    assert told(reader.feed(lines("0000000000ffa25d 02 KEY_POWER MJTABLE"), 0)) == ["orphan-repeat"]


def test_codes_of_other_protocols_are_no_press() -> None:
    found = LircdReader().feed(lines("0000001200ffa25d 00 A B", "0000000000ffa25c 00 A B"), 0)
    assert reasons(found) == ["not-nec", "inverse"]


@given(st.lists(st.binary(max_size=3 * LINE_LIMIT_BYTES), max_size=4))
def test_nothing_that_lircd_sends_raises_or_stays(chunks: list[bytes]) -> None:
    reader = LircdReader()
    for chunk in chunks:
        reader.feed(chunk, 0)
        assert len(reader._line) <= LINE_LIMIT_BYTES


def test_a_line_without_end_hides_only_itself() -> None:
    reader = LircdReader()
    for _ in range(10):
        assert reader.feed(b"0000000000ff629d 00 " * 100, 0) == ()
    assert reader.feed(LIRCD_HELD[:20], 0) == reader.feed(LIRCD_HELD[20:38], 0) == ()  # still of that line
    assert told(reader.feed(LIRCD_HELD[:38], 0)) == ["NEC 00FF45BA"]


# --- LIRC's own decoder -------------------------------------------------------------------------------


def lirc_conf(keys: Iterable[tuple[int, int]]) -> str:
    """Return a lircd.conf of one 32-bit remote that knows these user and data codes."""
    codes = ""
    for user_code, data_code in keys:
        (found,) = decode(words(frame(user_code, data_code)))
        assert isinstance(found, Frame)
        codes += (
            f"    K{user_code:04X}{data_code:02X} 0x{raw_bytes(int.from_bytes(found.raw, 'big')).hex()}\n"
        )
    return (
        "begin remote\n  name TABLE\n  bits 32\n  flags SPACE_ENC|CONST_LENGTH\n  eps 30\n  aeps 100\n"
        "  header 9000 4500\n  one 560 1690\n  zero 560 560\n  ptrail 560\n  repeat 9000 2250\n  gap 108000\n"
        f"  begin codes\n{codes}  end codes\nend remote\n"
    )


@pytest.mark.parametrize("scale", [0.9, 1.0, 1.1])
def test_irsimreceive_hears_the_same_presses(tmp_path: Path, scale: float) -> None:
    irsimreceive = shutil.which("irsimreceive")
    assert irsimreceive, "install Debian's package lirc"
    keys = [(user, data) for user in (0x00, 0x55, 0xBF00, 0x6681) for data in range(0, 256, 5)]
    durations = [-500_000]
    for number, (user_code, data_code) in enumerate(keys):
        durations += (*frame(user_code, data_code), -40_000)
        durations += (*REPEAT_CODE_US, -96_000) * (number % 4)
        durations += (-200_000,)
    durations = [round(us * scale) for us in durations]
    spaces_merged = [
        us for us, after in zip(durations, [*durations[1:], 1], strict=True) if us > 0 or after > 0
    ]
    (tmp_path / "conf").write_text(lirc_conf(keys))
    (tmp_path / "in").write_text(
        "".join(f"{'pulse' if us > 0 else 'space'} {abs(us)}\n" for us in spaces_merged)
    )
    run = subprocess.run(
        [irsimreceive, "conf", "in"], cwd=tmp_path, capture_output=True, check=True, timeout=30
    )
    theirs = LircdReader().feed(run.stdout, 0)
    ours = decode(words(spaces_merged))
    assert told(theirs) == told(ours)
    assert len(ours) == len(keys) + sum(number % 4 for number in range(len(keys)))
