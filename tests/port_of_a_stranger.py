"""A program: looks for a board on a port as a user without privileges. `port_of_a_stranger.py PATH`.

Each line that it prints is the port's state as JSON, one for each change; it ends when the port is open.
"""

import asyncio
import concurrent.futures.thread  # now: a stranger may not be able to read the library
import json
import os
import sys
import time
from typing import Any

from firmware_protocol.core import TICK
from tablectl.board import port_types as pt
from tablectl.board.port import Port
from tablectl.board.supervisor import Supervisor


async def look(path: str) -> None:
    core = Supervisor(path)
    opened = asyncio.Event()
    timer: asyncio.TimerHandle | None = None

    def dispatch(event: Any) -> None:
        nonlocal timer
        now = time.monotonic_ns() // 1000
        for effect in core.handle(event, now):
            if isinstance(effect, pt.PortOrder):
                port.do(effect)
            elif isinstance(effect, pt.PortTrouble):
                print(json.dumps({"trouble": effect.trouble, "detail": effect.detail}), flush=True)
        if core.is_open:
            print(json.dumps({"open": core.path}), flush=True)
            opened.set()
        if timer:
            timer.cancel()
        if (due := core.next_deadline()) is not None:
            timer = asyncio.get_running_loop().call_later(max(0, due - now) / 1e6, dispatch, TICK)

    port = Port(dispatch)
    dispatch(pt.Begin())
    await opened.wait()
    await port.end()


assert concurrent.futures.thread
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
asyncio.run(look(sys.argv[1]))
