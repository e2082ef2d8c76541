"""Unpacking: the content of gzip and zstd files, counted while it flows."""

from __future__ import annotations

import gzip
import io
from typing import IO, Any, Protocol

import zstandard

from .limits import PackedTooTightly, limits

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"

_SIP = 1 << 12
"""Packed bytes are taken in small sips: the place in the file then tells what has been unpacked so far."""


def is_packed(magic: bytes) -> bool:
    """Whether a file that begins with these four bytes is compressed."""
    return magic.startswith(GZIP) or magic == ZSTD


class _Stream(Protocol):
    def readinto(self, buffer: Any, /) -> int | None: ...


class Unpacked(io.RawIOBase):
    """What a compressed file holds.

    Every stretch as long as the limit must come from enough packed bytes, so nothing in front can hide a bomb."""

    def __init__(self, file: IO[bytes], magic: bytes, *, held: bool):
        now = limits()
        self._size = now.held if held else now.flowing
        self.ratio = now.zstd_ratio if magic == ZSTD else now.deflate_ratio
        """How many times its packed size it may be."""
        self._file = file
        self._length = 0
        """Bytes unpacked in this stretch."""
        self._begin = 0
        """Where its packed bytes begin."""
        self._stream: _Stream
        if magic == ZSTD:
            codec = zstandard.ZstdDecompressor()
            self._stream = codec.stream_reader(file, read_size=_SIP, read_across_frames=True, closefd=False)
        else:
            self._stream = gzip.GzipFile(fileobj=_Sips(file))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self._stream.readinto(buffer) or 0
        self._length += count
        if self._length > self._size:
            place = self.packed
            if self._length > self.ratio * (place - self._begin):
                raise PackedTooTightly.beyond(self._size, self.ratio)
            self._length, self._begin = 0, place
        return count

    @property
    def packed(self) -> int:
        """Packed bytes taken so far."""
        return self._file.tell()


class _Sips:
    """A file that hands out little at a time: GzipFile asks for 128 kB from Python 3.12 on."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self.seek = file.seek

    def read(self, size: int) -> bytes:
        return self._file.read(min(size, _SIP))
