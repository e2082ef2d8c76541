"""Waiting time: sources that did not measure it first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pantrace.metrics import by_name, measure_named
from pantrace.metrics.pooling import Sums
from pantrace.model import Invocation, Sample, Score, Trajectory
from short_samples import agent, call, result, run, user


def measured(sample: Sample) -> Score:
    return by_name("latency_metrics").score(sample)


@pytest.mark.parametrize(
    "sample",
    [
        run(user("hi", at=0.0), agent("ho", at=3.0)),
        run(user("hi", at=0.0), agent("ho", at=3.0), invocations=(Invocation(id="i", at=0.0),)),
        run(user("hi", at=0.0, ended=5.0), agent("ho", at=3.0)),
        run(agent(*(call("ls"), result("ls", started=1.0, ended=2.0)), kind="user_shell", at=0.0, ended=9.0)),
        run(agent("clock went back", at=5.0, ended=4.0)),
    ],
    ids=["events only", "invocation without duration", "user's time", "user's command", "ends before it begins"],
)
def test_what_was_not_measured_is_not_estimated(sample: Sample) -> None:
    score = measured(sample)
    assert (score.status, score.value) == ("not_applicable", None)


def test_durations_of_exactly_one_second_are_made_up() -> None:
    score = measured(run(agent("a", at=0.0, ended=1.0), agent("b", at=1.0, ended=2.0)))
    assert score.status == "not_applicable"
    assert "made up" in (score.explanation or "")


def test_measured_invocations_go_first() -> None:
    invocations = (
        Invocation(id="a", seconds=2.0, model_seconds=1.5, tool_seconds=0.25),
        Invocation(id="b", seconds=1.0, model_seconds=0.5),
        Invocation(id="c"),
    )
    score = measured(run(agent("a", at=0.0, ended=50.0), invocations=invocations))
    assert score.value == 3.0
    assert score.values | score.details == {
        "total_latency_seconds": 3.0,
        "average_turn_latency_seconds": 1.5,
        "llm_latency_seconds": 2.0,
        "tool_latency_seconds": 0.25,
        "time_to_first_response_seconds": None,
        "turns": 2,
        "turns_not_measured": 1,
        "source": "invocations",
        "estimated": False,
    }


def test_the_users_time_between_turns_does_not_count() -> None:
    score = measured(
        run(
            user("a", at=99.5),
            agent("b", at=100.0, ended=103.0),
            user("c", at=1000.0),
            agent("d", at=1000.0, ended=1002.0),
        )
    )
    assert score.value == 3.5 + 2.0
    assert score.values["turns"] == 2
    assert score.values["average_turn_latency_seconds"] == 2.75
    assert score.values["time_to_first_response_seconds"] == 3.5


def test_what_runs_at_once_counts_once() -> None:
    tools = (
        call("a", "1"),
        result("a", call_id="1", started=12.0, ended=16.0),
        call("b", "2"),
        result("b", call_id="2", started=13.0, ended=15.0),
    )
    score = measured(run(user("x", at=10.0), agent(*tools, at=10.0, ended=17.0), agent("y", at=18.0, ended=19.0)))
    assert score.value == 9.0
    assert score.values["tool_latency_seconds"] == 4.0
    assert score.values["llm_latency_seconds"] == pytest.approx(3.0 + 1.0)


def test_tools_that_ran_outside_the_steps_add_to_the_waiting() -> None:
    score = measured(
        run(
            agent(call("a"), at=0.0, ended=2.0),
            agent(result("a", started=2.0, ended=5.5)),
            agent("z", at=5.5, ended=6.0),
        )
    )
    assert score.value == 6.0
    assert score.values["tool_latency_seconds"] == 3.5
    assert score.values["llm_latency_seconds"] == 2.5


def test_a_compaction_hours_later_adds_only_itself() -> None:
    steps = (user("x", at=0.0), agent("y", at=1.0, ended=3.0), agent("sum", kind="compaction", at=7000.0, ended=7000.5))
    score = measured(run(*steps))
    assert (score.value, score.values["turns"]) == (3.5, 1)


def test_a_prompt_that_was_given_up_does_not_stretch_the_next() -> None:
    score = measured(run(user("x", at=0.0), user("y", at=5000.0), agent("z", at=5001.0, ended=5003.0)))
    assert score.value == 3.0


def test_a_sub_agent_runs_while_its_parent_waits() -> None:
    child = Trajectory(steps=(agent("c", at=2.0, ended=8.0),))
    parts = (call("task", "1"), result("task", call_id="1", started=1.0, ended=9.0))
    score = measured(run(user("x", at=0.0), agent(*parts, at=0.0, ended=10.0), children=(child,)))
    assert score.value == 10.0
    assert score.values["tool_latency_seconds"] == 8.0
    assert score.values["llm_latency_seconds"] == 2.0 + 6.0


def test_over_samples_it_is_seconds_per_turn() -> None:
    check = by_name("latency_metrics")
    samples = [
        run(agent("a"), invocations=(Invocation(id="a", seconds=8.0),)),
        run(agent("a"), invocations=(Invocation(id="a", seconds=1.0), Invocation(id="b", seconds=0.0))),
    ]
    sums = Sums()
    for sample in samples:
        sums.add(check.score(sample).values)
    per_turn = measure_named("latency_metrics.average_turn_latency_seconds")
    assert per_turn is not None
    assert sums.pooled(per_turn) == (3.0, 2)


pair = st.tuples(st.integers(0, 30), st.integers(2, 9)).map(lambda drawn: (drawn[0], drawn[0] + drawn[1]))


@given(st.lists(st.tuples(pair, st.lists(pair, max_size=3)), min_size=1, max_size=5))
def test_times_are_those_that_counting_seconds_gives(
    drawn: list[tuple[tuple[int, int], list[tuple[int, int]]]],
) -> None:
    steps, model, tools = [], set(), set()
    for (begin, end), runs in drawn:
        results = [result("a", started=float(started), ended=float(ended)) for started, ended in runs]
        steps.append(agent(*results, at=float(begin), ended=float(end)))
        model |= set(range(begin, end))
        tools |= {second for started, ended in runs for second in range(started, ended)}
    details = measured(run(*steps)).values
    every = model | tools
    assert details["total_latency_seconds"] == max(every) + 1 - min(every)
    assert (details["llm_latency_seconds"] or 0) == len(model - tools)
    assert (details["tool_latency_seconds"] or 0) == len(tools)
