"""What the wire package raises when its caller is wrong; bytes from outside never raise."""


class ProtocolError(Exception):
    """The root of this package's errors."""


class FrameTooLongError(ProtocolError):
    """A frame to be sent is longer than the wire allows."""


class MessageError(ProtocolError):
    """A message cannot be written: a field is out of its range."""


class DescriptionError(ProtocolError):
    """A board's description is unreadable or contradicts itself."""
