"""OTLP: traces of MLflow, whose attributes are JSON and whose assessments stand beside the spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.formats import detect
from pantrace.model import Sample, call_pairs, final_response, step_text, usage_total
from pantrace.wire.json import encode

GOLDEN = ROOT / "otlp" / "mlflow.trace.json"


def trace() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_bytes())
    return found


def read_as(document: Any, folder: Path) -> Sample:
    path = folder / "trace.json"
    path.write_text(json.dumps(document))
    assert [detect(path)[0].name, detect(path)[1]] == ["otlp", "mlflow"]
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample


def test_assessments_are_scores_and_expectations_are_not(tmp_path: Path) -> None:
    document = trace()
    document["info"]["assessments"] += [
        {
            "assessment_name": "safety",
            "source": {"source_type": "LLM_JUDGE", "source_id": "judge-1"},
            "feedback": {"value": 0.5},
        },
        {"assessment_name": "broken", "feedback": {"value": None, "error": {"error_code": "TIMEOUT"}}},
        {"assessment_name": "expected", "expectation": {"value": "42"}},
    ]
    scores = read_as(document, tmp_path).scores
    assert [(score.name, score.value, score.status) for score in scores] == [
        ("correct", True, "scored"),
        ("safety", 0.5, "scored"),
        ("broken", None, "failed"),
    ]
    assert [score.maker.kind for score in scores if score.maker] == ["human", "stored", "stored"]
    assert (scores[0].passed, scores[0].explanation) == (True, "It says 42.")


def test_tokens_and_cost_are_those_that_the_trace_sums_up(tmp_path: Path) -> None:
    document = trace()
    sample = read_as(document, tmp_path)
    assert sample.trajectory is not None
    told = json.loads(document["info"]["trace_metadata"]["mlflow.trace.tokenUsage"])
    cost = json.loads(document["info"]["trace_metadata"]["mlflow.trace.cost"])
    total = usage_total(sample.trajectory)
    assert total is not None and total.cost_usd is not None
    assert (total.input, total.output, total.total) == (
        told["input_tokens"],
        told["output_tokens"],
        told["total_tokens"],
    )
    assert total.cache_read == told["cache_read_input_tokens"]
    assert total.cost_usd == pytest.approx(cost["total_cost"])


def test_what_is_known_of_the_trace_is_kept_once(tmp_path: Path) -> None:
    assert encode(read_as(trace(), tmp_path)).count(b"mlflow.source.name") == 1


def test_a_session_names_the_conversation_else_the_trace_does(tmp_path: Path) -> None:
    document = trace()
    assert read_as(document, tmp_path).id == document["info"]["trace_id"]
    document["info"]["trace_metadata"]["mlflow.trace.session"] = "chat-7"
    assert read_as(document, tmp_path).id == "chat-7"


def test_spans_as_version_2_writes_them(tmp_path: Path) -> None:
    """Ids in `context`, times as numbers under other names, and `request_id` in place of `trace_id`."""
    document = trace()
    document["info"] = {"request_id": "r-1", "request_metadata": {"mlflow.trace.session": "chat-2"}}
    document["data"]["spans"] = [
        {
            "name": span["name"],
            "context": {"span_id": span["span_id"], "trace_id": span["trace_id"]},
            "parent_id": span["parent_span_id"],
            "start_time": span["start_time_unix_nano"],
            "end_time": span["end_time_unix_nano"],
            "status_code": "ERROR" if "ERROR" in span["status"]["code"] else "OK",
            "status_message": "",
            "attributes": span["attributes"],
            "events": [],
        }
        for span in document["data"]["spans"]
    ]
    sample = read_as(document, tmp_path)
    assert sample.trajectory is not None
    assert sample.id == "chat-2"
    pairs = call_pairs(sample.trajectory)
    assert [(pair.call.name, bool(pair.result and pair.result.failure)) for pair in pairs] == [
        ("get_order", False),
        ("get_order", False),
        ("refund", True),
    ]


def test_an_agent_without_traced_models_still_says_what_was_asked_and_answered(tmp_path: Path) -> None:
    document = trace()
    document["data"]["spans"] = document["data"]["spans"][:1]
    trajectory = read_as(document, tmp_path).trajectory
    assert trajectory is not None
    assert [step_text(step) for step in trajectory.steps if step.role == "user"] == [
        "Where is order A-17, and please refund B-99?"
    ]
    assert final_response(trajectory) is not None
