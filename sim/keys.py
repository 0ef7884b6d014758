"""The keys of the remote that lies on the simulated table."""

import tomllib
from functools import cache
from pathlib import Path

from sim.remote import Press

_FILE = Path(__file__).parent / "models" / "remote.toml"


@cache
def _remote() -> tuple[int, dict[str, int]]:
    table = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return table["user_code"], table["keys"]


def names() -> tuple[str, ...]:
    """Return what is printed on the keys."""
    return tuple(_remote()[1])


def press(key: str, held_us: int = 0) -> Press:
    """Return a press of the key of that name; KeyError where there is none."""
    user_code, keys = _remote()
    return Press(user_code, keys[key], held_us)
