"""Rule files: those of the package name words of their documents, a broken one is told with file and key."""

import ast
import dataclasses
import re
import string
from pathlib import Path

import pytest

from tablectl import rules, tables
from tablectl.errors import TablectlError
from tablectl.rules.model import Last, Win
from tablectl.rules.ruleset import DATA, available, load, parse
from tablectl.rules.tiles import CLASSES, composition
from tablectl.tables import Table
from tablectl.texts import LANGUAGES, TEXTS

SERVED = (DATA / "riichi.toml").read_text(encoding="utf-8")
# The same file without a word on hands that are served.
GOOD = re.sub(r'\[served\](.+\n)+\n|"served.*\n', "", SERVED)


def refused(text: str | bytes, key: str, *told: str) -> TablectlError:
    """Parse a broken file and return its error, which names file and place in both languages."""
    with pytest.raises(TablectlError) as caught:
        parse(text if isinstance(text, bytes) else text.encode(), "riichi.toml")
    error = caught.value
    assert error.key == key
    for lang in LANGUAGES:
        assert all(part in error.text(lang) for part in ("riichi.toml", *told)), error.text(lang)
    return error


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


@pytest.mark.parametrize("rule_id", available())
def test_no_source_names_words_that_its_document_does_not_hold(rule_id: str, shared_data: Path) -> None:
    source = load(rule_id).source
    documents = list((shared_data.parent / "seeds").glob(f"{source.document}_*.txt"))
    assert len(documents) == 1
    assert source.anchor in documents[0].read_text(encoding="utf-8")


def test_what_a_source_leaves_open_is_not_passed_off_as_its_word() -> None:
    said = {rule_id: {entry.path for entry in load(rule_id).unstated} for rule_id in available()}
    assert {"dice", "wall.tiles"} <= said["sc_tcy"]
    assert {"tail.keep", "deal", "dice.wall", "dice.passed"} <= said["riichi"]
    assert "tail.kong" in said["mcr"]
    walls = next(entry for entry in load("sc_tcy").unstated if entry.path == "wall.tiles")
    assert walls.chosen == "[28, 26, 28, 26]"
    assert walls.why


def test_an_unknown_rule_is_not_looked_for_on_the_disk() -> None:
    for rule_id in ("nothing", "../data/riichi", ""):
        with pytest.raises(TablectlError, match="riichi") as caught:
            load(rule_id)
        assert caught.value.key == "rules.unknown_rule"
        assert "riichi" in caught.value.text("zh")


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
    refused(changed(old, new), "rules.unknown_key", key)


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
