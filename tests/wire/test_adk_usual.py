"""Records of google-adk decoded by type say the same as those read as dictionaries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from goldens import ROOT
from pantrace.formats import by_name
from pantrace.formats.adk_history.cases import load
from pantrace.formats.adk_history.document import Document
from pantrace.model import Step, Text, Thinking, ToolCall, ToolResult
from pantrace.wire.adk.events import steps_from
from pantrace.wire.adk.fast_events import step_of, typed_event
from pantrace.wire.adk.recase import EVENT, to_camel
from pantrace.wire.adk.schema import CaseResult
from pantrace.wire.json import decode, encode

FOUND = sorted((ROOT / "adk-history").rglob("*.evalset_result.json"))
HISTORIES = [path for path in FOUND if not path.name.startswith("trpc")]


def cases(path: Path) -> list[dict[str, Any]]:
    document = json.loads(path.read_bytes())
    document = json.loads(document) if isinstance(document, str) else document
    found: list[dict[str, Any]] = document["eval_case_results"]
    return found


EVENTS = [
    event
    for path in HISTORIES
    for case in cases(path)
    for event in (case.get("session_details") or {}).get("events") or ()
]
STRANGE = {"a_key_that_nobody_knows": 1}


def spoken(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"author": "a", "invocation_id": "i", "content": {"role": "model", "parts": list(parts)}, **fields}


def general(event: dict[str, Any], *, camel: bool = False) -> Step:
    """The step by the way that knows everything: a key that no version has sends it there, and is taken out again."""
    (step,) = steps_from([{**event, **STRANGE}], camel=camel)
    extra = {key: value for key, value in step.extra["adk"].items() if key not in STRANGE}
    return msgspec.structs.replace(step, extra={"adk": extra} if extra else {})


@pytest.mark.parametrize(
    "event",
    [
        spoken({"text": "x"}, **STRANGE),
        spoken({"text": "x", "new_kind": {}}),
        spoken({"text": 5}),
        spoken({"text": "x"}, usage_metadata={"prompt_token_count": 1.5}),
        spoken({"text": "x"}, usage_metadata={"prompt_tokens_details": [{"modality": None, "token_count": 1}]}),
    ],
)
def test_what_google_adk_does_not_write_is_not_decoded_by_type(event: dict[str, Any]) -> None:
    assert typed_event(event, camel=False) is None


@pytest.mark.parametrize(
    "event",
    [
        spoken({"text": "x"}, grounding_metadata={"grounding_chunks": []}),
        spoken({"text": "x"}, partial=False),
        spoken({"text": "x"}, custom_metadata={"pantrace": {"unwrap": []}}),
        spoken({"text": "x"}, actions={"compaction": {}}),
        spoken({"text": "x", "thought": False}),
        spoken({"text": "x", "thought_signature": "YQ=="}),
        spoken({"thought": True}),
        spoken({"inline_data": {"mime_type": "image/png", "data": ""}}),
        spoken({"function_call": {"name": "f", "will_continue": True}}),
        spoken({"function_call": {"name": "f"}, "thought_signature": "YQ=="}),
    ],
)
def test_what_is_rare_goes_the_general_way(event: dict[str, Any]) -> None:
    typed = typed_event(event, camel=False)
    assert typed is not None
    assert step_of(typed) is None


def test_plain_parts_are_told_by_type() -> None:
    event = spoken(
        {"text": "hm", "thought": True, "thought_signature": "YQ=="},
        {"text": "x", "thought": None},
        {"function_call": {"id": "1", "name": "f", "args": {"a": None}, "will_continue": None}},
        {"function_response": {"id": "1", "name": "f", "response": {"error": "no"}}},
    )
    typed = typed_event(event, camel=False)
    assert typed is not None
    step = step_of(typed)
    assert step is not None
    assert step.parts == (
        Thinking(text="hm", signature="YQ=="),
        Text(text="x"),
        ToolCall(id="1", name="f", arguments={"a": None}),
        ToolResult(call_id="1", name="f", output={"error": "no"}, error="no", failure="error"),
    )


@pytest.mark.parametrize("camel", [False, True])
def test_both_ways_give_the_same_step(camel: bool) -> None:
    quick = 0
    made = [
        spoken({"text": "x"}, error_code="SAFETY", error_message="no"),
        spoken({"text": "x"}, timestamp=5, actions={"state_delta": {"a": 1}, "escalate": True}),
        spoken({"text": "x"}, actions={"artifact_delta": {}}, node_info={"path": "", "output_for": ["b"]}),
    ]
    for event in [*EVENTS, *made]:
        raw = to_camel(event, EVENT) if camel else event
        typed = typed_event(raw, camel=camel)
        step = step_of(typed) if typed is not None else None
        if step is not None:
            quick += 1
            assert step == general(raw, camel=camel)
    assert quick > len(EVENTS) / 2, "the quick way must be the usual one"


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.name)
def test_a_case_by_type_is_the_same_sample(path: Path) -> None:
    for case in cases(path):
        raw = encode(case)
        typed = Document(header={}, cases=[msgspec.Raw(raw)], variant="").case(0)
        assert isinstance(typed, CaseResult) == (case["session_details"] is not None)
        assert load(typed) == load(decode(raw))


def test_a_record_that_is_not_repeated_by_the_session_is_kept_with_all_its_nulls(tmp_path: Path) -> None:
    document = json.loads((ROOT / "adk-history" / "two_cases.evalset_result.json").read_bytes())
    invocation = document["eval_case_results"][0]["eval_metric_result_per_invocation"][0]["actual_invocation"]
    invocation["user_content"]["parts"][0]["text"] = "something that no event says"
    path = tmp_path / "changed.evalset_result.json"
    path.write_text(json.dumps(document))
    open_run = by_name("adk-history").open
    assert open_run is not None
    sample = next(iter(open_run(path, pytest.fail).samples))
    assert sample.trajectory is not None
    recorded = sample.trajectory.invocations[0].extra["adk"]["recorded"]
    assert recorded["user_content"] == invocation["user_content"]
