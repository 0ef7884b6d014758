"""The serial ports of this computer, by pyserial's own list."""

import os
import re

from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

from tablectl.board.port_types import FoundPort, UsbPlace

_LOCATION = re.compile(r"(\d+)-(\d+(?:\.\d+)*)")  # bus-port.port, and ":1.0" for an interface of several


def ports(also: str = "") -> tuple[FoundPort, ...]:
    """Return the ports that are there; `also` is one more path, a link perhaps, with what it leads to."""
    found = {info.device: _usb(info) for info in list_ports.comports()}
    if also and also not in found and (target := os.path.realpath(also)) in found:
        found[also] = found[target]
    return tuple(FoundPort(path, usb) for path, usb in found.items())


def _usb(info: ListPortInfo) -> UsbPlace | None:
    place = _LOCATION.match(info.location or "")
    if place is None or info.vid is None or info.pid is None:
        return None
    bus, ports_ = place.groups()
    return UsbPlace(int(bus), tuple(int(n) for n in ports_.split(".")), info.vid, info.pid)
