"""What stands in udev/: the rules as udev itself evaluates them, the unit as systemd judges it.

umockdev shows udev devices that are not there. What udev would leave behind goes into a mount namespace.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

from tablectl import config

RULES = ROOT / "udev" / "95-tablectl.rules"
UNIT = ROOT / "udev" / "tablectl.service"
USERS = ROOT / "udev" / "tablectl.sysusers"
GID = "990"  # udev reads numbers, too: the group itself need not exist on the computer of the tests
EXPOSURE = 1.2
PACKAGES = {
    "udevadm": "udev",
    "umockdev-run": "umockdev",
    "unshare": "util-linux",
    "systemd-analyze": "systemd",
    "systemd-sysusers": "systemd",
}


def tool(name: str) -> str:
    """Return the path of a program; where it is missing the test fails."""
    path = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert path, f"{name} is missing: install the package `{PACKAGES[name]}`, as tests/run does"
    return path


# --- udev ---------------------------------------------------------------------------------------------------

USB = "/devices/pci0000:00/0000:00:14.0/usb1/1-2"


def adapter(vendor: str, product: str, port: str = "ttyUSB0", driver: str = "ch341-uart") -> str:
    """Describe a USB device with a serial port, as the kernel shows it."""
    records = [
        f"P: {USB}\nN: bus/usb/001/005\nE: DEVTYPE=usb_device\nE: SUBSYSTEM=usb\nE: MAJOR=189\nE: MINOR=4\n"
        f"E: DEVNAME=/dev/bus/usb/001/005\nE: BUSNUM=001\nE: DEVNUM=005\n"
        f"A: idVendor={vendor}\nA: idProduct={product}\nA: power/control=auto\n",
        f"P: {USB}/1-2:1.0\nE: DEVTYPE=usb_interface\nE: SUBSYSTEM=usb\nA: bInterfaceNumber=00\n",
    ]
    serial = f"{USB}/1-2:1.0"
    if port.startswith("ttyUSB"):
        serial += f"/{port}"
        records.append(
            f"P: {serial}\nE: SUBSYSTEM=usb-serial\nE: DRIVER={driver}\nA: latency_timer=16\n"
            f"L: driver=../../../../../../../bus/usb-serial/drivers/{driver}\n"
        )
    records.append(
        f"P: {serial}/tty/{port}\nE: DEVNAME=/dev/{port}\nE: SUBSYSTEM=tty\nE: MAJOR=188\nE: MINOR=0\n"
    )
    return "\n".join(records)


def tty(port: str = "ttyUSB0") -> str:
    return f"{USB}/1-2:1.0/{port}/tty/{port}" if port.startswith("ttyUSB") else f"{USB}/1-2:1.0/tty/{port}"


RECEIVER = "/devices/platform/ir-receiver@12/rc/rc0/lirc1"
LIRC = f"P: {RECEIVER}\nE: DEVNAME=/dev/lirc1\nE: SUBSYSTEM=lirc\nE: MAJOR=251\nE: MINOR=1\n"
# What brltty's own rules do to the adapters that braille displays are built with.
BRLTTY = (
    'SUBSYSTEM=="usb", KERNEL!="*:*", ENV{BRLTTY_BRAILLE_DRIVER}="xx", TAG+="systemd", '
    'ENV{SYSTEMD_WANTS}+="brltty-device@.service", RUN+="/sbin/brltty-starts"\n'
)


@dataclass(frozen=True)
class Seen:
    """What udev made of a device."""

    said: str
    properties: Mapping[str, str]
    power: str  # what power/control was written to

    def last(self, key: str) -> str | None:
        found = re.findall(rf"rules:\d+ {key} '?([^'\n]*)'?$", self.said, re.MULTILINE)
        return found[-1] if found else None

    @property
    def complaints(self) -> list[str]:
        return re.findall(rf"^\S*{RULES.name}:\d+ .*", self.said, re.MULTILINE)


@cache
def isolation() -> tuple[str, ...]:
    """Return the command under which mounts are this test's own; none where a container forbids it."""
    unshare = tool("unshare")
    ways = [(unshare, "--mount")] if os.geteuid() == 0 else [(unshare, "--map-root-user", "--mount")]
    if os.geteuid() and shutil.which("sudo"):
        ways.append(("sudo", "-n", "--preserve-env", unshare, "--mount"))
    for way in ways:
        probe = subprocess.run([*way, "mount", "-t", "tmpfs", "probe", "/run"], capture_output=True)
        if probe.returncode == 0:
            return way
    in_place = os.geteuid() == 0 and not Path("/run/udev/control").exists()
    assert in_place, "udev's rules need root, or user namespaces, to be tried"
    return ()


def evaluate(devices: str, path: str, folder: Path, rules: str = "", more: str = "") -> Seen:
    """Let udev evaluate this computer's rules and ours for a device that was just plugged in."""
    ours = folder / RULES.name
    ours.write_text((rules or RULES.read_text()).replace('GROUP="tablectl"', f'GROUP="{GID}"'))
    other = folder / "85-other.rules"
    other.write_text(more)
    described = folder / "devices.umockdev"
    described.write_text(devices)
    alone = isolation()
    private = "mount -t tmpfs none /run\nmount -t tmpfs none /dev\n" if alone else ""
    script = (
        f"{private}mkdir -p /run/udev/rules.d\ncp {ours} {other} /run/udev/rules.d/\n"
        f"{tool('udevadm')} test /sys{path} 2>&1\n"
        f'echo "power: $(cat /sys{path}/power/control 2>&1)"\n'
    )
    before = None if alone else left_behind()
    command = (*alone, "sh", "-ec", script)
    run = [tool("umockdev-run"), "--device", str(described), "--", *command]
    try:
        done = subprocess.run(run, capture_output=True, text=True, timeout=60)
    finally:
        if before is not None:
            for each in sorted(left_behind() - before, reverse=True):
                each.rmdir() if each.is_dir() and not each.is_symlink() else each.unlink()
    assert done.returncode == 0, done.stdout + done.stderr
    said, _, power = done.stdout.rpartition("power: ")
    properties = dict(re.findall(r"^([A-Z_]+)=(.*)$", said, re.MULTILINE))
    return Seen(said, properties, power)


def left_behind() -> set[Path]:
    """Return what udev may leave where no namespace keeps it in."""
    return {each for top in ("/run/udev", "/dev") for each in Path(top).rglob("*") if "/pts" not in str(each)}


BOARDS = {
    "CH340": ("1a86", "7523", "ttyUSB0", "ch341-uart"),
    "CH9102": ("1a86", "55d4", "ttyACM0", ""),
    "CP210x": ("10c4", "ea60", "ttyUSB3", "cp210x"),
    "FT232R": ("0403", "6001", "ttyUSB0", "ftdi_sio"),
    "Pico": ("2e8a", "000a", "ttyACM1", ""),
    "STM32": ("0483", "5740", "ttyACM0", ""),
}


@pytest.mark.parametrize("board", BOARDS)
def test_no_board_is_left_without_its_name_or_to_modemmanager(board: str, tmp_path: Path) -> None:
    vendor, product, port, driver = BOARDS[board]
    seen = evaluate(adapter(vendor, product, port, driver), tty(port), tmp_path)
    assert seen.complaints == []
    assert (seen.last("GROUP"), seen.last("MODE")) == (GID, "0660")
    assert "/dev/tablectl-board" in seen.properties["DEVLINKS"].split()
    assert seen.properties["ID_MM_PORT_IGNORE"] == seen.properties["ID_MM_DEVICE_IGNORE"] == "1"


@pytest.mark.parametrize("board", BOARDS)
def test_no_board_is_put_to_sleep_or_given_to_brltty(board: str, tmp_path: Path) -> None:
    devices = adapter(*BOARDS[board])
    seen = evaluate(devices, USB, tmp_path, more=BRLTTY)
    assert seen.power.startswith("on")
    assert seen.last("GROUP") == GID, "the daemon may reset it"
    assert seen.properties["ID_MM_DEVICE_IGNORE"] == "1"
    assert not seen.properties.get("SYSTEMD_WANTS")
    assert not re.search("^run: .*brltty", seen.said, re.MULTILINE)
    # The check can fail: without our rules brltty starts and the adapter may sleep.
    seen = evaluate(devices, USB, tmp_path, rules="# none", more=BRLTTY)
    assert seen.properties["SYSTEMD_WANTS"] == "brltty-device@.service"
    assert re.search("^run: .*brltty", seen.said, re.MULTILINE)
    assert seen.power.startswith("auto")


def test_a_device_that_is_no_board_is_not_touched(tmp_path: Path) -> None:
    receiver_of_satellites = adapter("1546", "01a7", "ttyACM0")
    for path in (tty("ttyACM0"), USB):
        seen = evaluate(receiver_of_satellites, path, tmp_path)
        assert RULES.name not in seen.said.replace(f"Reading rules file: /run/udev/rules.d/{RULES.name}", "")
        assert "tablectl" not in seen.properties.get("DEVLINKS", "")
        assert "ID_MM_DEVICE_IGNORE" not in seen.properties


def test_no_infrared_receiver_is_closed_to_the_service(tmp_path: Path) -> None:
    seen = evaluate(LIRC, RECEIVER, tmp_path)
    assert (seen.last("GROUP"), seen.last("MODE")) == (GID, "0660")


def test_an_ftdi_adapter_does_not_hold_bytes_back(tmp_path: Path) -> None:
    path = f"{USB}/1-2:1.0/ttyUSB0"
    seen = evaluate(adapter(*BOARDS["FT232R"]), path, tmp_path)
    assert re.search(r"latency_timer' writing '1'", seen.said)
    seen = evaluate(adapter(*BOARDS["CH340"]), path, tmp_path)
    assert "latency_timer' writing" not in seen.said


def test_a_rule_that_udev_does_not_understand_is_seen(tmp_path: Path) -> None:
    broken = RULES.read_text().replace('SYMLINK+="', 'SIMLINK+="')
    assert evaluate(LIRC, RECEIVER, tmp_path, rules=broken).complaints


# --- user and unit ------------------------------------------------------------------------------------------


def settings(unit: str) -> list[tuple[str, str]]:
    return re.findall(r"^([A-Za-z]+)=(.*)$", unit, re.MULTILINE)


def test_no_group_or_user_is_named_that_nobody_makes(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    subprocess.run([tool("systemd-sysusers"), f"--root={tmp_path}", str(USERS)], check=True, timeout=60)
    groups = {line.split(":")[0] for line in (tmp_path / "etc" / "group").read_text().splitlines()}
    passwd = [line.split(":") for line in (tmp_path / "etc" / "passwd").read_text().splitlines()]
    unit = dict(settings(UNIT.read_text()))
    assert set(re.findall(r'GROUP="(\w+)"', RULES.read_text())) == {unit["Group"]} <= groups
    assert [shell for name, *_, shell in passwd if name == unit["User"]] == ["/usr/sbin/nologin"]


def judged(folder: Path, unit: str) -> tuple[str, float]:
    """Return what systemd has to say of a unit, and its exposure."""
    file = folder / UNIT.name
    file.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit, flags=re.MULTILINE))
    analyze = tool("systemd-analyze")
    verified = subprocess.run([analyze, "verify", "--man=no", str(file)], capture_output=True, text=True)
    said = verified.stdout + verified.stderr
    command = [analyze, "security", "--offline=yes", "--no-pager", str(file)]
    secured = subprocess.run(command, capture_output=True, text=True, timeout=60)
    level = re.search(r"exposure level for \S+ ([0-9.]+)", secured.stdout)
    assert level, secured.stdout + secured.stderr
    return said, float(level[1])


def test_the_unit_has_no_fault_that_systemd_sees_and_is_not_exposed(tmp_path: Path) -> None:
    said, exposure = judged(tmp_path, UNIT.read_text())
    assert said == ""
    assert exposure <= EXPOSURE


def test_a_wrong_or_open_unit_does_not_pass(tmp_path: Path) -> None:
    unit = UNIT.read_text()
    assert "WatchdogSecs" in judged(tmp_path, unit.replace("WatchdogSec=", "WatchdogSecs="))[0]
    hardening = ("Protect", "Restrict", "SystemCall", "Capability")
    open_ = "\n".join(line for line in unit.splitlines() if not line.startswith(hardening))
    assert judged(tmp_path, open_)[1] > EXPOSURE


def test_the_unit_does_not_run_a_daemon_that_cannot_reach_its_own_files() -> None:
    unit = dict(settings(UNIT.read_text()))
    found = config.parse(config.EXAMPLE.encode(), "example")
    assert found.socket.parent == Path("/run", unit["RuntimeDirectory"])
    assert found.journal.parent == Path("/var/lib", unit["StateDirectory"])
    assert unit["ExecStart"].endswith("tablectl run --config /etc/tablectl.toml")
    allowed = {value for key, value in settings(UNIT.read_text()) if key == "DeviceAllow"}
    assert {"char-ttyUSB rw", "char-ttyACM rw"} <= allowed


# --- the way in ---------------------------------------------------------------------------------------------


def test_the_readme_does_not_name_a_file_or_a_command_that_is_not_there() -> None:
    from tablectl.cli.main import main

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [line.strip() for line in readme.splitlines() if line.startswith("    ")]
    assert "bash tests/run" in shown
    for file in re.findall(r"\budev/[\w.-]+", readme):
        assert (ROOT / file).is_file(), file
    for module in re.findall(r"python -m ([\w.]+)", readme):
        place = ROOT.joinpath(*module.split("."))
        assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file(), module
    for name in re.findall(r"^(?:sudo (?:-u tablectl )?)?tablectl ([a-z]+)", "\n".join(shown), re.MULTILINE):
        assert name in main.commands, name
