"""Tries any board against PROTOCOL.md: `python -m firmware_protocol.conformance PORT`.

Exit status: 0 it keeps every promise that was tried, 1 it does not, 2 the question was wrong.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from firmware_protocol.catalogue import LANGUAGES, Catalogue, language
from firmware_protocol.timing import BAUD
from firmware_protocol.trial import moves, stops, technician, wire
from firmware_protocol.trial.check import NothingToTryError
from firmware_protocol.trial.hand import Hand, SilentBoardError
from firmware_protocol.trial.port import Port, SerialPort

TEXTS = Catalogue(Path(__file__).parent / "texts.toml")
CHECKS = (*wire.CHECKS, *stops.CHECKS, *moves.CHECKS, *technician.CHECKS)  # in this order


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one check ended: PASS, FAIL or SKIP; `came` is what the board did instead."""

    check: str
    result: str
    came: str = ""


def run(port: Port, motion: bool, seed: int = 1) -> Iterator[Verdict]:
    """Run every check, one after the other; those that move the table only with `motion`."""
    hand = Hand(port, seed)
    silent = False
    for check in CHECKS:
        if silent or (check.moves and (not motion or hand.description is None)):
            yield Verdict(check.name, "SKIP")
            continue
        try:
            came = check.run(hand)
        except NothingToTryError:
            yield Verdict(check.name, "SKIP")
            continue
        except SilentBoardError:
            came = "–"
            silent = check.name == "hello"
        yield Verdict(check.name, "FAIL" if came else "PASS", came or "")
    if not silent:
        hand.stop_all(255)  # whatever was tried, leave it standing


def line(verdict: Verdict, lang: str) -> str:
    """Return what a person reads of a verdict."""
    name = TEXTS(f"check.{verdict.check}.name", lang)
    text = f"{verdict.result}  {verdict.check}: {name}"
    if verdict.result != "FAIL":
        return text
    want = TEXTS(f"check.{verdict.check}.want", lang)
    return text + "\n      " + TEXTS("suite.differs", lang, want=want, came=verdict.came)


def _parser(lang: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m firmware_protocol.conformance",
        description=TEXTS("suite.about", lang),
        epilog=TEXTS("suite.example", lang),
    )
    parser.add_argument("port", metavar="PORT", help=TEXTS("suite.port", lang))
    parser.add_argument("--baud", type=int, default=BAUD, help=TEXTS("suite.baud", lang))
    parser.add_argument("--motion", action="store_true", help=TEXTS("suite.motion", lang))
    parser.add_argument("--json", action="store_true", help=TEXTS("suite.json", lang))
    parser.add_argument("--lang", choices=LANGUAGES, help=TEXTS("suite.lang", lang))
    return parser


def _asked_language(arguments: list[str]) -> str:
    """Return the language of --lang before the parser is made, for its own texts are in it."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--lang", default=None)
    return language(first.parse_known_args(arguments)[0].lang)


def main(arguments: list[str] | None = None) -> int:
    """Try the board on a port and print one line per check."""
    arguments = sys.argv[1:] if arguments is None else arguments
    lang = _asked_language(arguments)
    asked = _parser(lang).parse_args(arguments)
    try:
        port = SerialPort(asked.port, asked.baud)
    except (OSError, ValueError) as error:
        print(TEXTS("suite.no_port", lang, port=asked.port, error=error), file=sys.stderr)
        return 2
    verdicts: list[Verdict] = []
    try:
        for verdict in run(port, asked.motion):
            verdicts.append(verdict)
            if not asked.json:
                print(line(verdict, lang), flush=True)
    except OSError as error:
        print(TEXTS("suite.port_lost", lang, port=asked.port, error=error), file=sys.stderr)
        return 1
    finally:
        port.close()
    counts = {r: sum(v.result == r for v in verdicts) for r in ("PASS", "FAIL", "SKIP")}
    if asked.json:
        print(json.dumps({"verdicts": [asdict(v) for v in verdicts], **counts}, ensure_ascii=False, indent=1))
    else:
        print(TEXTS("suite.sum", lang, passed=counts["PASS"], failed=counts["FAIL"], skipped=counts["SKIP"]))
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
