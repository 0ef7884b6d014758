"""Ports to a simulated board for the conformance suite: one in virtual time, one a real pty."""

import os
import select
import threading
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from firmware_protocol.core import TICK
from sim.table import SimTable, TableOptions, WireIn, WireOut

LATENCY_US = 2_000  # there and back


class VirtualPort:
    """A board in the same thread; reading lets its time pass."""

    def __init__(self, table: SimTable | None = None) -> None:
        self.table = table or SimTable(TableOptions(hands=0))
        self._now = 0
        self._coming: list[tuple[int, bytes]] = []

    def now_us(self) -> int:
        return self._now

    def write(self, data: bytes) -> None:
        self._take(self.table.handle(WireIn(data), self._now))

    def read(self, until_us: int) -> bytes:
        while True:
            arrives = self._coming[0][0] if self._coming else None
            due = self.table.next_deadline()
            then = min(t for t in (arrives, due, until_us) if t is not None)
            if then >= until_us and arrives != then:
                self._now = max(self._now, until_us)
                return b""
            self._now = max(self._now, then)
            if arrives is not None and arrives <= self._now:
                return self._coming.pop(0)[1]
            self._take(self.table.handle(TICK, self._now))

    def _take(self, effects: object) -> None:
        for effect in effects:
            if isinstance(effect, WireOut):
                self._coming.append((self._now + LATENCY_US, effect.data))


@contextmanager
def board_on_a_pty(uid: bytes = b"SIM00001") -> Iterator[str]:
    """Run a simulated board in real time behind a pty; give the path of its port."""
    board, port = os.openpty()
    tty.setraw(port)
    path = os.ttyname(port)
    over = threading.Event()
    thread = threading.Thread(target=_serve, args=(board, over, uid))
    thread.start()
    try:
        yield path
    finally:
        over.set()
        thread.join()
        os.close(board)
        os.close(port)


def _serve(fd: int, over: threading.Event, uid: bytes) -> None:
    table = SimTable(TableOptions(hands=0))
    table.board._uid = uid
    start = time.monotonic_ns() // 1000
    while not over.is_set():
        now = time.monotonic_ns() // 1000 - start
        due = table.next_deadline()
        wait_us = 20_000 if due is None else min(20_000, max(0, due - now))
        ready, _, _ = select.select([fd], [], [], wait_us / 1_000_000)
        event = WireIn(os.read(fd, 4096)) if ready else TICK
        for effect in table.handle(event, time.monotonic_ns() // 1000 - start):
            if isinstance(effect, WireOut):
                os.write(fd, effect.data)
