"""Text files that a user wrote and named: settings, plans, labels."""

from __future__ import annotations

from pathlib import Path

from pantrace.errors import UsageError


def text_of(path: Path) -> str:
    """The text of a UTF-8 file (or UTF-16, where a byte order mark says so), without the mark; UsageError if it has
    none."""
    try:
        data = path.read_bytes()
        # Editors on Windows write prompts and settings so.
        return data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig").replace(
            "\r\n", "\n"
        )
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text") from None
