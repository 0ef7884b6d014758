"""No text is missing in one language, no code or reason goes without its text."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from conftest import ROOT

from firmware_protocol.catalogue import LANGUAGES, Catalogue, language
from firmware_protocol.codes import FailReason
from firmware_protocol.host_types import DownReason
from firmware_protocol.texts import TEXTS as WIRE_TEXTS
from sim.__main__ import TEXTS as SIM_TEXTS
from sim.board.describe import LAMPS
from tablectl.cli.main import main
from tablectl.table import panel
from tablectl.table.cycle import Refuse, State, Trigger, cell
from tablectl.table.faults import catalogue
from tablectl.texts import TEXTS

CHINESE = range(0x4E00, 0xA000)


def fields(text: str) -> set[str]:
    return {name.partition("!")[0] for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("texts", [TEXTS, SIM_TEXTS, WIRE_TEXTS], ids=["tablectl", "sim", "wire"])
def test_no_text_is_in_one_language_only_or_filled_differently(texts: Catalogue) -> None:
    for key in texts.keys():  # noqa: SIM118
        both = texts.both(key)
        assert set(both) == set(LANGUAGES), key
        assert fields(both["en"]) == fields(both["zh"]), key
        names_only = not re.search("[a-z]{2}", both["en"])  # of frames, which are the same everywhere
        assert any(ord(c) in CHINESE for c in both["zh"]) or names_only or key == "config.fine", key
        assert not any(ord(c) in CHINESE for c in both["en"]), key


def raised_codes() -> set[str]:
    codes = set()
    for file in (ROOT / "tablectl").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
                if len(text) == 3 and text[0] == "E" and text[1:].isdigit():
                    codes.add(text)
    return codes


def test_every_fault_code_has_an_entry_and_every_entry_is_used() -> None:
    assert raised_codes() == set(catalogue())


def test_no_fault_lacks_a_meaning_a_cause_or_a_remedy() -> None:
    for entry in catalogue().values():
        assert entry.severity in ("stop", "warn")
        assert entry.causes, entry.code
        for text in (entry.name, entry.means, entry.remedy, *entry.causes):
            assert set(text) == set(LANGUAGES), entry.code
            assert fields(text["en"]) == fields(text["zh"]), entry.code
            assert any(ord(c) in CHINESE for c in text["zh"]), entry.code


def test_no_refusal_of_the_cycle_goes_without_a_reason() -> None:
    for state in State:
        assert f"state.{state}" in TEXTS
        for trigger in Trigger:
            found = cell(state, trigger)
            if isinstance(found, Refuse):
                assert found.reason in TEXTS, found.reason


def test_no_word_on_the_display_goes_without_a_meaning() -> None:
    for word in (*panel.WORDS.values(), panel.READY, panel.DICE, panel.SAME):
        assert f"panel.{word}" in TEXTS
        assert len(word) == 4


def test_no_lamp_or_tone_goes_without_a_meaning() -> None:
    for lamp in LAMPS:
        kind = {"dealer": "dealer.S3", "streak": "streak.3"}.get(lamp.partition(".")[0], lamp)
        assert f"lamp.{kind}" in TEXTS
    tones = {name.removeprefix("BEEP_").removesuffix("_MS").lower() for name in vars(panel) if "BEEP" in name}
    assert tones == {"ready", "closing", "fault"}
    for tone in tones:
        assert f"buzzer.{tone}" in TEXTS


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_table_of_the_panel_leaves_nothing_out(lang: str) -> None:
    told = CliRunner().invoke(main, ["panel", "--lang", lang])
    assert told.exit_code == 0
    for key in TEXTS.keys():  # noqa: SIM118
        if key.startswith(("panel.", "lamp.", "buzzer.")):
            assert TEXTS(key, lang) in told.output


def keys_in_the_code(package: str, texts: Catalogue) -> set[str]:
    """Every literal that looks like a key of the catalogue's families."""
    families = {key.partition(".")[0] for key in texts.keys()}  # noqa: SIM118
    found = set()
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                family, _, rest = node.value.partition(".")
                if family in families and rest and rest.replace(".", "").replace("_", "").isalnum():
                    found.add(node.value)
    return {key for key in found if not key.endswith((".", ".toml", ".py", ".db"))}


@pytest.mark.parametrize(
    ("package", "texts"), [("tablectl", TEXTS), ("firmware_protocol", WIRE_TEXTS)], ids=["tablectl", "wire"]
)
def test_no_key_in_the_code_is_missing_in_the_catalogue(package: str, texts: Catalogue) -> None:
    found = keys_in_the_code(package, texts)
    assert len(found) > 20
    assert {key for key in found if key not in texts} == set()


def test_no_error_of_the_wire_is_raised_with_a_bare_text() -> None:
    for file in (ROOT / "firmware_protocol").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
                ("DescriptionError", "FrameTooLongError", "MessageError", "Told")
            ):
                key = node.args[0]
                assert not isinstance(key, ast.JoinedStr), f"{file}: {ast.unparse(node)}"
                assert not isinstance(key, ast.Constant) or key.value in WIRE_TEXTS, f"{file}: {key.value}"


def test_no_end_of_a_session_and_no_failure_of_an_order_goes_without_a_text() -> None:
    reasons = [reason for reason in DownReason if reason is not DownReason.CLEARED]  # nobody is told of it
    for name in (*reasons, *(reason.name for reason in FailReason), "NOT_SENT"):
        assert f"reason.{name}" in TEXTS, name


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize("path", list(commands(main)), ids=" ".join)
def test_no_command_lacks_help_with_an_example(path: tuple[str, ...]) -> None:
    told = CliRunner().invoke(main, [*path, "--help"])
    assert told.exit_code == 0
    assert "Example: tablectl " + path[0] in " ".join(told.output.split())


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LC_ALL": "zh_TW.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
        ({"LC_ALL": "C.UTF-8", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_environment_does_not_choose_a_wrong_language(environment: dict[str, str], expected: str) -> None:
    assert language(None, environment) == expected
    assert language("zh", environment) == "zh"


def test_a_text_that_stands_twice_is_refused(tmp_path: Path) -> None:
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text('[x]\ny = { en = "1", zh = "一" }\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"x\.y"):
        Catalogue(tmp_path / "a.toml", tmp_path / "b.toml")
