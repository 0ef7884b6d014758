"""`tablectl log`: the journal for people and programs, and whether it is as it was written."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from tablectl import config
from tablectl.cli.options import FINE, TABLE_HAS_A_PROBLEM, command, json_option, nobody_reads, text
from tablectl.cli.words import Words, local_time
from tablectl.errors import TablectlError
from tablectl.journal.chain import GENESIS, Entry, Verdict, verify
from tablectl.journal.follow import Follower
from tablectl.journal.reader import Chosen, Reader, reading
from tablectl.texts import TEXTS

DEFAULT_JOURNAL = Path("/var/lib/tablectl/journal.db")
FOLLOW_S = 0.5
_AGO = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_FILE = click.Path(path_type=Path, readable=False)  # what cannot be read is told in both languages


@dataclass(frozen=True, slots=True)
class Noted:
    """What somebody noted of the journal: its head's hash, how many entries it had; either may be unknown."""

    head: str | None
    entries: int | None


@command("log")
@click.argument("what", metavar="[verify]", type=click.Choice(["verify"]), required=False)
@click.option("--journal", type=_FILE, help=text("option.journal"))
@click.option("--config", "config_file", type=_FILE, help=text("option.journal_config"))
@click.option("--kind", help=text("option.kind"))
@click.option("--since", metavar="TIME", help=text("option.since"))
@click.option("--last", type=click.IntRange(min=1), help=text("option.last"))
@click.option("--follow", is_flag=True, help=text("option.follow"))
@click.option("--head", metavar="HASH", help=text("option.head"))
@click.option("--entries", type=click.IntRange(min=0), help=text("option.entries"))
@json_option
def log(
    lang: str,
    what: str | None,
    journal: Path | None,
    config_file: Path | None,
    kind: str | None,
    since: str | None,
    last: int | None,
    follow: bool,
    head: str | None,
    entries: int | None,
    as_json: bool,
) -> int:
    """Show the journal, or check its chain."""
    path = _path(journal, config_file)
    if what:
        if kind or since or last or follow:
            raise TablectlError("log.verify.whole")
        return _verify(path, _noted(head, entries), lang, as_json)
    if head or entries is not None:
        raise TablectlError("log.verify.only")
    chosen, lines = Chosen(kind, parse_time(since) if since else None), _Lines(lang, as_json)
    try:
        with reading(path) as reader:
            if kind and kind not in (known := reader.kinds()):
                raise TablectlError("log.bad_kind", found=kind, file=path, known=", ".join(known))
            after = _show(reader, chosen, last, lines)
            follower = Follower(path, reader, chosen, after) if follow else None
        if follower:
            _follow(follower, path, lines, lang)
        elif after is None and not as_json:
            click.echo(TEXTS("log.none", lang), err=True)
    except BrokenPipeError:  # `tablectl log | head`: nobody reads any more
        nobody_reads()
    except KeyboardInterrupt:
        pass  # the end of --follow
    return FINE


def parse_time(said: str, now: datetime | None = None) -> str:
    """Return a time as the journal writes it; without a zone it is this computer's."""
    now = now or datetime.now().astimezone()
    try:
        if ago := re.fullmatch(r"(\d{1,9})([smhd])", said):
            then = now - timedelta(**{_AGO[ago[2]]: int(ago[1])})
        elif re.fullmatch(r"\d\d:\d\d(:\d\d)?", said):
            then = datetime.fromisoformat(f"{now.date().isoformat()} {said}").replace(tzinfo=now.tzinfo)
        else:
            then = datetime.fromisoformat(said)
        return then.astimezone(UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError) as error:
        raise TablectlError("log.bad_time", found=said) from error


def _path(journal: Path | None, config_file: Path | None) -> Path:
    if journal and config_file:
        raise TablectlError("log.two_files")
    return journal or (config.load(config_file).journal if config_file else DEFAULT_JOURNAL)


class _Lines:
    """Prints entries as they are asked for; `words` begins with what the journal says of settings before."""

    def __init__(self, lang: str, as_json: bool) -> None:
        self._lang = lang
        self._as_json = as_json
        self._words: Words | None = None

    def show(self, entry: Entry, reader: Reader) -> None:
        """Print one entry."""
        if self._as_json:
            click.echo(_json(entry))
            return
        self._words = self._words or Words(self._lang, _memory_before(reader, entry))
        click.echo(self._words.line(entry))

    def forget(self) -> None:
        """Take the next entry for the first one of another journal."""
        self._words = None


def _show(reader: Reader, chosen: Chosen, last: int | None, lines: _Lines) -> int | None:
    """Show what is there; return the number of the last entry shown."""
    after: int | None = None
    for entry in reader.last(last, chosen) if last else reader.entries(chosen):
        lines.show(entry, reader)
        after = entry.id
    return after


def _follow(follower: Follower, path: Path, lines: _Lines, lang: str) -> None:
    told: str | None = None

    def tell_of_another() -> None:
        if follower.kept is not None:
            click.echo(TEXTS("log.replaced", lang, file=path, kept=follower.kept), err=True)
            lines.forget()
            follower.kept = None

    while True:
        time.sleep(FOLLOW_S)
        for entry, reader in follower.look():
            tell_of_another()
            lines.show(entry, reader)
        tell_of_another()
        trouble = follower.trouble.text(lang) if follower.trouble else None
        if trouble and trouble != told:
            click.echo(trouble, err=True)
        told = trouble


def _memory_before(reader: Reader, entry: Entry) -> dict[str, Any] | None:
    data = reader.last_with("memory", before=entry.id)
    memory = json.loads(data)["memory"] if data else None
    return memory if isinstance(memory, dict) else None


def _json(entry: Entry) -> str:
    try:
        data = json.loads(entry.data)
    except ValueError:
        data = entry.data
    said = {"id": entry.id, "wall": entry.wall, "time_us": entry.time_us, "kind": entry.kind, "data": data}
    return json.dumps({**said, "hash": entry.hash}, ensure_ascii=False).encode(errors="replace").decode()


# --- verify -------------------------------------------------------------------------------------------------


def _noted(head: str | None, entries: int | None) -> Noted:
    if head is not None and not re.fullmatch("[0-9a-f]{64}", head.lower()):
        raise TablectlError("log.bad_head", found=head)
    return Noted(head.lower() if head else None, entries)


def check(entries: Iterator[Entry], noted: Noted) -> tuple[Verdict, str | None]:
    """Return what the chain proves, and the key of how it differs from what was noted, if it does."""
    hashes = {0: GENESIS}  # the noted place's, or that of the noted hash wherever it stands
    found = noted.head is None or noted.head == GENESIS

    def see(entry: Entry) -> None:
        nonlocal found
        found = found or entry.hash == noted.head
        if entry.id == noted.entries:
            hashes[entry.id] = entry.hash

    verdict = verify(entries, see)
    if noted.entries is not None and verdict.entries < noted.entries:
        return verdict, "cut"
    if noted.entries is not None and noted.head is not None and hashes[noted.entries] != noted.head:
        return verdict, "other_head"
    return verdict, None if found else "no_head"


def _verify(path: Path, noted: Noted, lang: str, as_json: bool) -> int:
    with reading(path) as reader:
        verdict, differs = check(reader.entries(), noted)
    good = verdict.broken is None and differs is None
    if as_json:
        click.echo(json.dumps(_verdict_json(path, verdict, differs)))
    else:
        for line in _verdict_lines(path, verdict, noted, differs, lang):
            click.echo(line, err=not good)
    return FINE if good else TABLE_HAS_A_PROBLEM


def _verdict_json(path: Path, verdict: Verdict, differs: str | None) -> dict[str, Any]:
    broken = verdict.broken
    return {
        "file": str(path),
        "good": broken is None and differs is None,
        "entries": verdict.entries,
        "first": verdict.first and verdict.first.wall,
        "last": verdict.last and verdict.last.wall,
        "head": verdict.head,
        "broken": broken and {"entry": broken.expected, "found": broken.found, "why": broken.why},
        "noted": differs,
    }


def _verdict_lines(
    path: Path, verdict: Verdict, noted: Noted, differs: str | None, lang: str
) -> Iterator[str]:
    values = {"file": path, "entries": verdict.entries, "head": verdict.head, "noted": noted.entries}
    if broken := verdict.broken:
        yield TEXTS(f"log.verify.{broken.why}", lang, file=path, expected=broken.expected, found=broken.found)
        yield TEXTS("log.verify.good_before", lang, **values)
    elif differs is None:
        yield TEXTS("log.verify.fine" if verdict.entries else "log.verify.empty", lang, **values)
    if differs and verdict.broken is None:
        yield TEXTS(f"log.verify.{differs}", lang, **values)
    if verdict.first and verdict.last:
        first, last = local_time(verdict.first.wall), local_time(verdict.last.wall)
        yield TEXTS("log.verify.span", lang, first=first, last=last)
    if verdict.broken is None:
        noted_one = noted.head is not None or noted.entries is not None
        if differs is None and noted_one:
            yield TEXTS("log.verify.noted", lang)
        yield TEXTS("log.verify.head", lang, **values)
