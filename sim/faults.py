"""Faults of the simulated table: `kind:part@time`, for example `disconnected:stacker.S3@0s`."""

import re
from dataclasses import dataclass

_SPEC = re.compile(r"(?P<kind>[a-z-]+):(?P<part>[A-Za-z0-9.]+)(?:@(?P<time>\d+(?:\.\d+)?)s)?")
KINDS = {"disconnected": "the motor of a stacker, lift or the console has lost its plug"}


class FaultSpecError(ValueError):
    """A fault that the simulated table cannot have; the text says why."""


@dataclass(frozen=True, slots=True)
class FaultSpec:
    """One fault at one time after the start."""

    kind: str
    part: str
    at_us: int


def parse(spec: str, parts: tuple[str, ...]) -> FaultSpec:
    """Read a fault; `parts` are the names of the table's motors."""
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise FaultSpecError(f"{spec!r} is no fault; write kind:part@time, as in disconnected:stacker.S3@12s")
    if match["kind"] not in KINDS:
        raise FaultSpecError(f"{match['kind']!r} is no kind of fault; there are {', '.join(KINDS)}")
    cranks = tuple(p for p in parts if p.partition(".")[0] in ("stacker", "lift", "console"))
    if match["part"] not in cranks:
        raise FaultSpecError(f"no part {match['part']!r} can be disconnected; there are {', '.join(cranks)}")
    return FaultSpec(match["kind"], match["part"], round(float(match["time"] or 0) * 1_000_000))
