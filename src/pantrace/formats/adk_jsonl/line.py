"""Decodes one line of the JSONL: the session, more than half of the line, by type, and the other columns as plain
JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from pantrace.wire.adk.schema import CamelSession
from pantrace.wire.json import decode_document, decode_telling_repeats, encode, typed_decoder
from pantrace.wire.read_listener import listener

_COLUMNS = typed_decoder(dict[str, msgspec.Raw])
_SESSION = typed_decoder(CamelSession)
SESSION = "final_session_state"


def decode_line(line: bytes | memoryview) -> Any:
    """A row with a typed `Session` if it is as google-adk writes it; else all of it as a dictionary.

    If a key occurs twice in an object of the session, the last value counts. While the reading is being measured
    (`wire.read_listener`), such a row is a dictionary, which keeps the earlier value as well."""
    if listener() is not None:
        return _decode_heard_line(line)
    try:
        columns = _COLUMNS(line)
        session = _SESSION(columns[SESSION])
    except (KeyError, msgspec.DecodeError, UnicodeDecodeError):
        return decode_document(line)
    if session.events is None or not _is_all(line, columns):
        return decode_document(line)
    # A null marks its place, so that the order of the columns stays.
    columns[SESSION] = msgspec.Raw(b"null")
    return {**decode_document(encode(columns)), SESSION: session}


def _decode_heard_line(line: bytes | memoryview) -> Any:
    """The same for those who measure the reading: they must see all as plain values, and repeated keys, of which a
    typed record keeps one."""
    row, is_repeated = decode_telling_repeats(line)
    if is_repeated or not isinstance(row, dict) or SESSION not in row:
        return row
    try:
        session = _SESSION(_COLUMNS(line)[SESSION])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return row
    return row if session.events is None else {**row, SESSION: session}


def _is_all(line: bytes | memoryview, columns: dict[str, msgspec.Raw]) -> bool:
    """Whether the columns are all that a line holds; if a key occurs twice, one value is missing. The length tells, for
    compact text and for text with a space after each comma and colon; any other text counts as incomplete."""
    count = len(columns)
    compact = sum(map(len, columns)) + sum(len(memoryview(each)) for each in columns.values()) + 4 * count + 1
    return len(bytes(line).strip()) in (compact, compact + 2 * count - 1)
