"""Sensors and counts in a report, for a board of any size.

The field `sensors` has the bits of the first 32 sensors. The field `counts` has two bytes for each mouth and,
behind them, the bits of the sensors that are left, eight a byte.
"""

from typing import Protocol

from firmware_protocol.description import Description

_FIRST = 32
_MASK = (1 << _FIRST) - 1


class Report(Protocol):
    """A message that tells sensors and counts."""

    @property
    def sensors(self) -> int:
        """Return the bits of the first 32 sensors."""
        ...

    @property
    def counts(self) -> bytes:
        """Return the counts of each mouth and the bits of the other sensors."""
        ...


def size(known: Description) -> int:
    """Return how many bytes the field `counts` of this board has."""
    more = max(0, len(known.sensors) - _FIRST)
    return 2 * known.mouths + -(-more // 8)


def packed(known: Description, bits: int, counts: bytes) -> tuple[int, bytes]:
    """Return the fields `sensors` and `counts` for the bits of all sensors and two bytes per mouth."""
    more = (bits >> _FIRST).to_bytes(size(known) - len(counts), "little")
    return bits & _MASK, counts + more


def sensor_bits(known: Description, report: Report) -> int:
    """Return the bits of all sensors by their index."""
    return report.sensors | int.from_bytes(report.counts[2 * known.mouths :], "little") << _FIRST


def mouth_counts(known: Description, report: Report) -> bytes:
    """Return two bytes for each mouth."""
    return report.counts[: 2 * known.mouths]
