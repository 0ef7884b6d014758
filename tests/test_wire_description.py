"""The description: one that cannot be is refused with the reason, and no bytes make the host fall."""

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_protocol.description import Description
from firmware_protocol.errors import DescriptionError
from sim.board.describe import describe
from sim.model import load

GOOD = describe(load("four-mouth"))


def table() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(GOOD.to_bytes()))
    return found


def packed(data: Any) -> bytes:
    return zlib.compress(json.dumps(data).encode())


def test_a_description_comes_back_as_it_went() -> None:
    assert Description.from_bytes(GOOD.to_bytes()) == GOOD


CONTRADICTIONS: dict[str, dict[str, Any]] = {
    "capacity of three sides": {"capacity": [20, 20, 20]},
    "no capacity": {"capacity": [0, 20, 20, 20]},
    "five mouths": {"mouths": 5},
    "eight mouths and four conveyors": {"mouths": 8},
    "no parts": {"parts": []},
    "sensor twice": {"sensors": ["console.up", "console.up"]},
    "33 sensors": {"sensors": [f"s{n}" for n in range(33)]},
    "nine keys": {"keys": [f"k{n}" for n in range(9)]},
    "lease of nothing": {"max_lease_ms": 0},
    "silence that is a text": {"silence_ms": "700"},
    "a sensor that is a number": {"sensors": [1, 2]},
    "a sensor that is a list": {"sensors": [["a"]]},
    "true as a limit": {"max_total_ma": True},
}


@pytest.mark.parametrize("change", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_description_that_contradicts_itself_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(DescriptionError):
        Description.from_bytes(packed(table() | change))


@pytest.mark.parametrize(
    "change",
    [{"kind": "rocket"}, {"name": 3}, {"side": 5}, {"side": "S1"}, {"stroke_ms": -1}, {"max_ma": None}],
)
def test_a_part_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    data = table()
    data["parts"][3] |= change
    with pytest.raises(DescriptionError):
        Description.from_bytes(packed(data))


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    with pytest.raises(DescriptionError):
        Description.from_bytes(zlib.compress(b" " * 50_000_000))


def test_a_later_format_is_named() -> None:
    with pytest.raises(DescriptionError, match="format 2"):
        Description.from_bytes(packed(table() | {"format": 2}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(table())), json_values)
def test_no_value_of_any_field_raises_anything_else(field: str, value: Any) -> None:
    try:
        Description.from_bytes(packed(table() | {field: value}))
    except DescriptionError as error:
        assert str(error)


@given(st.binary(max_size=200) | json_values.map(packed))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises(DescriptionError):
        Description.from_bytes(data)
