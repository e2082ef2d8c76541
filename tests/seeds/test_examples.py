"""The documents' own examples of a schema (1, 2 and 4) as files: read, validated, converted and back again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pantrace import convert, read, validate
from pantrace.model import Sample, call_pairs, final_response, step_text, usage_total
from pantrace.wire.json import decode

TURNS = [
    {"role": "user", "parts": [{"text": "User input..."}]},
    {"role": "model", "parts": [{"text": "Agent response..."}]},
]
SCHEMA: dict[str, Any] = {
    "session_id": "ses_1",
    "title": "Session Title",
    "created": "2026-02-16T10:00:00+00:00",
    "request": {"contents": TURNS},
    "response": {"candidates": [{"content": {"role": "model", "parts": [{"text": "Agent response..."}]}}]},
    "intermediate_events": [
        {
            "function_call": {"name": "fs.list", "args": {"path": "src"}},
            "function_response": {"name": "fs.list", "response": {"output": "..."}},
            "turn": 2,
        }
    ],
    "prompt": "User input...",
    "prompt_concat": "User input...",
    "response_concat": "Agent response...",
    "conversation_history": [],
    "generated_trajectory": [{"tool": "fs.list", "args": {"path": "src"}, "output": "...", "turn": 2}],
    "metadata": {"total_turns": 2, "total_tools": 1, "user_turns": 1, "model_turns": 1},
}
EVENTS = [
    {"author": "user", "content": {"role": "user", "parts": [{"text": "A coffee shop in Seattle?"}]}, "timestamp": 1.0},
    {
        "author": "retail_location_strategy",
        "content": {
            "role": "model",
            "parts": [
                {"text": "I think.", "thought": True, "thought_signature": "c2ln"},
                {"function_call": {"id": "c1", "name": "IntakeAgent", "args": {"request": "coffee"}}},
            ],
        },
        "timestamp": 2.0,
        "usage_metadata": {
            "prompt_token_count": 8547,
            "candidates_token_count": 1234,
            "total_token_count": 9781,
            "cached_content_token_count": 0,
        },
        "model_version": "gemini-2.5-pro",
    },
    {
        "author": "retail_location_strategy",
        "content": {
            "role": "user",
            "parts": [{"function_response": {"id": "c1", "name": "IntakeAgent", "response": {"result": "parsed"}}}],
        },
        "timestamp": 3.0,
    },
    {
        "author": "retail_location_strategy",
        "content": {"role": "model", "parts": [{"text": "Seattle is viable."}]},
        "timestamp": 4.0,
    },
]
STATE = {
    "target_location": "Seattle, WA",
    "business_type": "coffee shop",
    "stages_completed": ["intake"],
    "current_date": "2026-01-19",
    "pipeline_stage": "intake",
    "market_research_findings": {"foot_traffic": "high"},
}
METRICS = [
    {"metric_name": "hallucinations_v1", "threshold": 0.5, "score": 0.9, "eval_status": 1},
    {"metric_name": "safety_v1", "threshold": 0.5, "score": 0.4, "eval_status": 2},
]
HISTORY: dict[str, Any] = {
    "eval_set_result_id": "r1",
    "eval_set_result_name": "r1",
    "eval_set_id": "eval_set_single",
    "eval_case_results": [
        {
            "eval_set_file": "eval_set_single.evalset.json",
            "eval_set_id": "eval_set_single",
            "eval_id": "seattle_coffee_001",
            "final_eval_status": 2,
            "overall_eval_metric_results": METRICS,
            "eval_metric_result_per_invocation": [],
            "session_id": "___eval___session___1",
            "session_details": {
                "id": "s1",
                "app_name": "retail",
                "user_id": "eval_user",
                "state": STATE,
                "events": EVENTS,
                "last_update_time": 4.0,
            },
            "user_id": "eval_user",
        }
    ],
    "creation_timestamp": 1768843771.85,
}
FORMAT_2 = {
    "actual_invocation": {
        "invocation_id": "i1",
        "user_content": {"parts": [{"text": "A coffee shop in Seattle?"}], "role": "user"},
        "final_response": {"parts": [{"text": "Seattle is viable."}], "role": "model"},
        "intermediate_data": {
            "invocation_events": [{"author": "retail_location_strategy", "content": EVENTS[1]["content"]}]
        },
        "creation_timestamp": 1.0,
        "rubrics": None,
        "app_details": {
            "agent_details": {
                "retail_location_strategy": {
                    "name": "retail_location_strategy",
                    "instructions": "Your primary role is to orchestrate...",
                    "tool_declarations": [
                        {
                            "function_declarations": [
                                {"name": "transfer_to_agent", "description": "Transfer the question..."},
                                {"name": "IntakeAgent", "description": "Parses user request..."},
                            ]
                        }
                    ],
                }
            }
        },
    },
    "eval_metric_results": [],
}
CASE: dict[str, Any] = {
    "case_id": "learning-path-curator-001",
    "scenario_id": "SCN-001",
    "agent_name": "learning-path-curator",
    "phase": "preparation",
    "difficulty": "easy",
    "quality_band": "excellent",
    "topic_family": "AZ-900",
    "learner_level": "beginner",
    "question": "What should I learn?",
    "context": "Two weeks.",
    "model_answer": "Start with the basics.",
    "reference_answer": "The basics.",
    "task_goal": "Suggest paths.",
    "relevant_context": "A beginner.",
    "available_tools": ["search"],
    "expected_tool_calls": [{"tool": "search", "arguments": {"q": "AZ-900"}, "reason": "find paths"}],
    "invoked_tool_calls": [{"tool": "search", "arguments": {"q": "AZ-900"}, "outcome": "relevant"}],
    "required_evals": ["RelevanceExplain"],
    "threshold_profile": "prep_default",
    "expected_contract": "LearningPathCurationOutput",
}


def _with_bundle(case: dict[str, Any]) -> dict[str, Any]:
    """The case with the document's input bundle, payload by payload."""
    both = {"input": case["model_answer"], "question": case["question"]}
    tools = {"availableTools": case["available_tools"], "invokedTools": case["invoked_tool_calls"]}
    bundle = {
        "RelevanceExplain": {**both, "context": case["context"]},
        "CoherenceExplain": both,
        "PerceivedIntelligenceExplain": {**both, "context": case["context"], "rag_mode": "non-rag"},
        "FluencyExplain": both,
        "EmpathyExplain": both,
        "HelpfulnessExplain": both,
        "IntentResolutionExplain": {**both, "relevantContext": case["relevant_context"]},
        "ToolCallAccuracyExplain": {**both, **tools},
        "TaskAdherenceExplain": {**both, "goal": case["task_goal"]},
    }
    return {**case, "explain_inputs": bundle}


FILES: dict[str, tuple[str, Any]] = {
    "vertex-seed": ("rows.json", [SCHEMA]),
    "adk-history": ("r1.evalset_result.json", HISTORY),
    "explain": ("cases.explain.jsonl", _with_bundle(CASE)),
}


def _written(tmp_path: Path, name: str) -> Path:
    file, content = FILES[name]
    path = tmp_path / file
    path.write_text(json.dumps(content))
    return path


def _one(path: Path) -> Sample:
    (sample,) = read(path).samples
    return sample


@pytest.mark.parametrize("name", FILES)
def test_the_documents_example_is_valid_and_returns_as_it_was(name: str, tmp_path: Path) -> None:
    path = _written(tmp_path, name)
    assert [each for each in validate(path) if each.level == "error"] == []
    back = tmp_path / f"back-{path.name}"
    report = convert(path, back, to=name)
    assert dict(report.losses) == {}
    # ADK's own loader wants ids of invocations and details, which the document does not list: they are added.
    assert _is_in(_plain(path), _plain(back))
    assert name == "adk-history" or _plain(back) == _plain(path)
    for other in ("inspect", "native", "vertex-agent"):
        target = tmp_path / {"inspect": "out.eval", "native": "out.trace.jsonl", "vertex-agent": "out.jsonl"}[other]
        convert(path, target, to=other)
        assert [each for each in validate(target) if each.level == "error"] == []
        again = tmp_path / f"again-{path.name}"
        convert(target, again, to=name)
        assert len(list(read(again).samples)) == 1


def _plain(path: Path) -> Any:
    value = decode(path.read_bytes())
    return json.loads(value) if isinstance(value, str) else value


def _is_in(one: Any, other: Any) -> bool:
    """Whether all that one value says is said by the other."""
    if isinstance(one, dict):
        return isinstance(other, dict) and all(key in other and _is_in(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_is_in, one, other))
    return bool(one == other)


def test_document_1_means_what_it_says(tmp_path: Path) -> None:
    trajectory = _one(_written(tmp_path, "vertex-seed")).trajectory
    assert trajectory is not None
    assert [step_text(step) for step in trajectory.steps] == ["User input...", "Agent response..."]
    (pair,) = call_pairs(trajectory)
    assert (pair.call.name, pair.call.arguments) == ("fs.list", {"path": "src"})
    # `turn` is the place in `request.contents` at which the tool was called, counted from 1: the model's turn.
    assert pair.step is trajectory.steps[1]
    # The example itself says 1, which would be the user's turn: it is read as it is meant, and written by the rule.
    path = tmp_path / "example.json"
    events = [{**SCHEMA["intermediate_events"][0], "turn": 1}]
    path.write_text(json.dumps([{**SCHEMA, "intermediate_events": events, "generated_trajectory": []}]))
    (pair,) = call_pairs(_one(path).trajectory or trajectory)
    assert pair.step.role == "agent"
    convert(path, tmp_path / "back.json", to="vertex-seed")
    assert [event["turn"] for event in decode((tmp_path / "back.json").read_bytes())[0]["intermediate_events"]] == [2]


def test_document_2_means_what_it_says(tmp_path: Path) -> None:
    sample = _one(_written(tmp_path, "adk-history"))
    trajectory = sample.trajectory
    assert trajectory is not None
    total = usage_total(trajectory)
    assert total is not None
    assert (total.input, total.output, total.total) == (8547, 1234, 9781)
    assert (final_response(trajectory), trajectory.state) == ("Seattle is viable.", STATE)
    assert [(score.name, score.value, score.passed) for score in sample.scores] == [
        ("hallucinations_v1", 0.9, True),
        ("safety_v1", 0.4, False),
    ]
    rows = tmp_path / "rows.jsonl"
    convert(tmp_path / FILES["adk-history"][0], rows, to="adk-jsonl")
    row = decode(rows.read_bytes())
    assert (row["question_id"], row["session_id"], row["app_name"]) == ("seattle_coffee_001", "s1", "retail")
    assert (row["user_inputs"], row["final_response"]) == (["A coffee shop in Seattle?"], "Seattle is viable.")
    assert {"hallucinations_v1": 0.9, "safety_v1": 0.4}.items() <= {
        key.removeprefix("adk_score."): value for key, value in row.items() if key.startswith("adk_score.")
    }.items() or row["adk_score"] == {"hallucinations_v1": 0.9, "safety_v1": 0.4}


def test_the_documents_verification_commands_run_on_what_we_write(tmp_path: Path) -> None:
    """Both snippets at the end of document 2, in our words."""
    history, rows = tmp_path / "out.evalset_result.json", tmp_path / "rows.jsonl"
    convert(_written(tmp_path, "adk-history"), history, to="adk-history")
    data = json.loads(history.read_text())
    data = json.loads(data) if isinstance(data, str) else data
    session = data["eval_case_results"][0].get("session_details")
    assert session is not None
    assert sum(1 for event in session["events"] if event.get("usage_metadata")) == 1
    convert(history, rows, to="adk-jsonl")
    row = json.loads(rows.read_text().splitlines()[0])
    wanted = "state_variables tool_interactions sub_agent_trace tool_declarations system_instruction thinking_trace"
    wanted += " grounding_chunks per_turn_tokens stop_reasons conversation_history"
    assert set(wanted.split()) <= row["extracted_data"].keys()
    assert {
        "session_trace",
        "trace_summary",
        "latency_data",
        "final_session_state",
        "request",
        "response",
    } <= row.keys()


def test_the_fallback_of_document_2_is_read_where_there_is_no_session(tmp_path: Path) -> None:
    case = {**HISTORY["eval_case_results"][0], "session_details": None, "eval_metric_result_per_invocation": [FORMAT_2]}
    path = tmp_path / "r2.evalset_result.json"
    path.write_text(json.dumps({**HISTORY, "eval_case_results": [case]}))
    sample = _one(path)
    assert sample.trajectory is not None
    assert final_response(sample.trajectory) == "Seattle is viable."
    assert usage_total(sample.trajectory) is None
    (agent,) = [each for each in sample.trajectory.agents if each.instructions]
    assert agent.instructions == "Your primary role is to orchestrate..."
    assert [tool.name for tool in agent.tools or ()] == ["transfer_to_agent", "IntakeAgent"]
    # Both at once: what only the invocations know is told beside the session.
    case = {**HISTORY["eval_case_results"][0], "eval_metric_result_per_invocation": [FORMAT_2]}
    path.write_text(json.dumps({**HISTORY, "eval_case_results": [case]}))
    rows = tmp_path / "rows.jsonl"
    convert(path, rows, to="adk-jsonl")
    extracted = decode(rows.read_bytes())["extracted_data"]
    assert "Your primary role is to orchestrate..." in json.dumps(extracted["system_instruction"])
    assert "Parses user request..." in json.dumps(extracted["tool_declarations"])


def test_document_4_means_what_it_says(tmp_path: Path) -> None:
    sample = _one(_written(tmp_path, "explain"))
    assert sample.case is not None
    assert sample.trajectory is not None
    assert (sample.case.scenario, sample.case.agent, sample.case.profile) == (
        "SCN-001",
        "learning-path-curator",
        "prep_default",
    )
    assert (
        sample.case.labels.items()
        >= {key: CASE[key] for key in ("phase", "difficulty", "quality_band", "topic_family", "learner_level")}.items()
    )
    (wanted,) = sample.case.expected_calls or ()
    assert (wanted.name, wanted.arguments, wanted.reason) == ("search", {"q": "AZ-900"}, "find paths")
    (pair,) = call_pairs(sample.trajectory)
    assert pair.result is not None
    assert (pair.call.name, pair.result.output) == ("search", "relevant")
    # A bundle that follows from the case is not kept twice.
    assert "explain_inputs" not in json.dumps(sample.case.extra)
