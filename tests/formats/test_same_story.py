"""The same story told by N tools: a garden shop, recorded by eleven producers of spans, is one trajectory.

The model was scripted, so what happened is known: one question, three calls (two of them at once, one of which fails),
three answers of tools, one final answer. Prompts differ by tool, so input tokens do, too.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.read import read
from pantrace.errors import UnknownFormat
from pantrace.model import Trajectory, call_pairs, final_response, has_failed, said, turns, usage_total

QUESTION = "Where is order A-17, and please refund B-99?"
ANSWER = "The note says 41 + 1 = 42. The second file, missing.txt, does not exist, so I stopped there."
CALLS = [
    ("get_order", {"order_id": "A-17"}),
    ("get_order", {"order_id": "B-99"}),
    ("refund", {"order_id": "B-99"}),
]
ORDERS = [{"order_id": name, "status": "delivered", "total": 41.5} for name in ("A-17", "B-99")]
OUTPUTS = [36, 48, 24]

SPANS = {
    "otlp/openinference_openai.otlp.json": 680,
    "otlp/openinference_openai.otlp.pb": 680,
    "otlp/openinference_langgraph.otlp.json": 693,
    "otlp/openinference_openai_agents.otlp.json": 891,
    "otlp/openllmetry_openai.otlp.json": 680,
    "otlp/openllmetry_openai.otlp.pb": 680,
    "otlp/openllmetry_0.40_openai.otlp.json": 680,
    "otlp/openllmetry_langgraph.otlp.json": 693,
    "otlp/otel_openai_v2.otlp.json": 680,
    "otlp/pydantic_ai.otlp.json": 759,
    "otlp/strands.otlp.json": 755,
    "otlp/agent_framework.otlp.json": 746,
    "langfuse/sdk_export_1.otlp.json": 680,
}
"""Recordings, and the input tokens that the scripted model counted in them."""
KNOWS_THE_FAILURE = ("pydantic_ai", "strands", "agent_framework", "openinference_openai_agents", "sdk_export")
"""Where the tool itself was recorded, too: its failure is more than a text."""
OTHERS = ["openai_messages/chat.jsonl", "pydantic_ai/all_messages.json", "agent_framework/python_session.json"]


def story(trajectory: Trajectory) -> dict[str, Any]:
    """What happened, without what differs by tool."""
    pairs = call_pairs(trajectory)
    steps = [step for turn in turns(trajectory) if turn.number for step in turn.steps]
    return {
        "turns": len([turn for turn in turns(trajectory) if turn.number]),
        "question": said(steps[0]),
        "calls": [(pair.call.name, _plain(pair.call.arguments)) for pair in pairs],
        "at once": len({id(pair.step) for pair in pairs}),
        "orders": [_plain(pair.result.output) if pair.result else None for pair in pairs[:2]],
        "refund": "already refunded" in str(pairs[2].result) or "rror" in str(pairs[2].result),
        "answer": final_response(trajectory),
    }


def _plain(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


MEANT = {
    "turns": 1,
    "question": QUESTION,
    "calls": CALLS,
    "at once": 2,
    "orders": ORDERS,
    "refund": True,
    "answer": ANSWER,
}


def _read(name: str) -> Trajectory:
    (sample,) = read(CORPUS / "own" / name).samples
    assert sample.trajectory is not None
    return sample.trajectory


@needs_corpus
@pytest.mark.parametrize("name", SPANS)
def test_spans_of_every_tool_tell_the_same_story(name: str) -> None:
    trajectory = _read(name)
    assert story(trajectory) == MEANT
    per_call = [step.usage for step in trajectory.steps if step.usage is not None]
    assert [usage.output for usage in per_call] == OUTPUTS
    total = usage_total(trajectory)
    assert total is not None
    assert (total.input, total.output) == (SPANS[name], 108)
    failures = [pair.result is not None and has_failed(pair.result) for pair in call_pairs(trajectory)]
    assert failures == [False, False, any(each in name for each in KNOWS_THE_FAILURE)]


@needs_corpus
@pytest.mark.parametrize("name", OTHERS)
def test_messages_tell_it_as_spans_do(name: str) -> None:
    try:
        trajectory = _read(name)
    except UnknownFormat:
        pytest.skip("no format reads it yet")
    assert story(trajectory) == MEANT


@needs_corpus
def test_a_recording_without_words_tells_what_it_holds_and_says_so() -> None:
    """ADK records no content by default: which tools ran is known, what was said is not."""
    trajectory = _read("otlp/adk.otlp.json")
    assert [pair.call.name for pair in call_pairs(trajectory)] == ["get_order", "get_order", "refund"]
    assert final_response(trajectory) is None
    assert [step.usage.input for step in trajectory.steps if step.usage is not None] == [21, 137, 333]
    note = trajectory.steps[0]
    assert note.kind == "note"
    assert "3 of 3 model calls were recorded without" in str(note.parts)
