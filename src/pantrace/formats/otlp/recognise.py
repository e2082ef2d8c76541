"""Recognises OTLP, and the dialect of its first spans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pantrace.errors import ReadError
from pantrace.wire.head import Head

from . import protobuf
from .container import first_message, is_protobuf
from .dialects import dialect_of
from .plain_spans import is_span, plain_in, spans_in
from .span import Span

_KEYS = {"resourceSpans", "resourceLogs", "resource_spans", "resource_logs"}
_HINTS = ("otlp", "otel", "trace", "span")
ENDINGS = (".json", ".jsonl", ".ndjson", ".pb", ".binpb")
OURS = "pantrace"


def detect(head: Head) -> str | None:
    if head.kind == "directory":
        return "directory" if next(iter(files_in(head.path)), None) is not None else None
    if is_protobuf(head.data):
        return f"protobuf {_dialect(_cut(head.data))}".strip()
    if head.kind != "json":
        return None
    # Not only the first: a file may begin with records that we do not know.
    for record in head.records[:8]:
        if _is_ours(record):
            return _dialect(head.records)
    return None


def _is_ours(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    if keys := _KEYS & record.keys():
        return all(isinstance(record[key], list) for key in keys)
    if spans_in(record):
        return True
    # ADK's development server wraps each span or record with its scope.
    if isinstance(inner := record.get("span", record.get("record")), dict) and isinstance(record.get("scope"), dict):
        return "attributes" in inner and bool({"trace_id", "traceId"} & inner.keys())
    return is_span(record)


def _dialect(records: Any) -> str:
    """The dialect of the first span that has one; empty if the beginning of the file does not show it."""
    try:
        for _, plain in plain_in(records):
            if plain.get("scope", {}).get("name") == OURS:
                return OURS
            if (found := dialect_of(Span(plain))) is not None:
                return found
    # The beginning of a file may be cut off anywhere; the dialect is only information, so it stays unknown.
    except (ReadError, AttributeError, TypeError):
        pass
    return ""


def _cut(data: bytes) -> Any:
    try:
        return protobuf.decode(first_message(data), "Request", cut=True)
    except (ReadError, ValueError):
        return []


def files_in(folder: Path) -> list[Path]:
    """Files of a folder that are OTLP by name and content; log records count only next to spans."""
    try:
        listed = sorted(each for each in folder.iterdir() if _is_named(each))
        spans = [each for each in listed if any(hint in each.name.lower() for hint in _HINTS) and _is_detected(each)]
        return (
            [each for each in listed if each in spans or ("log" in each.name and _is_detected(each))] if spans else []
        )
    except OSError:
        return []


def _is_named(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    hinted = any(hint in name for hint in (*_HINTS, "log"))
    return hinted and name.endswith(ENDINGS) and path.is_file()


def _is_detected(path: Path) -> bool:
    try:
        return detect(Head(path)) is not None
    except ReadError:
        return False
