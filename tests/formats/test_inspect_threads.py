"""Logs whose events tell of the same messages under other ids, and of model calls that are not the conversation's."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.formats.inspect import FORMAT
from pantrace.model import Sample, call_pairs, is_prompt, step_text

LONG = "Please look at the cluster. " * 9


def said_by(role: str, content: str, name: str | None, *calls: str, answers: str | None = None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": content}
    if name is not None:
        message["id"] = name
    if calls:
        message["tool_calls"] = [{"id": each, "function": "bash", "arguments": {"cmd": each}} for each in calls]
    return {**message, "tool_call_id": answers, "function": "bash"} if answers else message


def model(given: list[dict[str, Any]], answer: dict[str, Any], tokens: int, name: str = "a/agent") -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": 1, "total_tokens": tokens + 1}
    stamp = "2025-03-17T13:00:00+00:00"
    output = {"model": name, "choices": [{"message": answer, "stop_reason": "stop"}], "usage": usage}
    return {"event": "model", "timestamp": stamp, "model": name, "input": given, "output": output}


def tool(call: str) -> dict[str, Any]:
    stamp = "2025-03-17T13:00:00+00:00"
    return {"event": "tool", "timestamp": stamp, "id": call, "function": "bash", "arguments": {}, "result": f"{call}!"}


def watched(names: str) -> Sample:
    """Two turns of an agent, each looked at by a monitor that is told another thing. names: which ids events have."""

    def named(place: int, event: int) -> str | None:
        return {"stable": f"m{place}", "none": None, "another": f"m{place}-{event}"}[names]

    def conversation(event: int, ask: str = LONG) -> list[dict[str, Any]]:
        return [
            said_by("user", ask, named(0, event)),
            said_by("assistant", "", named(1, event), "c1"),
            said_by("tool", "c1!", named(2, event), answers="c1"),
            said_by("assistant", "Done.", named(3, event)),
        ]

    def look(event: int, tokens: int) -> dict[str, Any]:
        asked = said_by("user", f"How bad is step {event}?", f"w{event}")
        return model([asked], said_by("assistant", "3", f"v{event}"), tokens, "a/monitor")

    short = "attachment://abc"  # events refer to long texts, messages have them in full
    events = [
        model(conversation(1, short)[:1], conversation(1)[1], 10),
        look(1, 100),
        tool("c1"),
        model(conversation(2, short)[:3], conversation(2)[3], 20),
        look(2, 200),
    ]
    assert FORMAT.load is not None
    row = {"id": "s", "epoch": 1, "input": "q", "target": "", "uuid": "s", "messages": conversation(0)}
    return FORMAT.load({**row, "events": events, "attachments": {"abc": LONG}})


@pytest.mark.parametrize("names", ["stable", "none", "another"])
def test_every_message_is_told_once(names: str) -> None:
    """Some logs of Inspect 0.3.72 give a message another id in every event: 30 calls were read as 495."""
    told = watched(names).trajectory
    assert told is not None
    assert [step_text(step) for step in told.steps if is_prompt(step)] == [LONG]
    assert [step.role for step in told.steps] == ["user", "agent", "tool", "agent"]
    assert [pair.call.id for pair in call_pairs(told)] == ["c1"]
    used = [step.usage.input for step in told.steps if step.usage is not None]
    assert used == [10, 20]


@pytest.mark.parametrize("names", ["stable", "none", "another"])
def test_a_model_that_is_told_nothing_of_the_conversation_has_one_of_its_own(names: str) -> None:
    """ControlArena asks a monitor about every step, in no span of its own: its prompts are no turns of the user."""
    told = watched(names).trajectory
    assert told is not None
    (monitor,) = told.children
    assert monitor.title == "a/monitor"
    assert [step_text(step) for step in monitor.steps] == ["How bad is step 1?", "3", "How bad is step 2?", "3"]
    assert [step.usage.input for step in monitor.steps if step.usage is not None] == [100, 200]


@pytest.mark.parametrize("names", ["stable", "none", "another"])
def test_such_a_log_returns_as_it_was(names: str) -> None:
    sample = watched(names)
    assert FORMAT.dump is not None
    assert FORMAT.load is not None
    assert FORMAT.load(FORMAT.dump(sample, None)).trajectory == sample.trajectory
