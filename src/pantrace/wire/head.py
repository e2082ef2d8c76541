"""The head of an input: enough of its beginning to detect its format."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from pantrace.errors import ReadError

from . import files, sqlite
from .json import decode, typed_decoder
from .limits import limits
from .objects_on_line import objects_on_line
from .rows import layout_of, values_in

SIZE = 1 << 16

Kind = Literal["directory", "sqlite", "zip", "json", "text", "empty"]


class Head:
    """What a format's `detect` may look at; each property is computed once, and only if used."""

    def __init__(self, path: Path):
        self.path = path

    @cached_property
    def data(self) -> bytes:
        """The first bytes, decompressed, without a byte order mark."""
        return files.read_start(self.path, SIZE)

    @cached_property
    def kind(self) -> Kind:
        if self.path.is_dir():
            return "directory"
        if not self.data.strip():
            return "empty"
        if self.data.startswith(b"SQLite format 3\x00"):
            return "sqlite"
        if self.data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return "zip"
        # Also a string: google-adk up to 1.21 writes JSON inside a JSON string.
        return "json" if self.data.lstrip()[:1] in (b"{", b"[", b'"') else "text"

    @cached_property
    def is_whole(self) -> bool:
        """Whether the head is the whole input."""
        # Minus 8: a byte order mark of 3 bytes may have been removed.
        return len(self.data) < SIZE - 8

    @cached_property
    def layout(self) -> str | None:
        """lines, array or document; None when it is not JSON."""
        return layout_of(self.data, whole=self.is_whole) if self.kind == "json" else None

    @cached_property
    def may_be_document(self) -> bool:
        """Whether the input may be a single JSON object: a first line that is longer than the head may be all of it, as
        in a document without line breaks."""
        return self.layout == "document" or (
            self.layout == "lines" and not self.is_whole and b"\n" not in self.data.lstrip()
        )

    @cached_property
    def document(self) -> Any:
        """The JSON value as far as the head reaches: open strings, lists and objects are closed."""
        if self.layout is None or self.layout == "lines":
            return None
        return decode_beginning(self.data)

    @cached_property
    def records(self) -> list[Any]:
        """The first records: lines, items of an array, or the whole document; the last may be cut off."""
        return [record for record in self._records() if record is not None]

    @cached_property
    def record(self) -> dict[str, Any]:
        """The first record that is an object; empty when there is none."""
        return next((record for record in self._records() if isinstance(record, dict)), {})

    def _records(self) -> Iterable[Any]:
        if self.layout == "lines":
            # Several lines, because the first ones may be metadata (a header, a session line).
            return (record for line in self.data.splitlines()[:32] if line.strip() for record in _on_line(line))
        if self.layout == "array":
            return self.document if isinstance(self.document, list) else ()
        # Values one after another, each on many lines: what `jq . session.jsonl` prints.
        if self.layout == "document" and self.document is None and (several := values_in(self.data)):
            return (decode_beginning(value) for value in several[:32])
        return (self.document,)

    @cached_property
    def tables(self) -> dict[str, tuple[str, ...]]:
        """Tables of a SQLite database with their columns; empty for anything else."""
        return sqlite.tables_at(self.path) if self.kind == "sqlite" else {}

    @cached_property
    def members(self) -> tuple[str, ...]:
        """Names in a zip archive; empty for anything else, or if it is damaged."""
        if self.kind != "zip":
            return ()
        from .zip_archive import member_names

        return member_names(self.path)

    def holds_several(self, is_whole: Callable[[Any], bool]) -> bool:
        """Whether the input has several records (or an array with at least one), all of which are whole documents."""
        records = self.records
        # The last record may be cut off, so it may lack what makes it a document.
        if not records or not all(map(is_whole, records[:-1] or records)):
            return False
        return (
            self.layout == "array" or len(records) > 1 or (self.layout == "lines" and files.has_more_lines(self.path))
        )

    def has(self, relative: str) -> bool:
        """Whether a directory contains this path, which may be a glob pattern."""
        return self.kind == "directory" and next(self.path.glob(relative), None) is not None


_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)'
_BRACKET = re.compile(rf'(?:[^"\[\]{{}}]++|{_STRING})*+([\[\]{{}}]|\Z)', re.DOTALL)
"""Matches everything up to the next bracket at once: one match for each comma and each string takes several times as
long. The end of the text is a match as well; otherwise the search would start again at each character."""
_COMMA = re.compile(rf'(?:[^",]++|{_STRING})*+(,|\Z)', re.DOTALL)
_fast: Callable[[bytes], Any] = typed_decoder(object)


def _on_line(line: bytes) -> list[Any]:
    """The value of a line, or all values if several were written on it."""
    try:
        return [_fast(line)]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [decode_beginning(each) for each in objects_on_line(line) or [line]]


Open: TypeAlias = "tuple[str, Open] | None"
"""The closing brackets of what is open, innermost first, as a linked list that all cuts share."""


def decode_beginning(data: bytes) -> Any:
    """The value that a cut-off JSON text begins; None if it is not JSON from the start."""
    try:
        return _fast(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # probably cut off; otherwise all of it is decoded below
    text = data.decode("utf-8", "ignore")
    open_: Open = None
    # The last few places where the text could be closed; if none of them parses, it is not JSON.
    cuts: deque[tuple[int, Open]] = deque(maxlen=4)
    depth, end, most = 0, 0, limits().depth
    for token in _BRACKET.finditer(text):
        if not (mark := token[1]):
            break
        if mark in "[{":
            open_ = ("]" if mark == "[" else "}", open_)
            depth += 1
            # Given up early: a hostile file of brackets would otherwise build a list of millions.
            if depth > most:
                return None
        else:
            if open_ is None or open_[0] != mark:
                return None
            open_ = open_[1]
            depth -= 1
        end = token.end()
        cuts.append((end, open_))
    cuts.extend((token.end() - 1, open_) for token in _COMMA.finditer(text, end) if token[1])
    for end, still_open in reversed(cuts):
        try:
            return decode((text[:end] + _closing(still_open)).encode("utf-8", "surrogatepass"))
        except ReadError:
            continue
    return None


def _closing(open_: Open) -> str:
    closers = ""
    while open_ is not None:
        closer, open_ = open_
        closers += closer
    return closers
