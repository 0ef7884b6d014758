"""The configuration: a mistake is told with file, line and key, and nothing is started."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT

from tablectl import config
from tablectl.cli.main import main
from tablectl.errors import TablectlError

GOOD = config.EXAMPLE


def refused(text: str | bytes) -> TablectlError:
    content = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(TablectlError) as caught:
        config.parse(content, "table.toml")
    for lang in ("en", "zh"):
        assert "table.toml" in caught.value.text(lang)
    return caught.value


def test_the_example_is_not_refused() -> None:
    found = config.parse(GOOD.encode(), "table.toml")
    assert found.port == "/dev/tablectl-board"
    assert found.user_codes == (0x00,)
    assert found.socket == Path("/run/tablectl/api.sock")


def test_the_example_on_disk_is_not_another_one() -> None:
    assert (ROOT / "udev" / "tablectl.toml").read_text(encoding="utf-8") == GOOD


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


@pytest.mark.parametrize(
    ("old", "new", "key", "what"),
    [
        ("sets = 2", "sets = 3", "table.sets", "config.out_of_range"),
        ("sets = 2", 'sets = "two"', "table.sets", "config.wrong_type"),
        ("sets = 2", "sets = true", "table.sets", "config.wrong_type"),
        ('port = "/dev/tablectl-board"', 'port = "uid:"', "table.port", "config.port"),
        ('port = "/dev/tablectl-board"', 'port = "ttyUSB0"', "table.port", "config.port"),
        ('port = "/dev/tablectl-board"', "port = 3", "table.port", "config.wrong_type"),
        ('rule = "riichi"', 'rule = "chess"', "table.rule", "config.unknown_choice"),
        ('rule = "riichi"', 'rule = ""', "table.rule", "config.wrong_type"),
        ("keymap =", "keymaps =", "remote.keymap", "config.missing_key"),
        ('user_codes = ["0x00"]', 'user_codes = ["0x10000"]', "remote.user_codes", "config.user_code"),
        ('user_codes = ["0x00"]', 'user_codes = ["zero"]', "remote.user_codes", "config.user_code"),
        ('user_codes = ["0x00"]', "user_codes = [0]", "remote.user_codes", "config.wrong_type"),
        ("sets = 2", "sets = 2\nlanguage = 1", "table.language", "config.unknown_key"),
        ("journal =", "seed = 7\njournal =", "service.seed", "config.unknown_key"),
        ("[service]", "[servce]", "service", "config.missing_key"),
    ],
)
def test_a_mistake_does_not_pass_or_hide_its_place(old: str, new: str, key: str, what: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new)
    error = refused(text)
    assert (error.key, error.values["key"]) == (what, key)
    name = key.rpartition(".")[2]
    places = [n for n, line in enumerate(text.splitlines(), 1) if line.startswith((f"{name} ", f"{name}="))]
    if what == "config.missing_key":
        header = f"[{key.rpartition('.')[0]}]"
        places = [line_of(text, header)] if header in text else [1]
    assert error.values["line"] == places[0]


def test_a_key_of_the_same_name_in_another_table_is_not_blamed() -> None:
    text = "[other]\nsets = 1\n" + GOOD.replace("sets = 2", "sets = 9")
    assert refused(text).values["line"] == line_of(text, "sets = 9")


@pytest.mark.parametrize("content", [b"[table", b"\xff\xfe", b"table = 1", b""])
def test_what_is_no_configuration_is_refused(content: bytes) -> None:
    refused(content)


def test_a_bad_remote_input_or_keymap_is_refused() -> None:
    with pytest.raises(TablectlError) as caught:
        config.parse(GOOD.replace("lirc:", "serial:").encode(), "t")
    assert "serial:/dev/lirc0" in str(caught.value)
    with pytest.raises(TablectlError) as caught:
        config.parse(GOOD.replace('keymap = "default"', 'keymap = "nowhere.toml"').encode(), "t")
    assert "nowhere.toml" in str(caught.value)


def test_check_does_not_say_fine_of_a_broken_file(tmp_path: Path) -> None:
    file = tmp_path / "table.toml"
    file.write_text(GOOD)
    fine = CliRunner().invoke(main, ["config", "check", str(file)])
    assert (fine.exit_code, "fine" in fine.output) == (0, True)
    file.write_text(GOOD.replace("sets = 2", "sets = 0"))
    broken = CliRunner().invoke(main, ["config", "check", str(file), "--lang", "zh"])
    assert broken.exit_code == 2
    assert f"{file}:{line_of(GOOD, 'sets = 2')}" in broken.output
    gone = CliRunner().invoke(main, ["config", "check", str(tmp_path / "none.toml")])
    assert gone.exit_code == 2
    assert "none.toml" in gone.output
