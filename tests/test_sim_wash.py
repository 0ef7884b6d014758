"""Washes on board and mechanics alone: how long they take, how they mix, and that nothing looks at a face."""

import json
from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest
from click.testing import CliRunner

import sim
from firmware_protocol.catalogue import LANGUAGES
from sim.lab.wash import PROBE_US, lines, main, shares, summary, wash
from sim.model import MachineModel, load
from sim.tiles import SETS

MODEL = load("four-mouth")
EIGHT = load("eight-mouth")


def biased(bias: float) -> MachineModel:
    return replace(MODEL, drum=replace(MODEL.drum, mix_bias=bias))


@pytest.mark.parametrize("tiles", SETS)
def test_no_side_is_given_half_a_stack_or_more_than_another(tiles: int) -> None:
    given = shares(tiles)
    assert sum(given) == tiles
    assert all(n % 2 == 0 for n in given)
    assert max(given) - min(given) <= 2


def test_108_tiles_are_shared_as_the_rule_documents_say() -> None:
    assert shares(108) == (28, 26, 28, 26)


@pytest.mark.parametrize("tiles", SETS)
def test_no_hand_is_given_more_or_less_than_13_tiles(tiles: int) -> None:
    given = shares(tiles, 8)
    assert given[4:] == (13,) * 4
    assert sum(given) == tiles
    assert all(n % 2 == 0 for n in given[:4])
    assert max(given[:4]) - min(given[:4]) <= 2


@pytest.mark.parametrize(
    ("model", "tiles"), [(MODEL, 108), (MODEL, 136), (MODEL, 144), (EIGHT, 136), (EIGHT, 144)]
)
def test_washes_end_with_full_walls_in_the_time_that_makers_give(model: MachineModel, tiles: int) -> None:
    found = summary(model, tiles, 25, seed=0)
    assert found.unfinished == 0
    assert found.wash_s is not None
    assert found.gap_s is not None
    assert found.within >= 0.9
    assert 18 <= found.wash_s.p50 <= 35
    assert found.wash_s.min > PROBE_US / 1e6
    assert found.gap_s.p95 < 15


@pytest.mark.parametrize("model", [MODEL, EIGHT], ids=["four", "eight"])
def test_every_tile_of_a_wash_is_in_the_walls_once(model: MachineModel) -> None:
    walls = wash(model, 136, seed=3).walls
    assert len(walls) == model.mouths
    assert sorted(n for w in walls for n in w) == list(range(136))


def test_the_same_seed_washes_the_same_and_another_does_not() -> None:
    assert wash(MODEL, 136, 1) == wash(MODEL, 136, 1) != wash(MODEL, 136, 2)


def test_a_wash_that_cannot_end_is_counted_and_not_waited_for() -> None:
    blind = replace(MODEL, eye=replace(MODEL.eye, tile_mv=700))
    found = summary(blind, 136, 1, 0)
    assert (found.unfinished, found.within, found.wash_s) == (1, 0.0, None)
    for lang in LANGUAGES:
        assert "136" in "\n".join(lines([found], lang))


# --- the command --------------------------------------------------------------------------------------------


def test_the_command_prints_a_table_in_both_languages_and_json() -> None:
    run = CliRunner().invoke
    english = run(main, ["--washes", "2", "--lang", "en"])
    assert (english.exit_code, english.output.count("136")) == (0, 3)
    assert "2 washes took 18 to 35 s" in english.output
    assert "最长间隔" in run(main, ["--washes", "1", "--lang", "zh"]).output
    (told,) = json.loads(run(main, ["--tiles", "108", "--washes", "2", "--json"]).output)
    assert (told["tiles"], told["washes"], told["unfinished"]) == (108, 2, 0)
    assert set(told["wash_s"]) == set(told["gap_s"]) == {"min", "p5", "p50", "p95", "p99", "max"}
    everything = json.loads(run(main, ["--tiles", "all", "--washes", "1", "--json"]).output)
    assert [each["tiles"] for each in everything] == list(SETS)


def test_wrong_options_of_the_command_are_wrong_questions(tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert run(main, ["--tiles", "137"]).exit_code == 2
    assert run(main, ["--washes", "0"]).exit_code == 2
    missing = run(main, ["--model", str(tmp_path / "no.toml")])
    assert missing.exit_code == 2
    assert "no.toml" in missing.output


# --- mixing -------------------------------------------------------------------------------------------------


def lower_share(model: MachineModel, washes: int, seed: int) -> tuple[float, float]:
    """Return the share of the first-dropped half that lies in the lower layer, and its z against one half."""
    tiles = 136
    half = tiles // 2
    found = 0
    for n in range(washes):
        for wall in wash(model, tiles, seed + n).walls:
            found += sum(number < half for number in wall[::2])  # of each stack the first pushed lies below
    # Hypergeometric: `half` drawn without replacement for the lower layer, `half` of `tiles` marked.
    variance = half * 0.5 * 0.5 * (tiles - half) / (tiles - 1)
    z = (found - washes * half / 2) / sqrt(washes * variance)
    return found / (washes * half), z


def test_without_bias_the_layers_remember_nothing() -> None:
    _, z = lower_share(biased(0.0), 80, seed=500)
    assert abs(z) < 3.29


def test_the_usual_bias_is_that_of_the_table_on_which_it_was_measured() -> None:
    share, z = lower_share(MODEL, 60, seed=900)
    assert 0.02 < share - 0.5 < 0.08
    assert z > 3.29


def test_neither_mechanics_nor_board_ever_looks_at_a_face() -> None:
    folder = Path(sim.__file__).parent
    files = [*folder.glob("mechanics/*.py"), *folder.glob("board/*.py")]
    assert len(files) > 10
    for file in [*files, folder / "players.py", folder / "faults.py"]:
        assert ".face" not in file.read_text(encoding="utf-8"), file
