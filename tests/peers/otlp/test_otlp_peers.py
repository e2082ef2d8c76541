"""opentelemetry-proto parses what pantrace writes, and pantrace what it writes; the attributes are those of the
conventions' own packages."""

from __future__ import annotations

import base64
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from openinference.semconv import trace as openinference
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes, server_attributes
from opentelemetry.semconv.attributes import exception_attributes

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.formats.otlp import protobuf
from pantrace.formats.otlp.plain_spans import plain_in

SOURCES = [
    ROOT / "otlp" / "strands.otlp.json",
    ROOT / "otlp" / "pydantic_ai.otlp.json",
    ROOT / "native" / "every_part.trace.jsonl",
    ROOT / "atif",
    ROOT / "claude-code",
    ROOT / "inspect",
]
OPTIONS: list[dict[str, str]] = [{}, {"version": "1.36"}, {"flavour": "openinference"}, {"history": "new"}]
_IDS = ("traceId", "spanId", "parentSpanId")


def _parsed(path: Path) -> ExportTraceServiceRequest:
    if path.suffix == ".pb":
        return ExportTraceServiceRequest.FromString(path.read_bytes())
    return ParseDict(_as_base64(json.loads(path.read_bytes())), ExportTraceServiceRequest())


def _as_base64(value: Any) -> Any:
    """Ids are hex in OTLP/JSON, and base64 in the JSON of protobuf."""
    if isinstance(value, dict):
        return {
            key: base64.b64encode(bytes.fromhex(each)).decode() if key in _IDS else _as_base64(each)
            for key, each in value.items()
        }
    return [_as_base64(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("options", OPTIONS, ids=lambda each: "-".join(each.values()) or "default")
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_json_and_protobuf_say_the_same_to_their_own_parser(
    source: Path, options: dict[str, str], tmp_path: Path
) -> None:
    documents = [tmp_path / "out.otlp.json", tmp_path / "out.otlp.pb"]
    for target in documents:
        convert([source], target, to="otlp", options=options, measure=False)
    text, binary = map(_parsed, documents)
    assert text == binary
    spans = [span for each in binary.resource_spans for scope in each.scope_spans for span in scope.spans]
    assert spans
    for span in spans:
        assert len(span.trace_id) == 16
        assert len(span.span_id) == 8
        assert span.end_time_unix_nano >= span.start_time_unix_nano
    known = {(span.trace_id, span.span_id) for span in spans}
    assert len(known) == len(spans)
    assert all((span.trace_id, span.parent_span_id) in known for span in spans if span.parent_span_id)


@pytest.mark.parametrize("message", ["traces", "logs"])
def test_protobuf_of_others_is_read_as_their_own_library_reads_it(message: str) -> None:
    """Every field of a request, made by their library from JSON that we do not write ourselves."""
    value = {"kvlistValue": {"values": [{"key": "a", "value": {"arrayValue": {"values": [{"intValue": "-7"}]}}}]}}
    attributes = [
        {"key": "text", "value": {"stringValue": "Für Åsa 📚"}},
        {"key": "truth", "value": {"boolValue": False}},
        {"key": "half", "value": {"doubleValue": 0.5}},
        {"key": "bytes", "value": {"bytesValue": base64.b64encode(b"\x00\xff").decode()}},
        {"key": "nested", "value": value},
    ]
    resource = {"attributes": attributes, "droppedAttributesCount": 1}
    scope = {"name": "s", "version": "1", "attributes": attributes}
    ids = {"traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331"}
    event = {"name": "e", "timeUnixNano": "5", "attributes": attributes, "droppedAttributesCount": 2}
    span = {
        **ids,
        "parentSpanId": "00f067aa0ba902b7",
        "traceState": "k=v",
        "name": "n",
        "kind": 3,
        "startTimeUnixNano": "1794805871767121313",
        "endTimeUnixNano": "1794805871927711295",
        "attributes": attributes,
        "events": [event],
        "links": [{**ids, "attributes": attributes, "flags": 1}],
        "status": {"code": 2, "message": "no"},
        "flags": 256,
        "droppedLinksCount": 3,
    }
    record = {
        **ids,
        "timeUnixNano": "9",
        "observedTimeUnixNano": "10",
        "severityNumber": 9,
        "severityText": "INFO",
        "body": value,
        "attributes": attributes,
        "eventName": "gen_ai.choice",
        "flags": 1,
    }
    if message == "traces":
        row: dict[str, Any] = {
            "resourceSpans": [
                {"resource": resource, "scopeSpans": [{"scope": scope, "spans": [span]}], "schemaUrl": "u"}
            ]
        }
        theirs: Any = ParseDict(_as_base64(row), ExportTraceServiceRequest())
        name = "Request"
    else:
        row = {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": scope, "logRecords": [record]}]}]}
        theirs = ParseDict(_as_base64(row), ExportLogsServiceRequest())
        name = "LogsRequest"
    data = theirs.SerializeToString()
    assert protobuf.decode(data, name) == row
    assert type(theirs).FromString(protobuf.encode(row, name)) == theirs
    assert list(plain_in(protobuf.decode(data, name))) == list(plain_in(row))


def test_what_their_library_gives_back_is_read(tmp_path: Path) -> None:
    """The JSON of protobuf has enums as names and snake_case on request."""
    target = tmp_path / "out.otlp.pb"
    convert([ROOT / "otlp" / "strands.otlp.json"], target, to="otlp", measure=False)
    theirs = MessageToDict(_parsed(target), preserving_proto_field_name=True, use_integers_for_enums=True)
    (first, *_), ours = list(plain_in(theirs)), list(plain_in(protobuf.decode(target.read_bytes(), "Request")))
    assert first[1]["attributes"] == ours[0][1]["attributes"]


def _names(*modules: Any) -> set[str]:
    found: set[str] = set()
    for module in modules:
        scopes = [module, *(each for _, each in inspect.getmembers(module, inspect.isclass))]
        found |= {value for scope in scopes for value in vars(scope).values() if isinstance(value, str)}
    return found


def _written(tmp_path: Path, options: dict[str, str]) -> set[str]:
    found: set[str] = set()
    for number, source in enumerate(SOURCES):
        target = tmp_path / f"{number}.otlp.json"
        convert([source], target, to="otlp", options=options, measure=False)
        for each in json.loads(target.read_bytes())["resourceSpans"]:
            for scope in each["scopeSpans"]:
                for span in scope["spans"]:
                    found |= {item["key"] for item in span["attributes"]}
                    found |= {item["key"] for event in span.get("events", ()) for item in event["attributes"]}
    return found - {"pantrace"}


def test_the_conventions_know_every_attribute(tmp_path: Path) -> None:
    known = _names(gen_ai_attributes, error_attributes, server_attributes, exception_attributes)
    written = _written(tmp_path, {})
    assert written - known == set()
    assert len(written) > 25


def test_openinference_knows_every_attribute(tmp_path: Path) -> None:
    known = _names(openinference, error_attributes, exception_attributes, gen_ai_attributes)
    written = _written(tmp_path, {"flavour": "openinference"})
    pieces = {piece for name in written for piece in re.split(r"\.\d+\.", name)}
    # Images: `message_content.image` holds an `image.url`.
    pieces = {re.sub(r"^message_content\.image\.image\.url$", "message_content.image", each) for each in pieces}
    assert pieces - known == set()
    assert {"llm.input_messages", "tool_call.function.arguments", "llm.token_count.prompt"} <= pieces
