"""Observations of Langfuse: its downloads of a trace, and answers of its API, as the spans that its SDK sends.

Langfuse stores each span as an observation: `type`, `input`, `output` and `usageDetails` are what the SDK sends as the
attributes `langfuse.observation.*`, times are ISO 8601. A trace holds the session and the user.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pantrace.wire.field_map import is_number
from pantrace.wire.optional import list_of, object_of, text_of
from pantrace.wire.times import from_iso

from .attribute_values import unpacked

RESULT = "gen_ai.evaluation.result"
_PREFIX = "langfuse.observation."
_ATTRIBUTES = {
    "type": "type",
    "input": "input",
    "output": "output",
    "model": "model.name",
    "modelParameters": "model.parameters",
    "usageDetails": "usage_details",
    "costDetails": "cost_details",
    "completionStartTime": "completion_start_time",
    "level": "level",
    "statusMessage": "status_message",
}
_KEYS = {"id": "spanId", "traceId": "traceId", "parentObservationId": "parentSpanId", "name": "name"}
_COUNTS = (
    ("input", "promptTokens", "inputUsage"),
    ("output", "completionTokens", "outputUsage"),
    ("total", "totalTokens", "totalUsage"),
)
_LISTS = ("observations", "data")
_TIMES = {"startTime": "startTimeUnixNano", "endTime": "endTimeUnixNano"}


def is_observation(row: Any) -> bool:
    """Whether an object is an observation."""
    return isinstance(row, dict) and {"id", "traceId", "type", "startTime", "parentObservationId"} <= row.keys()


def with_spans(row: dict[str, Any]) -> dict[str, Any]:
    """A record with spans instead of observations; anything else is returned as it is."""
    if is_observation(row):
        return _span(row, {})
    key = next(
        (each for each in ("observations", "data") if any(map(is_observation, list_of(row.get(each))[:1]))), None
    )
    if key is None:
        return row
    # A download has the trace beside the observations; in an answer of the API they are inside it.
    rest = {name: value for name, value in row.items() if name not in (key, "scores")}
    trace = object_of(row.get("trace")) or rest
    spans = [_span(each, trace) for each in row[key] if is_observation(each)]
    scores = [each for each in (row.get("scores") or trace.get("scores") or ()) if isinstance(each, dict)]
    for score in scores:
        # A score is about one observation or about the trace, and then belongs to the span that holds the others.
        about = [span for span in spans if span["spanId"] == score.get("observationId")]
        about += [span for span in spans if not span.get("parentSpanId")]
        (about or spans)[0]["events"].append(_event(score))
    # What is said of the whole trace: once is enough.
    spans[0]["request"] = rest
    return {"spans": spans}


def _span(row: dict[str, Any], trace: dict[str, Any]) -> dict[str, Any]:
    attributes = dict(_attributes(row))
    for key, name in (("sessionId", "session.id"), ("userId", "user.id")):
        if (value := text_of(trace.get(key)) or text_of(row.get(key))) is not None:
            attributes[name] = value
    about = object_of(unpacked(row.get("metadata")))
    failed = row.get("level") == "ERROR"
    span: dict[str, Any] = {name: row[key] for key, name in _KEYS.items() if row.get(key) is not None}
    span |= {name: at for key, name in _TIMES.items() if (at := _nanoseconds(row.get(key))) is not None}
    known = {*_ATTRIBUTES, *_KEYS, *_TIMES}
    kept = {key: value for key, value in row.items() if key not in known and value not in (None, {}, [])}
    return span | {
        "name": text_of(row.get("name")) or str(row["type"]).lower(),
        "attributes": attributes,
        **({"status": {"code": 2, "message": text_of(row.get("statusMessage")) or ""}} if failed else {}),
        "resource": {"attributes": object_of(about.get("resourceAttributes"))},
        "scope": {"name": text_of(object_of(about.get("scope")).get("name")) or "langfuse"},
        **({"observation": kept} if kept else {}),
        "events": [],
    }


def _older(row: dict[str, Any], key: str) -> Any:
    """Counts and costs as Langfuse 2 had them, until 2024; later answers repeat them."""
    if key == "usageDetails":
        usage = object_of(row.get("usage"))
        return {
            name: count for name, *old in _COUNTS if (count := next(filter(None, map(row.get, old)), usage.get(name)))
        }
    if key == "costDetails" and is_number(cost := row.get("calculatedTotalCost")):
        return {"total": cost}
    return row.get(key)


def _event(score: dict[str, Any]) -> dict[str, Any]:
    """A score, as the event that the conventions of OpenTelemetry have for it."""
    value, label = score.get("value"), text_of(score.get("stringValue"))
    given = {
        "gen_ai.evaluation.name": text_of(score.get("name")),
        "gen_ai.evaluation.score.value": value if is_number(value) else None,
        "gen_ai.evaluation.score.label": label if label is not None else text_of(value),
        "gen_ai.evaluation.explanation": text_of(score.get("comment")),
    }
    attributes = {key: value for key, value in given.items() if value is not None}
    return {"name": RESULT, "timeUnixNano": _nanoseconds(score.get("timestamp")) or "0", "attributes": attributes}


def _nanoseconds(told: Any) -> str | None:
    """A time as OTLP/JSON has it; Langfuse stores milliseconds."""
    at = from_iso(told)
    return None if at is None else str(round(at * 1_000_000) * 1000)


def _attributes(row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, name in _ATTRIBUTES.items():
        value = row.get(key) or _older(row, key)
        if value not in (None, {}, []) and (key, value) != ("level", "DEFAULT"):
            yield _PREFIX + name, str(value).lower() if key == "type" else value
