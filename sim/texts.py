"""Every text of the simulator that a person sees, in English and Chinese."""

from pathlib import Path

from firmware_protocol.catalogue import Catalogue

TEXTS = Catalogue(Path(__file__).with_name("texts.toml"))
