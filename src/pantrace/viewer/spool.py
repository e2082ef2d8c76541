"""The spool: packed blocks in one temporary file, for the report to copy and for the server to send."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Literal

Kind = Literal["index", "page", "steps", "passed", "text", "image"]
"""What a block holds; `passed`: steps of samples that passed, which a smaller report can do without."""


PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Packed already."""


@dataclass(frozen=True)
class Block:
    """A packed block and where it lies."""

    key: str
    kind: Kind
    mime: str
    """What it is when it is unpacked. Pictures are stored as they are, all else is gzip."""
    offset: int
    size: int
    unpacked: int
    """Bytes before they were packed."""

    @property
    def packed(self) -> bool:
        """Whether it is gzip."""
        return self.mime not in PICTURES


class Spool:
    """Blocks by key; closed, it is gone."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="pantrace-view-")  # noqa: SIM115 -- closed by `close`
        self._end = 0
        self._lock = Lock()
        self.blocks: dict[str, Block] = {}

    def put(self, key: str, data: bytes, kind: Kind, mime: str = "application/json") -> None:
        """Keep bytes; all but pictures are packed. A key that is there is replaced."""
        # No time stamp: the same input gives the same report.
        packed = data if mime in PICTURES else gzip.compress(data, 6, mtime=0)
        with self._lock:
            self._file.seek(self._end)
            self._file.write(packed)
            self.blocks[key] = Block(key, kind, mime, self._end, len(packed), len(data))
            self._end += len(packed)

    def read(self, key: str) -> bytes:
        """The packed bytes of a block."""
        block = self.blocks[key]
        with self._lock:
            self._file.seek(block.offset)
            return self._file.read(block.size)

    def of_kind(self, kind: Kind) -> Iterator[Block]:
        """Blocks of one kind, in the order in which they came."""
        return (block for block in self.blocks.values() if block.kind == kind)

    def close(self) -> None:
        """Let go of the file, and with it of its content."""
        self._file.close()
