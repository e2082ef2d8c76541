"""One line of the JSONL: its session, more than half of the line, decoded by type, and the other columns as they
are."""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.wire.adk.schema import CamelSession
from pantrace.wire.json import decode_document, encode, typed_decoder
from pantrace.wire.read_listener import listener

_COLUMNS = typed_decoder(dict[str, msgspec.Raw])
_SESSION = typed_decoder(CamelSession)
SESSION = "final_session_state"


def decode_line(line: bytes | memoryview) -> Any:
    """A row with a typed `Session` if it is as google-adk writes it; else all of it as a dictionary.

    Of a key that occurs twice in an object of the session, the last value counts. Whoever weighs what is read of a file
    gets the dictionary, in which the earlier one is kept."""
    # Whoever measures the reading must see repeated keys, of which a typed record keeps one.
    if listener() is not None:
        return decode_document(line)
    try:
        columns = _COLUMNS(line)
        session = _SESSION(columns[SESSION])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return decode_document(line)
    if session.events is None or not _is_all(line, columns):
        return decode_document(line)
    # A null keeps its place among the columns.
    columns[SESSION] = msgspec.Raw(b"null")
    return {**decode_document(encode(columns)), SESSION: session}


def _is_all(line: bytes | memoryview, columns: dict[str, msgspec.Raw]) -> bool:
    """Whether the columns are all that a line holds: of a key that stands twice, one would be missing. Judged by
    length, for compact text and for text with a blank after each comma and colon; any other text counts as not all."""
    count = len(columns)
    compact = sum(map(len, columns)) + sum(len(memoryview(each)) for each in columns.values()) + 4 * count + 1
    return len(bytes(line).strip()) in (compact, compact + 2 * count - 1)
