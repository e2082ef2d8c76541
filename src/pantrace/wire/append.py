"""Append bytes to a file: all of them or none."""

from __future__ import annotations

import os
from contextlib import suppress


def append_whole(file: int, data: bytes) -> None:
    """Add bytes to a file that nobody else writes meanwhile. What a full disk takes only half of is cut off again:
    half a line would spoil the next one."""
    size = os.fstat(file).st_size
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        with suppress(OSError):
            os.ftruncate(file, size)
        raise
