"""The description: one that cannot be is refused with the reason, and no bytes make the host fall."""

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocol.catalogue import LANGUAGES
from firmware_protocol.description import Description
from firmware_protocol.errors import DescriptionError
from firmware_protocol.texts import TEXTS, Told, shown
from sim.board.describe import describe
from sim.model import load

GOOD = describe(load("four-mouth"))
EIGHT = describe(load("eight-mouth"))


def table(of: Description = GOOD) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(of.to_bytes()))
    return found


def packed(data: Any) -> bytes:
    return zlib.compress(json.dumps(data).encode())


def refusal(data: bytes) -> Told:
    with pytest.raises(DescriptionError) as caught:
        Description.from_bytes(data)
    return caught.value.told


def test_a_description_comes_back_as_it_went() -> None:
    assert Description.from_bytes(GOOD.to_bytes()) == GOOD


def without(field: str) -> dict[str, Any]:
    return {k: v for k, v in table().items() if k != field}


def part(name: str, /, **change: Any) -> dict[str, Any]:
    """Return the table with one part changed."""
    data = table()
    for each in data["parts"]:
        if each["name"] == name:
            each |= change
    return data


def parts(change: Callable[[list[dict[str, Any]]], list[Any]]) -> dict[str, Any]:
    return table() | {"parts": change(table()["parts"])}


def no_sensor(name: str) -> dict[str, Any]:
    return table() | {"sensors": [s for s in table()["sensors"] if s != name]}


# What is wrong, the key of what is said about it, and a word that both languages must say.
CONTRADICTIONS: dict[str, tuple[Any, str, str]] = {
    # fields
    "a field too few": (without("keys"), "missing", "keys"),
    "a field too many": (table() | {"faces": []}, "unknown", "faces"),
    "a part without a current": (
        parts(lambda p: [{k: v for k, v in p[0].items() if k != "max_ma"}, *p[1:]]),
        "missing",
        "parts[0].max_ma",
    ),
    "a part with a face": (part("drum", face="z5"), "unknown", "parts[0].face"),
    "no format": (without("format"), "format", "None"),
    "a later format": (table() | {"format": 2}, "format", "2"),
    "true as the format": (table() | {"format": True}, "format", "True"),
    "a later format of other fields": ({"format": 2, "new": 1}, "format", "2"),
    "a list": ([table()], "no_table", "["),
    "a part that is a text": (parts(lambda p: ["drum", *p[1:]]), "no_table", "drum"),
    "parts that are none": (table() | {"parts": {}}, "no_list", "parts"),
    # types
    "a table that is a number": (table() | {"table": 4}, "no_text", "4"),
    "simulated that is a text": (table() | {"simulated": "no"}, "no_flag", "simulated"),
    "sensors that are a text": (table() | {"sensors": "abc"}, "no_list", "sensors"),
    "a sensor that is a number": (table() | {"sensors": [1, 2]}, "no_text", "sensors[0]"),
    "a sensor that is a list": (table() | {"sensors": ["a", ["a"]]}, "no_text", "sensors[1]"),
    "silence that is a text": (table() | {"silence_ms": "700"}, "no_whole", "silence_ms"),
    "true as a limit": (table() | {"max_total_ma": True}, "no_whole", "max_total_ma"),
    "half a mouth": (table() | {"mouths": 4.5}, "no_whole", "4.5"),
    "four mouths as a fraction": (table() | {"mouths": 4.0}, "no_whole", "4.0"),
    "a lease of no number": (table() | {"max_lease_ms": float("nan")}, "no_whole", "nan"),
    "an endless lease": (table() | {"max_lease_ms": float("inf")}, "no_whole", "inf"),
    "a lease of 33 bits": (table() | {"max_lease_ms": 1 << 32}, "no_whole", str(1 << 32)),
    "a lease of 4,000 digits": (table() | {"max_lease_ms": 10**4000}, "no_whole", "1000"),
    "a negative current": (part("drum", max_ma=-1), "no_whole", "parts[0].max_ma"),
    "no current": (part("drum", max_ma=0), "no_count", "parts[0].max_ma"),
    "no capacity": (table() | {"capacity": [0, 20, 20, 20]}, "no_count", "capacity[0]"),
    # names
    "a rocket": (part("drum", kind="rocket"), "kind", "rocket"),
    "a key that does something else": (table() | {"keys": ["lift.1", "program"]}, "key", "program"),
    "dice that are loaded": (table() | {"dice": "loaded"}, "dice", "loaded"),
    "a name of nothing": (table() | {"table": ""}, "name", "''"),
    "a name that would clear a screen": (table() | {"table": "\x1b[2J"}, "name", "x1b"),
    "a name of half a character": (table() | {"keys": ["\ud800"]}, "name", "ud800"),
    "a name without end": (table() | {"lamps": ["x" * 65]}, "name", "xxx"),
    "a part twice": (part("stacker.S2", name="stacker.S1"), "twice", "stacker.S1"),
    "a sensor twice": (table() | {"sensors": ["console.up"] * 2}, "twice", "console.up"),
    "a key twice": (table() | {"keys": ["lift.1", "lift.1"]}, "twice", "lift.1"),
    "a lamp twice": (table() | {"lamps": ["ready", "ready"]}, "twice", "ready"),
    "a hundred drums": (
        parts(lambda p: p + [{**p[0], "name": f"drum{n}"} for n in range(99)]),
        "part_name",
        "drum0",
    ),
    "65 sensors": (table() | {"sensors": [f"s{n}" for n in range(65)]}, "too_many", "65"),
    "33 lamps": (table() | {"lamps": [f"l{n}" for n in range(33)]}, "too_many", "33"),
    "nine keys": (table() | {"keys": [f"k{n}" for n in range(9)]}, "too_many", "9"),
    "a lift that is called stacker": (part("lift.S1", name="stacker.S1b"), "part_name", "lift.S1"),
    "a lift of another side's name": (part("lift.S1", side=2), "part_name", "lift.S2"),
    "a lift of no mouth's name": (part("lift.S1", name="lift.S1b"), "part_name", "lift.S1b"),
    "a hand's lift on a table without hands": (part("lift.S1", name="lift.H1"), "part_name", "lift.H1"),
    # mouths and sides
    "five mouths": (table() | {"mouths": 5}, "mouths", "5"),
    "capacity of three stores": (table() | {"capacity": [20, 20, 20]}, "stores", "3"),
    "capacity of the sides of eight mouths": (table(EIGHT) | {"capacity": [20] * 4}, "stores", "8"),
    "more stacks than can be counted": (table() | {"capacity": [20, 32, 20, 20]}, "capacity", "32"),
    "a hand of more than can be counted": (
        table(EIGHT) | {"capacity": [20] * 7 + [32]},
        "capacity",
        "capacity[7]",
    ),
    "a side that is none": (part("lift.S1", side=5), "side", "5"),
    "a drum at a side": (part("drum", side=1), "side", "drum"),
    "a lift in the middle": (part("lift.S1", side=0), "side", "lift.S1"),
    "eight mouths and four conveyors": (
        table() | {"mouths": 8, "capacity": [20] * 8},
        "at_side",
        "S1",
    ),
    "four mouths and eight conveyors": (
        table(EIGHT) | {"mouths": 4, "capacity": [20] * 4},
        "part_name",
        "conveyor.H1",
    ),
    "a hand without a lift": (
        table(EIGHT) | {"parts": [x for x in table(EIGHT)["parts"] if x["name"] != "lift.H3"]},
        "at_side",
        "S3",
    ),
    "a hand's stacker whose end is not seen": (
        table(EIGHT) | {"sensors": [s for s in table(EIGHT)["sensors"] if s != "stacker.H2.open"]},
        "sensor",
        "stacker.H2.open",
    ),
    "a side without a conveyor": (
        parts(lambda p: [x for x in p if x["name"] != "conveyor.S3"]),
        "at_side",
        "S3",
    ),
    "no parts": (table() | {"parts": []}, "central", "drum"),
    # sensors of parts
    "a console whose end is not seen": (no_sensor("console.up"), "sensor", "console.up"),
    "a stacker whose end is not seen": (no_sensor("stacker.S4.open"), "sensor", "stacker.S4.open"),
    "a lift whose home is not seen": (no_sensor("lift.S2.home"), "sensor", "lift.S2.home"),
    "no wired stop": (no_sensor("stop.line"), "stop_line", "stop.line"),
    # times and currents
    "lease of nothing": (table() | {"max_lease_ms": 0}, "no_count", "max_lease_ms"),
    "a lease that ends before it is renewed": (table() | {"max_lease_ms": 499}, "time", "499"),
    "a lease that no message can ask for": (table() | {"max_lease_ms": 65_536}, "time", "65536"),
    "silence shorter than a lost ping": (table() | {"silence_ms": 459}, "time", "459"),
    "silence for ever": (table() | {"silence_ms": 10_001}, "time", "10001"),
    "a console that takes no time": (part("console", stroke_ms=0), "stroke", "console"),
    "a lift that takes an hour": (part("lift.S1", stroke_ms=3_600_000), "stroke", "3600000"),
    "a drum with ends": (part("drum", stroke_ms=100), "no_ends", "drum"),
    "a time before it began": (part("lift.S1", stroke_ms=-1), "no_whole", "-1"),
    "a lift that the supply cannot drive": (part("lift.S1", max_ma=6_001), "current", "6001"),
}
WHOLE: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "cut_off"),
    "zeros": (bytes(100), "not_zlib"),
    "no zlib": (b"hello", "not_zlib"),
    "half of it": (GOOD.to_bytes()[:-20], "cut_off"),
    "a bit of it wrong": (GOOD.to_bytes()[:-1] + b"?", "not_zlib"),
    "a bomb": (zlib.compress(b" " * 50_000_000), "too_long"),
    "no JSON": (zlib.compress(b"hello"), "not_json"),
    "no text": (zlib.compress(b"\xff\xfe\xfd"), "not_json"),
    "a number of 5,000 digits": (zlib.compress(b"9" * 5_000), "not_json"),
    "a well without a bottom": (zlib.compress(b"[" * 16_000), "not_json"),
    "a thousand parts": (
        packed(parts(lambda p: p + [{**p[0], "name": f"drum{n}"} for n in range(999)])),
        "too_long",
    ),
    "a field twice": (zlib.compress(b'{"mouths": 4, "mouths": 8}'), "field_twice"),
}


@pytest.mark.parametrize(("data", "key", "word"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_description_that_contradicts_itself_is_refused_in_both_languages(
    data: Any, key: str, word: str
) -> None:
    told = refusal(packed(data))
    assert told.key == f"description.{key}"
    for lang in LANGUAGES:
        assert word in told.text(lang)


@pytest.mark.parametrize(("data", "key"), WHOLE.values(), ids=WHOLE)
def test_what_is_no_description_is_refused_before_it_is_believed(data: bytes, key: str) -> None:
    assert refusal(data).key == f"description.{key}"


def test_no_reason_for_a_refusal_goes_without_a_case() -> None:
    of_the_link = {"not_sent", "hash", "counts", "no_part"}
    tried = {key for _, key, _ in CONTRADICTIONS.values()} | {key for _, key in WHOLE.values()} | of_the_link
    reasons = {key.partition(".")[2] for key in TEXTS.keys() if key.startswith("description.")}  # noqa: SIM118
    assert tried == reasons


@pytest.mark.parametrize(
    "data",
    [
        table() | {"capacity": [31, 1, 31, 31]},
        table() | {"max_lease_ms": 65_535, "silence_ms": 10_000},
        table() | {"dice": "pan", "keys": [], "lamps": []},
        part("lift.S1", max_ma=6_000, stroke_ms=60_000),
    ],
    ids=["full stores", "long times", "no panel", "strong and slow"],
)
def test_what_a_table_may_be_is_not_refused(data: dict[str, Any]) -> None:
    assert Description.from_bytes(packed(data)).to_bytes()


def test_an_eight_mouth_table_is_not_refused_and_has_no_more_motors_than_real_ones() -> None:
    found = Description.from_bytes(EIGHT.to_bytes())
    assert found == EIGHT
    assert 25 <= len(found.parts) <= 28
    assert len(found.sensors) > 32


def test_mouths_are_not_numbered_otherwise_than_their_conveyors() -> None:
    for known in (GOOD, EIGHT):
        data = table(known)
        turned = [x for x in data["parts"] if x["kind"] != "conveyor"]
        turned += [x for x in reversed(data["parts"]) if x["kind"] == "conveyor"]
        found = Description.from_bytes(packed(data | {"parts": turned}))
        assert [x.name for x in found.named_mouths] == [x.name for x in reversed(known.named_mouths)]


def test_no_mouth_is_taken_for_one_that_does_something_else() -> None:
    walls, hands = EIGHT.named_mouths[:4], EIGHT.named_mouths[4:]
    assert [(x.name, x.side, x.hand, x.stacks) for x in walls] == [
        (f"S{n}", n, False, 20) for n in (1, 2, 3, 4)
    ]
    assert [(x.name, x.side, x.hand, x.stacks) for x in hands] == [
        (f"H{n}", n, True, 8) for n in (1, 2, 3, 4)
    ]
    assert not any(x.hand for x in GOOD.named_mouths)


def test_no_part_is_asked_for_that_is_none() -> None:
    with pytest.raises(DescriptionError) as caught:
        GOOD.part("lift.S9")
    assert all("lift.S9" in caught.value.told.text(lang) for lang in LANGUAGES)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def try_to_read(data: bytes) -> None:
    """Read a description; where it is refused both languages say so, on one line."""
    try:
        found = Description.from_bytes(data)
    except DescriptionError as error:
        for lang in LANGUAGES:
            assert error.told.text(lang).isprintable()
        assert Told.unpacked(error.told.packed()) == error.told
    else:
        assert found.to_bytes()


@given(st.sampled_from(sorted(table())), json_values)
def test_no_value_of_any_field_raises_anything_else(field: str, value: Any) -> None:
    try_to_read(packed(table() | {field: value}))


@given(st.integers(0, 13), st.sampled_from(["name", "kind", "side", "stroke_ms", "max_ma"]), json_values)
def test_no_value_of_any_parts_field_raises_anything_else(index: int, field: str, value: Any) -> None:
    data = table()
    data["parts"][index][field] = value
    try_to_read(packed(data))


@given(st.binary(max_size=200) | json_values.map(packed))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(DescriptionError):
        Description.from_bytes(data)


@given(st.integers(1, 15_000))
def test_no_depth_of_nesting_raises_anything_else(depth: int) -> None:
    text = json.dumps(table() | {"table": 7}).replace("7", "[" * depth + "]" * depth, 1)
    try_to_read(zlib.compress(text.encode()))


@given(st.text() | st.binary() | st.integers() | st.lists(st.text()))
def test_nothing_from_outside_is_shown_long_or_on_two_lines(value: object) -> None:
    assert len(shown(value)) <= 40
    assert shown(value).isprintable()


@pytest.mark.parametrize("text", ["", "silent", "5", "[]", '["x", {}]', '["description.hash", 3]', "{"])
def test_what_was_never_packed_is_told_as_nothing(text: str) -> None:
    assert Told.unpacked(text) is None
