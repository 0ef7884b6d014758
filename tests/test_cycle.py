"""The cycle: every state × trigger cell against a table written down here by hand."""

import itertools

import pytest

from tablectl.table.cycle import Cycle, Go, Ignore, Refuse, State, Trigger, cell, mermaid

# state: trigger → next, next[guard]…; what is not here refuses (keys) or is ignored (inner triggers).
EXPECTED = """
unhomed      start_long → homing; technician → technician; power → off
homing       homed → stopped[unfinished] loaded[loaded] rest
loaded       start → raising[stored] washing; power → off
rest         start → raising[raises_at_once] opening; power → off
opening      console_up → open; start → closing; power → closing
open         start → closing; power → closing
closing      console_down → off[power_wish] raising[stored] washing; start → opening
raising      raised → off[power_wish] washing[loaded] rest
washing      filled → probing; empty → halting; no_tile → diagnosing; add → add_opening
probing      clear → off[power_wish] rest; add → add_opening
diagnosing   eye_own → washing; add → add_opening
halting      nothing → off[power_wish] rest
add_opening  console_up → add_open
add_open     start → add_closing
add_closing  console_down → washing; start → add_opening
stopped      start → giving_up[cannot_go_on] raising[raise_cut] washing; power → off
stopped      add → add_opening[wash_cut]
giving_up    raised → rest
fault        reset → unhomed; technician → technician; power → off
technician   reset → unhomed; power → off
off          power → unhomed
"""
EVERYWHERE = {"stop": "unhomed", "board_reset": "unhomed", "failed": "fault"}
SILENT = {
    ("unhomed", "start"), ("add_opening", "add"), ("add_open", "add"),
    ("fault", "failed"), ("fault", "board_reset"), ("fault", "stop"), ("unhomed", "board_reset"),
    ("off", "stop"), ("off", "board_reset"), ("off", "start"), ("off", "add"), ("off", "reset"),
    *((s, "power") for s in ("closing", "raising", "washing", "probing", "diagnosing", "halting")),
}  # fmt: skip
KEYS = {"start", "add", "stop", "reset", "power"}


def expected() -> dict[tuple[str, str], str]:
    table = {}
    for line in EXPECTED.strip().splitlines():
        state, _, rest = line.partition(" ")
        for part in rest.split(";"):
            trigger, _, targets = part.partition("→")
            table[state, trigger.strip()] = " ".join(targets.split())
    return table


def shown(found: object) -> str:
    assert isinstance(found, tuple)
    gos: tuple[Go, ...] = found
    return " ".join(f"{g.to}[{g.when}]" if g.when else str(g.to) for g in gos)


@pytest.mark.parametrize(("state", "trigger"), list(itertools.product(State, Trigger)))
def test_no_cell_is_other_than_written_down(state: State, trigger: Trigger) -> None:
    found = cell(state, trigger)
    if (state, trigger) in SILENT:
        assert isinstance(found, Ignore)
    elif (state, trigger) in expected():
        assert shown(found) == expected()[state, trigger]
    elif trigger in EVERYWHERE:
        assert shown(found) == EVERYWHERE[trigger]
    elif trigger in KEYS:
        assert isinstance(found, Refuse)
    else:
        assert isinstance(found, Ignore)


class Guards:
    """Guards that say what they are told to say."""

    def __init__(self, *true: str) -> None:
        self.true = true

    def unfinished(self) -> bool:
        return "unfinished" in self.true

    def loaded(self) -> bool:
        return "loaded" in self.true

    def stored(self) -> bool:
        return "stored" in self.true

    def cannot_go_on(self) -> bool:
        return "cannot_go_on" in self.true

    def wash_cut(self) -> bool:
        return "wash_cut" in self.true

    def raise_cut(self) -> bool:
        return "raise_cut" in self.true

    def power_wish(self) -> bool:
        return "power_wish" in self.true

    def raises_at_once(self) -> bool:
        return "raises_at_once" in self.true


NAMES = (
    "unfinished",
    "loaded",
    "stored",
    "wash_cut",
    "cannot_go_on",
    "raise_cut",
    "power_wish",
    "raises_at_once",
)


@pytest.mark.parametrize(("state", "trigger"), list(itertools.product(State, Trigger)))
def test_the_machine_does_not_go_elsewhere_than_the_table_says(state: State, trigger: Trigger) -> None:
    found = cell(state, trigger)
    guarded = isinstance(found, tuple) and any(go.when for go in found)
    sizes = range(9) if guarded else (0, 8)
    for true in itertools.chain.from_iterable(itertools.combinations(NAMES, n) for n in sizes):
        cycle = Cycle(Guards(*true), state)
        met = cycle.fire(trigger)
        chosen = next((g.to for g in found if not g.when or g.when in true), None) if guarded else None
        if guarded and chosen is None:
            assert isinstance(met, Refuse)
            assert cycle.state == state
        elif isinstance(found, tuple):
            assert cycle.state == (chosen or found[0].to)
        else:
            assert cycle.state == state


def test_no_state_is_a_dead_end_or_out_of_reach() -> None:
    cells = [(s, cell(s, t)) for s in State for t in Trigger]
    edges = {(s, g.to) for s, found in cells if isinstance(found, tuple) for g in found}
    for begin in State:
        reached, edge = {begin}, {begin}
        while edge:
            edge = {b for a, b in edges if a in edge} - reached
            reached |= edge
        assert reached == set(State), f"{begin} never leads to {set(State) - reached}"


def test_the_diagram_shows_every_way() -> None:
    drawn = mermaid()
    for (state, trigger), targets in expected().items():
        for target in targets.split():
            to, _, guard = target.partition("[")
            label = f"{trigger} [{guard}" if guard else trigger
            assert f"{state} --> {to}: {label}" in drawn
