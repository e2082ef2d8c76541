"""Heard: records of a source that wait for their sample, each decoded at most once.

A reader that decodes a record says so (`wire.read_listener`), and then only the words are kept: it may change what it
was given. The text is decoded again only if something is lacking and has to be named.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from pantrace.errors import ReadError

from .json import decode
from .table_row import TableRow, row_values
from .words import Word, words_in


class Heard(NamedTuple):
    """A record, or rows of a table, that the reader has decoded, and what they said then."""

    data: bytes | list[TableRow]
    words: set[Word]
    values: int


def with_heard_rows(waiting: list[Any], texts: list[bytes], values: list[Any]) -> list[Any]:
    """What waits, with the rows whose last column is one of these texts as heard."""
    by_text = {id(text) for text in texts}
    rows = [each for each in waiting if type(each) is TableRow and id(each.values[-1]) in by_text]
    others = [other for row in rows for other in row.values[:-1] if other is not None]
    # JSON in another column has not been decoded, and bytes count as nothing.
    if len(rows) != len(texts) or any(type(each) is bytes or _may_be_json(each) for each in others):
        return waiting
    words, count = words_in(values)
    words.update(others, *{row.names for row in rows})
    heard = {id(row) for row in rows}
    left = [each for each in waiting if id(each) not in heard]
    return [*left, Heard(rows, words, count + len(others))]


def _may_be_json(value: Any) -> bool:
    return type(value) is str and value[:1] in ("{", "[")


def decoded(records: Sequence[Any]) -> list[Any]:
    """Records as values; those that are no JSON are none."""
    if records and all(type(each) is TableRow for each in records):
        return row_values([*records])
    values: list[Any] = []
    for record in records:
        data = record.data if isinstance(record, Heard) else record
        if type(data) is list:
            values += row_values(data)
            continue
        with suppress(ReadError):
            value = decode(data) if isinstance(data, (bytes, memoryview)) else data
            if isinstance(value, TableRow):
                value = row_values([value])[0]
            # A whole document inside a text: some tools encode twice.
            values.append(decode(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value)
    return values
