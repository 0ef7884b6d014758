"""`tablectl rules` through the command line: pages, breaks, deals, and refusals; nothing is told wrongly."""

import dataclasses
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import ROOT
from helpers import STACKS, TILES

from tablectl.cli.columns import folded
from tablectl.cli.main import main
from tablectl.cli.rules_show import page, why
from tablectl.rules.course import (
    Counted,
    Drawn,
    Duties,
    FirstDealer,
    Indicator,
    Lies,
    MatchLength,
    Phase,
    Phases,
    Start,
    Use,
    Wild,
)
from tablectl.rules.model import (
    Draw,
    From,
    Last,
    Measure,
    Names,
    PassedBy,
    RuleSet,
    Served,
    StartBy,
    Status,
    WallBy,
    Win,
)
from tablectl.rules.ruleset import available, listed, load, load_any
from tablectl.texts import LANGUAGES, TEXTS

RULES = available()
TITLES = tuple(rule_id for rule_id in listed() if rule_id not in RULES)
CHINESE = range(0x4E00, 0xA000)
OURS = ("rule_page.", "rule_hand.", "picture.", "seating.")

# The competition rules of the documents, worked out there: the dealer at the third side throws 2, then 10.
MCR = ("deal", "mcr", "--dice", "1,1", "--dice", "6,4", "--dealer", "2")
MCR_HANDS = {
    2: "w3s13T w3s13B w3s14T w3s14B w2s3T w2s3B w2s4T w2s4B w2s11T w2s11B w2s12T w2s12B w1s1T w1s3T",
    3: "w3s15T w3s15B w3s16T w3s16B w2s5T w2s5B w2s6T w2s6B w2s13T w2s13B w2s14T w2s14B w1s1B",
    0: "w3s17T w3s17B w3s18T w3s18B w2s7T w2s7B w2s8T w2s8B w2s15T w2s15B w2s16T w2s16B w1s2T",
    1: "w2s1T w2s1B w2s2T w2s2B w2s9T w2s9B w2s10T w2s10B w2s17T w2s17B w2s18T w2s18B w1s2B",
}


def rules(*arguments: str, lang: str = "en") -> Result:
    return CliRunner().invoke(main, ["rules", *arguments, "--lang", lang])


def told(*arguments: str, lang: str = "en") -> str:
    result = rules(*arguments, lang=lang)
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    return result.stdout


def json_of(*arguments: str, lang: str = "en") -> Any:
    return json.loads(told(*arguments, "--json", lang=lang))


def dice_of(rule: RuleSet, face: int = 3) -> list[str]:
    throw = ",".join(itertools.islice(itertools.cycle((str(face), "4")), rule.dice.count))
    return list(itertools.chain.from_iterable(("--dice", throw) for _ in range(rule.dice.throws)))


def places(*walls: int) -> set[str]:
    """Every tile of the walls; the last one of an odd wall lies below."""
    pairs = {
        f"w{wall}s{n}{layer}"
        for wall, tiles in enumerate(walls)
        for n in range(1, tiles // 2 + 1)
        for layer in "TB"
    }
    return pairs | {f"w{wall}s{tiles // 2 + 1}B" for wall, tiles in enumerate(walls) if tiles % 2}


# --- list and show ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_rule_set_is_left_out_of_the_list(lang: str) -> None:
    head, *lines = told("list", lang=lang).splitlines()
    blank = lines.index("")
    assert [line.split()[0] for line in lines[:blank]] == list(RULES)
    assert [line.split()[1] for line in lines[:blank]] == [str(n) for n in range(1, len(RULES) + 1)]
    assert len(head.split()) >= 7
    for line, rule_id in zip(lines, RULES, strict=False):
        assert getattr(load(rule_id).names, lang) in line
        assert TEXTS(f"rule_page.in_list.{load(rule_id).status}", lang) in line


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_mere_title_is_not_listed_among_what_can_be_played_or_without_its_reason(lang: str) -> None:
    lines = told("list", lang=lang).splitlines()
    below = lines[lines.index("") + 1 :]
    assert below[0] == TEXTS("rule_page.titles", lang)
    assert [line.split()[0] for line in below[1:]] == list(TITLES)
    every = {each["id"]: each for each in json_of("list", lang=lang)}
    for line, title in zip(below[1:], map(load_any, TITLES), strict=True):
        reason = getattr(title.reason, lang)
        assert getattr(title.names, lang) in line
        assert reason in line
        assert (every[title.id]["status"], every[title.id]["reason"]) == ("title_only", reason)
        assert every[title.id]["tiles"] is None
    statuses = {each["id"]: each["status"] for each in every.values() if each["reason"] is None}
    assert statuses == {rule_id: load(rule_id).status for rule_id in RULES}
    assert [each["id"] for each in every.values() if each["missing"]] == [
        rule_id for rule_id in RULES if load(rule_id).status == "experimental"
    ]


def test_the_list_does_not_count_otherwise_than_the_documents() -> None:
    found = {each["id"]: each for each in json_of("list")}
    assert set(found) == {*RULES, *TITLES}
    for rule_id, stacks in STACKS.items():
        each = found[rule_id]
        assert (each["tiles"], tuple(each["stacks"])) == (TILES[rule_id], stacks)
        assert (each["players"], each["hand"]) == (4, 13)
        assert "/".join(map(str, stacks)) in told("list")


def test_columns_do_not_shift_where_letters_are_wide() -> None:
    from rich.cells import cell_len

    lines = told("list", lang="zh").partition("\n\n")[0].splitlines()
    starts = {cell_len(line[: line.index(name)]) for line, name in zip(lines, _names("zh"), strict=True)}
    assert len(starts) == 1


def _names(lang: str) -> list[str]:
    return [TEXTS("rule_page.column.name", lang), *(getattr(load(rule_id).names, lang) for rule_id in RULES)]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("rule_id", RULES)
def test_no_rule_set_lacks_a_page_or_a_line_of_it(rule_id: str, lang: str) -> None:
    rule, shown = load(rule_id), told("show", rule_id, lang=lang)
    for key in TEXTS.keys():  # noqa: SIM118
        if key.startswith("rule_page.row."):
            assert f"\n{TEXTS(key, lang)} " in shown, key
    together = "".join(shown.split())
    assert rule.source.document in shown or rule.source.document == "web"
    assert not rule.missing or "".join(getattr(rule.missing, lang).split()) in together
    for part in (rule_id, getattr(rule.names, lang), rule.source.anchor):
        assert "".join(part.split()) in together
    for n, entry in enumerate(rule.unstated, 1):
        assert f"{n}:{entry.path}=" in together.replace("：", ":")
        assert "".join(why(entry, lang).split()) in together
    assert not set("{}") & set(shown.partition(TEXTS("rule_page.choices", lang))[0])


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("rule_id", TITLES)
def test_the_page_of_a_mere_title_does_not_lack_its_source_or_say_more(rule_id: str, lang: str) -> None:
    title = load_any(rule_id)
    together = "".join(told("show", rule_id, lang=lang).split())
    parts = (rule_id, getattr(title.names, lang), title.source.document, title.source.anchor)
    for part in (*parts, getattr(title.reason, lang)):
        assert "".join(part.split()) in together
    found = json_of("show", rule_id, lang=lang)
    assert (found["status"], found["reason"]) == ("title_only", getattr(title.reason, lang))
    assert found["source"] == {"document": title.source.document, "anchor": title.source.anchor}
    for word in ("break", "deal"):
        result = rules(word, rule_id, "--dice", "3,4", lang=lang)
        assert (result.exit_code, result.stdout) == (2, "")
        assert rule_id in result.stderr


@pytest.mark.parametrize("rule_id", STACKS)
def test_a_program_is_not_told_a_reason_in_another_language(rule_id: str) -> None:
    rule = load(rule_id)
    for lang in LANGUAGES:
        reasons = [entry["why"] for entry in json_of("show", rule_id, lang=lang)["unstated"]]
        assert reasons == [why(entry, lang) for entry in rule.unstated] != []
    assert all(any(ord(letter) in CHINESE for letter in why(entry, "zh")) for entry in rule.unstated)


@pytest.mark.parametrize("rule_id", RULES)
def test_the_chinese_page_is_not_english(rule_id: str) -> None:
    shown = told("show", rule_id, lang="zh").partition(TEXTS("rule_page.choices", "zh"))[0]
    for line in shown.splitlines()[2:]:
        assert not re.search("[A-Za-z]{2}", line) or any(ord(letter) in CHINESE for letter in line)


def test_the_page_of_the_competition_rules_does_not_lose_what_players_ask() -> None:
    shown = " ".join(told("show", "mcr").split())
    for said in (
        "144: 36 characters, 36 dots, 36 bamboos, 16 winds, 12 dragons, 8 flowers",
        "S1 18, S2 18, S3 18, S4 18",
        "throws two dice",
        "second thrower",
        "all throws show together",
        "the dealer jumps",
        "14 tiles, the others 13",
        "Nothing stays",
        "Flowers are laid out and replaced, the dealer first. All of them within 30 s.",
        "the referee names him",
        "4 round(s), 16 deals",
        "document 001",
    ):
        assert said in shown


def test_the_pages_of_indicator_and_wild_tiles_do_not_lose_what_players_ask() -> None:
    for rule_id, said in {
        "riichi": (
            "upper tile of stack 3 from the break",
            "One more beside it for each kong",
            "No more than 4",
        ),
        "sanma": ("upper tile of stack 5",),
        "cixi": (
            "follows the turned one in its cycle by 1",
            "may not be discarded",
            "(0, 1, 2 …): 2, 1, 2, 3",
            "1, 5 is the thrower; 2, 6 is the player at his right; 3 is the player opposite; 4 is",
        ),
        "tianjin": ("that the last throw counts to", "The kind that is turned. The kind that follows"),
        "g71": ("Tile 1 of the tail is turned", "drawn as the last tile", "exchange any number"),
        "american": ("Always: j1.", "Charleston"),
        "filipino": ("also laid out and replaced like flowers: z1, z2, z3, z4, z5, z6, z7",),
        "hangzhou": ("Which tiles are wild, the source does not say", "experimental"),
        "beijing": ("drawn once 3 players have made kongs", "Each repeat climbs a floor, 2 at most"),
        "sc_tcy": ("one of the last 4 tiles has to", "As long as people like"),
        "sc_dq": ("(dingque)",),
        "gb": ("Before round 3 East and South change seats",),
        "cd_std": ("the highest deals",),
        "taiwan16": ("published rules: 4windsmj.com taiwanese",),
    }.items():
        shown = " ".join(told("show", rule_id).split())
        for part in said:
            assert part in shown, (rule_id, part)


def test_what_we_chose_does_not_look_like_the_document_s_word() -> None:
    rows = dict(_rows(told("show", "sc_tcy")))
    assert "[our choice 1]" in rows["Walls"]
    assert "[our choice 2]" in rows["Dice"]
    assert "[our choice 2]" in rows["Break"]  # the whole of [dice] is ours, and this is a part of it
    assert "[our choice 3] [our choice 4]" in rows["Deal"]
    for stated in ("Tiles", "Kongs", "Tail", "Duties", "First dealer", "Next dealer", "Source"):
        assert "our choice" not in rows[stated], stated
    riichi = dict(_rows(told("show", "riichi")))
    assert all("our choice" in riichi[name] for name in ("Tail", "Indicator", "Duties", "Match"))


def _rows(shown: str) -> list[tuple[str, str]]:
    names = [TEXTS(key, "en") for key in TEXTS.keys() if key.startswith("rule_page.row.")]  # noqa: SIM118
    body = " ".join(shown.partition("What the document does not")[0].split())
    starts = sorted((body.index(f" {name} "), name) for name in names)
    ends = [start for start, _ in starts[1:]] + [len(body)]
    return [(name, body[start:end]) for (start, name), end in zip(starts, ends, strict=True)]


def test_a_rule_without_choices_does_not_show_an_empty_list() -> None:
    rule = dataclasses.replace(load("mcr"), unstated=())
    for lang in LANGUAGES:
        assert page(rule, lang)[-1] == TEXTS("rule_page.no_choices", lang)


def variants() -> list[RuleSet]:
    """Every word that a rule file may use, wherever it may stand."""
    rule = load("mcr")
    dice = [dataclasses.replace(rule.dice, wall=wall) for wall in WallBy]
    dice += [dataclasses.replace(rule.dice, count=n, throws=m) for n in (1, 2, 3) for m in (1, 2)]
    dice += [dataclasses.replace(rule.dice, passed=passed) for passed in (*PassedBy, 5)]
    dealing = [dataclasses.replace(rule.dealing, last=last) for last in Last]
    tail = [dataclasses.replace(rule.tail, kong=kong, flower=flower) for kong in From for flower in From]
    keeps = ((0,), (14,), (34, 32, 30))
    tail += [dataclasses.replace(rule.tail, measure=m, keep=keep) for m in Measure for keep in keeps]
    after = [dataclasses.replace(rule.next_dealer, win=win, multi=multi) for win in Win for multi in Win]
    after += [dataclasses.replace(rule.next_dealer, draw=draw) for draw in Draw]
    changes: list[dict[str, Any]] = [{"dice": each} for each in dice]
    changes += [{"dealing": each} for each in dealing]
    changes += [{"dealing": each, "players": (0, 1, 2)} for each in dealing]
    changes += [{"tail": each} for each in tail] + [{"next_dealer": each} for each in after]
    turned = [
        Indicator(lies, at, upper, use, drawn, upper)
        for lies in Lies
        for at in (3, *Counted)
        for upper in (True, False)
        for use in Use
        for drawn in Drawn
        if lies is Lies.TAIL_TILE or at == 3
    ]
    changes += [{"indicator": each} for each in turned]
    wild = [Wild(of=(0, 2)), Wild(fixed=("j1",)), Wild(discard=False), Wild(four_win=True)]
    wild += [Wild(of=(1,), points=(2, 1)), Wild(ready_on_any=2)]
    changes += [{"wild": each} for each in wild]
    changes += [{"phases": Phases((phase,), seconds)} for phase in Phase for seconds in (None, 30)]
    changes += [{"duties": each} for each in (Duties(4), Duties(0, 3), Duties(0, 0, 4))]
    changes += [{"first_dealer": Start(by, (0, 1, 2, 3, 0, 1))} for by in FirstDealer]
    changes += [{"match": each} for each in (MatchLength(), MatchLength(2, (("hanchan", 8),), 25000, (2,)))]
    changes.append({"next_dealer": dataclasses.replace(rule.next_dealer, floor_max=2)})
    changes.append({"status": Status.EXPERIMENTAL, "missing": Names("the end", "结尾")})
    changes.append({"source": dataclasses.replace(rule.source, document="web")})
    changes.append({"tiles": dataclasses.replace(rule.tiles, flowers_also=("z1",))})
    changes.append({"wall_tiles": (36, 35, 36, 37)})
    changes += [{"served": Served(13, (23, 23, 23, 23), start, 0)} for start in StartBy]
    changes.append({"tiles": dataclasses.replace(rule.tiles, in_play=71, left_in_drum=73)})
    return [dataclasses.replace(rule, **change) for change in changes]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_no_word_of_a_rule_file_goes_without_its_words_on_the_page(lang: str) -> None:
    pages = {"\n".join(page(rule, lang)) for rule in variants()}
    alike = len(variants()) - len(pages)
    assert alike < 20, "different rules are told alike"
    assert any("½" in each for each in pages)


def test_the_programs_page_does_not_hold_less_than_the_file() -> None:
    shown = json_of("show", "sc_tcy")
    assert shown["wall_tiles"] == [28, 26, 28, 26]
    assert shown["stacks"] == [14, 13, 14, 13]
    assert shown["tiles"]["by_class"]["m"] == 36
    assert shown["tiles"]["composition"]["5s"] == 4
    after = {"win": "first_winner", "multi": "discarder", "draw": "stay", "floor_max": 0}
    assert shown["next_dealer"] == after
    assert shown["duties"]["forced_win_last"] == 4
    assert (shown["status"], shown["missing"], shown["indicator"]) == ("playable", None, None)
    assert {entry["path"] for entry in shown["unstated"]} >= {"wall.tiles", "dice"}
    assert shown["source"]["anchor"] == "四川血战麻将规则"


def test_a_line_is_not_torn_within_a_word_or_before_a_full_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.cells import cell_len

    monkeypatch.setenv("COLUMNS", "40")
    for text in (
        "the quick brown fox jumps over the lazy dog [our choice 12] and then over another one.",
        "庄家掷两颗骰子，一次。以庄家为一，按点数之和逆时针数（不够则转到相邻牌墙），数到的玩家再掷一次。",
    ):
        lines = folded("head", text, 8)
        assert len(lines) > 1
        assert "".join("".join(lines).split()) == "head" + "".join(text.split())
        for line in lines:
            assert cell_len(line) <= 40 + 2  # punctuation hangs over rather than begins a line
            assert line.strip()[0] not in "，。）、]"
    assert any("[our choice 12]" in line for line in folded("", "jumps over the lazy dog [our choice 12]", 4))


# --- break and deal -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [  # from the documents' own tables, relative seats there
        (("mcr", "--dice", "1,1", "--dice", "6,4"), ([0, 1], 1, 12, 1, 13)),
        (("mcr", "--dice", "6,2", "--dice", "6,4"), ([0, 3], 3, 18, 2, 1)),
        (("mcr", "--dice", "6,2", "--dice", "6,4", "--dealer", "S3"), ([2, 1], 1, 18, 0, 1)),
        (("riichi", "--dice", "3,4"), ([0], 2, 7, 2, 8)),
        (("riichi", "--dice", "3+4", "--dealer", "1"), ([1], 3, 7, 3, 8)),
        (("sc_tcy", "--dice", "6 6", "--dealer", "s1"), ([0], 3, 12, 3, 13)),
    ],
)
def test_a_break_is_not_told_at_another_place(arguments: tuple[str, ...], expected: tuple[Any, ...]) -> None:
    found = json_of("break", *arguments)
    keys = ("throwers", "counted_wall", "passed", "wall", "stack")
    assert tuple(found[key] for key in keys) == expected
    dealer, relative = found["dealer"], found["from_dealer"]
    assert [(dealer + seat) % 4 for seat in relative["throwers"]] == found["throwers"]
    assert (dealer + relative["wall"]) % 4 == found["wall"]
    assert (dealer + relative["counted_wall"]) % 4 == found["counted_wall"]
    throwers, counted, passed, wall, stack = expected
    said = told("break", *arguments)
    assert all(f"(S{thrower + 1})" in said.splitlines()[n] for n, thrower in enumerate(throwers))
    assert f"Counted off: {passed} stack(s)" in said
    assert f"(S{counted + 1})" in said.splitlines()[len(throwers)]
    assert f"(S{wall + 1}); stack {stack} from" in said.splitlines()[-1]
    assert ("round the corner" in said) == (wall != counted)


def test_a_deal_does_not_differ_from_the_one_in_the_documents() -> None:
    found = json_of(*MCR)
    hands = {seat["seat"]: [p for grab in seat["grabs"] for p in grab["places"]] for seat in found["seats"]}
    assert {seat: " ".join(hand) for seat, hand in hands.items()} == MCR_HANDS
    assert [seat["seat"] for seat in found["seats"]] == [2, 3, 0, 1]
    assert [seat["from_dealer"] for seat in found["seats"]] == [0, 1, 2, 3]
    assert found["next_draw"] == found["live"][0] == "w1s3B"
    assert found["tail"][:2] == ["w3s12T", "w3s12B"]
    assert len(found["tail"]) == 91
    said = told(*MCR)
    for grab in (grab for seat in found["seats"] for grab in seat["grabs"]):
        assert f"{grab['number']:>4}  {' '.join(grab['places'])}\n" in said
    assert "Next draw: w1s3B." in said


def test_hands_are_not_taken_in_another_order_than_people_reach() -> None:
    found = json_of(*MCR)
    order = sorted((g["number"], s["seat"], len(g["places"])) for s in found["seats"] for g in s["grabs"])
    assert [number for number, _, _ in order] == list(range(1, 17))
    assert [seat for _, seat, _ in order] == [2, 3, 0, 1] * 4
    assert [count for _, _, count in order] == [4] * 12 + [2, 1, 1, 1]  # the jump takes both tiles at once


@pytest.mark.parametrize("face", [1, 3, 6])
@pytest.mark.parametrize("rule_id", RULES)
def test_no_deal_told_to_a_program_holds_a_tile_twice_or_not_at_all(rule_id: str, face: int) -> None:
    rule = load(rule_id)
    every = places(*rule.wall_tiles)
    assert len(every) == rule.total
    for dealer, kongs in itertools.product(rule.players, (0, 3)):
        if kongs and rule.tail.kong is From.NONE:
            continue
        found = json_of("deal", rule_id, *dice_of(rule, face), "--dealer", str(dealer), "--kongs", str(kongs))
        hands = [p for seat in found["seats"] for grab in seat["grabs"] for p in grab["places"]]
        tiles = [*hands, *found["live"], *found["replacements"], *found["left"], *found["indicators"]]
        assert len(tiles) == len(every)
        assert set(tiles) == every
        assert sorted([*hands, *found["tail"]]) == sorted(every)
        sizes = [seat["tiles"] for seat in found["seats"]]
        assert sizes == [rule.dealing.hand + 1, *[rule.dealing.hand] * (len(rule.players) - 1)]
        turned = [*found["indicators"], *found["drawn_last"]]
        assert len(turned) == (rule.indicator is not None) * (1 + kongs * (rule.id in ("riichi", "sanma")))
        assert found["live"][-1:] == found["drawn_last"] or not found["drawn_last"]
        assert len(found["replacements"]) == (kongs if rule.tail.kong is From.TAIL else 0)
        assert (found["kongs"], found["dealer"], found["rule"]) == (kongs, dealer, rule_id)


def test_the_dead_wall_of_riichi_does_not_shrink_with_the_kongs() -> None:
    # Seven stacks of the wall are passed: 7 and 6 replace kongs, 5 is the third.
    turned = ["w2s5T", "w2s4T", "w2s3T", "w2s2T", "w2s1T"]
    for kongs in range(5):
        found = json_of("deal", "riichi", "--dice", "3,4", "--kongs", str(kongs))
        assert found["indicators"] == turned[: kongs + 1]
        assert (len(found["left"]) + len(found["indicators"]), len(found["live"])) == (14, 69 - kongs)
        assert found["replacements"] == ["w2s7T", "w2s7B", "w2s6T", "w2s6B"][:kongs]


@pytest.mark.parametrize(
    ("rule_id", "dice", "turned", "following"),
    [  # counted on paper: the tail begins with the stack before the break, upper tile first;
        # 53 tiles from stack 3 are 15 stacks of the right-hand wall, 11 and a half of the dealer's
        ("tianjin", "1,1", "w1s2B", "w0s12B"),
        ("tianjin", "3,4", "w2s4T", "w1s17B"),
        ("fuzhou", "3,4", "w2s4T", "w0s4B"),
        ("cixi", "1,1", "w0s12B", "w0s13T"),
        ("riichi", "1,1", "w2s17T", "w0s12B"),
        ("sanma", "1,1", "w2s16T", "w0s5T"),
    ],
)
def test_the_tile_that_is_turned_is_not_told_at_another_place(
    rule_id: str, dice: str, turned: str, following: str
) -> None:
    found = json_of("deal", rule_id, "--dice", dice)
    assert (found["indicators"], found["next_draw"]) == ([turned], following)
    assert turned not in (*found["live"], *found["replacements"], *found["left"])
    for lang in LANGUAGES:
        said = told("deal", rule_id, "--dice", dice, lang=lang)
        assert TEXTS("rule_hand.turned", lang, places=turned) in said
        assert f" {turned}" not in said.partition(turned)[2], "the turned tile is told as a replacement"


def test_a_tile_that_is_shown_and_drawn_last_is_not_told_as_nobodys() -> None:
    found = json_of("deal", "g71", "--dice", "3,4")
    assert (found["indicators"], found["drawn_last"]) == ([], ["w0s7T"])
    assert found["live"][-1] == "w0s7T"
    assert len(found["live"]) == 44
    said = told("deal", "g71", "--dice", "3,4")
    assert "Turned, and drawn as the last tile: w0s7T" in said


def test_a_hand_drawn_to_its_end_is_not_told_to_go_on() -> None:
    found = json_of("deal", "mcr", "--dice", "1,1", "--dice", "1,1", "--kongs", "91")
    assert found["next_draw"] is None
    for lang in LANGUAGES:
        said = told("deal", "mcr", "--dice", "1,1", "--dice", "1,1", "--kongs", "91", lang=lang)
        assert TEXTS("rule_hand.no_next", lang) in said
        assert TEXTS("rule_hand.left_none", lang) in said


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("rule_id", RULES)
def test_no_rule_set_lacks_words_for_its_break_and_deal(rule_id: str, lang: str) -> None:
    rule = load(rule_id)
    for dealer, word in itertools.product(rule.players, ("break", "deal")):
        said = told(word, rule_id, *dice_of(rule), "--dealer", str(dealer), lang=lang)
        assert f"S{dealer + 1}" in said
        assert (lang == "zh") == any(ord(letter) in CHINESE for letter in said)


# --- refusals -----------------------------------------------------------------------------------------------

REFUSED = {
    "unknown rule": (("show", "richi"), "rules.unknown_rule", "riichi"),
    "unknown rule, wrong case": (("show", "MCR"), "rules.unknown_rule", "mcr"),
    "a name for an id": (("deal", "四川血战麻将", "--dice", "3,4"), "rules.unknown_rule", "sc_tcy"),
    "an English name for an id": (
        ("break", "Hong Kong", "--dice", "1,2,3"),
        "rules.unknown_rule",
        "hongkong",
    ),
    "nothing like a rule": (("show", "zzzzzz"), "rules.unlike_rule", "zzzzzz"),
    "a title to deal": (("deal", "quanzhou", "--dice", "3,4"), "rules.title_only", "quanzhou"),
    "a title to break": (("break", "intl", "--dice", "3,4"), "rules.title_only", "intl"),
    "a base for a rule": (("deal", "_common", "--dice", "3,4"), "rules.unlike_rule", "_common"),
    "a fifth kong": (("deal", "riichi", "--dice", "3,4", "--kongs", "5"), "rules.max_kongs", "5"),
    "a path for a rule": (("show", "../data/mcr"), None, "../data/mcr"),
    "no dice": (("break", "riichi"), "rule_page.throw_next", "S1"),
    "second throw missing": (("deal", "mcr", "--dice", "3,4"), "rule_page.throw_next", "S3"),
    "a throw too many": (("deal", "riichi", "--dice", "3,4", "--dice", "1,1"), "rules.throw_extra", "2"),
    "a die too many": (("break", "riichi", "--dice", "3,4,5"), "rules.throw_count", "3"),
    "a die too few": (("break", "riichi", "--dice", "3"), "rules.throw_count", "1"),
    "a face of seven": (("break", "riichi", "--dice", "3,7"), "rules.throw_face", "7"),
    "a face of nought": (("deal", "riichi", "--dice", "0,1"), "rules.throw_face", "0"),
    "no faces": (("deal", "riichi", "--dice", "three,four"), "rule_page.bad_dice", "three,four"),
    "nothing thrown": (("deal", "riichi", "--dice", ""), "rule_page.bad_dice", "''"),
    "a fifth seat": (("deal", "riichi", "--dice", "3,4", "--dealer", "4"), "rules.no_player", "4"),
    "a fifth side": (("deal", "riichi", "--dice", "3,4", "--dealer", "S5"), "rules.no_player", "4"),
    "a seat below": (("deal", "riichi", "--dice", "3,4", "--dealer=-1"), "rules.no_player", "-1"),
    "no seat": (("break", "riichi", "--dice", "3,4", "--dealer", "east"), "rule_page.bad_dealer", "east"),
    "no flowers": (
        ("deal", "riichi", "--dice", "3,4", "--flowers", "1"),
        "rule_page.not_replaced.flower",
        "1",
    ),
    "no kongs": (
        ("deal", "american", "--dice", "3,4", "--kongs", "1"),
        "rule_page.not_replaced.kong",
        "--kongs",
    ),
    "kongs below nought": (("deal", "riichi", "--dice", "3,4", "--kongs", "-1"), "rules.replacements", "-1"),
    "kongs past the end": (("deal", "hebei", "--dice", "3,4", "--kongs", "84"), "rules.replacements", "84"),
    "a seat without a player": (("deal", "g71", "--dice", "3,4", "--dealer", "1"), "rules.no_player", "1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_is_not_told_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    arguments, key, named = REFUSED[name]
    file = tmp_path / "table.svg"
    if arguments[0] != "show":
        arguments = (*arguments, "--svg", str(file))
    said = {lang: rules(*arguments, lang=lang) for lang in LANGUAGES}
    for lang, result in said.items():
        assert (result.exit_code, result.stdout) == (2, "")
        assert named in result.stderr
        assert (lang == "zh") == any(
            ord(letter) in CHINESE for letter in result.stderr.replace("四川血战麻将", "")
        )
        if key:
            start = TEXTS.both(key)[lang].partition("{")[0]
            assert result.stderr.startswith(start)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("missing/table.svg", "no_folder"),
        ("file/table.svg", "no_folder"),
        ("folder", "folder"),
        ("full", "full"),
        ("loop", "other"),
    ],
)
@pytest.mark.parametrize("word", ["break", "deal"])
def test_a_picture_that_cannot_be_written_is_not_passed_over(
    tmp_path: Path, word: str, place: str, key: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    (tmp_path / "full").symlink_to("/dev/full")
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.rglob("*"))
    for lang in LANGUAGES:
        result = rules(word, "riichi", "--dice", "3,4", "--svg", str(tmp_path / place), lang=lang)
        assert (result.exit_code, result.stdout) == (2, "")
        assert str(tmp_path / place) in result.stderr
        start = TEXTS.both(f"rule_page.unwritable.{key}")[lang].partition("{")[0]
        assert result.stderr.startswith(start)
        assert (key == "other") or result.stderr == TEXTS(
            f"rule_page.unwritable.{key}", lang, file=tmp_path / place
        ) + "\n"
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "kept"


# The command in a process whose files may not grow past a number of bytes.
WITHIN = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
del sys.argv[1]
runpy.run_module("tablectl", run_name="__main__")
"""


def tablectl(*arguments: str, most_bytes: int | None = None, **environment: str) -> Any:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    program = ["-m", "tablectl"] if most_bytes is None else ["-c", WITHIN, str(most_bytes)]
    command = [sys.executable, *program, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_an_old_picture_is_not_lost_where_the_new_one_finds_no_room(tmp_path: Path) -> None:
    file = tmp_path / "table.svg"
    file.write_text("an older picture")
    arguments = ("rules", "deal", "riichi", "--dice", "3,4", "--svg", str(file))
    short = tablectl(*arguments, most_bytes=1024)  # the picture is longer
    assert (short.returncode, short.stdout) == (2, "")
    assert str(file) in short.stderr
    assert file.read_text() == "an older picture"
    assert list(tmp_path.iterdir()) == [file]
    assert tablectl(*arguments).returncode == 0
    assert file.read_text().startswith("<svg")
    assert list(tmp_path.iterdir()) == [file]


def test_the_installed_command_does_not_answer_in_the_wrong_language_or_status() -> None:
    fine = tablectl("rules", "show", "sc_tcy", LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")
    assert (fine.returncode, fine.stderr) == (0, "")
    assert "四川血战麻将" in fine.stdout
    wrong = tablectl("rules", "show", "sc_tc", LC_ALL="C.UTF-8")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Nearest: sc_tcy" in wrong.stderr


# --- texts --------------------------------------------------------------------------------------------------


def test_no_text_of_these_commands_is_written_for_nobody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    used: set[str] = set()
    real = type(TEXTS).__call__

    def noted(self: Any, key: str, lang: str, /, **values: object) -> str:
        used.add(key)
        return real(self, key, lang, **values)

    monkeypatch.setattr(type(TEXTS), "__call__", noted)
    for rule in variants():
        page(rule, "en")
    page(dataclasses.replace(load("mcr"), unstated=()), "en")
    told("list")
    for rule_id in RULES:
        told("show", rule_id)
    told(*MCR, "--kongs", "1", "--svg", str(tmp_path / "mcr.svg"))
    told("deal", "riichi", "--dice", "3,4", "--svg", str(tmp_path / "riichi.svg"))
    told("deal", "mcr", "--dice", "6,2", "--dice", "6,4", "--kongs", "91")
    told("deal", "g71", "--dice", "3,4", "--svg", str(tmp_path / "g71.svg"))
    for seat in "012":
        told("deal", "sanma", "--dice", "3,4", "--dealer", seat, "--svg", str(tmp_path / "sanma.svg"))
    for rule_id in TITLES:
        told("show", rule_id)
    for arguments, _, _ in REFUSED.values():
        rules(*arguments)
    texts = {key for key in TEXTS.keys() if key.startswith(OURS)}  # noqa: SIM118
    assert {key for key in texts - used if not key.startswith("rule_page.unwritable.")} == set()
