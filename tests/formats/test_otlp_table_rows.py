"""Spans as the rows of a table: ClickHouse's, and copies of them with the children inside their parents."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.formats import detect
from pantrace.formats.otlp.plain_spans import plain_in
from pantrace.model import Trajectory, call_pairs, final_response, usage_total

GOLDEN = ROOT / "otlp" / "openinference_openai.otlp.json"


def one(path: Path) -> Trajectory:
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


def text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def moment(nanoseconds: Any, shape: str) -> str:
    at = datetime.fromtimestamp(int(nanoseconds) / 1e9, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S.%f}000" if shape == "clickhouse" else f"{at:%Y-%m-%dT%H:%M:%S.%fZ}"


def row(span: dict[str, Any], shape: str) -> dict[str, Any]:
    """A span as the collector's exporter for ClickHouse keeps it, or as TRAIL has copied it from there."""
    length = int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])
    found = {
        "Timestamp": moment(span["startTimeUnixNano"], shape),
        "TraceId": span["traceId"],
        "SpanId": span["spanId"],
        "ParentSpanId": span.get("parentSpanId", ""),
        "SpanName": span["name"],
        "SpanKind": "Internal",
        "ResourceAttributes": {"service.name": "shop"},
        "ScopeName": span["scope"]["name"],
        "ScopeVersion": "1",
        "SpanAttributes": {key: text(value) for key, value in span["attributes"].items()},
        "Duration": length if shape == "clickhouse" else f"PT{length / 1e9:.6f}S",
        "StatusCode": "Error",
        "StatusMessage": "",
    }
    at, words = found["Timestamp"], {"exception.message": "out of stock"}
    if shape == "clickhouse":
        return {**found, "Events.Timestamp": [at], "Events.Name": ["exception"], "Events.Attributes": [words]}
    snake = {"".join(f"_{c.lower()}" if c.isupper() else c for c in key)[1:]: each for key, each in found.items()}
    return {**snake, "events": [{"Timestamp": at, "Name": "exception", "Attributes": words}], "child_spans": []}


@pytest.mark.parametrize("shape", ["clickhouse", "trail"])
def test_rows_of_a_table_are_spans(shape: str, tmp_path: Path) -> None:
    spans = [plain for _, plain in plain_in(json.loads(GOLDEN.read_text()))]
    rows = [row(span, shape) for span in spans]
    path = tmp_path / "spans.json"
    if shape == "clickhouse":
        path.write_text("\n".join(map(json.dumps, rows)))
    else:
        by_id = {each["span_id"]: each for each in rows}
        roots = []
        for each in rows:
            above = by_id.get(each["parent_span_id"])
            (roots if above is None else above["child_spans"]).append(each)
        path.write_text(json.dumps({"trace_id": "t", "spans": roots}))
    found = detect(path)
    assert found is not None and found[1] == "openinference"
    was, told = one(GOLDEN), one(path)
    assert [step.parts for step in told.steps if step.role != "tool"] == [
        step.parts for step in was.steps if step.role != "tool"
    ]
    assert [pair.call for pair in call_pairs(told)] == [pair.call for pair in call_pairs(was)]
    assert (usage_total(told), final_response(told)) == (usage_total(was), final_response(was))
    answered = [step for step in told.steps if step.role == "agent"]
    assert {step.error and step.error.message for step in answered} == {"out of stock"}
    assert told.created == pytest.approx(was.created, abs=1e-5)
    assert told.ended == pytest.approx(was.ended, abs=1e-5)
