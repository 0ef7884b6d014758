"""Every text that a person sees, in English and Chinese; the TOML files beside this one hold them."""

from pathlib import Path

from firmware_protocol.catalogue import LANGUAGES, Catalogue, language

__all__ = ["LANGUAGES", "TEXTS", "language"]

TEXTS = Catalogue(*sorted(Path(__file__).parent.glob("*.toml")))
