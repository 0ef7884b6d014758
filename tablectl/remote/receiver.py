"""From what a receiver hears to keys: decoder, pairing and keymap in one core.

A table obeys the user codes it is paired with. Everything else is counted and told, never obeyed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from firmware_protocol.core import Tick, earliest
from tablectl.remote.keymap import Keymap
from tablectl.remote.lircd import LircdReader
from tablectl.remote.nec import Decoded, Frame, NecDecoder, Reject, Repeat, Words
from tablectl.remote.trouble import InputTrouble, Trouble
from tablectl.table.intents import Intent, Key, Phase

__all__ = ["Effect", "Event", "Foreign", "LircdBytes", "Lost", "Receiver", "Stats", "UnknownKey", "Words"]

# A key is up when no repeat came for this long: two periods of 108 ms and the time it takes to read one.
RELEASE_AFTER_US = 250_000
# Some remotes send the whole frame again instead of a repeat code, every 90 to 110 ms. No finger presses
# twice in that time, so it is one press that goes on.
SAME_PRESS_WITHIN_US = 120_000


@dataclass(frozen=True, slots=True)
class LircdBytes:
    """Bytes from lircd's socket, cut anywhere."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Lost:
    """The device or the daemon behind it is gone; `why` is the system's word for it, `trouble` ours."""

    why: str = ""
    trouble: Trouble | None = None
    path: str = ""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A frame of a remote that this table is not paired with."""

    user_code: int
    data_code: int


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key of a paired remote that the keymap does not name."""

    user_code: int
    data_code: int


@dataclass(frozen=True, slots=True)
class Stats:
    """What was heard since the start."""

    frames: int
    repeats: int
    rejects: Mapping[str, int]
    foreign: int
    unknown: int


Event = Words | LircdBytes | Lost | Tick
Effect = Key | Foreign | UnknownKey


@dataclass(slots=True)
class _Down:
    frame: Frame
    source: str
    intent: Intent
    up_at_us: int
    held_us: int = 0

    def key(self, phase: Phase) -> Key:
        return Key(self.source, self.intent, phase, self.held_us)


class Receiver:
    """One infrared input of the table, whichever source feeds it.

    `paired` holds user codes: up to 0xFF one of 8 bits with its inverse on the air, above an extended one.
    """

    def __init__(self, paired: Iterable[int], keymap: Keymap) -> None:
        self._paired = frozenset(paired)
        self._keymap = keymap
        self._nec = NecDecoder()
        self._lircd = LircdReader()
        self._down: _Down | None = None
        self._heard: Frame | None = None
        self._heard_us = 0
        self._count: Counter[str] = Counter()
        self._rejects: Counter[str] = Counter()
        self.trouble: InputTrouble | None = None  # why the input was lost last

    def handle(self, event: Event, now_us: int) -> tuple[Effect, ...]:
        """Take bytes, a loss or time in; return keys, foreign frames and unknown keys in order."""
        out: list[Effect] = []
        if self._down and now_us >= self._down.up_at_us:
            self._release(out)
        match event:
            case LircdBytes(data):
                for decoded in self._lircd.feed(data, now_us):
                    self._decoded(decoded, now_us, out)
            case Lost(why, trouble, path):
                self._nec, self._lircd, self._heard = NecDecoder(), LircdReader(), None
                self._release(out)
                self.trouble = InputTrouble(trouble, path, why) if trouble else None
            case Words() | Tick():
                for decoded in self._nec.handle(event, now_us):
                    self._decoded(self._same_press(decoded), now_us, out)
        return tuple(out)

    def next_deadline(self) -> int | None:
        """Return when a key goes up or a gap is proven, whichever is first, or None."""
        return earliest(self._nec.next_deadline(), self._down.up_at_us if self._down else None)

    def stats(self) -> Stats:
        """Return the counters as they stand."""
        count = self._count
        rejects = MappingProxyType(dict(self._rejects))
        return Stats(count["frames"], count["repeats"], rejects, count["foreign"], count["unknown"])

    def _same_press(self, decoded: Decoded) -> Decoded:
        """Turn a whole frame sent again for a held key into the repeat that it means."""
        if isinstance(decoded, Reject):
            return decoded
        frame = decoded if isinstance(decoded, Frame) else decoded.frame
        heard, since_us = self._heard, decoded.t_us - self._heard_us
        self._heard, self._heard_us = frame, decoded.t_us
        if (
            isinstance(decoded, Frame)
            and heard
            and heard.raw == frame.raw
            and since_us <= SAME_PRESS_WITHIN_US
        ):
            return Repeat(decoded.t_us, frame)
        return decoded

    def _decoded(self, decoded: Decoded, now_us: int, out: list[Effect]) -> None:
        match decoded:
            case Reject(_, reason):
                self._rejects[reason.value] += 1
            case Repeat(t_us, frame):
                self._count["repeats"] += 1
                # A repeat read after its key went up is late, and no press.
                if self._down and self._down.frame.raw == frame.raw:
                    self._down.held_us = t_us - self._down.frame.t_us
                    self._down.up_at_us = now_us + RELEASE_AFTER_US
                    out.append(self._down.key(Phase.HELD))
            case Frame():
                self._count["frames"] += 1
                self._release(out)
                self._press(decoded, now_us, out)

    def _press(self, frame: Frame, now_us: int, out: list[Effect]) -> None:
        user, data = frame.user_code, frame.data_code
        # An extended code below 256 reads like an 8-bit one: another remote, or one wrong bit.
        if user not in self._paired or (frame.protocol == "necx" and user <= 0xFF):
            self._count["foreign"] += 1
            out.append(Foreign(user, data))
        elif (intent := self._keymap.keys.get(data)) is None:
            self._count["unknown"] += 1
            out.append(UnknownKey(user, data))
        else:
            source = f"remote:0x{user:0{2 if user <= 0xFF else 4}X}"
            self._down = _Down(frame, source, intent, now_us + RELEASE_AFTER_US)
            out.append(self._down.key(Phase.DOWN))

    def _release(self, out: list[Effect]) -> None:
        if self._down:
            out.append(self._down.key(Phase.UP))
            self._down = None
