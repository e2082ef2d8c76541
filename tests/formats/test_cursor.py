"""Cursor: what is peculiar to its transcripts."""

from __future__ import annotations

from typing import Any

import pytest

from goldens import ROOT
from pantrace.engine.read import read
from pantrace.formats import by_name
from pantrace.model import Text, Trajectory, call_pairs, final_response, turns

GOLDEN = ROOT / "cursor"
NAME = "5f3c2a10-0000-4000-8000-000000000001"


def golden() -> Trajectory:
    (sample,) = read(GOLDEN / f"{NAME}.jsonl").samples
    assert sample.trajectory is not None and sample.id == NAME
    return sample.trajectory


def loaded(*lines: Any) -> Trajectory:
    load = by_name("cursor").load
    assert load is not None
    trajectory = load(list(lines)).trajectory
    assert trajectory is not None
    return trajectory


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}


def test_a_prompt_is_what_the_user_typed() -> None:
    prompts = [turn.steps[0] for turn in turns(golden()) if turn.number]
    typed = [[part.text for part in step.parts if isinstance(part, Text) and not part.synthetic] for step in prompts]
    assert typed == [["How many beds?"], ["Read the first one."]]
    inserted = [part.text for part in prompts[1].parts if isinstance(part, Text) and part.synthetic]
    assert ["open_files" in inserted[0], "reminder" in inserted[1]] == [True, True]


def test_calls_are_counted_though_nobody_wrote_their_results() -> None:
    assert [pair.call.name for pair in call_pairs(golden())] == ["Glob", "Shell", "Read"]
    assert final_response(golden()) == "Tomatoes."


def test_a_turn_that_ended_badly_is_an_error() -> None:
    errors = [(step.error.kind, step.error.message) for step in golden().steps if step.error]
    assert errors == [("error", "Connection lost")]


@pytest.mark.parametrize(
    ("words", "at"),
    [
        ("Sunday, Sep 20, 2026, 12:31 AM (UTC+3)", 1789853460.0),
        ("Saturday, Sep 19, 2026, 9:31 PM (UTC)", 1789853460.0),
        ("Saturday, Sep 19, 2026, 4:01 PM (UTC-5:30)", 1789853460.0),
        ("Sunday, Sem 20, 2026, 12:31 AM (UTC+3)", None),
        ("some day", None),
    ],
)
def test_a_prompt_tells_its_moment(words: str, at: float | None) -> None:
    text = f"<timestamp>{words}</timestamp>\n<user_query>\nls\n</user_query>"
    assert loaded(said(text)).steps[0].at == at


def test_a_text_that_only_mentions_a_query_stays_as_it_is() -> None:
    step = loaded(said("what is <user_query>?"), said("<user_query>\nx\n</user_query>", "assistant")).steps
    assert [part.text for each in step for part in each.parts if isinstance(part, Text)] == [
        "what is <user_query>?",
        "<user_query>\nx\n</user_query>",
    ]
