"""Reads rows of a table of spans.

The collector's exporter for ClickHouse stores a span as a row of `otel_traces`: `SpanName`, `SpanAttributes` (all of
them text), `Timestamp` with `Duration`, events as columns. Such rows are dumped as they are (JSONEachRow), or with keys
in snake_case and children inside their parents, as in the TRAIL benchmark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pantrace.wire.times import from_iso

_KEYS = {
    "TraceId": "traceId",
    "trace_id": "traceId",
    "SpanId": "spanId",
    "span_id": "spanId",
    "ParentSpanId": "parentSpanId",
    "parent_span_id": "parentSpanId",
    "SpanName": "name",
    "span_name": "name",
    "SpanKind": "kind",
    "span_kind": "kind",
    "SpanAttributes": "attributes",
    "span_attributes": "attributes",
    "TraceState": "traceState",
    "trace_state": "traceState",
}
_TIME, _LENGTH = ("Timestamp", "timestamp"), ("Duration", "duration")
_STATUS = {"ok": 1, "error": 2, "status_code_ok": 1, "status_code_error": 2}
_COUNTS = ("llm.token_count.", "gen_ai.usage.", "llm.usage.")
# TRAIL has durations in ISO 8601, ClickHouse as nanoseconds.
_LONG = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?")
_DIGITS = re.compile(r"(?<=\.)(\d{6})\d+")


def is_table_row(row: Any) -> bool:
    """Whether an object is a row of a table of spans."""
    if not isinstance(row, dict):
        return False
    attributes = row.get("SpanAttributes", row.get("span_attributes"))
    return isinstance(attributes, dict) and bool(row.keys() & {"TraceId", "trace_id"}) and bool(row.keys() & {*_TIME})


def spans_of(row: Any) -> Iterator[Any]:
    """The span of a row, and the spans inside it; anything else is returned as it is."""
    if not is_table_row(row):
        yield row
        return
    yield _span(row)
    inner = row.get("child_spans")
    for child in inner if isinstance(inner, list) else ():
        yield from spans_of(child)


def _span(row: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in row.items():
        if key not in (*_TIME, *_LENGTH, "child_spans") and (name := _KEYS.get(key, key)) not in found:
            found[name] = value
    found["attributes"] = {key: _counted(key, value) for key, value in found["attributes"].items()}
    begin = _moment(next((row[key] for key in _TIME if key in row), None))
    if begin is not None:
        length = _nanoseconds(next((row[key] for key in _LENGTH if key in row), None))
        found["startTimeUnixNano"] = begin
        found["endTimeUnixNano"] = None if length is None else begin + length
    code = found.pop("StatusCode", found.pop("status_code", None))
    message = found.pop("StatusMessage", found.pop("status_message", None))
    # The table has words, OTLP numbers.
    found["status"] = {"code": _STATUS.get(str(code).lower(), 0), **({"message": message} if message else {})}
    resource = found.pop("ResourceAttributes", found.pop("resource_attributes", None))
    scope = found.pop("ScopeName", found.pop("scope_name", None))
    version = found.pop("ScopeVersion", found.pop("scope_version", None))
    found["resource"] = {"attributes": resource if isinstance(resource, dict) else {}}
    found["scope"] = {"name": scope or "", **({"version": version} if version else {})}
    columns = [found.pop(f"Events.{name}", None) for name in ("Timestamp", "Name", "Attributes")]
    if all(isinstance(column, list) for column in columns):
        # ClickHouse stores nested data as one column for each field.
        found["events"] = [_event(*each) for each in zip(*columns, strict=False)]
    elif isinstance(events := found.get("events"), list):
        found["events"] = [
            _event(*(each.get(name) for name in ("Timestamp", "Name", "Attributes")))
            if isinstance(each, dict) and "Name" in each
            else each
            for each in events
        ]
    return found


def _counted(key: str, value: Any) -> Any:
    """Token counts as numbers: a table has only text."""
    is_count = isinstance(value, str) and key.startswith(_COUNTS) and value.isdecimal() and len(value) <= 20
    return int(value) if is_count else value


def _event(at: Any, name: Any, attributes: Any) -> dict[str, Any]:
    return {"timeUnixNano": _moment(at), "name": name, "attributes": attributes if isinstance(attributes, dict) else {}}


def _moment(value: Any) -> int | None:
    """A time in nanoseconds; ClickHouse writes nine digits after the second, a space for the T, and no zone for UTC."""
    if not isinstance(value, str):
        return None
    text = _DIGITS.sub(r"\1", value.replace(" ", "T", 1))
    seconds = from_iso(text if re.search(r"(Z|[+-]\d\d:?\d\d)$", text) else f"{text}Z")
    return None if seconds is None else round(seconds * 1_000_000) * 1000


def _nanoseconds(value: Any) -> int | None:
    if type(value) is int or (isinstance(value, str) and value.isdecimal() and len(value) <= 20):
        return int(value)
    if isinstance(value, str) and value != "PT" and (match := _LONG.fullmatch(value)):
        hours, minutes, seconds = (float(each or 0) for each in match.groups())
        return round((hours * 3600 + minutes * 60 + seconds) * 1_000_000) * 1000
    return None
