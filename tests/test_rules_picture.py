"""The picture of a break and a deal: what is drawn lies where it lies on the table, and is whose it is."""

import cmath
import dataclasses
import itertools
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from conftest import ROOT
from geometries import GEOMETRIES
from hypothesis import given, settings
from hypothesis import strategies as st

from tablectl.cli.main import main
from tablectl.rules.deal import deal
from tablectl.rules.grabs import grabs
from tablectl.rules.model import Dealing, Last, RuleSet
from tablectl.rules.picture import View, draw
from tablectl.rules.ruleset import available, load
from tablectl.rules.tail import rest
from tablectl.texts import LANGUAGES, TEXTS

SVG = "{http://www.w3.org/2000/svg}"
RULES = available()
# Rule sets that are one game at the table are drawn alike.
DRAWN = tuple(ids[0] for ids in GEOMETRIES.values())
README_PICTURE = ROOT / ".github" / "riichi-deal.svg"
README_COMMAND = "tablectl rules deal riichi --dice 3,4 --svg deal.svg"


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["rules", *arguments])
    assert (result.exit_code, result.stderr) == (0, ""), result.stderr
    return result.stdout


def drawn(tmp_path: Path, *arguments: str) -> tuple[ElementTree.Element, dict[str, Any]]:
    """Return a picture and what the same command tells a program."""
    file = tmp_path / "table.svg"
    found = json.loads(run(*arguments, "--json", "--svg", str(file)))
    return ElementTree.fromstring(file.read_text(encoding="utf-8")), found


def dice_of(rule: RuleSet, face: int = 3) -> list[str]:
    throw = ",".join(itertools.islice(itertools.cycle((str(face), "4")), rule.dice.count))
    return list(itertools.chain.from_iterable(("--dice", throw) for _ in range(rule.dice.throws)))


def tiles(picture: ElementTree.Element) -> dict[str, ElementTree.Element]:
    found = [element for element in picture.iter(f"{SVG}rect") if element.get("data-place")]
    named = {str(element.get("data-place")): element for element in found}
    assert len(named) == len(found), "a tile is drawn twice"
    return named


def box(element: ElementTree.Element) -> tuple[float, float, float, float]:
    x, y, width, height = (float(element.get(name) or "nan") for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def middle(element: ElementTree.Element) -> complex:
    x1, y1, x2, y2 = box(element)
    return complex((x1 + x2) / 2, -(y1 + y2) / 2)  # up is up


def words(picture: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in picture.iter(f"{SVG}text")]


def of_rule(rule: RuleSet, dealer: int, throws: Any, lang: str = "en", kongs: int = 0) -> ElementTree.Element:
    dealt = deal(rule, dealer, throws)
    after = rest(rule, dealt, kongs, throws=throws)
    view = View(rule, dealer, throws, dealt.opening, lang, dealt, grabs(rule, dealer, dealt), after)
    return ElementTree.fromstring(draw(view))


@pytest.mark.parametrize("rule_id", DRAWN)
def test_no_tile_is_drawn_as_anothers_or_forgotten(rule_id: str, tmp_path: Path) -> None:
    rule = load(rule_id)
    kongs = "2" if rule.tail.kong != "none" else "0"
    for dealer in rule.players:
        arguments = ("deal", rule_id, *dice_of(rule, 5), "--dealer", str(dealer), "--kongs", kongs)
        picture, found = drawn(tmp_path, *arguments)
        shown = tiles(picture)
        assert len(shown) == rule.total
        taken = {
            place: (str(seat["seat"]), str(grab["number"]))
            for seat in found["seats"]
            for grab in seat["grabs"]
            for place in grab["places"]
        }
        assert {
            place: (tile.get("data-seat"), tile.get("data-grab"))
            for place, tile in shown.items()
            if tile.get("data-seat")
        } == taken
        turned = {*found["indicators"], *found["drawn_last"]}
        assert (rule.indicator is None) == (not turned)
        expected = {name: set(found[name]) for name in ("live", "replacements", "left")}
        expected["live"] -= turned
        for use, of in zip(("live", "replacement", "left"), expected, strict=True):
            assert {p for p, tile in shown.items() if tile.get("data-use") == use} == expected[of]
        assert {p for p, tile in shown.items() if tile.get("data-use") == "indicator"} == turned
        next_draw = [e.get("data-next") for e in picture.iter() if e.get("data-next")]
        assert next_draw == [found["next_draw"]]


@pytest.mark.parametrize("rule_id", DRAWN)
def test_the_picture_does_not_turn_the_table_or_mirror_it(rule_id: str, tmp_path: Path) -> None:
    rule = load(rule_id)
    picture, _ = drawn(tmp_path, "break", rule_id, *dice_of(rule))
    shown = {place: middle(tile) for place, tile in tiles(picture).items()}
    for place, spot in shown.items():
        # Seat 0 sits below, the next one at his right hand: compass points, as people see the table.
        seat = int(place[1])
        assert max(range(4), key=lambda k: (spot / (-1j * 1j**k)).real) == seat, place
    lower = {place[:-1]: spot for place, spot in shown.items() if place[-1] == "B"}
    walk = sorted(
        lower, key=lambda it: -cmath.phase(lower[it] * cmath.exp(0.25j * cmath.pi))
    )  # from wall 1 on
    walls = {w: [f"w{w}s{n}" for n in range(1, rule.walls.stacks(w) + 1)] for w in range(4)}
    around = [stack for wall in (0, 3, 2, 1) for stack in walls[wall]]  # clockwise, up the numbers
    start = around.index(walk[0])
    assert walk == around[start:] + around[:start]
    for place, spot in shown.items():
        if place[-1] == "T":
            assert abs(spot) < abs(lower[place[:-1]]), "the upper tile is not nearer the middle"


@pytest.mark.parametrize("arguments", [("break",), ("deal", "--kongs", "1")], ids=" ".join)
@pytest.mark.parametrize("rule_id", DRAWN)
def test_no_tile_hides_another_and_none_lies_outside(
    rule_id: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    word, *more = arguments
    more = [] if load(rule_id).tail.kong == "none" else more
    picture, _ = drawn(tmp_path, word, rule_id, *dice_of(load(rule_id)), *more)
    inside(picture)


def inside(picture: ElementTree.Element) -> None:
    left, top, width, height = map(float, str(picture.get("viewBox")).split())
    boxes = [box(tile) for tile in tiles(picture).values()]
    for x1, y1, x2, y2 in boxes:
        assert left < x1 < x2 < left + width
        assert top < y1 < y2 < top + height
    for (ax1, ay1, ax2, ay2), (bx1, by1, bx2, by2) in itertools.combinations(boxes, 2):
        assert ax2 <= bx1 or bx2 <= ax1 or ay2 <= by1 or by2 <= ay1
    for element in picture.iter():
        for name, at, size in (
            ("x", left, width),
            ("cx", left, width),
            ("y", top, height),
            ("cy", top, height),
        ):
            if value := element.get(name):
                assert at <= float(value) <= at + size, ElementTree.tostring(element)
        for x, y in (map(float, point.split(",")) for point in (element.get("points") or "").split()):
            assert left < x < left + width
            assert top < y < top + height


WALLS = st.sampled_from([
    ((36, 0, 35, 0), (0, 2)),
    ((36, 36, 36, 0), (0, 1, 2)),
    ((28, 26, 28, 26), (0, 1, 2)),
    ((44, 44, 44, 44), (0, 1, 2, 3)),
    ((21, 22, 20, 21), (0, 1, 2, 3)),
    ((37, 37, 37, 37), (0, 1, 2, 3)),
])  # fmt: skip
DIE = st.integers(1, 6)


@settings(max_examples=60)
@given(
    WALLS,
    st.data(),
    st.tuples(DIE, DIE),
    st.integers(0, 4),
    st.sampled_from(Last),
    st.sampled_from(LANGUAGES),
)
def test_no_shape_of_walls_and_no_number_of_players_breaks_the_picture(
    shape: tuple[tuple[int, int, int, int], tuple[int, ...]],
    data: st.DataObject,
    throw: tuple[int, int],
    kongs: int,
    last: Last,
    lang: str,
) -> None:
    walls, players = shape
    dealing = Dealing(13, 3, last)
    changes = {"wall_tiles": walls, "players": players, "dealing": dealing}
    rule = dataclasses.replace(load("riichi"), **changes)
    dealer = data.draw(st.sampled_from(players))
    picture = of_rule(rule, dealer, (throw,), lang, kongs)
    inside(picture)
    shown = tiles(picture)
    assert len(shown) == sum(walls)
    dealt = deal(rule, dealer, (throw,))
    for seat in range(4):
        assert {p for p, t in shown.items() if t.get("data-seat") == str(seat)} == set(
            map(str, dealt.grabs[seat])
        )
    for grab in grabs(rule, dealer, dealt):  # who takes it is told by letters too, not by colour alone
        assert [text for text in words(picture) if re.fullmatch(rf"{grab.number}\D", text)]


def test_a_grab_is_not_written_on_tiles_of_another(tmp_path: Path) -> None:
    # Two players: a seat's last tiles lie on a half stack and on both layers of others.
    rule = dataclasses.replace(load("riichi"), wall_tiles=(36, 0, 35, 0), players=(0, 2))
    picture = of_rule(rule, 2, ((3, 4),))
    shown = tiles(picture)
    for text in picture.iter(f"{SVG}text"):
        if match := re.fullmatch(r"(\d+)[DO]", text.text or ""):
            spot = complex(
                float(text.get("x") or 0),
                -float(text.get("y") or 0) + 0.36 * float(text.get("font-size") or 0),
            )
            nearest = min(abs(middle(tile) - spot) for tile in shown.values())
            touched = {t.get("data-grab") for t in shown.values() if abs(middle(t) - spot) < nearest + 1}
            if nearest < 60:  # the legend shows one, too
                assert touched == {match[1]}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_mark_is_not_drawn_without_a_word_on_what_it_means(lang: str) -> None:
    picture = of_rule(load("riichi"), 0, ((3, 4),), lang, kongs=1)
    said = "\n".join(words(picture))
    for key in TEXTS.keys():  # noqa: SIM118
        if key.startswith("picture.legend.") and key != "picture.legend.drawn_last":
            assert TEXTS.both(key)[lang].partition("{")[0] in said, key
    marked = {p for p, tile in tiles(picture).items() if tile.get("data-use") == "indicator"}
    assert marked == {"w2s5T", "w2s4T"}
    last = of_rule(load("g71"), 0, ((3, 4),), lang)
    assert tiles(last)["w0s7T"].get("data-use") == "indicator"
    assert TEXTS("picture.legend.drawn_last", lang) in words(last)
    bare = words(of_rule(load("mcr"), 0, ((3, 4), (1, 1)), lang))
    for key in ("indicator", "drawn_last"):
        assert TEXTS(f"picture.legend.{key}", lang) not in bare


def test_a_break_alone_does_not_give_anybody_tiles(tmp_path: Path) -> None:
    picture, found = drawn(tmp_path, "break", "mcr", "--dice", "6,2", "--dice", "6,4")
    assert {tile.get("data-use") for tile in tiles(picture).values()} == {"wall"}
    assert not any(tile.get("data-seat") or tile.get("data-grab") for tile in tiles(picture).values())
    cut = next(element for element in picture.iter(f"{SVG}line") if element.get("class") == "cut")
    ends = [complex(float(cut.get(f"x{n}") or 0), -float(cut.get(f"y{n}") or 0)) for n in (1, 2)]
    at = sum(ends) / 2
    first = middle(tiles(picture)[f"w{found['wall']}s{found['stack']}T"])
    assert abs(at - first) < 60, "the break is marked away from the first stack"
    assert str(found["passed"]) in words(picture)


def count_line(picture: ElementTree.Element) -> list[complex]:
    line = next(element for element in picture.iter(f"{SVG}polyline") if element.get("class") == "line")
    tip = next(element for element in picture.iter(f"{SVG}polygon")).get("points")
    points = f"{line.get('points')} {str(tip).split()[0]}".split()
    return [complex(float(x), -float(y)) for x, y in (point.split(",") for point in points)]


@pytest.mark.parametrize("rule_id", DRAWN)
def test_the_line_of_the_count_does_not_begin_or_end_elsewhere_than_the_finger(rule_id: str) -> None:
    rule = load(rule_id)
    throws = itertools.product(itertools.product((1, 3, 6), repeat=rule.dice.count), repeat=rule.dice.throws)
    by_sums = {tuple(map(sum, throw)): throw for throw in throws}  # one of each: a count knows no faces
    for throw, dealer in itertools.product(by_sums.values(), rule.players):
        picture, opening = of_rule(rule, dealer, throw), deal(rule, dealer, throw).opening
        line, shown = count_line(picture), tiles(picture)
        counted, wall = (dealer + opening.counted_wall) % 4, (dealer + opening.wall) % 4
        right = min(abs(line[0] - middle(shown[f"w{counted}s{n}T"])) for n in (1, 2))
        first, last = (abs(line[-1] - middle(shown[place])) for place in _beside(rule, wall, opening.stack))
        assert max(right, first, last) < 60, (throw, dealer)
        length = sum(abs(b - a) for a, b in itertools.pairwise(line)) / abs(
            middle(shown["w0s1T"]) - middle(shown["w0s2T"])
        )
        # A line inside the walls is short of the stacks where it begins, and cuts the corner.
        # Walls that are shorter than the picture's square leave room at the corner.
        room = sum(max(14 - rule.walls.stacks(w), 0) / 2 for w in (wall, counted)) * (wall != counted)
        least, most = opening.passed - (1 if wall == counted else 3), opening.passed + room
        assert least < length <= most, (throw, dealer)


def _beside(rule: RuleSet, wall: int, stack: int) -> tuple[str, str]:
    """Return the first stack taken, and the last one counted off beside it on its wall, if there is one."""
    return f"w{wall}s{stack}T", f"w{wall}s{max(stack - 1, 1)}T"


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("rule_id", RULES)
def test_the_title_does_not_leave_out_rule_dice_or_dealer(rule_id: str, lang: str, tmp_path: Path) -> None:
    rule, file = load(rule_id), tmp_path / "table.svg"
    arguments = ("deal", rule_id, *dice_of(rule), "--dealer", "S3", "--lang", lang, "--svg", str(file))
    assert str(file) in run(*arguments)
    picture = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    for said in (picture.findtext(f"{SVG}title") or "", " ".join(words(picture))):
        assert getattr(rule.names, lang) in said
        assert "S3" in said
        assert "3 + 4 = 7" in said or rule.dice.count != 2
    chinese = any("\u4e00" <= letter <= "\u9fff" for letter in "".join(words(picture)))
    assert chinese == (lang == "zh")


def test_the_picture_does_not_need_anything_from_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "table.svg"
    run("deal", "mcr", "--dice", "3,4", "--dice", "3,4", "--svg", str(file))
    text = file.read_text(encoding="utf-8")
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|url\(|@import|<script|<image|<foreignObject", text)
    assert "prefers-color-scheme:dark" in text


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_no_letter_is_hard_to_read_in_light_or_dark(tmp_path: Path) -> None:
    file = tmp_path / "table.svg"
    run("deal", "riichi", "--dice", "3,4", "--svg", str(file))
    light, dark = re.findall(r"<style>(.*)@media[^{]*\{(.*)\}</style>", file.read_text(encoding="utf-8"))[0]
    for sheet in (light, dark):
        fill = dict(re.findall(r"\.([\w-]+)\{fill:(#\w{6})", sheet))
        for letters, grounds in (("ink", ("paper", "felt", "live")), ("soft", ("paper", "felt"))):
            for ground in grounds:
                assert contrast(fill[letters], fill[ground]) >= 4.5, (letters, ground)
    seats = dict(re.findall(r"\.(\w+\d)\{fill:(#\w{6})", light))
    for n in range(4):
        assert contrast(seats[f"seat{n}"], seats[f"on{n}"]) >= 4.5


def test_the_picture_of_the_readme_is_not_an_older_one(tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert README_COMMAND in page
    assert f"]({README_PICTURE.relative_to(ROOT)})" in page
    file = tmp_path / "deal.svg"
    run(*README_COMMAND.removeprefix("tablectl rules ").replace("deal.svg", str(file)).split())
    assert README_PICTURE.read_text(encoding="utf-8") == file.read_text(encoding="utf-8")
