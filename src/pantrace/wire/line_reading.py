"""Lines of a file, each within the limit on a record. Longer ones are skipped without holding them in memory."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, TypeAlias

from .limits import PackedTooTightly, limits
from .unpacking import Unpacked

Opened: TypeAlias = "io.BufferedReader[Any]"

_PIECE = 1 << 23
"""Bytes of a line that are read before its length is measured."""


def whole_lines(file: Opened) -> Iterator[bytes | None]:
    """Each line, or None for a line that is larger than a record may be."""
    most = limits().record
    first = min(_PIECE, most + 1)
    packed = file.raw if isinstance(file.raw, Unpacked) else None
    begin = 0
    while line := file.readline(first):
        if len(line) < first or line.endswith(b"\n"):
            yield line
        # A compressed stream cannot go back, so it must be read to be measured.
        elif not file.seekable():
            yield _read_to_end(file, line, most, begin)
        else:
            # Measured first, so that a line that is too large is never in memory.
            place = file.tell()
            length, ended = _skip_line(file, most - len(line))
            if not ended:
                _skip_line(file)
            if len(line) + length > most:
                yield None
            else:
                file.seek(place)
                yield line + file.readline(most)
        if packed is not None:
            begin = packed.packed


def _skip_line(file: Opened, most: int | None = None) -> tuple[int, bool]:
    """Skip a line in pieces, up to `most` bytes; returns how many were skipped and whether the line ended."""
    passed = 0
    while most is None or passed <= most:
        piece = file.readline(_PIECE)
        passed += len(piece)
        if not piece or piece.endswith(b"\n"):
            return passed, True
    return passed, False


def _read_to_end(file: Opened, line: bytes, most: int, begin: int) -> bytes | None:
    """The rest of a line in a stream that cannot be rewound, so its length is known only after reading it. A line that
    is far larger than its packed bytes (from `begin` on) allow is refused."""
    packed = file.raw if isinstance(file.raw, Unpacked) else None
    pieces, length = [line], len(line)
    while not line.endswith(b"\n") and (line := file.readline(_PIECE)):
        length += len(line)
        if packed is not None and length > max(limits().held, packed.ratio * (packed.packed - begin)):
            raise PackedTooTightly.beyond(limits().held, packed.ratio)
        if length <= most:
            pieces.append(line)
        else:
            # Dropped as soon as it is too long; the rest is only counted.
            pieces.clear()
    return b"".join(pieces) if length <= most else None
