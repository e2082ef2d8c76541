"""Rows decoded directly to a type: faster than dictionaries, and already checked.

The types of a format list the keys that its rows usually have. A row with another key or another type is returned as
plain JSON, and its format reads it with the slow code: a type must never be a reason to drop something.
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
            # Measuring what was read compares plain values, which would need a second decoding.
            return decode_document(raw)
        try:
            row = fast(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return decode_document(raw)
        again = encode(row)
        # A struct keeps only the last of repeated keys, which leaves fewer colons (see `decode_document`). A null has
        # the same effect; then the text is decoded again for nothing.
        if not raw.startswith(again) and raw.count(b":") > again.count(b":"):
            return decode_document(raw)
        return row

    return decode
