"""The same story told by N tools is one trajectory: a garden shop in spans and messages, a note by tools with a shell.

The model was scripted, so what happened is known. The shop: one question, three calls (two of them at once, one of
which fails), one final answer. The note: one task, a command that works, one that fails, one final answer. Prompts
differ by tool, so input tokens do, too.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from corpus import CORPUS, needs_corpus
from pantrace.engine.read import read
from pantrace.model import Trajectory, call_pairs, final_response, has_failed, step_text, turns, usage_total

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
    "mlflow/trace.json": 680,
}
"""Recordings, and the input tokens that the scripted model counted in them."""
KNOWS_THE_FAILURE = ("pydantic_ai", "strands", "agent_framework", "openinference_openai_agents", "sdk_export", "mlflow")
"""Where the tool itself was recorded, too: its failure is more than a text."""
OTHERS = [
    "openai_messages/chat.jsonl",
    "openai_responses/conversation.json",
    "openai_responses/requests_responses.jsonl",
    "openai_agents/to_input_list.json",
    "anthropic_messages/conversation.json",
    "anthropic_messages/requests_responses.jsonl",
    "agent_framework/python_session.json",
]
COUNTED = {
    "pydantic_ai/all_messages.json": (759, True),
    "langgraph/messages_to_dict.json": (693, False),
    "langgraph/state.json": (693, False),
    "strands_session/session_garden-1": (755, True),
}
"""Messages that tell the tokens of each call, and those that went in; whether they know that the refund failed."""
NOTES = {
    "claude_code/61420542-ae56-4101-9eae-6ba5db2dd5cd.jsonl": [36, 36, 24],
    "codex/rollout-2026-11-16T05-12-30-01a1e2c5-68d3-7bb2-bd6a-35ecd546357f.jsonl": [36, 36, 24],
    "gemini_cli/session-2026-11-16T05-13-07382c29.jsonl": [44, 44, 32],
    "qwen_code/fc82f104-05ba-432b-b4e1-2475262504d2.jsonl": [36, 36, 24],
    "openhands_v1/c6a40e8911fc46a49ddcc3b932d9bc1f": [36, 36, 24],
    "mini_swe_agent/note.traj.json": [36, 36, 36],
    "atif/harbor_claude_code_note.trajectory.json": [36, 36, 24],
    "atif/harbor_codex.trajectory.json": [36, 36, 24],
}
"""Recordings, and the output tokens of each call. Gemini has 8 thoughts in each; mini-swe-agent ends by a command."""


def story(trajectory: Trajectory) -> dict[str, Any]:
    """What happened, without what differs by tool."""
    pairs = call_pairs(trajectory)
    steps = [step for turn in turns(trajectory) if turn.number for step in turn.steps]
    return {
        "turns": len([turn for turn in turns(trajectory) if turn.number]),
        "question": step_text(steps[0]),
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
    trajectory = _read(name)
    assert story(trajectory) == MEANT
    told = [step.usage.output for step in trajectory.steps if step.usage is not None]
    assert told == (OUTPUTS if "requests_responses" in name else [])


@needs_corpus
@pytest.mark.parametrize("name", COUNTED)
def test_messages_with_tokens_tell_it_as_spans_do(name: str) -> None:
    trajectory = _read(name)
    assert story(trajectory) == MEANT
    assert [step.usage.output for step in trajectory.steps if step.usage is not None] == OUTPUTS
    total = usage_total(trajectory)
    assert total is not None
    sent, knows = COUNTED[name]
    # Strands does not tell which of the tokens were reasoning.
    assert (total.input, total.output, total.reasoning) == (sent, 108, None if "strands" in name else 24)
    failures = [pair.result is not None and has_failed(pair.result) for pair in call_pairs(trajectory)]
    assert failures == [False, False, knows]


@needs_corpus
@pytest.mark.parametrize("name", NOTES)
def test_a_note_is_read_alike_by_every_tool_with_a_shell(name: str) -> None:
    trajectory = _read(name)
    pairs = call_pairs(trajectory)
    commands = [str(pair.call.arguments.get("command") or pair.call.arguments.get("cmd")) for pair in pairs]
    assert commands[:2] == ["cat note.txt", "cat missing.txt"]
    assert len([turn for turn in turns(trajectory) if turn.number]) == 1
    assert [step.usage.output for step in trajectory.steps if step.usage is not None] == NOTES[name]
    assert "41" in str(pairs[0].result)
    assert "No such file" in str(pairs[1].result)
    if not name.startswith("atif/"):  # which has no word for a failed call
        assert [pair.result is not None and has_failed(pair.result) for pair in pairs[:2]] == [False, True]
    if name.startswith("mini_swe_agent/"):
        assert len(pairs) == 3
        assert final_response(trajectory) == "42"  # what it submits with a third command
    else:
        assert len(pairs) == 2
        assert final_response(trajectory) == ANSWER


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
