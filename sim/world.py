"""Virtual time: a heap of (time, core, order) that drives cores, and wires that cost a byte-time per byte."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firmware_protocol.core import TICK, Core

BYTE_NS = 86_806  # ten bits at 115,200 baud

Route = Callable[[Any, int], None]


@dataclass(slots=True)
class _Member:
    name: str
    core: Core
    route: Route
    planned_us: int | None = None


class World:
    """Drives its members in one thread; nothing in it knows what time it is outside."""

    def __init__(self) -> None:
        self.now_us = 0
        self._members: list[_Member] = []
        self._index: dict[str, int] = {}
        self._heap: list[tuple[int, int, int, Any]] = []
        self._order = 0

    def add(self, name: str, core: Core, route: Route) -> None:
        """Add a core; `route(effect, now_us)` is called for each of its effects."""
        self._index[name] = len(self._members)
        self._members.append(_Member(name, core, route))
        self._plan(self._index[name])

    def replace(self, name: str, core: Core) -> None:
        """Let another core take a member's place: a host that has restarted."""
        index = self._index[name]
        self._members[index].core = core
        self._members[index].planned_us = None
        self._plan(index)

    def post(self, time_us: int, name: str, event: Any) -> None:
        """Let a core get an event at a time."""
        self._push(max(time_us, self.now_us), self._index[name], event)

    def run(self, until_us: int, stop: Callable[[], bool] | None = None) -> bool:
        """Go on until a time, or until `stop` holds after an event; tell whether it did."""
        while self._heap and self._heap[0][0] <= until_us:
            time_us, index, _, event = heapq.heappop(self._heap)
            member = self._members[index]
            self.now_us = time_us
            if event is TICK:
                if member.planned_us != time_us:
                    continue  # another has taken its place
                member.planned_us = None
            for effect in member.core.handle(event, time_us):
                member.route(effect, time_us)
            deadline = self._plan(index)
            if event is TICK and deadline is not None and deadline <= time_us:
                raise RuntimeError(f"{member.name}: after a tick its deadline is not later than now")
            if stop is not None and stop():
                return True
        self.now_us = max(self.now_us, until_us)
        return False

    def _plan(self, index: int) -> int | None:
        """Plan a member's next tick, and return its deadline."""
        member = self._members[index]
        deadline = member.core.next_deadline()
        planned = None if deadline is None else max(deadline, self.now_us)
        if planned is not None and planned != member.planned_us:
            self._push(planned, index, TICK)
        member.planned_us = planned
        return deadline

    def _push(self, time_us: int, index: int, event: Any) -> None:
        self._order += 1
        heapq.heappush(self._heap, (time_us, index, self._order, event))


@dataclass(slots=True)
class Wire:
    """One direction of a serial line: bytes queue and take their time, then come in one piece."""

    deliver: Callable[[int, bytes], None]
    latency_us: int = 1_000
    bytes_sent: int = 0
    _free_ns: int = field(default=0)

    def send(self, data: bytes, now_us: int) -> None:
        """Put bytes on the wire."""
        self.bytes_sent += len(data)
        self._free_ns = max(self._free_ns, now_us * 1000) + len(data) * BYTE_NS
        self.deliver(-(-self._free_ns // 1000) + self.latency_us, data)
