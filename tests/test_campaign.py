"""Hands with random faults: a small run of the campaign, and that the campaign can see what it looks for."""

import pytest

from sim.lab import campaign
from sim.lab.campaign import Report, fault_kinds, run, run_hand
from tablectl.table.faults import catalogue


@pytest.fixture(scope="module")
def report() -> Report:
    return run(len(fault_kinds()))


def test_no_hand_with_a_fault_ends_otherwise_than_ready_or_named(report: Report) -> None:
    assert report.wrong == []
    assert report.ready == report.hands


def test_no_kind_of_fault_is_left_out(report: Report) -> None:
    assert set(report.kinds) == set(fault_kinds())
    assert sum(report.kinds.values()) >= report.hands


def test_every_fault_of_the_simulator_is_meant_by_some_code() -> None:
    meant = {kind for entry in catalogue().values() for cause in entry.simulated for kind in cause}
    silent = {"key-stuck", "key-bouncing", "mixed"}  # no sensor sees backs; a key that sticks is only a key
    assert set(fault_kinds()) - silent <= meant
    assert meant <= set(fault_kinds())


def test_a_ledger_that_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    stores = campaign.ledger.stores
    monkeypatch.setattr(
        campaign.ledger, "stores", lambda *a: tuple(type(c)(c.least + 1, c.most + 1) for c in stores(*a))
    )
    told = Report()
    run_hand(0, told, {"mixed": ("sets",)}, "mixed")
    assert any("ledger" in line for line in told.wrong)


def test_a_wrong_code_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same hand with a controller that names the lift where the stacker is held."""
    told = Report()
    run_hand(3, told, {"blocked": ("stacker.S1",)}, "blocked")
    assert told.codes["E31"] > 0
    assert told.wrong == []
    monkeypatch.setattr("tablectl.table.controller.faults.of_failure", lambda *_: ("E51", {"side": "S1"}))
    told = Report()
    run_hand(3, told, {"blocked": ("stacker.S1",)}, "blocked")
    assert any("E51 is none of ['blocked']" in line for line in told.wrong)


def test_the_same_seed_gives_the_same_campaign() -> None:
    first, second = Report(), Report()
    for told in (first, second):
        run_hand(7, told, fault_kinds())
    assert (first.kinds, first.codes, first.ready, first.wrong) == (
        second.kinds, second.codes, second.ready, second.wrong,
    )  # fmt: skip
