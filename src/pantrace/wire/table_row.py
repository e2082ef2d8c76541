"""A row of a database as it is reported to listeners (`wire.read_listener`), and its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pantrace.errors import ReadError

from .json import decode, decode_each


class TableRow(NamedTuple):
    """A row as it was read; the JSON in its texts is decoded only by those who want it."""

    names: tuple[str, ...]
    values: tuple[Any, ...]


def row_values(rows: Sequence[TableRow]) -> list[dict[str, Any]]:
    """The values of rows by column. Databases keep objects and lists as JSON text; other bytes count as nothing."""
    found = [dict(zip(*row, strict=True)) for row in rows]
    places: list[tuple[dict[str, Any], str]] = []
    texts: list[bytes] = []
    for row in found:
        for name, value in row.items():
            kind = type(value)
            if kind is bytes and value[:1] not in (b"{", b"["):
                row[name] = None
            elif kind is bytes or (kind is str and value[:1] in ("{", "[")):
                places.append((row, name))
                texts.append(value if kind is bytes else value.encode("utf-8", "surrogatepass"))
    for (row, name), text, value in zip(places, texts, _decode_all(texts), strict=True):
        if value is not text:
            row[name] = value
        elif type(row[name]) is bytes:
            row[name] = None
    return found


def _decode_all(texts: list[bytes]) -> list[Any]:
    """The values of texts; a text that only looks like JSON stays text."""
    found = decode_each(texts)
    return found if found is not None else [_decode(each) for each in texts]


def _decode(text: bytes) -> Any:
    try:
        return decode(text)
    except ReadError:
        return text
