"""OpenAI chat messages: to steps and back, nothing lost."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from any_sample import samples
from pantrace.errors import ReadError
from pantrace.model import Media, Sample, Step, Text, Thinking, ToolCall, ToolResult, Unknown
from pantrace.wire.json import decode, encode
from pantrace.wire.openai_chat import messages_to, step_from, steps_from

NAME = "here"


def calling(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def call(**function: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "f", **function}}


MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Be briefer."},
    {"role": "user", "content": "hi", "name": "anna"},
    {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    {"role": "user", "content": []},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "what is it?"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "input_audio", "input_audio": {"data": "BBBB", "format": "wav"}},
            {"type": "file", "file": {"file_id": "f1"}},
            {"type": "text", "text": "cached", "cache_control": {"type": "ephemeral"}},
        ],
    },
    {"role": "assistant", "content": None, "refusal": "I will not."},
    {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    {"role": "assistant", "content": "yes", "refusal": None, "annotations": []},
    {"role": "assistant", "content": "", "name": "helper"},
    {"role": "assistant", "reasoning_content": "hm", "content": "ok"},
    {"role": "assistant", "reasoning": "hm", "content": "ok"},
    calling(call(arguments='{"a":1}')),
    {"role": "assistant", "tool_calls": [call(arguments="{not json")]},
    calling(call(arguments={"a": 1}), call(arguments="[1]", strict=True)),
    calling({"id": "c4", "type": "custom", "custom": {"name": "sh", "input": "ls"}}),
    calling({"function": {"name": "f", "arguments": "{}"}, "index": 0}),
    {"role": "assistant", "content": None, "tool_calls": None},
    {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
    {"role": "function", "name": "f", "content": "done"},
    {"role": "tool", "tool_call_id": "c1", "content": "done"},
    {"role": "tool", "tool_call_id": "c1", "name": "f", "content": [{"type": "text", "text": "done"}]},
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    {"role": "critic", "content": "weak"},
]


@pytest.mark.parametrize("message", MESSAGES, ids=[json.dumps(message)[:50] for message in MESSAGES])
def test_a_message_returns_as_it_was(message: dict[str, Any]) -> None:
    assert messages_to([step_from(message, NAME)], NAME) == [message]


@pytest.mark.parametrize(
    "bad",
    [
        7,
        {"content": "x"},
        {"role": 1},
        {"role": "assistant", "tool_calls": [{}]},
        {"role": "assistant", "tool_calls": [3]},
    ],
)
def test_what_is_no_message_is_refused(bad: Any) -> None:
    with pytest.raises(ReadError):
        step_from(bad, NAME)


def test_parts_and_roles() -> None:
    step = step_from(MESSAGES[5], NAME)
    assert [type(part) for part in step.parts] == [Text, Media, Media, Media, Unknown, Text]
    assert isinstance(step.parts[2], Media) and (step.parts[2].mime, step.parts[2].data) == ("image/png", "AAAA")
    assert step_from(MESSAGES[1], NAME).role == "system"
    assert step_from(MESSAGES[-1], NAME).kind == "note"
    assert step_from(MESSAGES[9], NAME).agent == "helper"
    assert isinstance(step_from(MESSAGES[10], NAME).parts[0], Thinking)


@pytest.mark.parametrize(
    ("written", "read"),
    [('{"a": 1}', {"a": 1}), ("{not json", "{not json"), ("[1]", "[1]"), ("", ""), (None, None), ({"a": 1}, {"a": 1})],
)
def test_arguments_are_an_object_only_where_they_hold_one(written: Any, read: Any) -> None:
    (part,) = step_from(calling(call(arguments=written)), NAME).parts
    assert isinstance(part, ToolCall)
    assert part.arguments == read


def test_results_inside_an_agents_step_become_messages_in_their_place() -> None:
    parts = (
        Text(text="look"),
        ToolCall(id="1", name="f", arguments={"a": 1}),
        ToolResult(call_id="1", name="f", output={"b": 2}),
        Text(text="found"),
    )
    found = messages_to([Step(role="agent", parts=parts)], NAME)
    assert [(message["role"], message["content"]) for message in found] == [
        ("assistant", "look"),
        ("tool", '{"b":2}'),
        ("assistant", "found"),
    ]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(sample=samples())
def test_any_steps_can_be_said_and_said_again(sample: Sample) -> None:
    steps = sample.trajectory.steps if sample.trajectory else ()
    once = decode(encode(messages_to(steps, NAME)))
    assert messages_to(steps_from(once, NAME), NAME) == once
