"""What this package says to people, in English and Chinese."""

from pathlib import Path

from firmware_protocol.catalogue import Catalogue

TEXTS = Catalogue(Path(__file__).with_suffix(".toml"))
