"""Text files that a user wrote and named: settings, plans, labels."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from pantrace.errors import UsageError

_MOST = 64_000_000
"""Maximum bytes of a file that a person wrote. A device named in a plan would never end."""


def exists(path: str | PathLike[str]) -> bool:
    """Whether a file or folder exists; False for an impossible name, for which pathlib raises an error."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: str | PathLike[str]) -> bool:
    """The same for a regular file."""
    return os.path.isfile(path)  # noqa: PTH113


def bytes_of(path: Path) -> bytes:
    """The bytes of a file, or of a pipe; UsageError if it cannot be read or is too large for what a person writes."""
    try:
        with path.open("rb") as file:
            # Not `read()`: /dev/zero has no end.
            data = file.read(_MOST + 1)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise UsageError(f"{str(path)[:200]}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _MOST:
        raise UsageError(f"{path}: larger than {_MOST // 1_000_000} MB, which is too much for such a file")
    return data


def read_text(path: Path, *, windows: bool = False) -> str:
    """The text of a UTF-8 file (or UTF-16, with a byte order mark), without the mark; UsageError if it is neither. With
    `windows`, any other file is read as Windows-1252."""
    data = bytes_of(path)
    try:
        # Editors on Windows write prompts and settings as UTF-16.
        return data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig").replace(
            "\r\n", "\n"
        )
    except UnicodeDecodeError:
        if windows:
            return data.decode("cp1252", "replace").replace("\r\n", "\n")
        raise UsageError(f"{path}: not UTF-8 text") from None
