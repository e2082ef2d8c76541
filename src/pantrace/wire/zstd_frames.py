"""Whether the last Zstandard frame of a file is complete. The decoder treats the end of a cut-off file like the end of
the data.

Spec: RFC 8878, section 3.1."""

from __future__ import annotations

from typing import IO

_FRAME, _SKIPPABLE = 0xFD2FB528, 0x184D2A5
_DICTIONARY = (0, 1, 2, 4)
_CONTENT = (0, 2, 4, 8)
_RLE = 1
"""The type of a block that consists of one repeated byte."""
_HEADERS, _APART = 100_000, 64
"""So many headers are read, and one more for each so many bytes of the file: a writer that ends a block after each line
needs fewer. Empty blocks have three bytes, and millions of them would take many seconds."""


def is_zstd(magic: bytes) -> bool:
    """Whether a file that begins with these four bytes is compressed. Parallel compressors begin with a skippable
    frame."""
    return int.from_bytes(magic, "little") == _FRAME or int.from_bytes(magic, "little") >> 4 == _SKIPPABLE


def cut_at(file: IO[bytes]) -> int | None:
    """The byte where the cut-off block or frame begins; None if the file is complete, or has more blocks than any
    compressor writes. Only headers are read; the file is left at its end."""
    end = file.seek(0, 2)
    headers = _Headers(file)
    place = 0
    while place < end and headers.are_few(place):
        following = _behind_frame(headers, place, end)
        if following is None or following[0] > end:
            file.seek(end)
            return place if following is None else following[1]
        place = following[0]
    file.seek(end)
    return None


class _Headers:
    """The headers of a file, and how many were read."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self._count = 0

    def are_few(self, place: int) -> bool:
        return self._count < _HEADERS + place // _APART

    def bytes(self, place: int, count: int) -> bytes:
        self._count += 1
        self._file.seek(place)
        return self._file.read(count)


def _behind_frame(file: _Headers, place: int, end: int) -> tuple[int, int] | None:
    """Where a frame ends and where its last block begins; None if even its header is incomplete."""
    head = file.bytes(place, 5)
    magic = int.from_bytes(head[:4], "little")
    # Skippable frames carry metadata (seek tables); only their length matters here.
    if magic >> 4 == _SKIPPABLE:
        return place + 8 + int.from_bytes(file.bytes(place + 4, 4), "little"), place
    if magic != _FRAME or len(head) < 5:
        return (end, place) if len(head) == 5 else None  # the decoder judges what follows the frames
    described = head[4]
    single = described >> 5 & 1
    content = _CONTENT[described >> 6] or single
    block = place + 5 + (not single) + _DICTIONARY[described & 3] + content
    while file.are_few(block):
        header = file.bytes(block, 3)
        if len(header) < 3:
            return end + 1, block
        told = int.from_bytes(header, "little")
        behind = block + 3 + (1 if told >> 1 & 3 == _RLE else told >> 3)
        if told & 1 or behind > end:
            return behind + (4 if told & 1 and described >> 2 & 1 else 0), block
        block = behind
    return end, block
