"""Limits: how much memory and time an input may take before it is refused.

Declared sizes are not trusted: bytes are counted while they are unpacked. High compression alone is not suspicious: the
log of an agent that repeats its context packs a hundred to one with deflate, and over two thousand to one with zstd. So
size and ratio must both be exceeded. Depth and digits keep every later walk over a value within Python's own limits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from pantrace.errors import ReadError

_MB = 1_000_000


class Limits(NamedTuple):
    """All limits in one record."""

    flowing: int = 64 * _MB
    """Bytes that may be unpacked at any ratio if they are read line by line."""
    held: int = 32 * _MB
    """Bytes that may be unpacked at any ratio if they are in memory at once: a document, a line, a member."""
    deflate_ratio: int = 500
    """Maximum ratio beyond these sizes; one repeated letter reaches 1,030."""
    zstd_ratio: int = 4_000
    """The same for zstd, where repeated short lines reach 10,000, and one repeated letter 30,000."""
    record: int = 256 * _MB
    """Bytes of one record, packed or not: a line, a document, a session of many lines, a member, a row of a database.
    All of it is in memory at once, several times over."""
    members: int = 2_000_000
    """Members of an archive."""
    depth: int = 200
    """Levels of nested lists and objects. Every walk over a value recurses, and Python stops at about 1,000 calls."""
    digits: int = 4_300
    """Digits of an integer; Python itself refuses to convert more, because that takes quadratic time."""


_limits = Limits()


def limits() -> Limits:
    """The limits of this process."""
    return _limits


def allow_unpacked(size: int) -> None:
    """Let every input unpack to this size, whatever its ratio."""
    global _limits
    # A document of that size must be allowed as well, or the option would have no effect on it.
    _limits = _limits._replace(flowing=size, held=size, record=max(size, _limits.record))


def allow_record(size: int) -> None:
    """Let every record have this size."""
    global _limits
    _limits = _limits._replace(record=size)


@contextmanager
def any_record_size() -> Iterator[None]:
    """Lift the limit on records: what we just wrote can be larger than what was read, and must be read back."""
    # Restored afterwards: the next input is foreign again.
    before = _limits
    allow_record(sys.maxsize)
    try:
        yield
    finally:
        set_limits(before)


def set_limits(given: Limits) -> None:
    """Use the limits of another process, in a worker: options of the command line apply there, too."""
    global _limits
    _limits = given


class PackedTooTightly(ReadError):
    """An input that unpacks to more than a recording of its size ever would."""

    @classmethod
    def beyond(cls, size: int, ratio: int) -> PackedTooTightly:
        return cls(
            f"unpacks to more than {in_words(size)}, and to more than {ratio:,} times its packed size; "
            "if you trust it, raise the limit with --max-unpacked SIZE"
        )


class TooLarge(ReadError):
    """A record that needs more memory than one record may take."""

    @classmethod
    def record(cls, what: str = "the record") -> TooLarge:
        return cls(
            f"{what} is larger than {in_words(limits().record)}; "
            "if you trust it, raise the limit with --max-record SIZE (reading takes several times as much memory)"
        )


def in_words(size: int) -> str:
    """A size for a person: "64 MB"."""
    for unit, factor in (("GB", 1000 * _MB), ("MB", _MB), ("kB", 1000)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} bytes"
