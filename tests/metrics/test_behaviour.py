"""How an agent goes about its work: what does not apply first."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pantrace.metrics import by_name, parse_settings
from pantrace.metrics.pooling import Sums
from pantrace.model import Action, Sample, Score, Step, ToolCall, Trajectory
from pantrace.wire.json import NonFinite
from short_samples import agent, call, did, result, run, usage, user


def score(name: str, sample: Sample, **settings: Any) -> Score:
    check = by_name(name)
    return check.score(sample, parse_settings(check, settings))


def failing(name: str, **fields: Any) -> Step:
    return agent(*did(name, error="no"), **fields)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("repeated_calls", "no tool was called"),
        ("retry_storms", "no tool call was answered"),
        ("unanswered_calls", "no tool was called"),
        ("swallowed_errors", "no tool call failed"),
        ("wasted_tail", "no model call reports its usage"),
    ],
)
def test_a_chat_without_tools_and_usage_has_no_behaviour(name: str, reason: str) -> None:
    found = score(name, run(user("hi"), agent("ho")))
    assert (found.status, found.explanation) == ("not_applicable", reason)


def test_the_order_of_keys_does_not_make_another_call() -> None:
    sample = run(
        agent(ToolCall(name="read", arguments={"a": 1, "b": {"c": 2, "d": 3}})),
        agent(ToolCall(name="read", arguments={"b": {"d": 3, "c": 2}, "a": 1}), id="s2"),
        agent(ToolCall(name="read", arguments={"a": 2})),
        agent(ToolCall(name="grep", arguments={"a": 2})),
    )
    found = score("repeated_calls", sample)
    assert (found.value, found.evidence) == (1, ("s2",))
    assert found.values | found.details == {
        "repeated_calls": 1,
        "total_tool_calls": 4,
        "longest_run": 2,
        "repeated_tools": {"read": 1},
    }
    assert score("repeated_calls", sample, ignore=["read"]).value == 0
    assert score("repeated_calls", sample, ignore=["read", "grep"]).status == "not_applicable"


def test_a_run_is_broken_by_another_call() -> None:
    names = ["a", "a", "b", "a", "a", "a"]
    found = score("repeated_calls", run(*(agent(*did(name)) for name in names)))
    assert (found.value, found.values["longest_run"]) == (4, 3)


def test_a_sub_agent_may_repeat_what_its_parent_did() -> None:
    child = Trajectory(steps=(agent(*did("a")),))
    assert score("repeated_calls", run(agent(*did("a")), children=(child,))).value == 0


@pytest.mark.parametrize("arguments", [{"n": NonFinite("NaN")}, {"t": "\ud800"}, "raw", None, [1]])
def test_any_arguments_can_be_compared(arguments: Any) -> None:
    twice = run(agent(ToolCall(name="a", arguments=arguments)), agent(ToolCall(name="a", arguments=arguments)))
    assert score("repeated_calls", twice).value == 1


@pytest.mark.parametrize(
    ("steps", "storms", "longest"),
    [
        ([agent(*did("a"))], [], 0),
        ([failing("a"), failing("a")], [], 2),
        ([failing("a")] * 3, [("a", 3, False)], 3),
        ([failing("a"), failing("a"), failing("a"), agent(*did("a"))], [("a", 3, True)], 3),
        ([failing("a"), failing("a"), agent(*did("b")), failing("a")], [], 2),
        ([agent(*did("a", error="1"), *did("a", error="2"), *did("a", error="3"))], [], 1),
        ([agent(*did("a", error="1"), *did("a"))] * 3, [], 0),
        ([agent(*did("a", error="1"), *did("b", error="1"))] * 3, [("a", 3, False), ("b", 3, False)], 3),
    ],
    ids=["fine", "twice", "storm", "recovered", "broken", "parallel", "half", "both"],
)
def test_a_storm_is_failing_attempts_in_a_row(
    steps: list[Step], storms: list[tuple[str, int, bool]], longest: int
) -> None:
    distinct = [msgspec.structs.replace(step) for step in steps]
    found = score("retry_storms", run(*distinct))
    assert [(each["tool"], each["failures"], each["recovered"]) for each in found.details["storms"]] == storms
    assert (found.value, found.values["longest_failing_run"]) == (len(storms), longest)


def test_the_length_of_a_storm_can_be_set() -> None:
    sample = run(failing("a", id="s1"), failing("a", id="s2"))
    found = score("retry_storms", sample, length=2)
    assert (found.value, found.evidence) == (1, ("s1", "s2"))


def test_unanswered_calls_are_named() -> None:
    sample = run(agent(*did("a"), call("b"), id="s1"), children=(Trajectory(steps=(agent(call("b")),)),))
    found = score("unanswered_calls", sample)
    assert (found.value, found.evidence) == (2, ("s1",))
    assert found.values | found.details == {"unanswered_calls": 2, "total_tool_calls": 3, "unanswered_tools": {"b": 2}}


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        ([failing("a", id="f"), agent("All done.")], 1),
        ([failing("a"), agent("I could not read it.")], 0),
        ([failing("a"), agent("It FAILED.")], 0),
        ([failing("a"), agent(*did("a")), agent("All done.")], 0),
        ([failing("a"), agent(*did("b")), agent("All done.")], 1),
        ([agent(*did("a")), failing("a"), agent("All done.")], 1),
        ([agent("An error? Let me look."), failing("a"), agent("All done.")], 1),
        ([failing("a"), agent("All done."), user("and?"), agent("Sorry.")], 1),
        ([failing("a"), failing("a"), agent("All done.")], 2),
    ],
    ids=[
        "swallowed",
        "mentioned",
        "in capitals",
        "made good",
        "another tool",
        "good before",
        "said before",
        "said in the next turn",
        "both",
    ],
)
def test_a_failure_must_be_made_good_or_mentioned(steps: list[Step], value: int) -> None:
    assert score("swallowed_errors", run(user("do it"), *steps)).value == value


def test_a_turn_without_an_answer_hides_nothing() -> None:
    found = score("swallowed_errors", run(user("do it"), failing("a")))
    assert found.explanation == "no answer followed the failed calls"
    found = score("swallowed_errors", run(user("x"), failing("a"), user("y"), failing("b"), agent("All done.")))
    assert (found.value, found.values["failed_without_answer"]) == (1, 1)


def test_words_and_harmless_tools_can_be_set() -> None:
    sample = run(user("mach"), failing("grep"), agent("Das ging leider schief."))
    assert score("swallowed_errors", sample).value == 1
    assert score("swallowed_errors", sample, words=["leider"]).value == 0
    assert score("swallowed_errors", sample, ignore=["grep"]).status == "not_applicable"


def spent(*parts: Any, tokens: int = 100, **fields: Any) -> Step:
    return agent(*parts, usage=usage(tokens, 0), **fields)


@pytest.mark.parametrize(
    ("steps", "value", "tail"),
    [
        ([spent(*did("a")), spent("answer")], 0.0, 0),
        ([spent(*did("a")), spent(*did("b", error="no"))], 0.5, 100),
        ([spent(*did("b", error="no")), spent(*did("b", error="no"))], 1.0, 200),
        ([spent(*did("a")), spent("Trying again.", *did("b", error="no")), spent(*did("b", error="no"))], 2 / 3, 200),
        ([spent("answer"), spent(*did("b", error="no"))], 0.5, 100),
        ([spent("answer"), user("more"), spent(*did("b", error="no"))], 1.0, 200),
        ([spent("answer"), spent("summary", kind="compaction")], 0.0, 0),
    ],
    ids=[
        "none",
        "failing end",
        "all",
        "talking is no answer",
        "after the answer",
        "answer of another turn",
        "compaction",
    ],
)
def test_the_tail_is_what_comes_after_the_last_useful_step(steps: list[Step], value: float, tail: int) -> None:
    found = score("wasted_tail", run(user("do it"), *steps))
    assert found.value == pytest.approx(value)
    assert found.values["tail_tokens"] == tail


def test_the_tail_has_a_time_where_steps_have_one() -> None:
    sample = run(
        user("x", at=0.0),
        spent(*did("a"), id="s1", at=1.0, ended=4.0),
        spent(call("b"), result("b", error="no"), id="s2", at=5.0, ended=9.5),
    )
    found = score("wasted_tail", sample)
    assert found.values["tail_seconds"] == 5.5
    assert (found.details["last_useful_step"], found.values["tail_calls"], found.evidence) == ("s1", 1, ("s2",))
    sums = Sums()
    sums.add(found.values)
    sums.add(found.values)
    assert sums.pooled(by_name("wasted_tail").main) == (0.5, 2)


def test_clicks_are_not_taken_for_waste() -> None:
    found = score("wasted_tail", run(user("log in"), agent(Action(kind="click"), usage=usage(100, 10))))
    assert (found.status, found.value) == ("not_applicable", None)
