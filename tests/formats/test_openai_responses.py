"""OpenAI Responses: what is peculiar to items, to logged responses and to what the Agents SDK exports."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import read
from pantrace.errors import ReadError, SampleRefused
from pantrace.formats import by_name
from pantrace.model import (
    Agent,
    Sample,
    Step,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    call_pairs,
    final_response,
    usage_total,
)

GOLDEN = ROOT / "openai-responses"
FORMAT = by_name("openai-responses")


def only(path: Path) -> Trajectory:
    (sample,) = read(path).samples
    assert sample.trajectory is not None
    return sample.trajectory


def test_a_log_of_requests_is_one_conversation_with_its_tokens() -> None:
    log, body = only(GOLDEN / "exchanges.jsonl"), only(GOLDEN / "conversation.json")
    assert [(step.role, step.parts) for step in log.steps] == [(step.role, step.parts) for step in body.steps]
    total = usage_total(log)
    responses = [json.loads(line)["response"] for line in (GOLDEN / "exchanges.jsonl").read_text().splitlines()]
    assert total is not None and total.total == sum(each["usage"]["total_tokens"] for each in responses)
    assert [step.id for step in log.steps if step.usage] == [each["id"] for each in responses]


def test_requests_that_name_the_response_before_them_are_one_conversation() -> None:
    trajectory = only(GOLDEN / "chained.jsonl")
    assert [step.role for step in trajectory.steps] == ["user", "agent", "tool", "agent"]
    assert trajectory.steps[-1].stop == "max_output_tokens"


def test_items_of_one_response_are_one_step() -> None:
    trajectory = only(GOLDEN / "every_item.jsonl")
    first = trajectory.steps[2]
    assert [part.name for part in first.parts if isinstance(part, ToolCall)] == [
        "web_search",
        "file_search",
        "code_interpreter",
        "stock",
        "computer",
        "patch",
        "zoom",
    ]
    failures = {pair.call.name: pair.result.failure for pair in call_pairs(trajectory) if pair.result is not None}
    assert failures["stock"] == "error" and set(failures.values()) == {None, "error"}
    (thought,) = [part for part in first.parts if isinstance(part, Thinking)]
    assert (thought.text, thought.summary, thought.signature) == ("hm", "Look.\n\nThen search.", "gAAA")
    (seen,) = [pair.result for pair in call_pairs(trajectory) if pair.call.name == "computer"]
    assert seen is not None and seen.media[0].mime == "image/png"


@pytest.mark.parametrize("name", ["conversation.json", "every_item.jsonl"])
def test_items_come_back_as_they_were(name: str, tmp_path: Path) -> None:
    convert(GOLDEN / name, tmp_path / "out.jsonl", to="openai-responses", strict=True)
    text = (GOLDEN / name).read_text()
    (after,) = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    before = json.loads(text)
    assert {key: after.get(key) for key in before} == _bare(before)


def _bare(value: Any) -> Any:
    """A value without nulls: no tool tells them from nothing."""
    if isinstance(value, dict):
        return {key: _bare(each) for key, each in value.items() if each is not None}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def test_a_trace_tells_times_tokens_and_calls_but_no_words() -> None:
    trajectory = only(GOLDEN / "trace_export.jsonl")
    assert [(pair.call.name, pair.result and pair.result.failure) for pair in call_pairs(trajectory)] == [
        ("get_order", None),
        ("get_order", None),
        ("refund", "error"),
    ]
    total = usage_total(trajectory)
    assert total is not None and (total.input, total.output, total.cache_read) == (891, 108, 444)  # as its `task` says
    assert final_response(trajectory) is None
    assert {step.agent for step in trajectory.steps if step.role == "agent"} == {"garden_shop"}


def test_a_trace_is_written_as_the_sdk_sends_it(tmp_path: Path) -> None:
    convert(GOLDEN / "trace_export.jsonl", tmp_path / "out.jsonl", to="openai-responses", strict=True)
    (row,) = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    before = [json.loads(line) for line in (GOLDEN / "trace_export.jsonl").read_text().splitlines()]
    assert [_bare(each) for each in row["data"]] == [_bare(each) for each in before]


@needs_corpus
def test_three_exports_of_one_run_agree() -> None:
    """What the Agents SDK says of a run as items, as responses and as spans."""
    folder = CORPUS / "own/openai_agents"
    items, responses, spans = (
        only(folder / name) for name in ("to_input_list.json", "raw_responses.json", "trace_export.jsonl")
    )
    calls = [[(pair.call.name, pair.call.arguments) for pair in call_pairs(each)] for each in (items, responses, spans)]
    assert calls[0] == calls[1] == calls[2] and len(calls[0]) == 3
    assert usage_total(responses).total == usage_total(spans).total == 999  # type: ignore[union-attr]
    assert final_response(items) == final_response(responses)
    failed = [[pair.result.failure for pair in call_pairs(each) if pair.result] for each in (items, spans)]
    assert failed == [[None, None, "error"]] * 2


def test_a_run_of_another_tool_becomes_items() -> None:
    assert FORMAT.dump is not None and FORMAT.load is not None
    steps = (
        Step(role="user", parts=(Text(text="go"),)),
        Step(role="agent", parts=(Thinking(text="hm"), Text(text="ok"), ToolCall(name="ls", arguments={"a": 1}))),
        Step(role="tool", parts=(ToolResult(name="ls", output={"n": 3}),)),
    )
    agent = Agent(
        name="a", model="m", instructions="Be brief.", tools=(Tool(name="ls", parameters={"type": "object"}),)
    )
    sample = Sample(id="s", trajectory=Trajectory(agents=(agent,), steps=steps))
    row = FORMAT.dump(sample, None)
    assert {key: row[key] for key in ("model", "instructions", "tools")} == {
        "model": "m",
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "ls", "parameters": {"type": "object"}}],
    }
    assert [(each["type"], each.get("role")) for each in row["input"]] == [
        ("message", "user"),
        ("reasoning", None),
        ("message", "assistant"),
        ("function_call", None),
        ("function_call_output", None),
    ]
    assert row["input"][3]["call_id"] == row["input"][4]["call_id"] == "call_1"
    assert FORMAT.load(row) == sample


@pytest.mark.parametrize("row", [{"x": 1}, [3], {"data": []}, [{"request": {}, "response": {}}]])
def test_what_is_no_conversation_is_refused_in_words(row: Any) -> None:
    assert FORMAT.load is not None and FORMAT.dump is not None
    with pytest.raises(ReadError):
        FORMAT.load(row)
    with pytest.raises(SampleRefused):
        FORMAT.dump(Sample(id="s"), None)


@needs_corpus
def test_one_story_in_three_vocabularies() -> None:
    """The garden shop, asked through three APIs: the same calls, the same answers."""
    paths = ["openai_messages/chat.jsonl", "openai_responses/conversation.json", "anthropic_messages/conversation.json"]
    paths += ["openai_responses/requests_responses.jsonl", "anthropic_messages/requests_responses.jsonl"]
    told = []
    for path in paths:
        trajectory = only(CORPUS / "own" / path)
        pairs = call_pairs(trajectory)
        calls = [(pair.call.name, pair.call.arguments, pair.result and pair.result.output) for pair in pairs]
        tools = [tool.name for tool in trajectory.agents[0].tools or ()]
        told.append(
            (calls, tools, final_response(trajectory), [step.role for step in trajectory.steps if step.role == "agent"])
        )
    assert all(each == told[0] for each in told)
    assert len(told[0][0]) == 3


def test_traces_that_are_complete_are_not_held(tmp_path: Path) -> None:
    """Spans of a trace may stand anywhere in the file; only those of open traces are in memory."""

    def span(trace: int, number: int) -> str:
        data = {"type": "function", "name": "look", "input": "x" * 2000, "output": str(trace)}
        ids = {"id": f"span_{trace}_{number}", "trace_id": f"trace_{trace}"}
        return json.dumps({"object": "trace.span", **ids, "span_data": data}) + "\n"

    path = tmp_path / "spans.jsonl"
    # The first trace ends last, all others lie whole behind each other.
    path.write_text(span(0, 0) + "".join(span(n, 0) + span(n, 1) for n in range(1, 2000)) + span(0, 1))
    list(read(path).samples)
    tracemalloc.start()
    try:
        names = []
        for sample in read(path).samples:
            names.append(sample.id)
            assert sample.trajectory is not None and len(call_pairs(sample.trajectory)) == 2
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert names == [f"trace_{n}" for n in (*range(1, 2000), 0)]
    assert peak < path.stat().st_size / 4


def test_a_time_that_no_clock_shows_is_kept_beside(tmp_path: Path) -> None:
    lines = (GOLDEN / "exchanges.jsonl").read_text().splitlines()
    record = json.loads(lines[0])
    record["response"]["created_at"] = int("1" * 400)
    path = tmp_path / "exchanges.jsonl"
    path.write_text("\n".join([json.dumps(record), *lines[1:]]))
    step = next(step for step in only(path).steps if step.id == record["response"]["id"])
    assert step.at is None
    assert step.extra["openai-responses"]["response"]["created_at"] == int("1" * 400)
    convert(path, tmp_path / "again.jsonl", to="openai-responses")
    again = next(each for each in only(tmp_path / "again.jsonl").steps if each.id == step.id)
    assert again.extra == step.extra
