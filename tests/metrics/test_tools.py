"""Metrics of tools and agents: what does not apply first."""

from __future__ import annotations

from typing import Any

import pytest

from pantrace.metrics import by_name, parse_settings
from pantrace.model import Action, Agent, Citation, Sample, Score, Source, Step, StepError, ToolResult, Trajectory
from short_samples import agent, call, did, result, run, usage, user


def score(name: str, sample: Sample, **settings: Any) -> Score:
    check = by_name(name)
    return check.score(sample, parse_settings(check, settings))


@pytest.mark.parametrize("name", ["tool_utilization", "sandbox_usage", "agent_handoffs"])
def test_where_the_agent_did_nothing_there_is_nothing_to_count(name: str) -> None:
    assert score(name, run(user("hi"))).status == "not_applicable"
    assert score(name, run(user("hi"), agent("ho"))).value == 0


@pytest.mark.parametrize("name", ["tool_utilization", "sandbox_usage"])
def test_clicks_are_no_tool_calls(name: str) -> None:
    found = score(name, run(agent(Action(kind="click"))))
    assert found.explanation == "the agent acts by GUI actions, not by tools"
    assert score(name, run(agent(Action(kind="click"), *did("read_file")))).value == 1


def test_a_call_and_its_result_are_one_call() -> None:
    shell = agent(*did("bash"), kind="user_shell")
    sample = run(agent(*did("a"), *did("a"), *did("b")), agent(call("transfer_to_agent", agent_name="x")), shell)
    found = score("tool_utilization", sample)
    assert found.value == 4
    assert found.values | found.details == {
        "total_tool_calls": 4,
        "unique_tools_used": 3,
        "tool_counts": {"a": 2, "b": 1, "transfer_to_agent": 1},
        "transfers": 1,
    }


def test_calls_of_sub_agents_count() -> None:
    sample = run(agent(*did("task")), children=(Trajectory(steps=(agent(*did("a"), *did("b")),)),))
    assert score("tool_utilization", sample).value == 3


@pytest.mark.parametrize(
    ("sample", "reason", "unanswered"),
    [
        (run(agent("a")), "no tool was called", 0),
        (run(agent(call("a"))), "no tool call was answered", 1),
    ],
)
def test_without_an_answered_call_nothing_succeeded(sample: Sample, reason: str, unanswered: int) -> None:
    found = score("tool_success_rate", sample)
    assert (found.status, found.explanation) == ("not_applicable", reason)
    assert found.values | found.details == {"unanswered_calls": unanswered}


@pytest.mark.parametrize(
    ("answer", "succeeded"),
    [
        (result("a", "fine"), True),
        (result("a", None), True),
        (result("a", "an error in the text of a file"), True),
        (result("a", {"status": "success", "error": None}), True),
        (result("a", {"error": ""}), True),
        (result("a", exit_code=0), True),
        (result("a", exit_code=3), False),
        (result("a", error="boom"), False),
        (result("a", "completed", failure="invalid_tool"), False),
        (result("a", {"status": "error"}), False),
        (result("a", {"error": "no such order"}), False),
        (result("a", {"error_message": "no"}), False),
    ],
)
def test_what_a_failure_is(answer: ToolResult, succeeded: bool) -> None:
    assert score("tool_success_rate", run(agent(call("a"), answer))).value == succeeded


def test_an_error_of_the_step_that_answers_is_a_failure_of_the_call() -> None:
    answer = Step(role="tool", parts=(result("a"),), error=StepError(kind="TOOL_ERROR"))
    assert score("tool_success_rate", run(agent(call("a")), answer)).value == 0


def test_success_is_counted_per_call() -> None:
    sample = run(
        agent(*did("a"), *did("b", error="no"), call("c"), id="s1"),
        agent(*did("a"), *did("b", exit_code=1), id="s2"),
    )
    found = score("tool_success_rate", sample)
    assert found.value == 0.5
    assert found.evidence == ("s1", "s2")
    assert found.values | found.details == {
        "tool_success_rate": 0.5,
        "total_tool_calls": 4,
        "failed_tool_calls": 2,
        "failed_tools_list": ["b", "b"],
        "unanswered_calls": 1,
        "successful_tool_calls": 2,
        "failures": {"error": 1, "exit_code": 1},
    }


def test_sandbox_tools_are_known_by_a_part_of_their_name() -> None:
    sample = run(agent(*did("fs.read_file"), *did("fs.read_file"), *did("execute_code"), *did("bash")))
    found = score("sandbox_usage", sample)
    assert found.value == 3
    assert found.values["unique_ops_used"] == 2
    assert found.details["sandbox_tools_used"] == ["execute_code", "fs.read_file"]
    assert score("sandbox_usage", sample, names=["bash"]).value == 1
    assert score("sandbox_usage", sample, names="bash, execute_").value == 2
    assert score("sandbox_usage", sample, names='["bash", "execute_"]').value == 2


def test_transfers_count_when_they_were_answered() -> None:
    sample = run(
        agent(call("transfer_to_agent", "1", agent_name="billing"), id="s1"),
        agent(ToolResult(call_id="1", name="transfer_to_agent", output={"result": None})),
        agent(call("transfer_to_agent", "2", agent_name="nobody")),
    )
    found = score("agent_handoffs", sample)
    assert (found.value, found.evidence) == (1, ("s1",))
    assert found.values | found.details == {
        "total_handoffs": 1,
        "unique_agents_count": 1,
        "agents_invoked_list": ["billing"],
        "transfers": 1,
        "agent_tool_calls": 0,
        "sub_agent_runs": 0,
        "sub_agents": 0,
        "guessed_agent_tools": [],
    }


def test_an_agent_called_as_a_tool_is_a_handoff_and_a_guess_is_marked() -> None:
    sample = run(
        agent(*did("researcher"), *did("researcher"), *did("search"), *did("IntakeAgent")),
        agents=(Agent(name="root"), Agent(name="researcher")),
    )
    found = score("agent_handoffs", sample)
    assert (found.value, found.values["agent_tool_calls"]) == (3, 3)
    assert found.details["guessed_agent_tools"] == ["IntakeAgent"]
    assert found.details["agents_invoked_list"] == ["researcher", "IntakeAgent"]
    assert score("agent_handoffs", sample, agent_suffix=None).value == 2


def test_a_recorded_sub_agent_counts_once_with_its_call() -> None:
    grandchild = Trajectory(id="g", title="deep")
    children = (
        Trajectory(id="c1", caller="1", agents=(Agent(name="researcher"),)),
        Trajectory(id="c2", caller="2", steps=(agent("x", agent="explore"),), children=(grandchild,)),
    )
    sample = run(
        agent(call("researcher", "1"), call("task", "2")), agents=(Agent(name="researcher"),), children=children
    )
    found = score("agent_handoffs", sample)
    assert found.value == 3
    assert (found.values["agent_tool_calls"], found.values["sub_agent_runs"]) == (1, 2)
    assert found.details["agents_invoked_list"] == ["researcher", "explore", "deep"]


@pytest.mark.parametrize(
    ("format_name", "step", "value"),
    [
        (None, agent("a", usage=usage(1, 1)), None),
        ("opencode", agent("a", usage=usage(1, 1)), None),
        ("adk-history", agent("a"), None),
        ("adk-history", agent("a", usage=usage(1, 1)), 0),
        (None, agent("a", Citation(uri="u"), Citation(uri="v")), 2),
    ],
)
def test_no_citation_is_zero_only_where_it_would_have_been_recorded(
    format_name: str | None, step: Step, value: int | None
) -> None:
    source = Source(format=format_name) if format_name else None
    assert score("grounding_utilization", run(user("q"), step, source=source)).value == value


def test_grounded_responses_are_counted_apart_from_their_sources() -> None:
    sample = run(agent(Citation(uri="u"), Citation(uri="v"), id="s1"), agent("b"), agent("c", Citation(text="w")))
    found = score("grounding_utilization", sample)
    assert found.values | found.details == {
        "total_grounding_chunks": 3,
        "total_grounded_responses": 2,
        "total_llm_responses": 3,
    }
    assert found.evidence == ("s1",)


def test_an_error_of_the_model_does_not_make_its_answered_calls_fail() -> None:
    aborted = agent(*did("read"), error=StepError(kind="MessageAbortedError"))
    assert score("tool_success_rate", run(aborted)).value == 1.0
    broken = (agent(call("read")), Step(role="tool", parts=(result("read"),), error=StepError(kind="500")))
    assert score("tool_success_rate", run(*broken)).value == 0.0


def test_all_metrics_agree_on_what_failed() -> None:
    broken = (agent(call("read")), Step(role="tool", parts=(result("read"),), error=StepError(kind="500")))
    found = score("swallowed_errors", run(user("a"), *broken, agent("All is well.")))
    assert (found.status, found.value) == ("scored", 1)
