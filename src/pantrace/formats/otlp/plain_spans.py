"""Plain spans: the one form that the readers of this format work with, whatever file a span came from.

A plain span is an OTLP span with its attributes as a dictionary, with its resource and its scope. Requests of
OTLP/JSON, OTLP/protobuf (decoded to the same shape) and the dumps that SDKs and tools write all become plain spans; a
log record becomes a plain record in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pantrace.errors import ReadError
from pantrace.wire.optional import object_of
from pantrace.wire.times import from_iso

from .attribute_values import ODD, attributes_from, attributes_to, value_from, value_to
from .observations import is_observation, with_spans
from .table_rows import is_table_row, spans_of

Plain = dict[str, Any]
Kind = Literal["span", "log"]

# Python's SDK, Phoenix and protobuf's own JSON printer write these names.
_SNAKE = {
    "trace_id": "traceId",
    "span_id": "spanId",
    "parent_span_id": "parentSpanId",
    "parent_id": "parentSpanId",
    "start_time_unix_nano": "startTimeUnixNano",
    "end_time_unix_nano": "endTimeUnixNano",
    "time_unix_nano": "timeUnixNano",
    "observed_time_unix_nano": "observedTimeUnixNano",
    "start_time": "startTimeUnixNano",
    "end_time": "endTimeUnixNano",
    "timestamp": "timeUnixNano",
    "event_name": "name",
    "eventName": "name",
    "span_events": "events",
    "schema_url": "schemaUrl",
    "scope_spans": "scopeSpans",
    "scope_logs": "scopeLogs",
    "log_records": "logRecords",
    "resource_spans": "resourceSpans",
    "resource_logs": "resourceLogs",
}
_TIMES = ("startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "observedTimeUnixNano")


def plain_in(row: Any) -> Iterator[tuple[Kind, Plain]]:
    """The spans and log records in one record of a file; ReadError if it is neither."""
    if isinstance(row, list):
        for each in row:
            yield from plain_in(each)
        return
    if not isinstance(row, dict):
        raise ReadError("not a span, a log record or an export request", remedy="is --from right?")
    if is_table_row(row):
        for each in spans_of(row):
            yield "span", _plain(each, {}, {})
        return
    row = _camel(with_spans(row))
    if "resourceSpans" in row or "resourceLogs" in row:
        around = {key: value for key, value in row.items() if key not in ("resourceSpans", "resourceLogs")}
        yield from _in_resources(row.get("resourceSpans"), around, "span")
        yield from _in_resources(row.get("resourceLogs"), around, "log")
    elif (listed := spans_in(row)) is not None:
        around = {key: value for key, value in row.items() if value is not listed and value is not None}
        if isinstance(row.get("data"), dict):
            inner = {key: value for key, value in row["data"].items() if value is not listed and value is not None}
            around = {key: value for key, value in {**around, "data": inner}.items() if value != {}}
        for each in (span for listed_span in listed for span in spans_of(listed_span)):
            yield "span", _plain(each, {}, {"request": around} if around else {})
            if isinstance(row.get("data"), dict):
                around = {}  # MLflow's `info` is about the whole trace: once is enough
    elif isinstance(inner := row.get("span", row.get("record")), dict):
        around = {key: value for key, value in row.items() if key not in ("span", "record")}
        yield ("span" if "span" in row else "log"), _plain(inner, {}, around)
    elif is_span(row):
        yield "span", _plain(row, {}, {})
    else:
        raise ReadError("not a span, a log record or an export request", remedy="is --from right?")


def spans_in(row: dict[str, Any]) -> list[Any] | None:
    """The spans of a dump: `spans`, `data` in Phoenix's API, or `data.spans` in MLflow."""
    listed = (row := with_spans(row)).get("spans", row.get("data"))
    listed = listed.get("spans") if isinstance(listed, dict) and isinstance(row.get("info"), dict) else listed
    return listed if isinstance(listed, list) and "spanId" not in row and all(map(is_span, listed[:1])) else None


def is_span(row: Any) -> bool:
    """Whether an object is a span of an SDK's dump, or a row of a table of spans."""
    if is_table_row(row) or is_observation(row):
        return True
    if not isinstance(row, dict) or not isinstance(row.get("attributes", {}), (dict, list)):
        return False
    row = _camel(row)
    ids = row.get("context") if isinstance(row.get("context"), dict) else row
    return _camel(ids).keys() >= {"traceId", "spanId"} and "name" in row and "startTimeUnixNano" in row


def _in_resources(listed: Any, around: Plain, kind: Kind) -> Iterator[tuple[Kind, Plain]]:
    scopes, inner = ("scopeSpans", "spans") if kind == "span" else ("scopeLogs", "logRecords")
    for entry in _objects(listed, "resourceSpans" if kind == "span" else "resourceLogs"):
        entry = _camel(entry)
        resource = _description(entry.get("resource"))
        more = {key: value for key, value in entry.items() if key not in ("resource", scopes)}
        if more:
            resource = {**resource, "around": more}
        for scoped in _objects(entry.get(scopes), scopes):
            scoped = _camel(scoped)
            scope = _description(scoped.get("scope"))
            more = {key: value for key, value in scoped.items() if key not in ("scope", inner)}
            if more:
                scope = {**scope, "around": more}
            for each in _objects(scoped.get(inner), inner):
                yield kind, _plain(each, {"resource": resource, "scope": scope}, {"request": around} if around else {})


def _objects(value: Any, name: str) -> list[dict[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ReadError(f"{name} must be an array of objects")
    return value


def _camel(row: dict[str, Any]) -> dict[str, Any]:
    """Keys as in OTLP/JSON; if a dump has a key in both spellings, the exact one counts and the other is kept."""
    if not row.keys() & _SNAKE.keys():
        return row
    found: dict[str, Any] = {}
    for key, value in row.items():
        name = _SNAKE.get(key, key)
        found[name if name == key or (name not in row and name not in found) else key] = value
    return found


def _description(raw: Any) -> Plain:
    """A resource or a scope."""
    raw = object_of(raw)
    values, odd = attributes_from(raw.get("attributes"))
    found = {key: value for key, value in raw.items() if key != "attributes"}
    if values:
        found["attributes"] = values
    return {**found, ODD: odd} if odd else found


def _plain(raw: Any, where: Plain, around: Plain) -> Plain:
    if not isinstance(raw, dict):
        raise ReadError("a span must be an object")
    row = _camel(raw)
    values, odd = attributes_from(row.get("attributes"))
    found = {key: value for key, value in row.items() if key not in ("attributes", "events", "body", "links")}
    if isinstance(ids := found.get("context"), dict):
        ids = _camel(ids)
        found = {**{key: value for key, value in ids.items() if value}, **found}
        found["context"] = {key: value for key, value in ids.items() if key not in ("traceId", "spanId")}
    for key, length in (("traceId", 32), ("spanId", 16), ("parentSpanId", 16)):
        if isinstance(number := found.get(key), int):
            # google-adk's trace dumps have ids as integers of up to 128 bits.
            found[key] = f"{number:0{length}x}"
        elif isinstance(text := found.get(key), str):
            found[key] = text.removeprefix("0x")
        elif key in found:
            found.pop(key)
    for key in _TIMES:
        if isinstance(text := found.get(key), str) and not text.isdecimal():
            # Phoenix's API and SDK dumps write ISO 8601, which may be finer than our number: the text is kept, too.
            found[key + " as told"] = text
            seconds = from_iso(text)
            found[key] = None if seconds is None else round(seconds * 1_000_000) * 1000
    if isinstance(events := row.get("events", row.get("logs")), list):
        found.pop("logs", None)
        found["events"] = [_event(each) for each in events]
    if isinstance(links := row.get("links"), list):
        found["links"] = [_description(each) for each in links]
    if "body" in row:
        body, is_odd = value_from(row["body"]) if _is_any(row["body"]) else (row["body"], False)
        found["body"] = body
        odd = [*odd, {"body": row["body"]}] if is_odd else odd
    for key in ("resource", "scope", *(key for key in around if key not in ("resource", "scope"))):
        if (value := around.get(key, found.get(key))) is not None:
            found[key] = _description(value) if key in ("resource", "scope") else value
    return {**found, "attributes": values, **where, **({ODD: odd} if odd else {})}


def _is_any(value: Any) -> bool:
    return isinstance(value, dict) and any(key.endswith("Value") for key in value)


def _event(raw: Any) -> Plain:
    if not isinstance(raw, dict):
        return {ODD: [raw]}
    row = _description(_camel(raw))
    return {**row, "attributes": row.get("attributes", {})}


def requests_to(spans: list[Plain]) -> dict[str, Any]:
    """Plain spans as one export request, in the shape of OTLP/JSON."""
    resources: list[dict[str, Any]] = []
    for span in spans:
        resource, scope = span.get("resource", {}), span.get("scope", {})
        # Spans of one resource are usually together; comparing with the last one keeps their order.
        if not resources or resources[-1]["was"] != resource:
            resources.append({"was": resource, "resource": _description_to(resource), "scopeSpans": []})
        scopes = resources[-1]["scopeSpans"]
        if not scopes or scopes[-1]["was"] != scope:
            scopes.append({"was": scope, "scope": _description_to(scope), "spans": []})
        scopes[-1]["spans"].append(_span_to(span))
    for each in resources:
        each.pop("was")
        for scope in each["scopeSpans"]:
            scope.pop("was")
    return {"resourceSpans": resources}


def _description_to(row: Plain) -> dict[str, Any]:
    return {**row, "attributes": attributes_to(row.get("attributes", {}))}


def _span_to(span: Plain) -> dict[str, Any]:
    row = {key: value for key, value in span.items() if key not in ("resource", "scope")}
    for key in _TIMES:
        if key in row:
            # OTLP/JSON has 64-bit integers as text.
            row[key] = str(row[key])
    row["attributes"] = attributes_to(span.get("attributes", {}))
    if "events" in row:
        row["events"] = [
            {**each, "timeUnixNano": str(each["timeUnixNano"]), "attributes": attributes_to(each["attributes"])}
            for each in row["events"]
        ]
    return row


__all__ = ["Kind", "Plain", "is_span", "plain_in", "requests_to", "value_to"]
