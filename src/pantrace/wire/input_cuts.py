"""Cutting an input into spans for several readers. The cuts depend on the input alone, never on how many readers there
are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from . import files
from .input_span import Span

SPAN_BYTES = 16_000_000
"""Approximate bytes of an input in one span."""


class Cutting(NamedTuple):
    """How to cut an input, and what must stay open while its spans are read."""

    size: int
    """Bytes that one span should have."""
    held: ExitStack


def by_lines(path: Path, size: int) -> Iterator[Span]:
    """Spans of a file of lines, each ending at a line's end. None if the file is small, or compressed and so cannot be
    cut."""
    # A compressed file can only be read from its start.
    if path.stat().st_size <= size or files.is_packed_file(path):
        return
    with files.open_unpacked(path) as file:
        begin = before = 0
        while block := file.read(size):
            # Counted here, where the bytes are in memory anyway: workers need the line numbers for their messages.
            length, newlines, last = len(block), block.count(b"\n"), block
            while not last.endswith(b"\n") and (last := file.readline(size)):  # in pieces: a line may be long
                length, newlines = length + len(last), newlines + last.count(b"\n")
            yield Span(begin, begin + length, before)
            begin, before = begin + length, before + newlines


def by_weight(weights: Iterable[int], size: int) -> Iterator[Span]:
    """Spans of numbered samples, given the size of each in bytes."""
    begin = number = weight = 0
    for number, each in enumerate(weights, 1):
        weight += each
        if weight >= size:
            yield Span(begin, number)
            begin, weight = number, 0
    if begin < number:
        yield Span(begin, number)


def by_count(count: int, weight: int, size: int) -> Iterator[Span]:
    """Spans of numbered samples, if only their total size is known."""
    each = max(1, count * size // max(weight, 1))
    for begin in range(0, count, each):
        yield Span(begin, min(begin + each, count))
