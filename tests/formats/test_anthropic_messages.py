"""Anthropic messages: what is peculiar to bodies of requests and to logged ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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
    has_failed,
    usage_total,
)

GOLDEN = ROOT / "anthropic-messages"
FORMAT = by_name("anthropic-messages")


def trajectories(name: str) -> list[Trajectory]:
    return [sample.trajectory for sample in read(GOLDEN / name).samples if sample.trajectory is not None]


def test_a_log_of_requests_is_one_conversation_with_its_tokens() -> None:
    (log,), (body,) = trajectories("exchanges.jsonl"), trajectories("conversation.json")
    assert [(step.role, step.parts) for step in log.steps] == [(step.role, step.parts) for step in body.steps]
    total = usage_total(log)
    # What was cached counts as input: 7 + 9 + 50, then 29 + 52 + 50, then 64 + 123 + 50.
    assert total is not None and (total.input, total.output, total.cache_read) == (66 + 131 + 237, 108, 184)
    assert usage_total(body) is None


def test_failed_tools_are_seen() -> None:
    pairs = call_pairs(trajectories("conversation.json")[0])
    assert [pair.call.name for pair in pairs if pair.result and has_failed(pair.result)] == ["refund"]


def test_every_block() -> None:
    first, second = trajectories("every_block.jsonl")
    assert [step.role for step in first.steps] == ["system", "user", "agent", "user", "agent"]
    thoughts = [part for part in first.steps[2].parts if isinstance(part, Thinking)]
    assert [(each.text, each.redacted) for each in thoughts] == [("Look.", False), (None, True)]
    assert [pair.call.name for pair in call_pairs(first)] == ["web_search", "zoom"]
    usage = first.steps[2].usage
    assert usage is not None and (usage.input, usage.cache_read, usage.cache_write) == (45, 30, 5)
    assert second.agents[0].instructions == "Be brief."


@pytest.mark.parametrize("name", ["conversation.json", "every_block.jsonl"])
def test_bodies_come_back_as_they_were(name: str, tmp_path: Path) -> None:
    convert(GOLDEN / name, tmp_path / "out.jsonl", to="anthropic-messages", strict=True)
    text = (GOLDEN / name).read_text()
    before = [json.loads(text)] if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]
    after = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [{key: row.get(key) for key in one} for one, row in zip(before, after, strict=True)] == before


def test_a_run_of_another_tool_becomes_a_body() -> None:
    assert FORMAT.dump is not None and FORMAT.load is not None
    steps = (
        Step(role="user", parts=(Text(text="go"),)),
        Step(role="agent", parts=(Text(text="ok"), ToolCall(name="ls", arguments={"a": 1}))),
        Step(role="tool", parts=(ToolResult(name="ls", output={"n": 3}, failure="error"),)),
        Step(role="agent", parts=(Text(text="done"),)),
    )
    agent = Agent(name="a", model="m", instructions="Be brief.", tools=(Tool(name="ls"),))
    sample = Sample(id="s", trajectory=Trajectory(agents=(agent,), steps=steps))
    row = FORMAT.dump(sample, None)
    assert row["system"] == "Be brief."
    assert row["tools"] == [{"name": "ls", "input_schema": {"type": "object"}}]
    assert row["messages"] == [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "call_1", "name": "ls", "input": {"a": 1}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": '{"n":3}', "is_error": True}],
        },
        {"role": "assistant", "content": "done"},
    ]
    assert FORMAT.load(row) == sample


@pytest.mark.parametrize("row", [{"x": 1}, {"messages": [{"role": "system", "content": "x"}]}, [3]])
def test_what_is_no_conversation_is_refused_in_words(row: Any) -> None:
    assert FORMAT.load is not None and FORMAT.dump is not None
    with pytest.raises(ReadError):
        FORMAT.load(row)
    with pytest.raises(SampleRefused):
        FORMAT.dump(Sample(id="s"), None)
