"""Writes conversations as export requests, in JSON or protobuf."""

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
from pantrace.wire.pantrace_key import CARRIER, may_carry, reads_carried

from . import protobuf
from .attribute_values import attributes_to, unpacked
from .container import first_message, is_protobuf
from .plain_spans import Plain, requests_to

PROTOBUF = (".pb", ".binpb")
LINES = (".jsonl", ".ndjson")


def save(header: RunHeader, rows: Iterable[Row], target: Path, options: Any) -> None:
    """Write one request per conversation: one on each line of `.jsonl`, else all joined into one request."""
    suffix = files.bare_suffix(target)
    kind = "protobuf" if suffix in PROTOBUF else "lines" if suffix in LINES else "document"
    with writing(target) as file:
        if kind == "document":
            # The first line is not a complete object, so that the file is not taken for JSON Lines.
            file.write(b'{\n"resourceSpans":[')
        for number, request in enumerate(_requests(header, rows)):
            if kind == "protobuf":
                # Protobuf joins the repeated fields of concatenated messages, so the file is one request.
                file.write(protobuf.encode(request, "Request"))
            elif kind == "lines":
                file.write(encode(request) + b"\n")
            else:
                listed = b",\n".join(encode(each) for each in request["resourceSpans"])
                file.write(b",\n" + listed if number else b"\n" + listed)
        if kind == "document":
            file.write(b"\n]}\n")


def _requests(header: RunHeader, rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """The header first, as a resource without spans; with `--no-carry` it is left out."""
    fields = {key: value for key, value in to_plain(header).items() if key != "source"}
    first = True
    for row in rows:
        if first and fields and may_carry():
            yield _header(fields)
        first = False
        yield requests_to(_spans(row.value))
    if first and may_carry():
        # An empty file would not be recognised as OTLP.
        yield _header(fields)


def _header(fields: dict[str, Any]) -> dict[str, Any]:
    carried = encode(fields).decode("utf-8", "surrogatepass")
    return {"resourceSpans": [{"resource": {"attributes": attributes_to({CARRIER: carried})}, "scopeSpans": []}]}


def header_in(path: Path) -> dict[str, Any]:
    """The run's header in a file that pantrace wrote; empty for any other file."""
    if path.is_dir() or not reads_carried():
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
            fields = unpacked(text)
            return object_of(fields)
    return {}


def _spans(row: dict[str, Any]) -> list[Plain]:
    """The spans of a conversation; data for pantrace goes into the first."""
    spans: list[Plain] = row["spans"]
    if CARRIER not in row or not spans:
        return spans
    carried = encode(row[CARRIER]).decode("utf-8", "surrogatepass")
    first = {**spans[0], "attributes": {**spans[0]["attributes"], CARRIER: carried}}
    return [first, *spans[1:]]
