"""Vercel's AI SDK: what is peculiar to its messages."""

from __future__ import annotations

from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.formats import by_name
from pantrace.model import Citation, Media, Trajectory, Unknown, call_pairs, final_response, has_failed, usage_total

GOLDEN = ROOT / "ai-sdk"


def golden(name: str) -> list[Trajectory]:
    return [each.trajectory for each in read(GOLDEN / name).samples if each.trajectory is not None]


@pytest.mark.parametrize("name", ["model_messages.json", "ui_messages.json"])
def test_the_library_s_own_messages(name: str) -> None:
    (one,) = golden(name)
    pairs = call_pairs(one)
    assert [(pair.call.name, pair.call.arguments) for pair in pairs] == [
        ("weather", {"city": "Oslo"}),
        ("fail", {"x": 1}),
    ]
    assert [pair.result is not None and has_failed(pair.result) for pair in pairs] == [False, True]
    assert pairs[0].result is not None and pairs[0].result.output == {"t": 3}
    assert (final_response(one) or "").startswith("It is 3")


def test_tokens_stand_in_the_metadata_of_an_interface() -> None:
    usage = usage_total(golden("ui_messages.json")[0])
    assert usage is not None
    assert (usage.input, usage.cache_read, usage.output, usage.reasoning) == (30, 8, 11, 2)


def test_each_call_of_the_model_is_a_step() -> None:
    (one,) = golden("ui_messages.json")
    assert [(step.id, step.role) for step in one.steps] == [("u1", "user"), ("a1", "agent"), ("a1-1", "agent")]


def test_older_messages_and_odd_parts() -> None:
    first, second, third = golden("by_hand.jsonl")
    assert [type(part) for step in first.steps for part in step.parts if isinstance(part, (Media, Citation))] == [
        Media,
        Citation,
    ]
    assert [pair.result.output for pair in call_pairs(first) if pair.result] == [{"status": "sent"}]
    assert [pair.result.failure for pair in call_pairs(second) if pair.result] == ["denied"]
    sum_, wait = call_pairs(third)
    assert sum_.result is not None and sum_.result.error == "b must be a number"
    assert wait.result is None
    assert [part.kind for step in third.steps for part in step.parts if isinstance(part, Unknown)] == [
        "ai-sdk:data-progress"
    ]


@pytest.mark.parametrize("row", [[], [{"role": "user", "content": "hi"}], {"messages": [1]}, 7])
def test_other_messages_are_refused(row: Any) -> None:
    load = by_name("ai-sdk").load
    assert load is not None
    with pytest.raises(ReadError, match="not messages of the AI SDK"):
        load(row)
