"""Large files of spans: read in pieces, with the same samples as from lines, and without holding all of it."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.formats.otlp import protobuf
from pantrace.formats.otlp.request_pieces import LARGE, json_pieces
from pantrace.model import Sample
from pantrace.wire.json import to_plain
from thorough import quick, thorough

Request = dict[str, Any]


def requests(number: int) -> list[Request]:
    """Conversations that differ in their ids only."""
    text = (ROOT / "otlp" / "two_turns.otlp.json").read_text()
    whole = json.loads(text)
    spans = [span for each in whole["resourceSpans"] for scope in each["scopeSpans"] for span in scope["spans"]]
    traces = {span["traceId"] for span in spans}
    names = {
        item["value"]["stringValue"]
        for span in spans
        for item in span["attributes"]
        if item["key"] == "gen_ai.conversation.id"
    }
    found = []
    for count in range(number):
        own = text
        for name in traces:
            own = own.replace(name, f"{count:08x}{name[8:]}")
        for name in names:
            own = own.replace(f'"{name}"', f'"{name}-{count}"')
        found.append(json.loads(own))
    return found


@pytest.fixture(scope="module")
def many() -> list[Request]:
    size = len(json.dumps(requests(1)[0]))
    return requests(LARGE * 3 // 2 // size + 2)  # protobuf takes less room


def together(many: list[Request], *, one_resource: bool) -> Request:
    resources = [each for request in many for each in request["resourceSpans"]]
    if not one_resource:
        return {"resourceSpans": resources}
    scopes = [scope for each in resources for scope in each["scopeSpans"]]
    spans = [span for scope in scopes for span in scope["spans"]]
    return {"resourceSpans": [{**resources[0], "scopeSpans": [{**scopes[0], "spans": spans}]}]}


def said(path: Path) -> list[Any]:
    def plain(sample: Sample) -> Any:
        found = to_plain(sample)
        found["trajectory"].pop("source")
        return found

    return [plain(sample) for sample in read(path).samples]


@pytest.mark.parametrize("one_resource", quick({True}, (False, True)))
@pytest.mark.parametrize("indent", quick({None}, (None, 1)))
def test_a_document_says_what_its_lines_say(
    many: list[Request], one_resource: bool, indent: int | None, tmp_path: Path
) -> None:
    lines, document = tmp_path / "lines.jsonl", tmp_path / "document.json"
    whole = together(many, one_resource=one_resource)
    lines.write_text("".join(json.dumps(each) + "\n" for each in many))
    document.write_text(json.dumps(whole, indent=indent))
    assert document.stat().st_size > LARGE
    pieces = json_pieces(memoryview(document.read_bytes()))
    assert pieces is not None and max(len(json.dumps(piece)) for _, piece in pieces) < LARGE / 10
    assert said(document) == said(lines)


def test_so_does_a_message_of_protobuf(many: list[Request], tmp_path: Path) -> None:
    lines, message = tmp_path / "lines.jsonl", tmp_path / "message.pb"
    lines.write_text("".join(json.dumps(each) + "\n" for each in many))
    message.write_bytes(protobuf.encode(together(many, one_resource=False), "Request"))
    assert message.stat().st_size > LARGE
    assert said(message) == said(lines)
    message.write_bytes(message.read_bytes()[:-10])
    broken: list[ReadError] = []
    assert len(list(read(message, on_broken=broken.append).samples)) == len(said(lines)) - 1
    assert broken and "cut off" in str(broken[0])


@thorough
def test_not_all_of_a_document_is_held(many: list[Request], tmp_path: Path) -> None:
    document = tmp_path / "document.json"
    document.write_text(json.dumps(together(many, one_resource=True)))
    list(read(document).samples)
    tracemalloc.start()
    try:
        for _ in read(document).samples:
            pass
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Decoded at once it takes some six times its bytes.
    assert peak < document.stat().st_size


@pytest.mark.parametrize(
    "text",
    [
        '{"resourceSpans": [], "resourceSpans": []}',
        '{"resourceSpans": []} {}',
        '{"resourceSpans": [',
        "[]",
        '{"spans": []}',
    ],
)
def test_what_is_no_whole_request_is_left_to_the_other_way(text: str) -> None:
    assert json_pieces(memoryview(text.encode())) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"resourceSpans": 1},
        {"resourceSpans": [1, "x" * LARGE]},
        {"resourceSpans": [{"scopeSpans": 1, "x": "x" * LARGE}]},
        {"resourceSpans": [{"scopeSpans": [{"spans": [1]}], "x": "x" * LARGE}]},
    ],
)
def test_a_wrong_shape_is_named(wrong: Request, many: list[Request], tmp_path: Path) -> None:
    document = tmp_path / "document.json"
    document.write_text(json.dumps({**wrong, "around": "x" * LARGE}))
    broken: list[ReadError] = []
    assert list(read(document, format="otlp", on_broken=broken.append).samples) == []
    assert broken and all(str(document) in str(each) for each in broken)
