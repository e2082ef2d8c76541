"""Unpacking gzip and zstd files with a running limit on the output. UTF-16 text becomes UTF-8 here, too."""

from __future__ import annotations

import codecs
import io
import zlib
from typing import IO, Any, Protocol

import zstandard

from .limits import PackedTooTightly, limits
from .zstd_frames import cut_at, is_zstd

GZIP = b"\x1f\x8b"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_GZIP = zlib.MAX_WBITS | 16
_SIP = 1 << 12
"""Packed bytes are read in small pieces, so that the position in the file says what has been unpacked so far."""


def is_packed(magic: bytes) -> bool:
    """Whether a file that begins with these four bytes must be converted: it is compressed, or UTF-16."""
    return magic.startswith(GZIP) or is_zstd(magic) or magic.startswith(_UTF_16)


class _Stream(Protocol):
    def readinto(self, buffer: Any, /) -> int | None: ...


class Unpacked(io.RawIOBase):
    """The content of a compressed file, or of a UTF-16 text as UTF-8.

    Every stretch of output as long as the limit must come from enough packed bytes, so that honest data in front cannot
    hide a bomb."""

    def __init__(self, file: IO[bytes], magic: bytes, *, held: bool):
        now = limits()
        self._size = now.held if held else now.flowing
        self._zstd = is_zstd(magic)
        self.ratio = now.zstd_ratio if self._zstd else now.deflate_ratio
        """Maximum ratio of unpacked to packed size."""
        self._file = file
        self._length = 0
        """Bytes unpacked in this stretch."""
        self._begin = 0
        """Where its packed bytes begin."""
        self._stream: _Stream
        if self._zstd:
            codec = zstandard.ZstdDecompressor()
            self._stream = codec.stream_reader(file, read_size=_SIP, read_across_frames=True, closefd=False)
        else:
            self._stream = _FromUtf16(file) if magic.startswith(_UTF_16) else _Gunzip(file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        count = self._stream.readinto(buffer) or 0
        # zstandard's reader treats a cut-off frame like the end of the data.
        if not count and self._zstd and (place := cut_at(self._file)) is not None:
            raise EOFError(f"cut off at byte {place:,} of {self._file.tell():,}")
        self._length += count
        if self._length > self._size:
            place = self.packed
            # Size and ratio must both be exceeded: honest logs pack tightly, too (see `limits`).
            if self._length > self.ratio * (place - self._begin):
                raise PackedTooTightly.beyond(self._size, self.ratio)
            self._length, self._begin = 0, place
        return count

    @property
    def packed(self) -> int:
        """Packed bytes read so far."""
        return self._file.tell()


class _Gunzip:
    """Gzip members one after another. The standard library's reader reads the name in a header byte by byte, and
    hostile names are long."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self._member = zlib.decompressobj(_GZIP)
        self._packed = b""

    def readinto(self, buffer: Any, /) -> int:
        while not (found := self._member.decompress(self._packed, len(buffer))):
            if self._member.eof:
                # Members may be padded with zeros.
                self._packed = self._member.unused_data.lstrip(b"\0")
                while not self._packed and (sip := self._file.read(_SIP)):
                    self._packed = sip.lstrip(b"\0")
                if not self._packed:
                    return 0
                self._member = zlib.decompressobj(_GZIP)
                continue
            self._packed = self._member.unconsumed_tail or self._file.read(_SIP)
            if not self._packed:
                end = f"{self._file.tell():,}"
                raise EOFError(f"cut off at byte {end} of {end}")
        self._packed = b"" if self._member.eof else self._member.unconsumed_tail
        buffer[: len(found)] = found
        return len(found)


class _FromUtf16:
    """UTF-16 as UTF-8: what `tool > session.json` writes in Windows PowerShell."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-16")("surrogatepass")
        self._ready = b""

    def readinto(self, buffer: Any, /) -> int:
        while not self._ready:
            sip = self._file.read(_SIP)
            if not sip:
                # A cut-off file may end in half a character; its last record is cut off, too, which is reported.
                return 0
            self._ready = self._decoder.decode(sip).encode("utf-8", "surrogatepass")
        found, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)
