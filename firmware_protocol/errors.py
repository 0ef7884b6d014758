"""What the wire package raises when its caller is wrong; bytes from outside never raise."""

from firmware_protocol.texts import Told


class ProtocolError(Exception):
    """The root of this package's errors: the key of a text and its values, told in either language."""

    def __init__(self, key: str, /, **values: int | str) -> None:
        super().__init__(key, values)
        self.told = Told(key, values)

    def __str__(self) -> str:
        return self.told.text("en")


class FrameTooLongError(ProtocolError):
    """A frame to be sent is longer than the wire allows."""


class MessageError(ProtocolError):
    """A message cannot be written: a field is out of its range."""


class DescriptionError(ProtocolError):
    """A board's description is unreadable or contradicts itself."""
