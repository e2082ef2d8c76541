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


def cut_at(file: IO[bytes]) -> int | None:
    """The byte where the cut-off block or frame begins; None if the file is complete. Only headers are read; the file
    is left at its end."""
    end = file.seek(0, 2)
    place = 0
    while place < end:
        following = _behind_frame(file, place, end)
        if following is None or following[0] > end:
            file.seek(end)
            return place if following is None else following[1]
        place = following[0]
    file.seek(end)
    return None


def _behind_frame(file: IO[bytes], place: int, end: int) -> tuple[int, int] | None:
    """Where a frame ends and where its last block begins; None if even its header is incomplete."""
    head = _bytes(file, place, 5)
    magic = int.from_bytes(head[:4], "little")
    # Skippable frames carry metadata (seek tables); only their length matters here.
    if magic >> 4 == _SKIPPABLE:
        return place + 8 + int.from_bytes(_bytes(file, place + 4, 4), "little"), place
    if magic != _FRAME or len(head) < 5:
        return (end, place) if len(head) == 5 else None  # the decoder judges what follows the frames
    described = head[4]
    single = described >> 5 & 1
    content = _CONTENT[described >> 6] or single
    block = place + 5 + (not single) + _DICTIONARY[described & 3] + content
    while True:
        header = _bytes(file, block, 3)
        if len(header) < 3:
            return end + 1, block
        told = int.from_bytes(header, "little")
        behind = block + 3 + (1 if told >> 1 & 3 == _RLE else told >> 3)
        if told & 1 or behind > end:
            return behind + (4 if told & 1 and described >> 2 & 1 else 0), block
        block = behind


def _bytes(file: IO[bytes], place: int, count: int) -> bytes:
    file.seek(place)
    return file.read(count)
