"""Dice from random bytes, by rejection: every face is exactly as likely as every other."""

LIMIT = 252  # 42 bytes for each face; the four bytes above it are thrown away


def faces(data: bytes, count: int) -> tuple[int, ...] | None:
    """Return `count` faces from random bytes, None where too many of them had to be thrown away."""
    found = tuple(b % 6 + 1 for b in data if b < LIMIT)[:count]
    return found if len(found) == count else None


def bytes_wanted(count: int) -> int:
    """Return how many random bytes almost surely give `count` faces (all but once in 10^13)."""
    return count + 8


def choice(data: bytes, count: int) -> int | None:
    """Return a number below `count` from random bytes, None where too many had to be thrown away."""
    limit = 256 - 256 % count
    return next((b % count for b in data if b < limit), None)
