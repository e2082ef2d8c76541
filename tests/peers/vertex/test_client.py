"""The real Gen AI evaluation client (offline) loads what we write, with every tool call."""

from __future__ import annotations

import json
import logging
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from hypothesis import HealthCheck, given, settings
from vertexai._genai import _evals_common, _evals_metric_handlers, _evals_utils, types

# The converters first: the client's modules import each other in a circle.
from vertexai._genai import _evals_data_converters as converters

from any_sample import samples
from corpus import CORPUS, needs_corpus
from pantrace.engine.convert import write
from pantrace.engine.read import read
from pantrace.errors import SampleRefused
from pantrace.formats import by_name
from pantrace.model import (
    Agent,
    Run,
    Sample,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    all_trajectories,
    call_pairs,
    is_agents,
)
from pantrace.wire.json import decode, encode
from pantrace.wire.vertex.parts import arguments_from

GOLDEN = Path(__file__).parents[2] / "golden"


class Nobody:
    """What the loader wants of an API client; it never calls anyone for local files."""

    project = "no-project"
    location = "nowhere"
    _credentials = AnonymousCredentials()


@pytest.fixture(scope="module")
def loader() -> Any:
    return _evals_utils.EvalDatasetLoader(api_client=Nobody())


@pytest.fixture(autouse=True)
def no_warnings_of_the_client(caplog: pytest.LogCaptureFixture) -> Any:
    """The client drops what it does not understand with a warning: there must be none."""
    caplog.set_level(logging.WARNING)
    yield
    assert [record.getMessage() for record in caplog.records if record.name.startswith("vertexai")] == []


def cases_of(path: Path, loader: Any) -> list[Any]:
    """A file as the client's evaluation cases, by its own loader, detection, converter and merging."""
    rows = loader.load(str(path))
    assert converters.auto_detect_dataset_schema(rows) == converters.EvalDatasetSchema.FLATTEN
    merged = converters.merge_response_datasets_into_canonical_format([rows], [converters.EvalDatasetSchema.FLATTEN])
    return merged.eval_cases


def parts_of(case: Any) -> list[Any]:
    """All parts of a case in the order told."""
    contents = [message.content for message in case.conversation_history or ()]
    contents += [event.content for event in case.intermediate_events or ()]
    if case.agent_data:
        contents += [event.content for turn in case.agent_data.turns for event in turn.events]
    return [part for content in contents if content for part in content.parts or ()]


def calls_of(case: Any) -> list[tuple[Any, ...]]:
    found = [part.function_call for part in parts_of(case) if part.function_call]
    return [(call.id, call.name, call.args) for call in found]


def expected_calls(sample: Sample) -> list[tuple[Any, ...]]:
    assert sample.trajectory is not None
    pairs = [pair for pair in call_pairs(sample.trajectory) if is_agents(pair.step)]
    return [(pair.call.id, pair.call.name, pair.call.arguments) for pair in pairs]


def answers_of(case: Any) -> dict[Any, Any]:
    found = [part.function_response for part in parts_of(case) if part.function_response]
    return {answer.id: answer.response for answer in found}


@pytest.mark.parametrize("name", ["vertex-flat", "vertex-agent"])
def test_golden_rows_keep_every_call_and_answer(name: str, loader: Any) -> None:
    path = GOLDEN / name / "sessions.jsonl"
    ours = list(read(path).samples)
    cases = cases_of(path, loader)
    assert [case.session_id for case in cases] == [sample.id for sample in ours]
    assert [calls_of(case) for case in cases] == [expected_calls(sample) for sample in ours]
    assert [call[0] for call in calls_of(cases[0])] == ["call_1", "call_2", "call_3", "call_4"]
    assert answers_of(cases[0]) == {
        "call_1": {"output": "1: def add(a, b):\n2:     return a + b"},
        "call_2": {"error": "File not found: missing.txt"},
        "call_3": {"output": "1 failed", "error": "exit code 1"},
    }
    assert cases[0].reference.response.parts[0].text == "One of the tests fails."


def test_flat_rows_say_prompt_response_history_and_instruction(loader: Any) -> None:
    first, second = cases_of(GOLDEN / "vertex-flat" / "sessions.jsonl", loader)
    assert first.prompt.parts[0].text == "Run the tests and ask the reviewer."
    assert first.responses[0].response.parts[0].text == "One test fails: `div` is not tested for zero."
    assert first.system_instruction.parts[0].text == "You are a careful programmer."
    assert [message.content.role for message in first.conversation_history] == ["user", "model", "user", "model"]
    assert [event.author for event in first.intermediate_events] == ["build", "build", "reviewer"]
    assert first.intermediate_events[0].creation_timestamp == datetime.fromisoformat("2026-11-15T18:21:01+00:00")
    # The only word of the answer is a number; as plain text pandas would have made one of it.
    assert second.responses[0].response.parts[0].text == "5"


def test_agent_rows_say_agents_turns_thoughts_times_and_state(loader: Any) -> None:
    first = cases_of(GOLDEN / "vertex-agent" / "sessions.jsonl", loader)[0].agent_data
    build = first.agents["build"]
    assert (build.instruction, build.sub_agents) == ("You are a careful programmer.", ["reviewer"])
    functions = build.tools[0].function_declarations
    assert [function.name for function in functions] == ["read", "bash", "task"]
    assert functions[0].parameters_json_schema["required"] == ["filePath"]
    assert [turn.turn_index for turn in first.turns] == [0, 1]
    assert [event.author for event in first.turns[1].events] == ["user", "build", "build", "reviewer", "build"]
    thought = first.turns[0].events[1].content.parts[0]
    assert (thought.thought, thought.text) == (True, "I should look at the file first.")
    assert first.turns[1].events[1].state_delta == {"tests": "running"}
    assert first.turns[1].events[2].event_time == datetime.fromisoformat("2026-11-15T18:21:03.5+00:00")


@pytest.mark.parametrize("metric", ["tool_use_quality_v1", "multi_turn_tool_use_quality_v1"])
def test_the_payload_for_the_server_holds_the_tools(metric: str, loader: Any) -> None:
    handler = _evals_metric_handlers.PredefinedMetricHandler(module=None, metric=types.Metric(name=metric))
    flat = cases_of(GOLDEN / "vertex-flat" / "sessions.jsonl", loader)[0]
    agent = cases_of(GOLDEN / "vertex-agent" / "sessions.jsonl", loader)[0]
    of_last_turn, of_all_turns = (
        [
            part.function_call.id
            for turn in handler._build_request_payload(case, 0)["instance"].agent_data.turns
            for event in turn.events
            for part in event.content.parts
            if part.function_call
        ]
        for case in (flat, agent)
    )
    assert of_last_turn == ["call_3", "call_4"]
    assert of_all_turns == ["call_1", "call_2", "call_3", "call_4"]


def exchange(prompt: str, answer: str, *parts: Any, name: str = "s") -> Sample:
    steps = (
        Step(role="user", parts=(Text(text=prompt),)),
        Step(role="agent", parts=(*parts, Text(text=answer))),
    )
    return Sample(id=name, trajectory=Trajectory(id=name, agents=(Agent(name="solver"),), steps=steps))


@pytest.mark.parametrize("text", ["42", " 7 ", "1e5", "nan", "Infinity", "1_000", "-0.5", "١٢", "true", "2026-01-01"])
def test_texts_that_look_like_values_stay_texts(text: str, tmp_path: Path, loader: Any) -> None:
    target = tmp_path / "numbers.jsonl"
    write(Run(samples=[exchange(text, text)]), target, to="vertex-flat")
    (case,) = cases_of(target, loader)
    assert case.prompt.parts[0].text == text
    assert case.responses[0].response.parts[0].text == text


@pytest.mark.parametrize("name", ["vertex-flat", "vertex-agent"])
def test_arguments_and_outputs_that_are_no_objects(name: str, tmp_path: Path, loader: Any) -> None:
    call = ToolCall(id="c1", name="run", arguments="ls -l")
    result = ToolResult(call_id="c1", name="run", output=["a", 1])
    target = tmp_path / "bare.jsonl"
    write(Run(samples=[exchange("list", "done", call, result)]), target, to=name)
    (case,) = cases_of(target, loader)
    assert calls_of(case) == [("c1", "run", {"_arguments": "ls -l"})]
    assert answers_of(case) == {"c1": {"output": ["a", 1]}}


def test_the_client_refuses_what_we_refuse(tmp_path: Path, loader: Any) -> None:
    """Each refusal of ours is one of the client's, which would take all rows of the file with it."""
    flat = by_name("vertex-flat")
    huge = ToolCall(id="c", name="count", arguments={"to": 2**64})
    row = flat.dump(exchange("count", "done", ToolCall(id="c", name="count", arguments={"to": 1})), flat.options())
    refused = [
        (exchange("hello", ""), {**row, "response": ""}),
        (exchange("", "hello"), {**row, "prompt": ""}),
        (exchange("count", "done", huge), {**row, "big": 2**64}),
    ]
    for sample, same in refused:
        with pytest.raises(SampleRefused):
            flat.dump(sample, flat.options())
        target = tmp_path / "refused.jsonl"
        target.write_bytes(encode(row) + b"\n" + encode(same) + b"\n")
        with pytest.raises(ValueError, match=r"required but missing|too big"):
            cases_of(target, loader)


def test_seed_rows_lose_their_calls_in_the_client() -> None:
    """Why there are vertex-flat and vertex-agent."""
    rows = json.loads((GOLDEN / "vertex-seed" / "document.json").read_bytes())
    assert converters.auto_detect_dataset_schema(rows) == converters.EvalDatasetSchema.GEMINI
    cases = converters.get_dataset_converter(converters.EvalDatasetSchema.GEMINI).convert(rows).eval_cases
    assert [case.intermediate_events for case in cases] == [None, None, None]
    assert rows[0]["intermediate_events"]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(sample=samples())
def test_any_sample_is_taken_whole_or_refused_by_us(sample: Sample) -> None:
    converter = converters.get_dataset_converter(converters.EvalDatasetSchema.FLATTEN)
    for name in ("vertex-flat", "vertex-agent"):
        format_ = by_name(name)
        try:
            row = decode(encode(format_.dump(sample, format_.options())))
        except SampleRefused:
            continue
        (case,) = converter.convert([row]).eval_cases
        assert calls_of(case) == expected_calls(sample)
        assert not list(format_.check(row))


@needs_corpus
@pytest.mark.parametrize("name", ["vertex-flat", "vertex-agent"])
def test_opencode_sessions_reach_the_client_with_every_call(name: str, tmp_path: Path, loader: Any) -> None:
    database = CORPUS / "own" / "opencode" / "sqlite-1.18.33" / "opencode.db"
    target = tmp_path / "sessions.jsonl"
    report = write(read(database), target, to=name)
    recorded = {
        trajectory.id: expected_calls(Sample(id="-", trajectory=trajectory))
        for sample in read(database).samples
        if sample.trajectory is not None
        for trajectory in all_trajectories(sample.trajectory)
    }
    cases = cases_of(target, loader)
    assert {case.session_id for case in cases} == recorded.keys() - {refused for refused, _ in report.refused}
    for case in cases:
        told = [(call_id, tool, arguments_from(args)) for call_id, tool, args in calls_of(case)]
        assert told == recorded[case.session_id]
    assert sum(len(calls_of(case)) for case in cases) > 15


def test_the_client_resolves_the_file_by_its_name(loader: Any) -> None:
    """The way of `client.evals.evaluate(dataset="rows.jsonl")`."""
    import pandas as pd

    frame = pd.DataFrame(loader.load(str(GOLDEN / "vertex-agent" / "sessions.jsonl")))
    dataset = types.EvaluationDataset(eval_dataset_df=frame)
    resolved, candidates = _evals_common._resolve_dataset_inputs([dataset], None, loader)
    assert candidates == 1
    assert len(calls_of(resolved.eval_cases[0])) == 4
    _evals_utils._validate_dataset_agent_data(dataset)


@pytest.mark.parametrize("name", ["vertex-flat", "vertex-agent"])
def test_the_client_judges_the_response_that_the_source_states(name: str, loader: Any, tmp_path: Path) -> None:
    write(read(GOLDEN / "vertex-seed" / "document_example.json"), tmp_path / "rows.jsonl", to=name)
    (case,) = cases_of(tmp_path / "rows.jsonl", loader)
    (response,) = case.responses
    assert [part.text for part in response.response.parts] == ["Final agent response"]
    assert "Agent response..." in [part.text for part in parts_of(case)]
