"""Times the codec beside a bound and a peer: `python -m firmware_protocol.bench`.

Seconds differ from one computer and one minute to the next; the shares of the bound, taken in the same
rounds, hardly do. Each figure is the best of many short rounds, one stack after the other.
"""

import argparse
import gc
import importlib
import importlib.metadata
import json
import platform
import random
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from firmware_protocol import frames
from firmware_protocol import messages as m
from firmware_protocol.catalogue import LANGUAGES, asked_language
from firmware_protocol.codes import FrameKind
from firmware_protocol.framing import Deframer
from firmware_protocol.texts import TEXTS

READ_BYTES = 64
PAYLOAD_BYTES = 32
_SESSION = 0x1234


@dataclass(frozen=True, slots=True)
class Contender:
    """Something to be timed; `encode` returns what `decode` gets, each for `frames` frames."""

    name: str
    encode: Callable[[], Any]
    decode: Callable[[Any], object]
    frames: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Frames per second; `share` is that of the bound's frames per second both ways."""

    name: str
    encode: int
    decode: int
    both: int
    share: float


def _reads(wire: list[bytes]) -> list[bytes]:
    stream = b"".join(wire)
    return [stream[at : at + READ_BYTES] for at in range(0, len(stream), READ_BYTES)]


def _parsed(reads: list[bytes]) -> Iterator[frames.Frame | None]:
    deframer = Deframer()
    for data in reads:
        for body in deframer.feed(data):
            yield frames.parse(body)


def _codec(payloads: list[bytes]) -> Contender:
    def encode() -> list[bytes]:
        data = FrameKind.DATA
        return [frames.build(data, payload, _SESSION, n & 0xFF, 7) for n, payload in enumerate(payloads)]

    def decode(reads: list[bytes]) -> None:
        for _ in _parsed(reads):
            pass

    return Contender("codec", encode, decode, len(payloads))


def _typed(count: int) -> Contender:
    done = [m.Done(n, 40 * n, 0x30205, bytes((34, 30) * 4)) for n in range(count)]

    def encode() -> list[bytes]:
        return [frames.build(FrameKind.DATA, d.numbered(), _SESSION, d.op & 0xFF, 7) for d in done]

    def decode(reads: list[bytes]) -> None:
        for frame in _parsed(reads):
            if frame:
                m.parse_numbered(frame.payload)

    return Contender("typed", encode, decode, count)


def _bound(payloads: list[bytes]) -> Contender:
    """Return what no framing in Python can do without: a checksum, and one pass that takes zeros out."""

    def once(payloads: list[bytes]) -> list[bytes]:
        crc32 = zlib.crc32
        return [payload.replace(b"\0", b"\1") for payload in payloads if crc32(payload) is not None]

    return Contender("bound", lambda: once(payloads), once, len(payloads))


def _peer(payloads: list[bytes]) -> Contender | None:
    try:
        cobs = importlib.import_module("cobs.cobs")
    except ImportError:
        return None
    encode_cobs, decode_cobs, crc32 = cobs.encode, cobs.decode, zlib.crc32

    def encode() -> list[bytes]:
        return [
            b"\0" + encode_cobs(payload + crc32(payload).to_bytes(4, "little")) + b"\0"
            for payload in payloads
        ]

    def decode(reads: list[bytes]) -> int:
        buffer, intact = b"", 0
        for data in reads:
            *runs, buffer = (buffer + data).split(b"\0")
            for run in runs:
                raw = decode_cobs(run)
                intact += crc32(raw[:-4]).to_bytes(4, "little") == raw[-4:]
        return intact

    return Contender("peer", encode, decode, len(payloads))


def measure(count: int, rounds: int) -> list[Speed]:
    """Time every contender on `count` frames, `rounds` times in turn; return the best of each."""
    rng = random.Random(1)
    payloads = [rng.randbytes(PAYLOAD_BYTES) for _ in range(count)]
    named = (_bound(payloads), _codec(payloads), _typed(count), _peer(payloads))
    contenders = [c for c in named if c]
    best = {c.name: (10**18, 10**18) for c in contenders}
    collecting = gc.isenabled()
    gc.disable()  # as timeit does: what others have left behind is nobody's time
    try:
        for _ in range(rounds):
            for contender in contenders:
                start = time.perf_counter_ns()
                wire = contender.encode()
                encoded = time.perf_counter_ns()
                given = wire if contender.name == "bound" else _reads(wire)
                again = time.perf_counter_ns()
                contender.decode(given)
                decoded = time.perf_counter_ns()
                so_far = best[contender.name]
                best[contender.name] = min(so_far[0], encoded - start), min(so_far[1], decoded - again)
    finally:
        if collecting:
            gc.enable()
    return [_speed(c, *best[c.name], sum(best["bound"])) for c in contenders]


def _speed(contender: Contender, encode_ns: int, decode_ns: int, bound_ns: int) -> Speed:
    def per_s(ns: int) -> int:
        return contender.frames * 10**9 // max(1, ns)

    both_ns = encode_ns + decode_ns
    share = bound_ns / max(1, both_ns)
    return Speed(contender.name, per_s(encode_ns), per_s(decode_ns), per_s(both_ns), share)


def lines(speeds: list[Speed], lang: str) -> Iterator[str]:
    """Return what a person reads of the figures."""
    for speed in speeds:
        version = importlib.metadata.version("cobs") if speed.name == "peer" else platform.python_version()
        name = TEXTS(f"bench.{speed.name}", lang, version=version)
        yield TEXTS("bench.line", lang, name=name, encode=f"{speed.encode:,}", decode=f"{speed.decode:,}",
                    both=f"{speed.both:,}", share=f"{speed.share:.2f}")  # fmt: skip


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError
    return number


def main(arguments: list[str] | None = None) -> int:
    """Measure and print; exit status 1 only where `--at-least` asks for more than was reached."""
    arguments = sys.argv[1:] if arguments is None else arguments
    lang = asked_language(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m firmware_protocol.bench",
        description=TEXTS("bench.about", lang, payload=PAYLOAD_BYTES, read=READ_BYTES),
        epilog=TEXTS("bench.example", lang),
    )
    parser.add_argument("--count", type=_positive, default=2_000, help=TEXTS("bench.count", lang))
    parser.add_argument("--rounds", type=_positive, default=100, help=TEXTS("bench.rounds", lang))
    parser.add_argument("--at-least", type=_positive, default=0, help=TEXTS("bench.at_least", lang))
    parser.add_argument("--json", action="store_true", help=TEXTS("suite.json", lang))
    parser.add_argument("--lang", choices=LANGUAGES, help=TEXTS("suite.lang", lang))
    asked = parser.parse_args(arguments)
    speeds = measure(asked.count, asked.rounds)
    if asked.json:
        print(json.dumps({s.name: {"encode": s.encode, "decode": s.decode, "both": s.both,
                                   "share": round(s.share, 3)} for s in speeds}, indent=1))  # fmt: skip
    else:
        print("\n".join(lines(speeds, lang)))
    reached = next(s.both for s in speeds if s.name == "codec")
    return 1 if reached < asked.at_least else 0


if __name__ == "__main__":
    sys.exit(main())
