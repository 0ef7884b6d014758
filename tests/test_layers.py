"""The floor plan: who may import whom, what a core may not touch, what the top level holds."""

import ast
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

PACKAGES = ("firmware_protocol", "sim", "tablectl")
# Rooms that decide, and so touch no clock, file, thread, socket or chance of their own.
PURE = (
    "firmware_protocol",
    "sim/agenda.py", "sim/board", "sim/mechanics", "sim/players.py", "sim/remote.py", "sim/table.py",
    "sim/wires.py", "sim/wiring.py", "sim/world.py",
    "tablectl/table", "tablectl/rules", "tablectl/board/session.py", "tablectl/board/supervisor.py",
    "tablectl/board/port_types.py", "tablectl/journal/chain.py",
    "tablectl/remote/pulses.py", "tablectl/remote/nec.py", "tablectl/remote/lircd.py",
    "tablectl/remote/receiver.py", "tablectl/service/host.py", "tablectl/trace.py",
)  # fmt: skip
IMPURE_MODULES = {
    "asyncio", "datetime", "os", "secrets", "select", "selectors", "serial", "signal", "socket", "sqlite3",
    "subprocess", "threading", "time", "aiohttp",
}  # fmt: skip
# firmware_protocol reads the language of the environment for its texts, its suite opens a port, its
# benchmark holds a watch, and the clock of a simulated table is a shell of both ends; that is all.
ALLOWED = {
    ("firmware_protocol/bench.py", "time"),
    ("firmware_protocol/catalogue.py", "os"),
    ("firmware_protocol/pace.py", "time"),
    ("firmware_protocol/trial/port.py", "serial"),
    ("firmware_protocol/trial/port.py", "time"),
}


def sources(*places: str) -> list[Path]:
    found: list[Path] = []
    for place in places:
        path = ROOT / place
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return found


def imports(file: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute here"
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return names


def roots(file: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(file)}


def test_no_package_imports_one_above_it() -> None:
    for file in sources(*PACKAGES):
        name = file.relative_to(ROOT).as_posix()
        ours = roots(file) & set(PACKAGES)
        if name.startswith("firmware_protocol/"):
            assert ours <= {"firmware_protocol"}, name
        elif name.startswith("tablectl/"):
            assert "sim" not in ours, name
        elif not name.startswith("sim/lab/"):
            assert "tablectl" not in ours, name
            assert not any(n.startswith("sim.lab") for n in imports(file)), name


def test_the_import_rule_sees_a_breach(tmp_path: Path) -> None:
    breach = tmp_path / "breach.py"
    breach.write_text("def late():\n    from sim.table import SimTable\n    return SimTable\n")
    assert roots(breach) == {"sim"}


@pytest.mark.parametrize("place", PURE)
def test_no_core_touches_the_world_outside(place: str) -> None:
    for file in sources(place):
        name = file.relative_to(ROOT).as_posix()
        touched = {m for m in roots(file) & IMPURE_MODULES if (name, m) not in ALLOWED}
        assert not touched, f"{name} imports {touched}"
        if place.startswith("tablectl/table"):
            assert "random" not in roots(file), f"{name}: chance comes in as Entropy events"


def test_no_chance_but_the_operating_systems_reaches_the_daemon() -> None:
    for file in sources("tablectl"):
        assert "random" not in roots(file), file


def test_rooms_of_tablectl_have_no_circle() -> None:
    rooms: dict[str, set[str]] = {}
    for file in sources("tablectl"):
        parts = file.relative_to(ROOT / "tablectl").parts
        room = parts[0].removesuffix(".py")
        for name in imports(file):
            if name.startswith("tablectl."):
                other = name.split(".")[1]
                if other != room:
                    rooms.setdefault(room, set()).add(other)
    order: list[str] = []
    left = set(rooms) | {o for others in rooms.values() for o in others}
    while left:
        free = {room for room in left if not (rooms.get(room, set()) & left)}
        assert free, f"a circle among {left}: { {r: rooms.get(r, set()) & left for r in left} }"
        order += sorted(free)
        left -= free
    assert order.index("table") < order.index("service") < order.index("cli")


def test_the_top_level_holds_nothing_else() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    top = {line.partition("/")[0] for line in tracked.splitlines()}
    named = {
        "pyproject.toml",
        "tablectl",
        "firmware_protocol",
        "sim",
        "tests",
        "udev",
        "README.md",
        "LICENSE",
    }
    assert {name for name in top if not name.startswith(".")} <= named
