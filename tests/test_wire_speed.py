"""The benchmark command works and compares; how fast this computer is today is no test's business."""

import json

import pytest

from firmware_protocol import bench
from firmware_protocol.catalogue import LANGUAGES

SMALL = ["--count", "20", "--rounds", "2"]


def test_the_benchmark_does_not_print_figures_without_their_share_of_the_bound(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bench.main([*SMALL, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) >= {"bound", "codec", "typed"}
    assert found["bound"]["share"] == 1
    for speed in found.values():
        assert speed["share"] == pytest.approx(speed["both"] / found["bound"]["both"], abs=0.002)
        assert speed["both"] < min(speed["encode"], speed["decode"])


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_benchmark_speaks_both_languages(lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main([*SMALL, "--lang", lang]) == 0
    with pytest.raises(SystemExit, match="0"):
        bench.main(["--help", "--lang", lang])
    printed = capsys.readouterr().out
    assert ("上限的" in printed, "of the bound" in printed) == (lang == "zh", lang == "en")
    assert "python -m firmware_protocol.bench" in printed


def test_a_codec_slower_than_asked_for_is_told_by_the_exit_status() -> None:
    assert bench.main([*SMALL, "--at-least", str(10**12)]) == 1


def test_the_benchmark_decodes_what_it_has_encoded() -> None:
    codec = bench._codec([bytes((n,)) * 32 for n in range(50)])
    frames = list(bench._parsed(bench._reads(codec.encode())))
    assert [(f.sequence, f.payload) for f in frames if f] == [(n, bytes((n,)) * 32) for n in range(50)]


@pytest.mark.parametrize("wrong", [["--count", "0"], ["--rounds", "-1"], ["--count", "many"]])
def test_a_count_that_is_none_is_refused(wrong: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench.main(wrong)
