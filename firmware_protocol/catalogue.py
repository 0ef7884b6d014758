"""Texts in English and Chinese: TOML files of `key = { en = "…", zh = "…" }`, looked up by dotted key."""

import argparse
import locale
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh")


def language(wanted: str | None = None, environ: Mapping[str, str] = os.environ) -> str:
    """Return `wanted`, else the language of the environment: "zh" for a Chinese locale, "en" for all else."""
    if wanted in LANGUAGES:
        return wanted
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := environ.get(name):
            code = locale.normalize(value)
            return "zh" if code.lower().startswith("zh") else "en"
    return "en"


def asked_language(arguments: Sequence[str]) -> str:
    """Return the language of --lang before the parser is made, for its own texts are in it."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--lang", default=None)
    return language(first.parse_known_args(arguments)[0].lang)


class Catalogue:
    """All texts of one package, read from its TOML files."""

    def __init__(self, *files: Path) -> None:
        self._texts: dict[str, dict[str, str]] = {}
        for file in files:
            with file.open("rb") as stream:
                for key, text in _leaves(tomllib.load(stream)):
                    if key in self._texts:
                        raise ValueError(f"{file}: the text {key} stands in two files")
                    self._texts[key] = text

    def __call__(self, key: str, lang: str, /, **values: object) -> str:
        """Return the text `key` in `lang` with `values` filled in; KeyError for an unknown key."""
        return self._texts[key][lang].format(**values)

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def keys(self) -> tuple[str, ...]:
        """Return every key."""
        return tuple(self._texts)

    def both(self, key: str) -> dict[str, str]:
        """Return the raw text of `key` in every language."""
        return dict(self._texts[key])


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    for key, value in table.items():
        if all(isinstance(v, str) for v in value.values()) and set(value) & set(LANGUAGES):
            yield prefix + key, dict(value)
        else:
            yield from _leaves(value, f"{prefix}{key}.")
