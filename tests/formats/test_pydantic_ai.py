"""Pydantic AI: what is peculiar to its messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corpus import needs_corpus
from goldens import ROOT
from pantrace.engine.read import read
from pantrace.errors import ReadError
from pantrace.formats import by_name, detect
from pantrace.model import Media, Thinking, Trajectory, call_pairs, final_response, has_failed, turns, usage_total
from session_truth import truth

GOLDEN = ROOT / "pydantic-ai"


def golden(name: str) -> Trajectory:
    (sample,) = read(GOLDEN / name).samples
    assert sample.trajectory is not None
    return sample.trajectory


def loaded(*messages: Any) -> Trajectory:
    load = by_name("pydantic-ai").load
    assert load is not None
    trajectory = load(list(messages)).trajectory
    assert trajectory is not None
    return trajectory


def response(**fields: Any) -> dict[str, Any]:
    return {"parts": [{"content": "Yes.", "part_kind": "text"}], "kind": "response", **fields}


@needs_corpus
@pytest.mark.parametrize("name", ["otlp/pydantic_ai", "otlp/pydantic_ai_v2"])
def test_the_messages_of_the_desk_are_those_that_its_model_answered(name: str) -> None:
    """The desk asked two other agents, whose messages are not in its file."""
    from corpus import CORPUS

    (sample,) = read(CORPUS / "own/sessions" / name / "all_messages.json").samples
    assert sample.trajectory is not None
    mine = [step.usage for step in sample.trajectory.steps if step.usage is not None]
    known = [each["usage"] for each in truth(name)["calls"]]
    for usage in mine:
        numbers = ("input", "output", "cache_read", "reasoning")
        assert {key: getattr(usage, key) for key in numbers} in [{key: each[key] for key in numbers} for each in known]
    assert len(mine) == 3
    assert len([turn for turn in turns(sample.trajectory) if turn.number]) == truth(name)["user_turns"] == 2


def test_times_are_those_of_the_model_and_of_the_tools() -> None:
    first, *_ = (step for step in golden("shop.json").steps if step.role == "agent")
    assert first.at is not None and first.ended is not None
    assert round(first.ended - first.at, 6) == 0.096955
    results = [pair.result for pair in call_pairs(golden("shop.json")) if pair.result]
    assert all(result.ended is not None and result.ended > first.ended for result in results)


def test_cost_is_a_number_and_no_total_is_made_up() -> None:
    total = usage_total(golden("shop.json"))
    assert total is not None and total.cost_usd is not None
    assert round(total.cost_usd, 9) == round(0.000093975 + 0.000128175 + 0.000098325, 9)
    assert (total.input, total.cache_read, total.output, total.reasoning, total.total) == (759, 379, 108, 24, None)


def test_how_calls_fail() -> None:
    pairs = call_pairs(golden("every_part.json"))
    failed = {pair.call.id: pair.result.failure for pair in pairs if pair.result and has_failed(pair.result)}
    assert failed == {
        "call-1": "error",
        "call-2": "invalid_arguments",
        "call-3": "invalid_tool",
        "call-4": "denied",
    }


def test_a_structured_result_is_the_answer() -> None:
    answer = final_response(golden("every_part.json"))
    assert answer is not None
    assert json.loads(answer) == {"plant": "tansy", "sure": True}


def test_feedback_is_no_prompt_and_an_interrupted_answer_is_in_no_total() -> None:
    trajectory = golden("every_part.json")
    assert len([turn for turn in turns(trajectory) if turn.number]) == 2
    stopped = next(step for step in trajectory.steps if step.error is not None)
    assert stopped.usage is not None and stopped.usage.interrupted
    total = usage_total(trajectory)
    assert total is not None and total.input == 4 * 400


def test_hidden_thoughts_and_pictures() -> None:
    parts = [part for step in golden("every_part.json").steps for part in step.parts]
    thoughts = [(part.text, part.redacted) for part in parts if isinstance(part, Thinking)]
    assert thoughts == [("Look at the picture.", False), (None, True)]
    # Pydantic writes bytes as `-_8=`, which no browser shows.
    assert [part.data for part in parts if isinstance(part, Media) and part.data] == ["+/8=", "AAEC"]


def test_names_of_old_keys_and_thoughts_that_only_the_total_has() -> None:
    first, second = [sample.trajectory for sample in read(GOLDEN / "rows.jsonl").samples]
    assert first is not None and second is not None
    answer = first.steps[-1]
    assert answer.usage is not None
    assert (answer.usage.input, answer.usage.output, answer.usage.total) == (50, 16, 66)
    assert answer.usage.derived == ("output",)
    assert (answer.id, answer.stop) == ("old-1", "STOP")
    assert second.steps[-1].usage is None


@pytest.mark.parametrize("layout", ["lines of messages", "an array of lists", "an array of objects", "one object"])
def test_layouts(layout: str, tmp_path: Path) -> None:
    messages = json.loads((GOLDEN / "shop.json").read_bytes())
    texts = {
        "lines of messages": "\n".join(map(json.dumps, messages)),
        "an array of lists": json.dumps([messages, messages]),
        "an array of objects": json.dumps([{"all_messages": messages}, {"all_messages": messages}], indent=1),
        "one object": json.dumps({"message_history": messages, "user": "alex"}, indent=1),
    }
    path = tmp_path / "x.json"
    path.write_text(texts[layout])
    assert detect(path)[0].name == "pydantic-ai"
    found = [sample.trajectory for sample in read(path).samples]
    assert len(found) == (2 if layout in ("an array of lists", "an array of objects") else 1)
    assert {each and len(each.steps) for each in found} == {7}


def test_a_message_without_parts_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="a message needs a list `parts`") as error:
        loaded(response(), {"kind": "request", "parts": "none"})
    assert error.value.place == "messages[1]"


def test_a_request_without_parts_is_kept() -> None:
    trajectory = loaded({"kind": "request", "parts": [], "instructions": "Go on.", "metadata": {"a": 1}}, response())
    assert trajectory.steps[0].kind == "note"
    assert trajectory.steps[0].extra == {"pydantic-ai": {"metadata": {"a": 1}}}
