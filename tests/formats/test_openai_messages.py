"""OpenAI chat messages: what is peculiar to fine-tuning files, datasets and logged completions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.convert import convert
from pantrace.engine.read import Notes, read, read_pile
from pantrace.errors import ReadError, SampleRefused, UnknownFormat
from pantrace.formats import by_name, detect
from pantrace.model import (
    Agent,
    Media,
    Sample,
    Step,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Trajectory,
    call_pairs,
    usage_total,
)
from pantrace.wire.head import Head

GOLDEN = ROOT / "openai-messages"
FORMAT = by_name("openai-messages")


def samples(name: str) -> list[Sample]:
    return list(read(GOLDEN / name).samples)


def trajectory(sample: Sample) -> Trajectory:
    assert sample.trajectory is not None
    return sample.trajectory


def test_roles_pictures_sound_and_refusals() -> None:
    first, second, third = samples("fine_tuning.jsonl")
    steps = trajectory(first).steps
    assert [step.role for step in steps] == ["system", "user", "agent", "user", "agent"]
    assert [part.mime for part in steps[1].parts if isinstance(part, Media)] == [None, "image/png", "audio/wav"]
    assert steps[4].parts[0].extra["openai-messages"]["type"] == "refusal"  # type: ignore[union-attr]
    assert [pair.call.arguments for pair in call_pairs(trajectory(second))] == [{"id": "A-17"}, "not json"]
    (pair,) = call_pairs(trajectory(third))  # the older shape has no ids
    assert (pair.call.name, pair.result and pair.result.output) == ("weather", "rain")


def test_rows_without_an_id_are_named_for_their_place() -> None:
    assert [sample.id for sample in samples("fine_tuning.jsonl")] == [
        "fine_tuning line 1",
        "row-2",
        "fine_tuning line 3",
    ]
    assert [sample.id for sample in samples("list.json")] == ["list"]


def test_requests_that_repeat_what_was_said_are_one_conversation() -> None:
    first, second = samples("exchanges.jsonl")
    assert [step.role for step in trajectory(first).steps] == ["user", "agent", "tool", "agent"]
    total = usage_total(trajectory(first))
    assert total is not None and (total.input, total.output, total.cache_read, total.reasoning) == (240, 32, 120, 8)
    assert [step.stop for step in trajectory(first).steps if step.role == "agent"] == ["tool_calls", "stop"]
    assert len(trajectory(second).steps) == 2


def test_a_request_may_lie_open_beside_its_response(tmp_path: Path) -> None:
    """LiteLLM's loggers and OpenHands write `messages` and `response` of a call side by side, with what it cost."""
    whole, _ = samples("exchanges.jsonl")
    rows = [json.loads(line) for line in (GOLDEN / "exchanges.jsonl").read_text().splitlines()[:2]]
    path = tmp_path / "log.jsonl"
    flat = [{**row["request"], "response": row["response"], "cost": 0.25, "latency_sec": 1.5} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in flat))
    (sample,) = read(path).samples
    assert [step.parts for step in trajectory(sample).steps] == [step.parts for step in trajectory(whole).steps]
    before, after = usage_total(trajectory(whole)), usage_total(trajectory(sample))
    assert before is not None and after is not None
    assert (after.input, after.output, after.cost_usd) == (before.input, before.output, 0.5)


def test_other_words_for_what_was_said_before_are_kept(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (GOLDEN / "exchanges.jsonl").read_text().splitlines()[:2]]
    rows[1]["request"]["messages"][1]["content"] = "as it was sent again"
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (sample,) = read(path).samples
    told = trajectory(sample).steps[-1].extra["openai-messages.response"]["history"]
    assert told["1"]["content"] == "as it was sent again"


def test_turns_of_a_dataset_keep_their_speakers(tmp_path: Path) -> None:
    first, second = samples("turns.jsonl")
    assert [step.role for step in trajectory(second).steps] == ["user", "agent", "tool", "agent"]
    convert(GOLDEN / "turns.jsonl", tmp_path / "out.jsonl", to="openai-messages")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [each["from"] for each in rows[0]["conversations"]] == ["system", "human", "gpt"]
    assert first.id == "t1"


@pytest.mark.parametrize("name", ["chat.jsonl", "fine_tuning.jsonl"])
def test_messages_come_back_as_they_were(name: str, tmp_path: Path) -> None:
    convert(GOLDEN / name, tmp_path / "out.jsonl", to="openai-messages", strict=True)

    def rows(path: Path) -> list[Any]:
        return [json.loads(line, object_hook=_canonical) for line in path.read_text().splitlines()]

    before, after = rows(GOLDEN / name), rows(tmp_path / "out.jsonl")
    assert [{key: row.get(key) for key in one} for one, row in zip(before, after, strict=True)] == before


def _canonical(row: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments without their spacing."""
    if isinstance(row.get("arguments"), str) and row["arguments"].startswith("{"):
        row["arguments"] = json.loads(row["arguments"])
    return row


def test_a_run_of_another_tool_becomes_a_conversation() -> None:
    assert FORMAT.dump is not None and FORMAT.load is not None
    steps = (
        Step(role="user", parts=(Text(text="go"),)),
        Step(role="agent", parts=(Text(text="ok"), ToolCall(name="ls", arguments={"a": 1})), model="m"),
        Step(role="tool", parts=(ToolResult(name="ls", output={"n": 3}),)),
    )
    agent = Agent(name="a", instructions="Be brief.", tools=(Tool(name="ls"),))
    sample = Sample(id="s", trajectory=Trajectory(agents=(agent,), steps=steps))
    row = FORMAT.dump(sample, None)
    assert row["messages"] == [
        {"role": "system", "name": "instructions", "content": "Be brief."},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "ok",
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": '{"a":1}'}}],
        },
        {"role": "tool", "tool_call_id": "call_1", "name": "ls", "content": '{"n":3}'},
    ]
    assert row["tools"] == [{"type": "function", "function": {"name": "ls"}}]
    assert FORMAT.load(row) == sample


@pytest.mark.parametrize(
    "row",
    [
        {"messages": []},
        {"messages": [{"role": "human", "content": "x"}]},
        {"messages": [{"type": "human", "content": "x"}]},
        {"messages": [{"role": "user", "contents": []}]},
        {"messages": [{"role": "user", "content": "x"}], "trajectory_format": "mini-swe-agent-1.1"},
        {"messages": [{"role": "user", "content": "x"}], "info": {}},
        {"task_id": 1, "reward": 1.0, "info": {}, "traj": [{"role": "user", "content": "x"}]},
    ],
)
def test_what_is_anothers_is_not_claimed(row: Any, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(row))
    try:
        assert detect(tmp_path / "x.json")[0].name != "openai-messages"
    except UnknownFormat:
        pass


def test_what_cannot_be_read_or_written_says_why(tmp_path: Path) -> None:
    assert FORMAT.dump is not None and FORMAT.load is not None
    with pytest.raises(SampleRefused):
        FORMAT.dump(Sample(id="s"), None)
    with pytest.raises(ReadError, match="messages"):
        FORMAT.load({"x": 1})
    path = tmp_path / "x.jsonl"
    good = {"messages": [{"role": "user", "content": "x"}]}
    path.write_text(json.dumps(good) + "\n" + json.dumps({"messages": [{"role": 3}]}) + "\n" + json.dumps(good) + "\n")
    notes = Notes.keeping()
    found = list(read_pile([path], notes=notes).samples)
    assert [sample.id for sample in found] == ["x line 1", "x line 3"]
    (error,) = notes.broken
    assert "line 2" in str(error)


def test_messages_on_lines_of_their_own_are_one_conversation() -> None:
    """As gptme and Mistral's Vibe keep them, with a time beside each."""
    (sample,) = samples("lines.jsonl")
    told = trajectory(sample)
    assert [step.role for step in told.steps] == ["system", "user", "agent", "tool", "agent"]
    assert [pair.result.output for pair in call_pairs(told) if pair.result] == ["7"]
    assert (told.steps[1].at, told.steps[-1].model) == (1781344801.0, "mistral-medium")


@pytest.mark.parametrize(
    "lines",
    [
        [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}],
        [{"role": "user", "content": "one"}, {"type": "tool_call", "function": {"name": "x"}}, {"role": "assistant"}],
        [{"role": "user", "content": "one", "test_id": "a"}, {"role": "assistant", "content": "1", "test_id": "a"}],
        [{"role": "admin", "content": "one"}, {"role": "assistant", "content": "two"}],
        [{"role": "user", "message": {"content": []}}, {"role": "assistant", "message": {"content": []}}],
    ],
)
def test_lines_that_only_have_a_role_are_not_claimed(lines: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert FORMAT.detect(Head(path)) is None
