"""OTLP: downloads of Langfuse, whose observations are the spans of its SDK in another form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.model import Sample, call_pairs, final_response, turns, usage_total

GOLDEN = ROOT / "otlp" / "langfuse.trace.json"
DOWNLOAD = json.loads(GOLDEN.read_bytes())


def _sample(path: Path, document: Any) -> Sample:
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample


@pytest.mark.parametrize(
    "document",
    [
        DOWNLOAD,
        # An answer of the API for one trace, and one for observations.
        {**DOWNLOAD["trace"], "observations": DOWNLOAD["observations"]},
        {"data": DOWNLOAD["observations"], "meta": {"page": 1}},
        DOWNLOAD["observations"],
        "\n".join(map(json.dumps, DOWNLOAD["observations"])),
    ],
)
def test_a_trace_in_each_form(tmp_path: Path, document: Any) -> None:
    sample = _sample(tmp_path / "trace.json", document)
    told = sample.trajectory
    assert told is not None
    (pair,) = call_pairs(told)
    assert (pair.call.name, pair.call.arguments) == ("read_gauge", {"bed": 3})
    assert pair.result is not None and pair.result.output == "40 %"
    assert [turn.number for turn in turns(told)] == [1]
    assert final_response(told) == "Bed 3 is at 40 %."
    # Langfuse stores cached and reasoning tokens apart from the others.
    total = usage_total(told)
    assert total is not None and (total.input, total.output, total.cache_read, total.reasoning) == (150, 35, 60, 5)
    assert total.cost_usd == pytest.approx(0.0007)
    assert told.steps[1].at == 1772355600.1 and told.steps[1].ended == 1772355602.0


def test_a_trace_has_its_session_and_its_scores(tmp_path: Path) -> None:
    sample = _sample(tmp_path / "trace.json", DOWNLOAD)
    assert sample.id == "session-7"
    assert [(each.name, each.value, each.explanation) for each in sample.scores] == [("helpful", 0.5, "Only one bed.")]


def _generation(heard: Any, said: Any, **more: Any) -> dict[str, Any]:
    row = {**DOWNLOAD["observations"][1], "parentObservationId": None, "input": heard, "output": said}
    return {"trace": {}, "observations": [row | more]}


ASKED = [{"role": "user", "content": "Hello?"}]
PARTS = {"role": "model", "parts": [{"text": "Hi."}]}


@pytest.mark.parametrize(
    ("heard", "said"),
    [
        (ASKED, "Hi."),
        ({"messages": ASKED}, {"choices": [{"message": {"role": "assistant", "content": "Hi."}}]}),
        ({"contents": "Hello?"}, {"candidates": [{"content": PARTS}]}),
        ({"contents": "Hello?", "config": {"system_instruction": "Be brief."}}, {"content": PARTS}),
        (
            {"input": ASKED},
            {"object": "response", "output": [{"type": "message", "role": "assistant", "content": "Hi."}]},
        ),
        (ASKED, [{"role": "assistant", "parts": [{"type": "text", "content": "Hi."}]}]),
    ],
)
def test_what_models_hear_and_say(tmp_path: Path, heard: Any, said: Any) -> None:
    for form in (lambda value: value, json.dumps):
        told = _sample(tmp_path / "trace.json", _generation(form(heard), form(said))).trajectory
        assert told is not None and final_response(told) in ("Hi.", '"Hi."')
        assert [step.role for step in told.steps] in (["user", "agent"], ["system", "user", "agent"])


CALL = {"id": "c", "function": {"name": "look"}}


@pytest.mark.parametrize(
    "said",
    [
        {
            "role": "assistant",
            "content": "",
            "additional_kwargs": {"tool_calls": [{"id": "c", "function": {"name": "look"}}]},
        },
        [{"toolCallId": "c", "toolName": "look", "input": "{}"}],
    ],
)
def test_calls_in_the_forms_of_libraries(tmp_path: Path, said: Any) -> None:
    told = _sample(tmp_path / "trace.json", _generation(ASKED, said)).trajectory
    assert told is not None
    assert [(pair.call.id, pair.call.name) for pair in call_pairs(told)] == [("c", "look")]


def test_a_result_whose_role_is_the_name_of_its_tool(tmp_path: Path) -> None:
    call = {"role": "assistant", "content": "", "tool_calls": [CALL]}
    heard = [*ASKED, call, {"role": "look", "content": "Nobody."}]
    told = _sample(tmp_path / "trace.json", _generation(heard, "Nobody is there.")).trajectory
    assert told is not None
    assert [pair.result and pair.result.output for pair in call_pairs(told)] == ["Nobody."]
    assert [turn.number for turn in turns(told)] == [1]


def test_declared_tools_among_the_messages_are_no_results(tmp_path: Path) -> None:
    declared = {"role": "tool", "content": {"type": "function", "function": {"name": "look", "parameters": {}}}}
    told = _sample(tmp_path / "trace.json", _generation([*ASKED, declared], "Hi.")).trajectory
    assert told is not None and [step.role for step in told.steps] == ["user", "agent"]
    assert [tool.name for agent in told.agents for tool in agent.tools or ()] == ["look"]


@pytest.mark.parametrize(
    "counts",
    [
        {"promptTokens": 60, "completionTokens": 20, "totalTokens": 80},
        {"inputUsage": 60, "outputUsage": 20, "totalUsage": 80},
        {"usage": {"input": 60, "output": 20, "total": 80, "unit": "TOKENS"}},
    ],
)
def test_counts_and_costs_of_langfuse_2(tmp_path: Path, counts: dict[str, Any]) -> None:
    older = {"usageDetails": {}, "costDetails": {}, "calculatedTotalCost": 0.0003, **counts}
    told = _sample(tmp_path / "trace.json", _generation(ASKED, "Hi.", **older)).trajectory
    assert told is not None
    total = usage_total(told)
    assert total is not None and (total.input, total.output, total.cost_usd) == (60, 20, 0.0003)


def test_an_error_is_that_of_its_step(tmp_path: Path) -> None:
    document = _generation(ASKED, None, level="ERROR", statusMessage="overloaded")
    told = _sample(tmp_path / "trace.json", document).trajectory
    assert told is not None
    assert [step.error and step.error.message for step in told.steps][-1] == "overloaded"
