"""Text files that a user wrote and named: settings, plans, labels."""

from __future__ import annotations

from pathlib import Path

from pantrace.errors import UsageError


def text_of(path: Path, *, windows: bool = False) -> str:
    """The text of a UTF-8 file (or UTF-16, where a byte order mark says so), without the mark; UsageError if it has
    none. With `windows`, what is neither is taken for Windows' own letters."""
    try:
        data = path.read_bytes()
        # Editors on Windows write prompts and settings so.
        return data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig").replace(
            "\r\n", "\n"
        )
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        if windows:
            return data.decode("cp1252", "replace").replace("\r\n", "\n")
        raise UsageError(f"{path}: not UTF-8 text") from None
