"""A large export request in small pieces, so that nobody holds all of it in memory.

One document, or one message of protobuf, may be all that a collector has seen in a day; decoded at once it takes six
times its bytes. The file is mapped, not read; of each piece only the spans that it holds are decoded.
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
"""Bytes of a file from which on it is read in pieces. Smaller ones are decoded at once, which tells more of what is
wrong with them."""
_PIECE = 250_000
"""Bytes of spans that are decoded together: they share their resource and their scope."""
_object = typed_decoder(dict[str, msgspec.Raw])
_array = typed_decoder(list[msgspec.Raw])
_LISTS = re.compile(rb'"resource_?(?:[sS]pans|[lL]ogs)"\s*:')
_SPANS = {"resourceSpans": ("scopeSpans", "spans"), "resource_spans": ("scope_spans", "spans")}
_LOGS = {"resourceLogs": ("scopeLogs", "logRecords"), "resource_logs": ("scope_logs", "log_records")}


def json_pieces(view: memoryview) -> Iterator[tuple[str, Any]] | None:
    """The document as requests with a few spans each; None if it has to be decoded at once: it is no request, is
    damaged, or has a key twice, of which only one would be seen here."""
    keys = [match.group() for match in _LISTS.finditer(view)]
    try:
        whole = _object(view)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    found = [key for key in whole if key in _SPANS or key in _LOGS]
    # The same key inside a text would also be counted: then it is decoded at once, which is merely slower.
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
    """Each resource of a message as a message of its own, which is also how they are joined."""
    for number, (field, _, value) in enumerate(protobuf.fields(view), 1):
        if field != 1 or not isinstance(value, memoryview):
            raise ReadError("not an export request", place=f"field {field}")
        if len(value) > limits().record:
            raise TooLarge.record("a resource with its spans")
        name, kind, _ = protobuf.MESSAGES[message][1]
        yield f"resource {number}", {name: [protobuf.decode(value, kind)]}
