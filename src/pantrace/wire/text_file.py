"""Text files that a user wrote and named: settings, plans, labels."""

from __future__ import annotations

from pathlib import Path

from pantrace.errors import UsageError


def text_of(path: Path) -> str:
    """The text of a UTF-8 file, without a byte order mark; UsageError if it has none."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text") from None
