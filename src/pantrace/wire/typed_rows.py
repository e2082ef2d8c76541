"""Rows decoded straight to a type: faster than dictionaries, and nothing in them needs a second look.

The types of a format name the keys that its rows usually have. A row that has another key, or another type somewhere,
comes as plain JSON, and its format reads it the patient way: a type must never be a reason to drop something.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from .json import decode_document, encode
from .read_listener import decode_listener

T = TypeVar("T", bound=msgspec.Struct)


def row_decoder(kind: type[T]) -> Callable[[bytes | memoryview], T | Any]:
    """A decoder to a struct that forbids unknown keys and omits defaults; rows that do not fit come as plain JSON.
    Fields of type `Any` may be nested to any depth: their reader must check with `wire.depth.must_be_shallow`."""
    fast = msgspec.json.Decoder(kind).decode

    def decode(data: bytes | memoryview) -> T | Any:
        raw = bytes(data)
        if decode_listener() is not None:
            # Whoever measures the reading compares plain values, and would have to decode the text once more.
            return decode_document(raw)
        try:
            row = fast(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return decode_document(raw)
        again = encode(row)
        # A struct takes the last of repeated keys and forgets the others, which leaves fewer colons (see
        # `decode_document`). So does a null, which is then looked at for nothing.
        if not raw.startswith(again) and raw.count(b":") > again.count(b":"):
            return decode_document(raw)
        return row

    return decode
