"""Writes a picture to a file: whole, or not at all."""

import contextlib
import errno
from pathlib import Path

from tablectl.errors import TablectlError

_WHY = {
    errno.ENOENT: "no_folder",
    errno.ENOTDIR: "no_folder",
    errno.EISDIR: "folder",
    errno.EACCES: "forbidden",
    errno.EPERM: "forbidden",
    errno.EROFS: "forbidden",
    errno.ENOSPC: "full",
    errno.EDQUOT: "full",
}


def write_picture(file: Path, content: str) -> None:
    """Write a file; an old one of its name stays as it was where the new one cannot be written."""
    try:
        target = file.resolve()
        if target.exists() and not target.is_file():  # a device or pipe: nothing can take its place
            target.write_text(content, encoding="utf-8")
        else:
            _replace(target, content)
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL in the name
        number = error.errno if isinstance(error, OSError) else None
        why = _WHY.get(number or 0, "other")
        reason = (isinstance(error, OSError) and error.strerror) or type(error).__name__
        raise TablectlError(f"rule_page.unwritable.{why}", file=file, reason=reason) from error


def _replace(target: Path, content: str) -> None:
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(content, encoding="utf-8")
        part.replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
