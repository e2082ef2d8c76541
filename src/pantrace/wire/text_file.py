"""Text files that a user wrote and named: settings, plans, labels."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from pantrace.errors import UsageError

_MOST = 64_000_000
"""Bytes of a file that a person wrote. A device that a plan names would never end."""


def exists(path: str | PathLike[str]) -> bool:
    """Whether there is something with this name; a name that no file can have is none, where pathlib raises."""
    return os.path.exists(path)  # noqa: PTH110


def is_file(path: str | PathLike[str]) -> bool:
    """The same of a regular file."""
    return os.path.isfile(path)  # noqa: PTH113


def bytes_of(path: Path) -> bytes:
    """The bytes of a file, or of a pipe; UsageError if it cannot be read or is too large for what a person writes."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise UsageError(f"{str(path)[:200]}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _MOST:
        raise UsageError(f"{path}: larger than {_MOST // 1_000_000} MB, which is too much for such a file")
    return data


def read_text(path: Path, *, windows: bool = False) -> str:
    """The text of a UTF-8 file (or UTF-16, where a byte order mark says so), without the mark; UsageError if it has
    none. With `windows`, what is neither is taken for Windows' own letters."""
    data = bytes_of(path)
    try:
        # Editors on Windows write prompts and settings so.
        return data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig").replace(
            "\r\n", "\n"
        )
    except UnicodeDecodeError:
        if windows:
            return data.decode("cp1252", "replace").replace("\r\n", "\n")
        raise UsageError(f"{path}: not UTF-8 text") from None
