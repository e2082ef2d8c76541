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
    active_steps,
    add_usage,
    agent_trajectories,
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
        input=1,
        output=2,
        cost_usd=0.5,
        derived=("input", "output", "cost_usd"),
        partial=("input", "output", "cost_usd"),
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
    assert usage_total(found, children=False) == Usage(input=3)
    assert usage_total(found) == Usage(input=7, derived=("input",))


def branched(leaf: str | None) -> Trajectory:
    """u1 - a1 (call) - u2 - a2; u1 - a3 is a second attempt."""
    steps = (
        Step(id="u1", role="user", parts=(Text(text="ask"),)),
        Step(id="a1", parent="u1", role="agent", parts=(ToolCall(id="c1", name="bash"),), usage=Usage(input=100)),
        Step(parent="a1", role="tool", parts=(ToolResult(call_id="c1", output="x"),)),
        Step(id="u2", parent="a1", role="user", parts=(Text(text="no, stop"),)),
        Step(id="a2", parent="u2", role="agent", parts=(Text(text="first"),), usage=Usage(input=10)),
        Step(id="a3", parent="u1", role="agent", parts=(Text(text="second"),), usage=Usage(input=1)),
    )
    return Trajectory(steps=steps, leaf=leaf)


@pytest.mark.parametrize(
    ("leaf", "answer", "calls", "tokens", "turn_count"),
    [(None, "second", 1, 111, 2), ("a3", "second", 0, 1, 1), ("a2", "first", 1, 110, 2), ("a1", None, 1, 100, 1)],
)
def test_branches_that_were_given_up_are_not_counted(
    leaf: str | None, answer: str | None, calls: int, tokens: int, turn_count: int
) -> None:
    found = branched(leaf)
    total = usage_total(found)
    assert total is not None
    assert (final_response(found), len(call_pairs(found)), total.input) == (answer, calls, tokens)
    assert len(turns(found)) == turn_count
    # A step without an id goes with the one before it, and all are kept.
    assert any(step.role == "tool" for step in active_steps(found)) == (leaf != "a3")
    assert len(call_pairs(found, agent_only=False)) == 1


def test_a_leaf_that_is_nowhere_or_a_circle_of_parents_ends() -> None:
    circle = (Step(id="a", parent="b", role="user"), Step(id="b", parent="a", role="agent"))
    assert len(active_steps(Trajectory(steps=circle, leaf="b"))) == 2
    assert active_steps(Trajectory(steps=circle, leaf="z")) == ()


def test_what_a_simulated_user_does_is_not_the_agents() -> None:
    steps = (
        Step(role="user", purpose="simulated_user", parts=(Text(text="hi"),), usage=Usage(input=5_000)),
        Step(role="user", parts=(ToolCall(id="u", name="look_at_phone"),)),
        Step(role="agent", parts=(ToolCall(id="c", name="bash"), Text(text="ho")), usage=Usage(input=3)),
    )
    grader = Trajectory(purpose="grader", steps=(Step(role="agent", usage=Usage(input=900)),))
    asks_a_model = Trajectory(purpose="tool", steps=(Step(role="agent", usage=Usage(input=40)),))
    found = Trajectory(steps=steps, children=(grader, asks_a_model))
    assert [pair.call.name for pair in call_pairs(found)] == ["bash"]
    assert usage_total(found, children=False) == Usage(input=3)
    total = usage_total(found)
    assert total is not None
    assert total.input == 43
    assert list(agent_trajectories(found)) == [found, asks_a_model]


def test_an_answer_that_is_kept_is_not_the_callers_to_change() -> None:
    found = trajectory(step("agent", call("bash", "1"), usage=Usage(input=1)))
    call_pairs(found).clear()
    assert [pair.call.id for pair in call_pairs(found)] == ["1"]
    other = trajectory(step("agent", call("bash", "2")))
    assert [pair.call.id for pair in call_pairs(other)] == ["2"]


def test_what_was_spent_in_all_has_sub_agents_given_up_branches_and_interrupted_responses() -> None:
    from pantrace.library.spending import usage_spent
    from pantrace.model import Step, Trajectory, Usage, usage_total

    def step(name: str, parent: str | None, tokens: int, *, interrupted: bool = False) -> Step:
        return Step(role="agent", id=name, parent=parent, usage=Usage(input=tokens, interrupted=interrupted))

    child = Trajectory(steps=(step("c", None, 1_000),))
    whole = Trajectory(steps=(step("a", None, 1), step("b", "a", 10), step("d", "a", 100)), children=(child,), leaf="d")
    assert usage_spent(Trajectory()) is None
    own, all_agents, spent = usage_total(whole, children=False), usage_total(whole), usage_spent(whole)
    assert own is not None and all_agents is not None and spent is not None
    assert (own.input, all_agents.input, spent.input) == (101, 1_101, 1_111)
