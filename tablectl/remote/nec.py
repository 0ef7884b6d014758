"""NEC frames from pulses, in µs of mark and space.

    frame   9000 4500 leader 引导码 | 32 × (560, 560 or 1690), each byte LSB first: user code 用户码, its
            inverse (or a second byte), data code 数据码, its inverse | 560 end pulse 结束码 | gap
    repeat  9000 2250 | 560 | gap, 重复码, every 108 ms while the key is held

A repeat names no key. Whoever ties it to a key that is long gone invents a press, the commonest fault of
infrared decoders; here it belongs to the frame just before it or to nothing.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from firmware_protocol.core import Tick
from tablectl.remote.pulses import Broken, Pulse, PulseReader, Silence, Timeout

# Remotes run on ceramic resonators, and receivers stretch marks: ±30 % of 9000, 4500 and 2250 µs.
LEADER_MARK_US = range(6300, 11_700 + 1)
LEADER_SPACE_US = range(3150, 5850 + 1)
REPEAT_SPACE_US = range(1575, 2925 + 1)
# Weak signals give marks of 205 µs that are still bits; the spaces between them say which.
MARK_US = range(150, 1000 + 1)
BIT_SPACE_US = range(150, 2200 + 1)
ONE_FROM_US = 1120  # half way between the spaces 560 and 1690
BITS = 32
# Longer codes (48 bits) look like a frame up to here: only silence shows that nothing follows.
GAP_US = 8000
# Edges come in batches of 15 ms: 25 ms after the trailer was read, 8 ms of silence lie behind it.
GAP_DEADLINE_US = 25_000
# Repeats start every 108 ms; one damaged repeat may lie between.
REPEAT_WITHIN_US = 250_000


@dataclass(frozen=True, slots=True)
class Words:
    """Bytes of LIRC mode2 words, cut anywhere."""

    data: bytes


@dataclass(frozen=True, slots=True)
class EndOfInput:
    """Nothing follows: the silence after the last pulse is a gap."""


class Reason(StrEnum):
    """Why something that began like a frame or a repeat was not taken."""

    HEADER = "header"
    MARK = "mark"
    SPACE = "space"
    TRUNCATED = "truncated"
    NO_GAP = "no-gap"
    BROKEN = "broken"
    INVERSE = "inverse"
    ORPHAN_REPEAT = "orphan-repeat"
    NOT_NEC = "not-nec"


@dataclass(frozen=True, slots=True)
class Frame:
    """One whole frame; `t_us` is the start of its leader, `raw` its four bytes in air order."""

    t_us: int
    protocol: Literal["nec", "necx"]
    user_code: int
    data_code: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repeat code: the key of `frame` is still held."""

    t_us: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class Reject:
    """A leader was heard, and no frame or repeat came of it."""

    t_us: int
    reason: Reason


Decoded = Frame | Repeat | Reject


def check(t_us: int, raw: bytes) -> Frame | Reject:
    """Return the frame that four bytes in air order are, or why they are none."""
    user, user_check, data, data_check = raw
    if data ^ data_check != 0xFF:
        return Reject(t_us, Reason.INVERSE)
    if user ^ user_check == 0xFF:
        return Frame(t_us, "nec", user, data, raw)
    return Frame(t_us, "necx", user_check * 256 + user, data, raw)


class NecDecoder:
    """Decode one stream of words; keeps one frame in the making and the last one accepted."""

    def __init__(self) -> None:
        self._reader = PulseReader(tell_from_us=GAP_US)
        self._leader_us: int | None = None  # start of the leader being followed
        self._kind: Literal["frame", "repeat"] | None = None
        self._bits = 0
        self._value = 0
        self._due_us: int | None = None
        self._last: Frame | None = None
        self._last_leader_us = 0

    def handle(self, event: Words | Tick | EndOfInput, now_us: int) -> tuple[Decoded, ...]:
        """Take words, time or the end in; return frames, repeats and rejects in air order."""
        out: list[Decoded] = []
        match event:
            case Words(data):
                # Words that are there say more than a deadline that passed before they were read.
                for item in self._reader.feed(data):
                    if isinstance(item, tuple):
                        self._pulse(item, out)
                    else:
                        self._pause(item, out)
                if self._complete and self._due_us is None:
                    self._due_us = now_us + GAP_DEADLINE_US
            case Tick():
                if self._due_us is not None and now_us >= self._due_us:
                    self._gap(out)
            case EndOfInput():
                self._gap(out)
        return tuple(out)

    def next_deadline(self) -> int | None:
        """Return when the silence after a trailer counts as its gap, or None."""
        return self._due_us

    @property
    def _complete(self) -> bool:
        return self._kind == "repeat" or self._bits == BITS

    def _pause(self, item: Silence | Timeout | Broken, out: list[Decoded]) -> None:
        if isinstance(item, Broken):
            if item.lost:  # an unknown time has passed, so no repeat can be tied to what was before
                self._last = None
            self._reject(Reason.BROKEN, out)
        else:
            self._gap(out)

    def _pulse(self, pulse: Pulse, out: list[Decoded]) -> None:
        t_us, space_us, pulse_us = pulse
        if self._leader_us is not None:
            if not (reason := self._follow(space_us, pulse_us)):
                return
            self._reject(reason, out)
        if pulse_us in LEADER_MARK_US:
            self._leader_us = t_us

    def _follow(self, space_us: int, pulse_us: int) -> Reason | None:
        """Take the space and mark after what is there; return why they do not fit, or None."""
        if self._kind == "frame" and self._bits < BITS:
            if space_us not in BIT_SPACE_US:
                return Reason.SPACE
            self._value |= (space_us >= ONE_FROM_US) << self._bits
            self._bits += 1
        elif self._kind is not None:
            return Reason.NO_GAP
        elif space_us in LEADER_SPACE_US:
            self._kind = "frame"
            # Whatever this frame turns out to be, the repeats after it are not the last key's.
            self._last = None
        elif space_us in REPEAT_SPACE_US:
            self._kind = "repeat"
        else:
            return Reason.HEADER
        return None if pulse_us in MARK_US else Reason.MARK

    def _gap(self, out: list[Decoded]) -> None:
        if self._leader_us is None:
            return
        if not self._complete:
            self._reject(Reason.TRUNCATED, out)
            return
        out.append(self._repeat(self._leader_us) if self._kind == "repeat" else self._frame(self._leader_us))
        self._idle()

    def _frame(self, t_us: int) -> Frame | Reject:
        found = check(t_us, self._value.to_bytes(4, "little"))
        if isinstance(found, Frame):
            self._last, self._last_leader_us = found, t_us
        return found

    def _repeat(self, t_us: int) -> Repeat | Reject:
        if self._last is None or t_us - self._last_leader_us > REPEAT_WITHIN_US:
            return Reject(t_us, Reason.ORPHAN_REPEAT)
        self._last_leader_us = t_us
        return Repeat(t_us, self._last)

    def _reject(self, reason: Reason, out: list[Decoded]) -> None:
        if self._leader_us is not None:
            out.append(Reject(self._leader_us, reason))
            self._idle()

    def _idle(self) -> None:
        self._leader_us = self._kind = self._due_us = None
        self._bits = self._value = 0
