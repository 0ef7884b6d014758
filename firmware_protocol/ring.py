"""The board's events: numbered 1…255 on a ring, repeated until acknowledged, delivered once and in order."""

from dataclasses import dataclass, field

from firmware_protocol.message import Message

REPEAT_US = 100_000
KEPT = 16  # unacknowledged events; the oldest gives way, and its loss is told


def steps(number: int, last: int) -> int:
    """Return how many steps on the ring `number` comes after `last`; 0, before the first, is as 255."""
    return (number - last) % 255


@dataclass(slots=True)
class EventOutbox:
    """The board's side: what has been raised and not yet acknowledged."""

    last: int = 0
    pending: list[tuple[int, Message]] = field(default_factory=list)

    def add(self, message: Message) -> int:
        """Number an event and keep it."""
        self.last = self.last % 255 + 1
        self.pending = [*self.pending[-(KEPT - 1) :], (self.last, message)]
        return self.last

    @property
    def oldest(self) -> int:
        """Return the oldest number that is still kept."""
        return self.pending[0][0]

    def acknowledge(self, number: int) -> bool:
        """Forget everything up to `number`; False for a number that nobody waits for."""
        for index, (kept, _) in enumerate(self.pending):
            if kept == number:
                del self.pending[: index + 1]
                return True
        return False

    def holds(self, number: int) -> bool:
        """Tell whether this event still waits for its acknowledgement."""
        return any(kept == number for kept, _ in self.pending)


@dataclass(slots=True)
class EventInbox:
    """The host's side: which event is the next."""

    last: int = 0

    def take(self, number: int, oldest: int) -> tuple[bool, int]:
        """Tell whether this event is to be delivered now, and how many before it are lost for good."""
        lost = 0
        if (gone := steps(oldest, self.last) - 1) in range(1, 127):
            lost = gone
            self.last = (self.last + gone - 1) % 255 + 1
        if not number or steps(number, self.last) != 1:
            return False, lost
        self.last = number
        return True, lost
