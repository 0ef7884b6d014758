"""The daemon's configuration: one TOML file, every key checked, every complaint with file, line and key."""

from dataclasses import dataclass
from pathlib import Path

from tablectl.board.supervisor import AUTO, BY_UID
from tablectl.errors import TablectlError
from tablectl.remote import keymap
from tablectl.remote.sources import open_source
from tablectl.rules import ruleset
from tablectl.tables import Table


@dataclass(frozen=True, slots=True)
class Config:
    """A checked configuration."""

    port: str
    rule: str
    sets: int
    remote: str
    user_codes: tuple[int, ...]
    keymap: str
    socket: Path
    journal: Path


EXAMPLE = """\
[table]
port = "/dev/tablectl-board"      # the board's serial port; or "auto", or "uid:" with the board's name
rule = "riichi"                   # until another one is chosen at the table
sets = 2                          # tile sets of different back colours: one in play, one in the machine

[remote]
input = "lirc:/dev/lirc0"         # lirc:, lircd:, lirc+unix: or file:
user_codes = ["0x00"]             # only these remotes are obeyed
keymap = "default"                # or the path of a keymap file

[service]
socket = "/run/tablectl/api.sock" # where `tablectl press` and `tablectl status` find the daemon
journal = "/var/lib/tablectl/journal.db"
"""


def load(path: Path) -> Config:
    """Read and check a configuration file; TablectlError says what is wrong where."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TablectlError("config.unreadable", file=path, reason=error.strerror) from error
    return parse(content, str(path))


def parse(content: bytes, file: str) -> Config:
    """Check the bytes of a configuration file."""
    top = Table.parse(content, file, "config")
    table, remote, service = top.table("table"), top.table("remote"), top.table("service")
    config = Config(
        port=_port(table),
        rule=table.text("rule"),
        sets=table.number("sets", 1, 2),
        remote=remote.text("input"),
        user_codes=_user_codes(remote),
        keymap=remote.text("keymap"),
        socket=Path(service.text("socket")),
        journal=Path(service.text("journal")),
    )
    for each in (top, table, remote, service):
        each.close()
    if config.rule not in ruleset.available():
        known = ", ".join(ruleset.available())
        raise table.error("unknown_choice", "rule", found=config.rule, known=known)
    open_source(config.remote)
    keymap.load(config.keymap)
    return config


def _port(table: Table) -> str:
    port = table.text("port")
    named = port.startswith(BY_UID) and len(port) > len(BY_UID)
    if not (port == AUTO or named or port.startswith("/")):
        raise table.error("port", "port", found=port)
    return port


def _user_codes(remote: Table) -> tuple[int, ...]:
    codes = []
    for text in remote.texts("user_codes"):
        try:
            code = int(text, 16)
        except ValueError:
            code = -1
        if not 0 <= code <= 0xFFFF:
            raise remote.error("user_code", "user_codes", found=text)
        codes.append(code)
    return tuple(codes)
