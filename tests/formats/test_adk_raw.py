"""An ADK file that is read and written as what it is comes out as it was: JSON for JSON, only nulls aside.

Null and absent are one thing for google-adk, which writes every field of its own version. Files of older shapes are
written in today's: they are listed here, and so is the reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import golden_inputs
from pantrace.engine.convert import convert
from pantrace.errors import UnknownFormat
from pantrace.formats import by_name, detect
from pantrace.wire.adk.recase import SESSION, to_camel

ADK = ("adk-history", "adk-session", "adk-evalset", "adk-jsonl")
OLDER = {"before 1.0", "list of turns", "list of cases", "scenarios", "trpc-agent-go", "csv", "sqlite", "database"}
"""Variants that google-adk itself does not write any more, or not as JSON."""


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def raw(path: Path) -> Any:
    try:
        value = json.loads(path.read_bytes())
    except ValueError:
        return [without_nulls(json.loads(line)) for line in path.read_text().splitlines()]
    # Up to 1.21 a history was a JSON string that holds JSON.
    return without_nulls(json.loads(value) if isinstance(value, str) else value)


def rewritten(path: Path, name: str, folder: Path) -> Any:
    target = folder / f"out{by_name(name).suffix}"
    report = convert(path, target, to=name, format=name)
    assert not report.refused
    return raw(target)


def variant_of(path: Path) -> tuple[str, str | None]:
    try:
        format_, variant = detect(path)
    except UnknownFormat:
        return "", None
    return format_.name, variant


GOLDENS = [(name, path) for name, path in golden_inputs() if name in ADK and path.is_file()]
TODAYS = [(name, path) for name, path in GOLDENS if variant_of(path)[1] not in OLDER]


@pytest.mark.parametrize(("name", "path"), TODAYS, ids=lambda value: value if isinstance(value, str) else value.name)
def test_a_file_comes_back_as_it_was(name: str, path: Path, tmp_path: Path) -> None:
    assert rewritten(path, name, tmp_path) == raw(path)


@needs_corpus
def test_every_file_of_the_corpus_comes_back_as_it_was(tmp_path: Path) -> None:
    tried = 0
    for path in sorted(each for folder in ("own/adk", "public/adk") for each in (CORPUS / folder).rglob("*")):
        name, variant = variant_of(path) if path.is_file() else ("", None)
        if name in ADK and variant not in OLDER:
            assert rewritten(path, name, tmp_path) == raw(path), path
            tried += 1
    assert tried >= 25


EVENT = {
    "id": "e1",
    "invocation_id": "i",
    "author": "root",
    "timestamp": 5.0,
    "content": {"role": "model", "parts": [{"text": "hi"}]},
}
ODD = {
    "an empty id": {"id": ""},
    "an empty invocation": {"invocation_id": ""},
    "no role": {"content": {"parts": [{"text": "hi"}]}},
    "another role": {"content": {"parts": [{"text": "hi"}], "role": "assistant"}},
    "no parts": {"content": {"role": "model"}},
    "an empty list of parts": {"content": {"role": "model", "parts": []}},
    "an empty content": {"content": {}},
    "no actions": {"actions": None},
    "actions without a value": {"actions": {}},
    "other empty actions": {"actions": {"artifact_delta": {}, "requested_auth_configs": {}}},
    "an action that is an empty list": {"actions": {"render_ui_widgets": []}},
    "a state delta": {"actions": {"state_delta": {"a": None}, "artifact_delta": {}}},
    "a summary beside words": {"actions": {"compaction": {"compacted_content": {"parts": [{"text": "short"}]}}}},
    "no thought": {"content": {"role": "model", "parts": [{"text": "hi", "thought": False}]}},
    "no usage": {"usage_metadata": {}},
    "empty metadata": {"custom_metadata": {}},
    "no long runners": {"long_running_tool_ids": []},
    "an empty path": {"node_info": {"path": ""}},
    "grounding without chunks": {"grounding_metadata": {"grounding_chunks": []}},
    "grounding without anything": {"grounding_metadata": {}},
    "an empty model": {"model_version": "", "finish_reason": ""},
}
USUAL = {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("camel", [False, True])
@pytest.mark.parametrize("first", [{}, {"actions": USUAL}], ids=["without actions", "with actions"])
def test_a_default_that_was_there_stays_and_none_is_added(
    first: dict[str, Any], odd: dict[str, Any], camel: bool, tmp_path: Path
) -> None:
    events = [{**EVENT, "id": "e0", **first}, {**EVENT, **first, **odd}, {**EVENT, "id": "e2", **odd}]
    session = {"id": "s", "app_name": "a", "user_id": "u", "events": events}
    if camel:
        session = to_camel(session, SESSION)
    path = tmp_path / "in.session.json"
    path.write_text(json.dumps(session))
    assert rewritten(path, "adk-session", tmp_path) == raw(path)


INVOCATION = {"user_content": {"role": "user", "parts": [{"text": "hi"}]}}
SAID = {"role": "model", "parts": [{"text": "hello"}]}
INVOCATIONS: list[dict[str, Any]] = [
    {"invocation_id": ""},
    {},
    {"invocation_id": "i", "creation_timestamp": 0.0},
    {"final_response": SAID, "intermediate_data": {}},
    {"final_response": SAID, "intermediate_data": {"tool_uses": []}},
    {"final_response": SAID, "intermediate_data": {"invocation_events": []}},
    {"final_response": SAID, "intermediate_data": {"invocation_events": [{"author": "root"}]}},
    {"final_response": {"parts": [{"text": "no role"}]}, "intermediate_data": {"tool_uses": [{"name": "f"}]}},
    {"final_response": SAID, "intermediate_data": {"intermediate_responses": [["sub", [{"text": "x"}]]]}},
    {"app_details": {}},
    {"app_details": {"agent_details": {"root": {"name": "root", "instructions": "", "tool_declarations": []}}}},
    {"app_details": {"agent_details": {"root": {"name": "root"}}}},
    {"rubrics": []},
]


@pytest.mark.parametrize("fields", INVOCATIONS, ids=range(len(INVOCATIONS)))
def test_an_invocation_comes_back_as_it_was(fields: dict[str, Any], tmp_path: Path) -> None:
    case = {"eval_id": "c", "conversation": [{**INVOCATION, **fields}, {**INVOCATION, **fields, "invocation_id": "j"}]}
    path = tmp_path / "in.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "s", "eval_cases": [case]}))
    assert rewritten(path, "adk-evalset", tmp_path) == raw(path)
    result = {
        "eval_set_file": "s",
        "eval_set_id": "s",
        "eval_id": "c",
        "final_eval_status": 1,
        "overall_eval_metric_results": [],
        "eval_metric_result_per_invocation": [
            {"actual_invocation": each, "expected_invocation": each, "eval_metric_results": []}
            for each in case["conversation"]
        ],
        "session_id": "x",
        "user_id": "u",
    }
    path = tmp_path / "in.evalset_result.json"
    path.write_text(json.dumps({"eval_set_result_id": "r", "eval_set_id": "s", "eval_case_results": [result]}))
    assert rewritten(path, "adk-history", tmp_path) == raw(path)
