"""Model files: documented, complete, and refused with file, key and reason."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

from sim.board.describe import describe
from sim.model import FOLDER, HandModel, MachineModel, ModelError, load, names

TEXT = (FOLDER / "four-mouth.toml").read_text(encoding="utf-8")
EIGHT = (FOLDER / "eight-mouth.toml").read_text(encoding="utf-8")


def test_every_model_that_comes_with_the_simulator_can_be_described() -> None:
    assert set(names()) >= {"four-mouth", "eight-mouth"}
    for name in names():
        description = describe(load(name))
        description.check()
        assert description.table == name


@pytest.mark.parametrize(("text", "more"), [(TEXT, ()), (EIGHT, (HandModel,))], ids=["four", "eight"])
def test_no_parameter_stands_in_the_file_without_its_unit_or_range(text: str, more: tuple[type, ...]) -> None:
    for cls in (MachineModel, *get_type_hints(MachineModel).values(), *more):
        if is_dataclass(cls):
            for field in fields(cls):
                left_out = field.name == "hand" and not more
                assert left_out or f"\n{field.name} = " in text or f"[{field.name}]" in text
    for name, value in re.findall(r"^(\w+) = ([0-9]+)\b(?!\.)", text, re.MULTILINE):
        assert name.endswith(("_ms", "_mv", "_ma", "tiles", "stacks", "mouths")), f"{name} = {value}"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("few_tiles = 3", "few_tiles = 0", "drum.few_tiles is 0"),
        ("few_tiles = 3", "few_tiles = true", "drum.few_tiles is True"),
        ("few_tiles = 3", "few_tiles = 2.5", "drum.few_tiles is 2.5"),
        ("few_tiles = 3", "many_tiles = 3", "drum.many_tiles is unknown; there are spin_up_ms"),
        ("few_tiles = 3", "", "drum.few_tiles is missing"),
        ("spread = 0.04", "spread = -0.1", "mouth.spread is -0.1; it must be from 0 to 1"),
        ("spread = 0.04", "spread = nan", "mouth.spread is nan"),
        ("mouths = 4", "mouths = 5", "mouths is 5"),
        ("belt_tiles = 4", "belt_tiles = 1", "mouth.belt_tiles is 1"),
        ("latch_at = 0.45", "latch_at = 0.0", "travel.latch_at is 0.0"),
        ("latch_at = 0.45", "latch_at = 1.0", "travel.latch_at is 1.0"),
        ("brown_out_ma = 9000", "brown_out_ma = 5000", "current.brown_out_ma is 5000"),
        ("stacks = 20", "stacks = 32", "store.stacks is 32"),
        ("threshold_mv = 1500", "threshold_mv = 500", "eye.threshold_mv is 500"),
        ("[store]\n", "store = 3\n[stored]\n", "store"),
        ("mouths = 4", "mouths = 8", "mouths is 8; [hand] stands where it is 8"),
        (
            "[store]\n",
            "[hand]\nstacks = 8\nlift_ms = 9\nlift_ma = 9\n[store]\n",
            "[hand] stands where it is 8",
        ),
        ("[store]\n", "[hand]\nstacks = 8\nlift_ms = 9\n[store]\n", "hand.lift_ma is missing"),
        ("[store]\n", "hand = 8\n[store]\n", "hand"),
    ],
)
def test_a_model_that_no_table_can_be_is_refused_with_file_key_and_reason(
    old: str, new: str, why: str, tmp_path: Path
) -> None:
    assert old in TEXT
    path = tmp_path / "odd.toml"
    path.write_text(TEXT.replace(old, new), encoding="utf-8")
    with pytest.raises(ModelError) as refused:
        load(path)
    assert why in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_model_that_is_not_there_is_refused_and_what_is_there_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no.toml", tmp_path):
        with pytest.raises(ModelError, match="four-mouth"):
            load(path)


def test_a_store_of_hands_that_no_board_can_count_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(EIGHT.replace("stacks = 8 ", "stacks = 32"), encoding="utf-8")
    with pytest.raises(ModelError, match=r"hand\.stacks is 32"):
        load(path)
