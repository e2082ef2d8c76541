"""The spool: packed blocks in one temporary file, for the report to copy and for the server to send."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Literal

Kind = Literal["index", "page", "steps", "passed", "text", "image"]
"""What a block contains; `passed`: steps of samples that passed, which a smaller report leaves out."""


PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Compressed already, so gzip would only cost time."""


@dataclass(frozen=True)
class Block:
    """A compressed block and its place in the file."""

    key: str
    kind: Kind
    mime: str
    """The type of its content. Pictures are stored as they are, everything else is gzip."""
    offset: int
    size: int
    unpacked: int
    """Bytes before compression."""

    @property
    def packed(self) -> bool:
        """Whether it is gzip."""
        return self.mime not in PICTURES


class Spool:
    """Blocks by key; `close` deletes them."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="pantrace-view-")  # noqa: SIM115 -- closed by `close`
        self._end = 0
        self._lock = Lock()
        self.blocks: dict[str, Block] = {}

    def put(self, key: str, data: bytes, kind: Kind, mime: str = "application/json") -> None:
        """Store bytes; all but pictures are compressed. An existing key is replaced."""
        # No time stamp, so that the same input gives the same report.
        packed = data if mime in PICTURES else gzip.compress(data, 6, mtime=0)
        with self._lock:
            self._file.seek(self._end)
            self._file.write(packed)
            self.blocks[key] = Block(key, kind, mime, self._end, len(packed), len(data))
            self._end += len(packed)

    def read(self, key: str) -> bytes:
        """The compressed bytes of a block."""
        block = self.blocks[key]
        with self._lock:
            self._file.seek(block.offset)
            return self._file.read(block.size)

    def of_kind(self, kind: Kind) -> Iterator[Block]:
        """Blocks of one kind, in the order in which they came."""
        return (block for block in self.blocks.values() if block.kind == kind)

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
