"""The spans and log records of one file, in JSON or protobuf."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import MsgspecError

from pantrace.errors import ReadError
from pantrace.wire import files
from pantrace.wire.pantrace_key import CARRIER
from pantrace.wire.read_listener import listening
from pantrace.wire.rows import OnBroken, layout_at, read_rows

from . import protobuf
from .plain_spans import Kind, Plain, plain_in
from .request_pieces import LARGE, json_pieces, protobuf_pieces

Located = tuple[tuple[Any, ...], Kind, Plain]
"""Its place, whether it is a span or a log record, and the record itself."""


def located_in(path: Path, on_broken: OnBroken) -> Iterator[Located]:
    """Spans and records of a file, with their places."""
    for place, row in _rows(path, on_broken):
        try:
            for number, (kind, plain) in enumerate(plain_in(row)):
                yield (path, place, number), kind, plain
        except ReadError as error:
            on_broken(error.at(path=str(path), place=place))


def _rows(path: Path, on_broken: OnBroken) -> Iterator[tuple[str | None, Any]]:
    """The records of a file. Listeners hear of each span later, when it is known which conversation it belongs to."""
    # By content, as no suffix is agreed on.
    if is_protobuf(files.read_start(path, 1 << 12)):
        with files.map_file(path) as view:
            try:
                yield from _messages(view)
            except ReadError as error:
                on_broken(error.at(path=str(path)))
        return
    # One request may hold the traces of a whole day; decoding it at once needs many times its size in memory.
    if _is_large_document(path):
        with files.map_file(path) as view:
            pieces = json_pieces(view)
            if pieces is not None:
                try:
                    yield from pieces
                except (ReadError, MsgspecError) as error:
                    problem = error if isinstance(error, ReadError) else ReadError(f"not an export request: {error}")
                    on_broken(problem.at(path=str(path)))
                return
    # Whole requests are not reported to listeners: a request can hold many conversations.
    rows = read_rows(path, on_broken)
    while True:
        with listening(None):
            row = next(rows, None)
        if row is None:
            return
        yield row


def _is_large_document(path: Path) -> bool:
    """Whether a file is one large document. If it is on a single line, it begins like a file of lines."""
    if path.stat().st_size <= LARGE:
        return False
    return layout_at(path) == "document" or b"\n" not in files.read_start(path, 1 << 16)


def _messages(data: memoryview) -> Iterator[tuple[str | None, Any]]:
    """One export request, or many with length prefixes, as the collector's file exporter writes them."""
    # A length prefix has four bytes, and the first is 0 for anything below 16 MB; a request begins with a field's tag,
    # which is never 0.
    if bytes(data[:1]) != b"\0":
        if len(data) > LARGE:
            yield from protobuf_pieces(data, _kind(data[:LARGE]))
        else:
            yield None, protobuf.decode(data, _kind(data))
        return
    place = number = 0
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        number += 1
        if place + 4 + size > len(data):
            raise ReadError("the file ends inside a message", place=f"message {number}", remedy="it is cut off")
        message = data[place + 4 : place + 4 + size]
        yield f"message {number}", protobuf.decode(message, _kind(message))
        place += 4 + size


def _kind(data: memoryview) -> str:
    return "LogsRequest" if _holds_logs(data) else "Request"


def _holds_logs(data: memoryview) -> bool:
    """Whether a message holds logs. Logs and traces differ only inside: the second field of a span is an id of 8 bytes,
    that of a log record is a number."""
    try:
        found = protobuf.decode(data, "LogsRequest", cut=True)
        records = [
            record
            for resource in found.get("resourceLogs", ())
            for scope in resource.get("scopeLogs", ())
            for record in scope.get("logRecords", ())
        ]
    except ReadError:
        return False
    return bool(records) and all(not key.startswith("field ") for each in records for key in each)


def first_message(start: bytes) -> bytes:
    """The first request of a file, as far as it is there."""
    if start[:1] != b"\0":
        return start
    return start[4 : 4 + int.from_bytes(start[:4], "big")]


def is_protobuf(start: bytes) -> bool:
    """Whether a file begins like an export request in protobuf."""
    start = first_message(start)
    if start[:1] != b"\n":
        return False
    for message, resources, scopes, inner in (
        ("Request", "resourceSpans", "scopeSpans", "spans"),
        ("LogsRequest", "resourceLogs", "scopeLogs", "logRecords"),
    ):
        try:
            found = protobuf.decode(start, message, cut=True)
        except (ReadError, ValueError):
            continue
        for resource in found.get(resources, ()):
            # A file of ours without any span: its header is in the resource.
            if any(each.get("key") == CARRIER for each in resource.get("resource", {}).get("attributes", ())):
                return True
            for scope in resource.get(scopes, ()):
                for each in scope.get(inner, ()):
                    # Many binary files begin like protobuf; a trace id of 16 bytes in this place is no accident.
                    if len(each.get("traceId", "")) == 32:
                        return True
    return False
