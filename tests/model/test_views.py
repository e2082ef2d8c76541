"""Views on short trajectories; what is absent comes first."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.model import (
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    add_usage,
    call_pairs,
    final_response,
    merged_turns,
    turns,
    usage_total,
)


def step(role: Any, *parts: Any, **fields: Any) -> Step:
    return Step(role=role, parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts), **fields)


def call(name: str, id: str | None = None) -> ToolCall:  # noqa: A002
    return ToolCall(name=name, id=id, arguments={})


def result(output: str, id: str | None = None, name: str | None = None) -> ToolResult:  # noqa: A002
    return ToolResult(call_id=id, output=output, name=name)


def trajectory(*steps: Step) -> Trajectory:
    return Trajectory(steps=steps)


def test_nothing_done_has_no_turns_no_answer_and_no_usage() -> None:
    empty = trajectory()
    assert turns(empty) == []
    assert merged_turns(empty) == []
    assert final_response(empty) is None
    assert usage_total(empty) is None


def test_an_answer_older_than_the_prompt_is_no_answer() -> None:
    assert final_response(trajectory(step("user", "a"), step("agent", "b"), step("user", "c"))) is None


def test_compaction_and_inserted_text_are_no_answer_and_no_prompt() -> None:
    found = trajectory(
        step("user", "a"),
        step("agent", "b"),
        step("user", Text(text="reminder", synthetic=True)),
        step("user", "run ls", kind="user_shell"),
        step("agent", "summary", kind="compaction"),
    )
    assert final_response(found) == "b"
    assert [(turn.role, turn.text) for turn in merged_turns(found)] == [("user", "a"), ("agent", "b")]


def test_consecutive_messages_of_one_side_are_merged_by_a_blank_line() -> None:
    found = trajectory(step("user", "a"), step("user", "b"), step("agent", "c", "d"), step("agent", "e"))
    assert [(turn.role, turn.text) for turn in merged_turns(found)] == [("user", "a\n\nb"), ("agent", "c\n\nd\n\ne")]


def test_a_turn_of_tools_alone_is_a_turn() -> None:
    found = trajectory(
        step("user", "a"), step("agent", call("x", "1")), step("tool", result("r", "1")), step("user", "b")
    )
    merged = merged_turns(found)
    assert [(turn.role, turn.text) for turn in merged] == [("user", "a"), ("agent", ""), ("user", "b")]
    assert merged[1].pairs[0].result == result("r", "1")


def test_a_failed_step_without_words_is_no_turn() -> None:
    assert [turn.role for turn in merged_turns(trajectory(step("user", "a"), step("agent")))] == ["user"]


def test_turns_begin_with_prompts_that_follow_an_answer() -> None:
    found = trajectory(
        step("system", "s"),
        step("user", "a"),
        step("user", "b"),
        step("agent", "c"),
        step("user", "d"),
        step("agent", "e"),
    )
    assert [(turn.number, len(turn.steps)) for turn in turns(found)] == [(0, 1), (1, 3), (2, 2)]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([call("x", "1")], [None]),
        ([call("x", "1"), result("r", "1")], ["r"]),
        ([call("x", "1"), call("y", "2"), result("b", "2"), result("a", "1")], ["a", "b"]),
        ([call("x", "1"), result("a", "1"), call("x", "1"), result("b", "1")], ["a", "b"]),
        ([call("x"), call("y"), result("b", name="y"), result("a", name="x")], ["a", "b"]),
        ([call("x", "1"), result("a", "other")], [None]),
    ],
)
def test_results_find_their_calls(parts: list[Any], expected: list[str | None]) -> None:
    pairs = call_pairs(trajectory(step("agent", *parts)))
    assert [pair.result.output if pair.result else None for pair in pairs] == expected


def test_what_the_user_ran_is_not_the_agents_call() -> None:
    found = trajectory(step("agent", call("bash", "1"), kind="user_shell"), step("agent", call("bash", "2")))
    assert [pair.call.id for pair in call_pairs(found)] == ["2"]
    assert len(call_pairs(found, agent_only=False)) == 2


def test_usage_adds_what_is_reported_and_nothing_else() -> None:
    assert add_usage([]) is None
    assert add_usage([Usage(input=1), Usage(output=2, cost_usd=0.5)]) == Usage(
        input=1, output=2, cost_usd=0.5, provenance="derived"
    )


def test_usage_of_copied_context_is_not_counted_twice() -> None:
    found = trajectory(
        step("agent", "a", usage=Usage(input=5), kind="copied"), step("agent", "b", usage=Usage(input=7))
    )
    assert usage_total(found) == Usage(input=7)


def test_reported_totals_serve_where_steps_have_none() -> None:
    found = Trajectory(
        steps=(step("agent", "a"),), usage={"m": Usage(input=3)}, children=(Trajectory(usage={"m": Usage(input=4)}),)
    )
    assert usage_total(found) == Usage(input=3)
    assert usage_total(found, children=True) == Usage(input=7, provenance="derived")


def test_an_answer_that_is_kept_is_not_the_callers_to_change() -> None:
    found = trajectory(step("agent", call("bash", "1"), usage=Usage(input=1)))
    call_pairs(found).clear()
    assert [pair.call.id for pair in call_pairs(found)] == ["1"]
    other = trajectory(step("agent", call("bash", "2")))
    assert [pair.call.id for pair in call_pairs(other)] == ["2"]
