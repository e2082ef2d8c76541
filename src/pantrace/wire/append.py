"""Append bytes to a file: all of them or none."""

from __future__ import annotations

import os
from contextlib import suppress


def append_whole(file: int, data: bytes) -> None:
    """Add bytes to a file that no other process writes at the same time. If a full disk takes only a part, that part is
    removed again: half a line would spoil the next one."""
    size = os.fstat(file).st_size
    left = memoryview(data)
    try:
        # `os.write` may write only a part, without an error.
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(file, size)
        raise
