"""The command that prints figures prints each of them with what it is held against; no clock is asked."""

import json

import pytest

from firmware_protocol.catalogue import LANGUAGES
from sim.lab import figures, figures_table
from sim.lab.figure import Against, Figure, Rule

BESIDE = {
    "nec": {"pass", "air"},
    "codec": {"bound", "peer"},
    "trip_p50": {"echo"},
    "trip_p99": {"echo"},
    "start": {"interpreter"},
    "ir_p50": {"gap", "waiting", "key"},
    "ir_p99": {"gap", "waiting", "key"},
    "memory": {"interpreter"},
    "idle": {"chosen"},
    "wash": {"mouth", "alone"},
    "speed_wash": {"asked", "own"},
    "speed_hand": {"asked", "own"},
}


def test_no_figure_goes_without_its_bound_or_peer(capsys: pytest.CaptureFixture[str]) -> None:
    status = figures.main(["--quick", "--json"])
    found = {each["name"]: each for each in json.loads(capsys.readouterr().out)}
    assert {name: {a["name"] for a in each["against"]} for name, each in found.items()} == BESIDE
    assert status == (not all(each["kept"] for each in found.values()))
    for each in found.values():
        assert each["value"] > 0, each
        assert 0 <= each["foreign_cpu"] <= 1, each
        assert all(a["value"] > 0 and a["share"] == each["value"] / a["value"] for a in each["against"])
    asked = {n: a["value"] for n, each in found.items() for a in each["against"] if a["name"] == "asked"}
    assert asked == {"speed_wash": 500, "speed_hand": 1_000}
    # What does not depend on the computer: a gap is waited for, and no wash is faster than its slowest mouth.
    assert found["ir_p50"]["value"] >= 25
    assert all(a["share"] > 1 for a in found["wash"]["against"] if a["name"] == "mouth")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_figure_lacks_its_words_in_one_language(lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name, beside in BESIDE.items():
        against = tuple(
            Against(each, 2.0, Rule.LEAST if each == "asked" else None) for each in sorted(beside)
        )
        said = "\n".join(figures.line(Figure(name, 1.0, "s", against, 0.25), lang))
        assert len(said.splitlines()) == 1 + len(beside) + ("asked" in beside)
        assert "25 %" in said
    with pytest.raises(SystemExit, match="0"):
        figures.main(["--help", "--lang", lang])
    assert "python -m sim.lab.figures" in capsys.readouterr().out


@pytest.mark.parametrize(("value", "kept"), [(4.9, False), (5.0, True), (7.0, True), (7.1, False)])
def test_a_missed_bound_is_told_by_the_exit_status(
    value: float, kept: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    against = (Against("asked", 5.0, Rule.LEAST), Against("key", 7.0, Rule.MOST), Against("echo", 100.0))
    figure = Figure("nec", value, "s", against, 0.0)
    monkeypatch.setattr(figures, "measures", lambda quick, model: (lambda: (figure,),))
    assert figures.main([]) == (not kept)
    assert ("MISSED" in capsys.readouterr().out) == (not kept)


def test_a_decoder_that_loses_frames_does_not_get_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures_table.NecDecoder, "handle", lambda decoder, event, now_us: ())
    with pytest.raises(figures_table.WrongError, match="0 of 5"):
        figures_table.nec(5, 1)
