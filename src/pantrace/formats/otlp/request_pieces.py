"""Reads a large export request in small pieces, so that it is never in memory as a whole.

One document, or one protobuf message, may be everything that a collector has seen in a day; decoded at once it needs
six times its size. The file is mapped, not read, and only the spans of one piece are decoded at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.wire.json import decode_document, typed_decoder
from pantrace.wire.limits import TooLarge, limits

from . import protobuf

LARGE = 4_000_000
"""Files of more bytes are read in pieces. Smaller ones are decoded at once, which gives better error messages."""
_PIECE = 250_000
"""Bytes of spans that are decoded together; they share their resource and scope."""
_object = typed_decoder(dict[str, msgspec.Raw])
_array = typed_decoder(list[msgspec.Raw])
_LISTS = re.compile(rb'"resource_?(?:[sS]pans|[lL]ogs)"\s*:')
_SPANS = {"resourceSpans": ("scopeSpans", "spans"), "resource_spans": ("scope_spans", "spans")}
_LOGS = {"resourceLogs": ("scopeLogs", "logRecords"), "resource_logs": ("scope_logs", "log_records")}


def json_pieces(view: memoryview) -> Iterator[tuple[str, Any]] | None:
    """The document as requests with a few spans each. None if it must be decoded at once: it is not a request, it is
    damaged, or it repeats a key, of which only one would be seen here."""
    keys = [match.group() for match in _LISTS.finditer(view)]
    try:
        whole = _object(view)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    found = [key for key in whole if key in _SPANS or key in _LOGS]
    # A text that contains such a key is counted, too; then the document is decoded at once, which is only slower.
    return _pieces(whole, found) if found and len(keys) == len(found) else None


def _pieces(whole: dict[str, msgspec.Raw], lists: list[str]) -> Iterator[tuple[str, Any]]:
    around = {key: decode_document(memoryview(value)) for key, value in whole.items() if key not in lists}
    for key in lists:
        scopes, spans = (_SPANS | _LOGS)[key]
        for number, raw in enumerate(_array(memoryview(whole[key])), 1):
            for place, entry in _split(raw, scopes, spans):
                yield f"{key}[{number}]{place}", {**around, key: [entry]}


def _split(raw: msgspec.Raw, scopes: str, spans: str) -> Iterator[tuple[str, Any]]:
    """The spans of one resource, a few at a time, each time with everything around them."""
    if len(memoryview(raw)) <= _PIECE:
        yield "", decode_document(memoryview(raw))
        return
    entry = _object(memoryview(raw))
    resource = {key: decode_document(memoryview(value)) for key, value in entry.items() if key != scopes}
    for number, each in enumerate(_array(memoryview(entry.get(scopes, b"[]"))), 1):
        scoped = _object(memoryview(each))
        scope = {key: decode_document(memoryview(value)) for key, value in scoped.items() if key != spans}
        for first, few in _in_batches(_array(memoryview(scoped.get(spans, b"[]")))):
            yield f".{scopes}[{number}].{spans}[{first}]", {**resource, scopes: [{**scope, spans: few}]}


def _in_batches(raws: list[msgspec.Raw]) -> Iterator[tuple[int, list[Any]]]:
    few: list[Any] = []
    size, first = 0, 1
    for number, raw in enumerate(raws, 1):
        length = len(memoryview(raw))
        # A single span cannot be split, so this is where the limit on records applies.
        if length > limits().record:
            raise TooLarge.record("a span")
        if few and size + length > _PIECE:
            yield first, few
            few, size, first = [], 0, number
        few.append(decode_document(memoryview(raw)))
        size += length
    if few:
        yield first, few


def protobuf_pieces(view: memoryview, message: str) -> Iterator[tuple[str, Any]]:
    """Each resource of a message as a separate message: protobuf messages are split and joined in just this way."""
    for number, (field, _, value) in enumerate(protobuf.fields(view), 1):
        if field != 1 or not isinstance(value, memoryview):
            raise ReadError("not an export request", place=f"field {field}")
        if len(value) > limits().record:
            raise TooLarge.record("a resource with its spans")
        name, kind, _ = protobuf.MESSAGES[message][1]
        yield f"resource {number}", {name: [protobuf.decode(value, kind)]}
