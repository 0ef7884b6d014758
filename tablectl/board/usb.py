"""The reset of a USB adapter that has hung, through pyusb."""

import errno
import os
from typing import Any

import usb.core
import usb.util

from tablectl.board.port_types import UsbPlace


def reset(place: UsbPlace, backend: Any = None) -> str:
    """Reset the device that is plugged in there; return why that failed, or nothing.

    `backend` is one of pyusb's, None for the system's. The device is enumerated anew: its port gets another
    name, perhaps.
    """
    try:
        device = usb.core.find(backend=backend, custom_match=lambda each: _is_at(each, place))
        if device is None:
            return os.strerror(errno.ENODEV)
        try:
            device.reset()
        finally:
            usb.util.dispose_resources(device)
    except (usb.core.USBError, usb.core.NoBackendError, NotImplementedError) as error:
        if getattr(error, "errno", None) == errno.ENOENT:
            return ""  # so a reset is reported after which the device had to be enumerated anew
        return getattr(error, "strerror", None) or str(error) or type(error).__name__
    return ""


def _is_at(device: Any, place: UsbPlace) -> bool:
    there = device.bus == place.bus and tuple(device.port_numbers or ()) == place.ports
    # Another device in the same socket is not the one that has hung.
    return there and (device.idVendor, device.idProduct) == (place.vendor, place.product)
