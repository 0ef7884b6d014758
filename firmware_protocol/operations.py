"""Operation ids: what the board remembers of them, and what the host can say when a session ends."""

from collections import OrderedDict
from dataclasses import dataclass

from firmware_protocol.message import Message
from firmware_protocol.messages import Accepted, Done, Failed
from firmware_protocol.window import Entry

RESULTS = 8


class ResultTable:
    """The board's: an operation that is known is answered from here and never executed again."""

    def __init__(self) -> None:
        self._running: set[int] = set()
        self._results: OrderedDict[int, Done | Failed] = OrderedDict()

    def begin(self, op: int) -> tuple[Message, ...] | None:
        """Note a new operation and return None; return the answers to one that was begun before."""
        if op in self._results:
            return (self._results[op],)
        if op in self._running:
            return (Accepted(op),)
        self._running.add(op)
        return None

    def end(self, result: Done | Failed) -> None:
        """Keep a result, and the seven before it."""
        self._running.discard(result.op)
        self._results[result.op] = result
        self._results.move_to_end(result.op)
        while len(self._results) > RESULTS:
            self._results.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is known of the commands that a session's end left open, by operation id, in the order given."""

    not_executed: tuple[int, ...] = ()  # never left, or proven not received
    unknown: tuple[int, ...] = ()


class OpenOrders:
    """The host's: orders whose Done or Failed has not come."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[int, Entry]] = {}

    def begin(self, op: int, number: int, entry: Entry) -> None:
        """Note an order: its message number and its frame."""
        self._open.setdefault(op, (number, entry))

    def end(self, op: int) -> None:
        """Forget an order that has ended."""
        self._open.pop(op, None)

    def of_frame(self, number: int, sequence: int) -> int | None:
        """Return the latest open order with that message number and frame sequence."""
        for op, (known, entry) in reversed(self._open.items()):
            if known == number and entry.sequence == sequence and entry.departed_us is not None:
                return op
        return None

    def settle(self, proven: bool) -> Outcome:
        """Close the books; `proven`: the board has said how far it had received."""
        not_executed: list[int] = []
        unknown: list[int] = []
        for op, (_, entry) in self._open.items():
            absent = entry.departed_us is None or (proven and not entry.acknowledged)
            (not_executed if absent else unknown).append(op)
        self._open.clear()
        return Outcome(tuple(not_executed), tuple(unknown))
