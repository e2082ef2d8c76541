"""A row of a database as it comes through the door (`wire.tap`), and what it says."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from pantrace.errors import ReadError

from .json import decode


class TableRow(NamedTuple):
    """A row as it is: the JSON in its texts is decoded by those who want it, and not while the row is read."""

    names: tuple[str, ...]
    values: tuple[Any, ...]


_decode = msgspec.json.Decoder(list[Any]).decode
_OPENING = (b"{", b"[")


def row_values(rows: list[TableRow]) -> list[dict[str, Any]]:
    """What rows say, column by column: objects and lists are kept in databases as JSON text."""
    data = [[_as_bytes(value) for value in row.values] for row in rows]
    texts = [each for row in data for each in row if each is not None and each[:1] in _OPENING]
    found = iter(_decode_all(texts))
    return [
        {
            name: value
            if text is None
            else next(found)
            if text[:1] in _OPENING
            else value
            if type(value) is str
            else None
            for name, value, text in zip(*row, said, strict=True)
        }
        for row, said in zip(rows, data, strict=True)
    ]


def _as_bytes(value: Any) -> bytes | None:
    kind = type(value)
    return value.encode("utf-8", "surrogatepass") if kind is str else value if kind is bytes else None


def _decode_all(texts: list[bytes]) -> list[Any]:
    """Values of texts; a text that only begins like JSON is itself the value.

    A session is many short texts: all of them at once take a quarter of the time."""
    try:
        found = _decode(b"[" + b",".join(texts) + b"]")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = []
    # Two texts may be one value together, and one text may be two.
    return found if len(found) == len(texts) else [_decoded(each) for each in texts]


def _decoded(text: bytes) -> Any:
    try:
        return decode(text)
    except ReadError:
        return text.decode("utf-8", "replace")
