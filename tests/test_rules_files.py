"""Rule files: those of the package name words of their documents; a broken one is told with its place."""

import ast
import dataclasses
import itertools
import re
import string
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tablectl import rules, tables
from tablectl.errors import TablectlError
from tablectl.rules import ruleset
from tablectl.rules.course import Phase, Use
from tablectl.rules.model import From, Last, RuleSet, Title, Win
from tablectl.rules.ruleset import DATA, available, listed, load, load_any, nearest, parse
from tablectl.rules.tiles import CLASSES, composition
from tablectl.tables import Table
from tablectl.texts import LANGUAGES, TEXTS

SERVED = (DATA / "riichi.toml").read_text(encoding="utf-8")
# The same file without a word on hands that are served.
GOOD = re.sub(r'\[served\](.+\n)+\n|"served.*\n', "", SERVED)
# What a file says of itself; all else is a value of the rules.
OF_ITSELF = {"id", "base", "names", "source", "status", "missing", "reason", "unstated"}


def refused(text: str | bytes, key: str, *told: str, file: str = "riichi.toml") -> TablectlError:
    """Parse a broken file and return its error, which names file and place in both languages."""
    with pytest.raises(TablectlError) as caught:
        parse(text if isinstance(text, bytes) else text.encode(), "riichi.toml")
    error = caught.value
    assert error.key == key
    for lang in LANGUAGES:
        assert all(part in error.text(lang) for part in (file, *told)), error.text(lang)
    return error


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def changed(old: str, new: str) -> str:
    assert GOOD.count(old) == 1, "the file under test does not hold what is to be broken"
    return GOOD.replace(old, new)


@pytest.mark.parametrize("rule_id", available())
def test_no_file_of_the_package_is_refused(rule_id: str) -> None:
    rule = load(rule_id)
    assert rule.id == rule_id
    assert rule.total == sum(rule.wall_tiles) == rule.tiles.in_play
    assert load(rule_id) is rule
    hash(rule)  # frozen to the bottom


@pytest.mark.parametrize("rule_id", listed())
def test_no_source_names_words_that_its_document_does_not_hold(rule_id: str, shared_data: Path) -> None:
    source = load_any(rule_id).source
    if source.document == "web":
        documents = [shared_data.parent / "facts" / "conventions.md"]
    else:
        documents = list((shared_data.parent / "seeds").glob(f"{source.document}_*.txt"))
    assert len(documents) == 1
    assert source.anchor in documents[0].read_text(encoding="utf-8")


def leaves(values: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def files_of(rule_id: str) -> list[dict[str, Any]]:
    """Return what a file and those that it is built on hold, read without the program."""
    values = tomllib.loads((DATA / f"{rule_id}.toml").read_text(encoding="utf-8"))
    return [values, *(files_of(values["base"]) if "base" in values else [])]


def silent(rule_id: str, explained: set[str]) -> set[str]:
    """Return the values that neither the file itself nor a reason accounts for."""
    own, *below = (
        {key for key in leaves(each) if key.split(".")[0] not in OF_ITSELF} for each in files_of(rule_id)
    )
    inherited = set().union(*below) - own
    return {key for key in inherited if not any(f"{key}.".startswith(f"{path}.") for path in explained)}


@pytest.mark.parametrize("rule_id", available())
def test_no_value_is_set_without_the_documents_word_or_a_reason_of_ours(rule_id: str) -> None:
    rule = load(rule_id)
    paths = [entry.path for entry in rule.unstated]
    assert silent(rule_id, set(paths)) == set()
    for path, other in itertools.permutations(paths, 2):
        assert not f"{path}.".startswith(f"{other}."), "two reasons for one value"


def test_the_search_for_silent_values_is_not_blind() -> None:
    explained = {entry.path for entry in load("cixi").unstated}
    assert silent("cixi", explained - {"deal.blocks"}) == {"deal.blocks"}
    assert silent("beijing", {"tiles"}) > {"dice.count", "dice.wall", "deal.last", "wall.tiles"}


def test_a_reason_for_a_whole_section_is_not_lost_where_a_file_writes_a_part_of_it() -> None:
    said = {entry.path: entry.why for entry in load("hebei").unstated}
    assert {"deal.blocks", "deal.last"} <= set(said)
    assert not {"deal", "deal.hand", "dice.count"} & set(said)
    assert said["dice.wall"] == "common.dice"


def test_no_reason_is_missing_unused_or_a_bare_text() -> None:
    used = {f"rule_why.{entry.why}" for rule_id in available() for entry in load(rule_id).unstated}
    assert used == {key for key in TEXTS.keys() if key.startswith("rule_why.")}  # noqa: SIM118


def test_what_stands_in_a_file_for_people_is_in_both_languages() -> None:
    for rule_id in listed():
        found = load_any(rule_id)
        both = [found.names, found.reason if isinstance(found, Title) else found.missing]
        for text in filter(None, both):
            assert not any("\u4e00" <= letter <= "\u9fff" for letter in text.en), rule_id
            assert any("\u4e00" <= letter <= "\u9fff" for letter in text.zh), rule_id


def test_no_indicator_of_wild_tiles_goes_without_the_phase_in_which_it_is_turned() -> None:
    for rule in map(load, available()):
        wild = rule.indicator is not None and rule.indicator.use is Use.WILD
        assert wild == (Phase.JOKER in rule.phases.after_deal), rule.id
        if rule.id != "sanma":  # its North tiles are laid out in play
            assert (Phase.FLOWERS in rule.phases.after_deal) == (rule.tail.flower is not From.NONE), rule.id


def test_what_a_source_leaves_open_is_not_passed_off_as_its_word() -> None:
    said = {rule_id: {entry.path for entry in load(rule_id).unstated} for rule_id in available()}
    assert {"dice", "wall.tiles"} <= said["sc_tcy"]
    assert {"tail.keep", "deal", "dice.wall", "dice.passed"} <= said["riichi"]
    assert "tail.kong" in said["mcr"]
    walls = next(entry for entry in load("sc_tcy").unstated if entry.path == "wall.tiles")
    assert walls.chosen == "[28, 26, 28, 26]"
    assert walls.why == "walls_of_108"


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("richi", "riichi"),
        ("MCR", "mcr"),
        ("四川血战麻将", "sc_tcy"),
        ("国标", "gb"),
        ("Hong Kong", "hongkong"),
        ("taiwan", "taiwan16"),
        ("日本三人麻将", "riichi3"),
        ("_common", None),
        ("../data/riichi", "riichi"),
        ("quite another thing", None),
        ("", None),
    ],
)
def test_an_unknown_rule_does_not_go_without_the_nearest_names(written: str, near: str | None) -> None:
    for find in (load, load_any):
        with pytest.raises(TablectlError) as caught:
            find(written)
        assert caught.value.key == ("rules.unknown_rule" if near else "rules.unlike_rule")
        for lang in LANGUAGES:
            assert repr(written) in caught.value.text(lang)
            assert not near or near in caught.value.text(lang).replace(repr(written), "")
    assert (near in nearest(written)) == bool(near)
    assert len(nearest(written)) <= 6


def test_a_mere_title_cannot_be_played() -> None:
    titles = set(listed()) - set(available())
    assert {"paper", "intl", "gd_new", "gd_old", "quanzhou"} <= titles
    for title in titles:
        with pytest.raises(TablectlError, match="cannot be played") as caught:
            load(title)
        assert title in caught.value.text("zh")
        assert isinstance(load_any(title), Title)


@pytest.mark.parametrize("content", ["[tiles", "id = 1 = 2", b'id = "\xff"', GOOD + "\n[tiles]\n"])
def test_broken_toml_does_not_pass_as_a_python_error(content: str | bytes) -> None:
    refused(content, "rules.not_toml")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("count = 2", "count = 2\ncuont = 2", "dice.cuont"),
        ("players = [0, 1, 2, 3]", "players = [0, 1, 2, 3]\ncolour = 1", "seats.colour"),
        ("[tail]", "[tial]\n[tail]", "tial"),
        ('zh = "日本麻将（四人）" }', 'zh = "日本麻将", ja = "麻雀" }', "names.ja"),
        ('anchor = "日本麻将详细规则" }', 'anchor = "日本", page = "1" }', "source.page"),
    ],
)
def test_a_misspelt_key_does_not_pass_for_its_default(old: str, new: str, key: str) -> None:
    text = changed(old, new)
    error = refused(text, "rules.unknown_key", key)
    assert error.values["line"] == line_of(text, new.splitlines()[-1] if "[tail]" not in new else "[tial]")


@pytest.mark.parametrize(
    ("old", "key"),
    [
        ('id = "riichi"\n', "id"),
        ("in_play = 136\n", "tiles.in_play"),
        ("tiles = [34, 34, 34, 34]\n", "wall.tiles"),
        ('wall = "seat_of_sum"\n', "dice.wall"),
        ("hand = 13\n", "deal.hand"),
        ("keep = [14]\n", "tail.keep"),
        ('draw = "stay_if_dealer_ready"\n', "next_dealer.draw"),
        ("[seats]\nplayers = [0, 1, 2, 3]\n", "seats"),
        ('en = "Japanese riichi, four players", ', "names.en"),
    ],
)
def test_a_missing_key_is_not_guessed(old: str, key: str) -> None:
    refused(changed(old, ""), "rules.missing_key", key)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("in_play = 136", 'in_play = "136"', "tiles.in_play"),
        ("in_play = 136", "in_play = true", "tiles.in_play"),
        ("in_play = 136", "in_play = 136.0", "tiles.in_play"),
        ("tiles = [34, 34, 34, 34]", "tiles = 136", "wall.tiles"),
        ("tiles = [34, 34, 34, 34]", "tiles = [34, 34, 68]", "wall.tiles"),
        ("tiles = [34, 34, 34, 34]", 'tiles = [34, 34, 34, "34"]', "wall.tiles"),
        ("keep = [14]", "keep = []", "tail.keep"),
        ('passed = "sum"', "passed = [7]", "dice.passed"),
        ('kong = "tail"', "kong = 1", "tail.kong"),
        ("set = [", "set = [4, ", "tiles.set"),
        ("[seats]\nplayers = [0, 1, 2, 3]", "[[seats]]\nplayers = [0, 1, 2, 3]", "seats"),
        ('en = "Japanese riichi, four players"', 'en = " "', "names.en"),
        ('"tail.keep" = ', "tail.keep = ", "unstated.tail"),
    ],
)
def test_a_value_of_the_wrong_type_is_not_bent_into_the_right_one(old: str, new: str, key: str) -> None:
    refused(changed(old, new), "rules.wrong_type", key)


@pytest.mark.parametrize(
    ("old", "new", "key", "allowed"),
    [
        ("tiles = [34, 34, 34, 34]", "tiles = [34, 34, 102, -34]", "wall.tiles", "≥ 0"),
        ("in_play = 136", "in_play = 136\nleft_in_drum = -1", "tiles.left_in_drum", "≥ 0"),
        ("keep = [14]", "keep = [-1]", "tail.keep", "≥ 0"),
        ('passed = "sum"', "passed = -1", "dice.passed", "≥ 0"),
        ("hand = 13", "hand = -13", "deal.hand", "≥ 1"),
        ("count = 2", "count = 0", "dice.count", "1–3"),
        ("throws = 1", "throws = 3", "dice.throws", "1–2"),
        ("players = [0, 1, 2, 3]", "players = [0, 1, 2, 4]", "seats.players", "0–3"),
    ],
)
def test_a_number_that_no_table_can_have_is_not_accepted(old: str, new: str, key: str, allowed: str) -> None:
    refused(changed(old, new), "rules.out_of_range", key, allowed)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('wall = "seat_of_sum"', 'wall = "seat_of_some"', "dice.wall"),
        ('passed = "sum"', 'passed = "half"', "dice.passed"),
        ('last = "jump"', 'last = "hop"', "deal.last"),
        ('win = "stay_if_dealer_else_next"', 'win = "stay"', "next_dealer.win"),
    ],
)
def test_an_unknown_word_is_not_taken_for_a_known_one(old: str, new: str, key: str) -> None:
    refused(changed(old, new), "rules.unknown_choice", key)


@pytest.mark.parametrize(
    ("old", "new", "key", "told"),
    [
        ('id = "riichi"', 'id = "richi"', "rules.wrong_id", "richi"),
        ("in_play = 136", "in_play = 132", "rules.set_sum", "132"),
        ("in_play = 136", "in_play = 136\nleft_in_drum = 4", "rules.set_sum", "136"),
        ("[34, 34, 34, 34]", "[34, 34, 34, 36]", "rules.wall_sum", "138"),
        ("[34, 34, 34, 34]", "[68, 0, 34, 34]", "rules.wall_empty", "S2"),
        ("hand = 13", "hand = 16", "rules.hand_sum", "16"),
        ("blocks = 3", "blocks = 4", "rules.hand_sum", "17"),
        ("keep = [14]", "keep = [14, 83]", "rules.tail_sum", "83"),
        ("hand = 13\nblocks = 3", "hand = 37\nblocks = 9", "rules.tail_sum", "149"),
        ("players = [0, 1, 2, 3]", "players = [2]", "rules.players", "[2]"),
        ("players = [0, 1, 2, 3]", "players = [0, 1, 1, 3]", "rules.players", "[0, 1, 1, 3]"),
        ('wall = "seat_of_sum"', 'wall = "second_thrower"', "rules.second_thrower", "dice.throws"),
        ('"tail.keep" =', '"tail.kept" =', "rules.unstated_path", "tail.kept"),
        ('"1-9m*4"', '"1-9x*4"', "rules.tile_notation", "1-9x*4"),
        ('"z1-4*4"', '"z1-4*4", "z4*4"', "rules.tile_twice", "z4"),
    ],
)
def test_what_does_not_add_up_does_not_reach_the_table(old: str, new: str, key: str, told: str) -> None:
    refused(changed(old, new), key, told)


def test_a_first_winner_among_several_is_not_left_to_chance() -> None:
    broken = changed('win = "stay_if_dealer_else_next"', 'win = "first_winner"')
    refused(broken, "rules.missing_key", "next_dealer.multi")


def test_a_number_of_stacks_and_a_shorter_feed_are_not_refused() -> None:
    text = changed('passed = "sum"', "passed = 7").replace("in_play = 136", "in_play = 71\nleft_in_drum = 65")
    text = text.replace("[34, 34, 34, 34]", "[36, 0, 35, 0]").replace("[0, 1, 2, 3]", "[0, 2]")
    rule = parse(text.encode(), "riichi.toml")
    assert (rule.dice.passed, rule.total, rule.dealt, rule.players) == (7, 71, 27, (0, 2))
    assert rule.next_dealer.multi is Win.STAY_IF_DEALER_ELSE_NEXT
    assert dataclasses.replace(rule.dealing, last=Last.DEALER_STACK).takers(2)[-3:] == (0, 0, 1)


@pytest.mark.parametrize(
    ("notation", "counts"),
    [
        (["1-3m*4", "z5*1"], {"1m": 4, "2m": 4, "3m": 4, "z5": 1}),
        (["f9-16*1", "j1*8", "a1-4*1"], {"f9": 1, "f16": 1, "j1": 8, "a4": 1}),
        (["5p*4"], {"5p": 4, "5s": 0, "p5": 0}),
    ],
)
def test_notation_and_count_do_not_differ(notation: list[str], counts: dict[str, int]) -> None:
    tiles = composition(notation)
    assert {kind: tiles.count(kind) for kind in counts} == counts


def test_no_class_is_missing_from_the_totals() -> None:
    tiles = composition(["1-9m*4", "1-9p*3", "1-9s*2", "z1-7*4", "f1-8*1", "j1*8", "a1-4*1"])
    assert tiles.by_class() == dict(zip(CLASSES, (36, 27, 18, 16, 12, 8, 8, 4), strict=True))
    assert (tiles.total, tiles.designs) == (129, 27 + 7 + 8 + 1 + 4)


@pytest.mark.parametrize(
    "text",
    ["", "1m", "m1*4", "1z*4", "z1", "0m*4", "1-10m*4", "9-1m*4", "z8*4", "1m*0", "1m*-1", "1m*4 ", "１m*4"],
)
def test_a_slip_in_the_notation_is_not_read_as_tiles(text: str) -> None:
    with pytest.raises(TablectlError) as caught:
        composition([text], "set")
    assert caught.value.key == "rules.tile_notation"
    assert "set" in caught.value.text("zh")


# --- a file on top of another -------------------------------------------------------------------------------

ABOVE = """id = "riichi"
base = "below"
names = { en = "x", zh = "某" }
source = { document = "001", anchor = "x" }
[deal]
hand = 13
"""
BELOW = GOOD.replace('id = "riichi"', 'id = "below"')


@pytest.fixture
def below(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder of rule files that a test may break."""
    monkeypatch.setattr(ruleset, "DATA", tmp_path)
    file = tmp_path / "below.toml"
    file.write_text(BELOW, encoding="utf-8")
    return file


def on_top(text: str = ABOVE) -> RuleSet:
    return parse(text.encode(), "riichi.toml")


def test_a_file_does_not_take_over_who_its_base_is(below: Path) -> None:
    rule = on_top()
    assert (rule.id, rule.names.en, rule.source.anchor) == ("riichi", "x", "x")
    assert rule.match.rounds == 2
    assert {"deal.blocks", "deal.last", "indicator"} <= {entry.path for entry in rule.unstated}
    refused(ABOVE.replace('names = { en = "x", zh = "某" }\n', ""), "rules.missing_key", "names")
    refused(ABOVE.replace('id = "riichi"\n', ""), "rules.missing_key", "id")
    status = 'status = "experimental"\nmissing = { en = "a", zh = "乙" }\n[tiles]'
    below.write_text(BELOW.replace("[tiles]", status), encoding="utf-8")
    assert (on_top().status, on_top().missing) == ("playable", None)


@pytest.mark.parametrize(
    ("old", "new", "key", "named"),
    [
        ("keep = [14]", "keep = [-1]", "rules.out_of_range", "tail.keep"),
        ("keep = [14]", "keep = 14", "rules.wrong_type", "tail.keep"),
        ('passed = "sum"', 'passed = "half"', "rules.unknown_choice", "dice.passed"),
        ("count = 2", "cuont = 2\ncount = 2", "rules.unknown_key", "dice.cuont"),
        ('"tail.keep" =', '"tail.kept" =', "rules.unstated_path", "tail.kept"),
        ('"1-9m*4"', '"1-9x*4"', "rules.tile_notation", "1-9x*4"),
    ],
)
def test_a_mistake_of_the_base_is_not_blamed_on_the_file_above(
    below: Path, old: str, new: str, key: str, named: str
) -> None:
    assert BELOW.count(old) == 1
    text = BELOW.replace(old, new)
    below.write_text(text, encoding="utf-8")
    error = refused(ABOVE, key, named, file="below.toml")
    line = line_of(text, new.splitlines()[0])
    assert str(line) in error.text("zh")
    assert error.values.get("line", line) == line


def test_a_mistake_above_is_not_blamed_on_the_base(below: Path) -> None:
    for new, key in (("hand = 0", "rules.out_of_range"), ('hand = "x"', "rules.wrong_type")):
        error = refused(ABOVE.replace("hand = 13", new), key, "deal.hand")
        assert error.values["line"] == line_of(ABOVE, "hand = 13")
    refused(ABOVE.replace("hand = 13", "hand = 16"), "rules.hand_sum")
    refused(ABOVE + "[unstated]\n" + "tail = 3\n", "rules.wrong_type", "unstated.tail")
    refused("unstated = 3\n" + ABOVE, "rules.wrong_type", "unstated")
    refused("tail = 3\n" + ABOVE, "rules.wrong_type", "tail")


@pytest.mark.parametrize("content", [b"[tiles", b"\xff"])
def test_a_base_that_is_no_toml_does_not_pass_as_a_python_error(below: Path, content: bytes) -> None:
    below.write_bytes(content)
    refused(ABOVE, "rules.not_toml", file="below.toml")


def test_a_base_that_is_not_there_or_leads_in_a_circle_is_told(below: Path) -> None:
    for gone in ("nothing", "../below", ""):
        text = ABOVE.replace('"below"', f'"{gone}"')
        error = refused(text, "rules.no_base" if gone else "rules.wrong_type", gone or "base")
        assert error.values["line"] == 2
    refused(ABOVE.replace('"below"', '"riichi"'), "rules.base_circle", "riichi")
    below.write_text('base = "further"\n', encoding="utf-8")
    below.with_name("further.toml").write_text('\nbase = "below"\n', encoding="utf-8")
    error = refused(ABOVE, "rules.base_circle", "below", file="further.toml")
    assert error.values["line"] == 2


# --- texts --------------------------------------------------------------------------------------------------


def raised_keys() -> set[str]:
    trees = [ast.parse(file.read_text("utf-8")) for file in Path(rules.__path__[0]).glob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return {node.value for node in nodes if isinstance(node.value, str) and node.value.startswith("rules.")}


def test_no_message_is_missing_unused_or_filled_in_one_language_only() -> None:
    texts = {key for key in TEXTS.keys() if key.startswith("rules.")}  # noqa: SIM118 (it is no dict)
    assert raised_keys() | {f"rules.{name}" for name in tables.MESSAGES} == texts
    for key in texts:
        both = TEXTS.both(key)
        fields = [
            {name for _, name, _, _ in string.Formatter().parse(both[lang]) if name} for lang in LANGUAGES
        ]
        assert set(both) == set(LANGUAGES)
        assert fields[0] == fields[1], key


def test_a_path_through_a_value_does_not_find_anything() -> None:
    table = Table({"a": {"b": 1}}, "x.toml", "rules")
    assert (table.at("a.b"), table.at("a.b.c"), table.at("c")) == (1, None, None)


# --- hands that are served ----------------------------------------------------------------------------------


def test_a_rule_without_a_word_on_serving_serves_nothing() -> None:
    assert "served" not in GOOD
    assert parse(GOOD.encode(), "riichi.toml").served is None
    served = parse(SERVED.encode(), "riichi.toml").served
    assert served is not None
    assert (served.hand, served.tiles, served.start, served.passed) == (13, (20, 20, 22, 22), "dealer", 0)


@pytest.mark.parametrize(
    ("old", "new", "key", "told"),
    [
        ("hand = 13\ntiles", "hand = 14\ntiles", "rules.served_hand", "14"),
        ("[20, 20, 22, 22]", "[20, 20, 22, 24]", "rules.served_sum", "138"),
        ("[20, 20, 22, 22]", "[20, 20, 22]", "rules.wrong_type", "served.tiles"),
        ('{ seat = "dealer", passed = 0 }', "7", "rules.wrong_type", "served.start"),
        ('seat = "dealer"', 'seat = "winner"', "rules.unknown_choice", "served.start.seat"),
        ("passed = 0", "passed = -1", "rules.out_of_range", "served.start.passed"),
        (", passed = 0", "", "rules.missing_key", "served.start.passed"),
        ('"dealer", passed', '"dice", passed', "rules.unknown_key", "served.start.passed"),
    ],
)
def test_hands_that_cannot_be_served_so_are_not_taken_for_a_rule(
    old: str, new: str, key: str, told: str
) -> None:
    assert SERVED.count(old) == 1
    refused(SERVED.replace(old, new), key, told)
