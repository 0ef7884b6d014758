"""A real lircd that reads a receiver's unix socket in the place of its device."""

import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sim import keys
from sim.lab.processes import program, wait_for

_REMOTE = """
begin remote
  name           TABLE
  bits           16
  flags          SPACE_ENC|CONST_LENGTH
  eps            30
  aeps           100
  header         9000  4500
  one             560  1690
  zero            560   560
  ptrail          560
  repeat         9000  2250
  pre_data_bits  16
  pre_data       0x{user}
  gap            108000
  toggle_bit_mask 0x0
  frequency      38000
  begin codes
{codes}
  end codes
end remote
"""


def missing() -> str:
    """Return what of lircd is not installed here; nothing where it can run."""
    if not shutil.which("lircd"):
        return "lircd"
    return "" if _plugins() else "lirc/plugins"


def configuration() -> str:
    """Return the lircd.conf of the remote that lies on the simulated table."""
    presses = {name: keys.press(name) for name in keys.names()}
    codes = [f"    KEY_{name:<15} 0x{_msb_first(press.data_code)}" for name, press in presses.items()]
    return _REMOTE.format(user=_msb_first(keys.press("START").user_code), codes="\n".join(codes))


@contextmanager
def lircd(
    folder: Path, device: Path, tell: Callable[[str], object] = print
) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Run lircd on a receiver's socket; yields it and its own socket.

    It opens its device when its first client, the daemon, has come: nobody else may knock.
    """
    conf, options, out = folder / "remote.lircd.conf", folder / "lirc_options.conf", folder / "lircd"
    conf.write_text(configuration(), encoding="utf-8")
    options.write_text("[lircd]\n", encoding="utf-8")
    out.unlink(missing_ok=True)  # one that was killed leaves it behind
    with program(
        "lircd", "--nodaemon", "-O", str(options), "-H", "default", "-d", str(device), "-o", str(out),
        "-P", str(folder / "lircd.pid"), "-L", str(folder / "lircd.log"), "-U", str(_plugins()[0]), str(conf),
        tell=tell,
    ) as process:  # fmt: skip
        wait_for(lambda: out.exists() or process.poll() is not None, "lircd's socket")
        yield process, out


def _plugins() -> list[Path]:
    return list(Path("/usr/lib").glob(f"{platform.machine()}*/lirc/plugins"))


def _msb_first(byte: int) -> str:
    """Return a code and its inverse as lircd writes them; on the air each byte goes LSB first."""
    return "".join(f"{int(f'{b:08b}'[::-1], 2):02X}" for b in (byte, byte ^ 0xFF))
