"""What every message is: a number, a direction, a layout; the registry that all of them stand in."""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, TypeVar

from firmware_protocol.errors import MessageError


class Sender(StrEnum):
    """Which end sends a message."""

    HOST = "host"
    BOARD = "board"


REGISTRY: dict[int, type["Message"]] = {}
_M = TypeVar("_M", bound="type[Message]")


@dataclass(frozen=True, slots=True)
class Message:
    """The base of all messages."""

    NUMBER: ClassVar[int] = 0
    SENDER: ClassVar[Sender] = Sender.HOST
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("")
    TAIL: ClassVar[bool] = False

    def payload(self) -> bytes:
        """Return the message without its number."""
        names: tuple[str, ...] = self.__slots__
        values = [getattr(self, name) for name in names]
        try:
            if self.TAIL:
                return self.LAYOUT.pack(*values[:-1]) + bytes(values[-1])
            return self.LAYOUT.pack(*values)
        except struct.error as error:
            raise MessageError("error.message", message=repr(self), reason=str(error)) from error

    def numbered(self) -> bytes:
        """Return the message as it travels in a DATA or EVENT frame."""
        return bytes((self.NUMBER,)) + self.payload()

    @classmethod
    def parse(cls: type["_T"], payload: bytes) -> "_T | None":
        """Return the message, or None where the payload does not fit the layout."""
        size = cls.LAYOUT.size
        if len(payload) < size or (len(payload) > size and not cls.TAIL):
            return None
        values = cls.LAYOUT.unpack_from(payload)
        make: Any = cls
        return make(*values, payload[size:]) if cls.TAIL else make(*values)  # type: ignore[no-any-return]


_T = TypeVar("_T", bound=Message)


def message(number: int, sender: Sender, layout: str, tail: bool = False) -> Callable[[_M], _M]:
    """Register a message; `layout` is a struct format, a `tail` takes what is left of the payload."""

    def register(cls: _M) -> _M:
        if number in REGISTRY:
            raise ValueError(f"two messages have the number {number:#04x}")
        cls.NUMBER, cls.SENDER, cls.LAYOUT, cls.TAIL = number, sender, struct.Struct("<" + layout), tail
        REGISTRY[number] = cls
        return cls

    return register


def parse_numbered(data: bytes) -> Message | None:
    """Return the message of a DATA or EVENT payload, None where it is unknown or malformed."""
    cls = REGISTRY.get(data[0]) if data else None
    return cls.parse(data[1:]) if cls else None
