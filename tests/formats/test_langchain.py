"""LangChain: what is peculiar to its messages and to states of LangGraph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from goldens import ROOT
from pantrace.engine.read import read
from pantrace.errors import ReadError, UnknownFormat
from pantrace.formats import by_name, detect
from pantrace.model import (
    Step,
    Text,
    Thinking,
    ToolCall,
    Trajectory,
    call_pairs,
    final_response,
    has_failed,
    turns,
    usage_total,
)
from pantrace.wire.json import to_plain
from session_truth import truth

GOLDEN = ROOT / "langchain"


def golden(name: str) -> Trajectory:
    (sample,) = read(GOLDEN / name).samples
    assert sample.trajectory is not None
    return sample.trajectory


def said(**fields: Any) -> dict[str, Any]:
    return {"content": "", "additional_kwargs": {}, "response_metadata": {}, "type": "ai", **fields}


def loaded(*messages: Any) -> tuple[Step, ...]:
    load = by_name("langchain").load
    assert load is not None
    trajectory = load(list(messages)).trajectory
    assert trajectory is not None
    return trajectory.steps


def test_a_message_is_the_same_in_each_way_of_writing_it() -> None:
    data = json.loads((GOLDEN / "state.json").read_bytes())["messages"]
    constructed = [
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "x"], "kwargs": each}
        for each in data
    ]
    plain = to_plain(golden("shop.json").steps)
    assert to_plain(golden("state.json").steps) == plain
    # The class is kept beside.
    for step, before in zip(to_plain(loaded(*constructed)), plain, strict=True):
        assert step["extra"]["langchain"].pop("message") == {"id": ["langchain", "schema", "messages", "x"]}
        assert {**step, "extra": step["extra"] if step["extra"]["langchain"] else {}} == {"extra": {}, **before}


@needs_corpus
@pytest.mark.parametrize("name", ["otlp/openinference_langgraph", "otlp/openllmetry_langgraph"])
def test_the_messages_of_the_desk_are_those_that_its_model_answered(name: str) -> None:
    """The desk asked two other agents, whose messages are not in its state."""
    (sample,) = read(CORPUS / "own/sessions" / name / "messages_to_dict.json").samples
    assert sample.trajectory is not None
    mine = [step.usage for step in sample.trajectory.steps if step.usage is not None]
    numbers = ("input", "output", "cache_read", "reasoning")
    known = [{key: each["usage"][key] for key in numbers} for each in truth(name)["calls"]]
    assert len(mine) == 3
    assert all({key: getattr(usage, key) for key in numbers} in known for usage in mine)
    assert len([turn for turn in turns(sample.trajectory) if turn.number]) == truth(name)["user_turns"] == 2
    assert {step.agent for step in sample.trajectory.steps if step.role == "agent"} == {"library_desk"}


def test_how_calls_fail() -> None:
    pairs = call_pairs(golden("snapshot.json"))
    failed = {pair.call.id: pair.result.failure for pair in pairs if pair.result and has_failed(pair.result)}
    assert failed == {"call_1": "invalid_tool", "call_2": "invalid_arguments", "call_3": "error"}
    assert [pair.call.name for pair in pairs if pair.result is None] == ["water"]


def test_a_block_gives_a_call_its_place_and_does_not_repeat_it() -> None:
    calls = [part for step in golden("snapshot.json").steps for part in step.parts if isinstance(part, ToolCall)]
    assert [call.id for call in calls] == ["toolu_1", "call_1", "call_2", "call_3", "call_4"]
    # Without `tool_calls`, the block is all there is.
    (step,) = loaded(said(content=[{"type": "tool_use", "id": "t", "name": "dig", "input": {"depth": 1}}]))
    assert [(part.id, part.arguments) for part in step.parts if isinstance(part, ToolCall)] == [("t", {"depth": 1})]


def test_thoughts_of_three_providers() -> None:
    parts = [part for step in golden("snapshot.json").steps for part in step.parts if isinstance(part, Thinking)]
    assert [(part.text, part.summary, part.redacted) for part in parts] == [
        ("Look at it.", None, False),
        (None, None, True),
        (None, "Plant it.", False),
    ]
    first = next(iter(read(GOLDEN / "rows.jsonl").samples)).trajectory
    assert first is not None
    assert [part.text for part in first.steps[1].parts if isinstance(part, Thinking | Text)] == ["Greet.", "Hi."]


def test_tokens_add_up_to_their_total() -> None:
    usages = [step.usage for step in golden("snapshot.json").steps if step.usage is not None]
    assert [(usage.input, usage.output) for usage in usages] == [(150, 40), (300, 70), (60, 8)]
    assert all((usage.input or 0) + (usage.output or 0) == usage.total for usage in usages)
    total = usage_total(golden("snapshot.json"))
    assert total is not None and total.total == 190 + 370 + 68


def test_a_summary_is_no_prompt_and_a_refusal_is_the_answer() -> None:
    trajectory = golden("snapshot.json")
    assert len([turn for turn in turns(trajectory) if turn.number]) == 1
    assert [step.kind for step in trajectory.steps if step.kind != "message"] == ["compaction", "note"]
    assert final_response(trajectory) == "I cannot help with fire."
    assert trajectory.id == "garden-1"


@pytest.mark.parametrize("around", [("channel_values",), ("checkpoint", "channel_values"), ("values",), ()])
def test_where_states_keep_their_messages(around: tuple[str, ...], tmp_path: Path) -> None:
    document: dict[str, Any] = {**json.loads((GOLDEN / "state.json").read_bytes()), "season": "spring"}
    for key in reversed(around):
        document = {key: document, f"beside {key}": 1}
    path = tmp_path / "state.json"
    path.write_text(json.dumps(document, indent=1))
    assert detect(path)[0].name == "langchain"
    (sample,) = read(path).samples
    assert sample.trajectory is not None and len(sample.trajectory.steps) == 7
    kept = json.dumps(sample.trajectory.extra)
    assert "spring" in kept and all(f"beside {key}" in kept for key in around)


@pytest.mark.parametrize(
    "row", [{"type": "human", "content": "hi"}, {"messages": [{"type": "ai", "text": "x"}]}, {"type": "ai", "data": {}}]
)
def test_what_only_looks_like_it_is_not_claimed(row: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(row))
    with pytest.raises(UnknownFormat):
        detect(path)


def test_a_wrong_message_is_named() -> None:
    with pytest.raises(ReadError, match="a message needs a type") as error:
        loaded(said(), "hello")
    assert error.value.place == "messages[1]"
