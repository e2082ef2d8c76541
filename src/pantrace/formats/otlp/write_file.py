"""Writing files: conversations as export requests, in JSON or protobuf."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pantrace.model import RunHeader
from pantrace.wire import files
from pantrace.wire.head import Head
from pantrace.wire.json import encode, to_plain
from pantrace.wire.optional import object_of
from pantrace.wire.output import writing
from pantrace.wire.output_row import Row
from pantrace.wire.pantrace_key import CARRIER, may_carry

from . import protobuf
from .attribute_values import attributes_to
from .container import first_message, is_protobuf
from .plain_spans import Plain, requests_to
from .span import unpacked

PROTOBUF = (".pb", ".binpb")
LINES = (".jsonl", ".ndjson")


def save(header: RunHeader, rows: Iterable[Row], target: Path, options: Any) -> None:
    """Write one request per conversation: one per line in `.jsonl`, else joined in one request.

    Requests of protobuf join by standing behind each other."""
    suffix = files.bare_suffix(target)
    kind = "protobuf" if suffix in PROTOBUF else "lines" if suffix in LINES else "document"
    with writing(target) as file:
        if kind == "document":
            # A first line that is not an object: whoever looks at the beginning only takes it for no JSON Lines.
            file.write(b'{\n"resourceSpans":[')
        for number, request in enumerate(_requests(header, rows)):
            if kind == "protobuf":
                # Protobuf merges repeated fields of concatenated messages, so this is one request.
                file.write(protobuf.encode(request, "Request"))
            elif kind == "lines":
                file.write(encode(request) + b"\n")
            else:
                listed = b",\n".join(encode(each) for each in request["resourceSpans"])
                file.write(b",\n" + listed if number else b"\n" + listed)
        if kind == "document":
            file.write(b"\n]}\n")


def _requests(header: RunHeader, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """The header first, as a resource without spans, unless nothing may be kept for pantrace."""
    said = {key: value for key, value in to_plain(header).items() if key != "source"}
    first = True
    for row in rows:
        if first and said and may_carry():
            yield _header(said)
        first = False
        yield requests_to(_spans(row.value))
    if first:
        yield _header(said)


def _header(said: dict[str, Any]) -> dict[str, Any]:
    carried = encode(said).decode("utf-8", "surrogatepass")
    return {"resourceSpans": [{"resource": {"attributes": attributes_to({CARRIER: carried})}, "scopeSpans": []}]}


def header_in(path: Path) -> dict[str, Any]:
    """What a file of pantrace says about its run; empty for any other."""
    if path.is_dir():
        return {}
    head = Head(path)
    if is_protobuf(head.data):
        record: Any = protobuf.decode(first_message(head.data), "Request", cut=True)
    else:
        record = head.record
    match record:
        case {
            "resourceSpans": [
                {"resource": {"attributes": [{"key": "pantrace", "value": {"stringValue": str(text)}}]}},
                *_,
            ]
        }:
            said = unpacked(text)
            return object_of(said)
    return {}


def _spans(row: dict[str, Any]) -> list[Plain]:
    """The spans of a conversation; data for pantrace goes into the first."""
    spans: list[Plain] = row["spans"]
    if CARRIER not in row or not spans:
        return spans
    carried = encode(row[CARRIER]).decode("utf-8", "surrogatepass")
    first = {**spans[0], "attributes": {**spans[0]["attributes"], CARRIER: carried}}
    return [first, *spans[1:]]
