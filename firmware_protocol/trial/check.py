"""What a check is, and how it gets onto the list of its room."""

from collections.abc import Callable
from dataclasses import dataclass

from firmware_protocol.trial.hand import Hand


class NothingToTryError(Exception):
    """What a check tries is not to be found at this board now: it is skipped."""


Run = Callable[[Hand], str | None]


@dataclass(frozen=True, slots=True)
class Check:
    """One promise of PROTOCOL.md; `run` returns what came where it was broken. Texts stand in texts.toml."""

    name: str
    moves: bool
    run: Run


def onto(checks: list[Check]) -> Callable[..., Callable[[Run], Run]]:
    """Return a decorator `(name, moves=False)` that puts a function on a list of checks."""

    def check(name: str, moves: bool = False) -> Callable[[Run], Run]:
        def register(run: Run) -> Run:
            checks.append(Check(name, moves, run))
            return run

        return register

    return check
