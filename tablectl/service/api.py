"""The programming interface under /v1: JSON over HTTP on a unix socket, and a stream of events, one a line.

No call chooses a tile, a hand, a die or a break; a press through this socket never causes the first motion
after a stop.
"""

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from typing import Any

from aiohttp import web

from tablectl.rules.dealer import Result, Won
from tablectl.rules.gears import PREFIX
from tablectl.table.events import Choose, HandEnded, Jog
from tablectl.table.intents import Intent, Key, Phase

Press = Callable[[Key | Jog | Choose | HandEnded], list[dict[str, Any]]]
Status = Callable[[], dict[str, Any]]
_QUEUE = 1000  # events a slow reader may lag behind before it is cut off


class Api:
    """The handlers and the readers of the event stream."""

    def __init__(self, press: Press, status: Status) -> None:
        self._press = press
        self._status = status
        self._readers: set[asyncio.Queue[dict[str, Any] | None]] = set()

    def application(self) -> web.Application:
        """Return the web application."""
        app = web.Application()
        app.router.add_get("/v1/status", self._get_status)
        app.router.add_post("/v1/press", self._post_press)
        app.router.add_post("/v1/jog", self._post_jog)
        app.router.add_post("/v1/rule", self._post_rule)
        app.router.add_post("/v1/hand", self._post_hand)
        app.router.add_get("/v1/events", self._get_events)
        return app

    def publish(self, event: dict[str, Any]) -> None:
        """Give an event to every reader of the stream."""
        for reader in list(self._readers):
            if reader.qsize() >= _QUEUE:
                self._readers.discard(reader)
                _end(reader, "slow")
            else:
                reader.put_nowait(event)

    def close(self) -> None:
        """End every stream: the daemon ends."""
        for reader in self._readers:
            _end(reader, "daemon")

    async def _get_status(self, request: web.Request) -> web.Response:
        return web.json_response(self._status())

    async def _post_press(self, request: web.Request) -> web.Response:
        try:
            intent = Intent((await request.json())["intent"])
        except (ValueError, KeyError, TypeError):
            known = ", ".join(Intent)
            return web.json_response({"error": f'send {{"intent": NAME}}; names are {known}'}, status=400)
        source = f"local:{_peer_uid(request)}"
        return _answer(
            self._press(Key(source, intent, Phase.DOWN)) + self._press(Key(source, intent, Phase.UP))
        )

    async def _post_jog(self, request: web.Request) -> web.Response:
        """Turn a motor while a button is held: each call holds for 300 ms, in technician mode only."""
        try:
            asked = await request.json()
            part, direction = str(asked["part"]), int(asked["direction"])
        except (ValueError, KeyError, TypeError):
            return web.json_response({"error": 'send {"part": NAME, "direction": 1 or -1}'}, status=400)
        return _answer(self._press(Jog(f"local:{_peer_uid(request)}", part, direction)))

    async def _post_rule(self, request: web.Request) -> web.Response:
        """Choose a rule or a gear for the next wash."""
        try:
            asked = await request.json()
            rule = f"{PREFIX}{int(asked['gear'])}" if "gear" in asked else str(asked["rule"])
        except (ValueError, KeyError, TypeError):
            return web.json_response({"error": 'send {"rule": ID} or {"gear": NUMBER}'}, status=400)
        return _answer(self._press(Choose(f"local:{_peer_uid(request)}", rule)))

    async def _post_hand(self, request: web.Request) -> web.Response:
        """Take in how the hand ended; seats are machine seats 0 to 3, wins in their order, none: drawn."""
        try:
            asked = await request.json()
            wins = tuple(
                Won(tuple(int(seat) for seat in win["winners"]), _seat(win.get("discarder")))
                for win in asked.get("wins", [])
            )
            result = Result(wins, frozenset(int(seat) for seat in asked.get("ready", [])))
        except (ValueError, KeyError, TypeError, AttributeError):
            say = '{"wins": [{"winners": [SEAT, ...], "discarder": SEAT or null}, ...], "ready": [SEAT, ...]}'
            return web.json_response({"error": f"send {say}"}, status=400)
        return _answer(self._press(HandEnded(f"local:{_peer_uid(request)}", result)))

    async def _get_events(self, request: web.Request) -> web.StreamResponse:
        reader: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        self._readers.add(reader)
        try:
            await response.write(_line({"event": "Status", **self._status()}))
            while (event := await reader.get()) is not None:
                await response.write(_line(event))
        except ConnectionError:
            pass  # the reader has gone
        finally:
            self._readers.discard(reader)
        return response


def _end(reader: asyncio.Queue[dict[str, Any] | None], reason: str) -> None:
    """Let a stream end with a word on why, so that it is not taken for a daemon that died."""
    reader.put_nowait({"event": "End", "reason": reason})
    reader.put_nowait(None)


def _seat(value: Any) -> int | None:
    return None if value is None else int(value)


def _answer(told: list[dict[str, Any]]) -> web.Response:
    refused = [e for e in told if e["event"] == "Refused"]
    return web.json_response({"accepted": not refused, "refused": refused})


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode() + b"\n"


def _peer_uid(request: web.Request) -> int:
    transport = request.transport
    sock: socket.socket | None = transport.get_extra_info("socket") if transport else None
    if sock is None:
        return -1
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    uid: int = struct.unpack("3i", credentials)[1]
    return uid
