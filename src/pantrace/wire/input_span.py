"""A span: a piece of an input that can be read by itself."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """From `begin` to before `end`: bytes of lines, or numbers of samples of an archive or a database."""

    begin: int
    end: int
    before: int = 0
    """Number of lines before it, so that messages have the line numbers of the whole file."""
    copy: str | None = None
    """A snapshot of the input that exists while its spans are read: all readers must see the same database."""
