"""A span: a piece of an input that can be read by itself."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """From `begin` to before `end`: bytes of lines, or numbers of samples of an archive or a database."""

    begin: int
    end: int
    before: int = 0
    """Lines that stand before it, so that messages name the lines of the whole file."""
    copy: str | None = None
    """A copy of the input as of one moment, made for as long as its spans are read."""
