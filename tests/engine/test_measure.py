"""Measure: references that lie elsewhere, and turns."""

from __future__ import annotations

import msgspec
import pytest

from pantrace.engine.measure import References, by_turns, choose, scores_of
from pantrace.errors import UsageError
from pantrace.model import Case, ExpectedCall, Run, Sample, Trajectory
from short_samples import agent, call, result, run, usage, user


def test_a_dataset_states_what_the_recordings_case_does_not() -> None:
    expected = Case(id="c", reference="theirs", expected_calls=(ExpectedCall(name="look"),), expected_state={"k": 1})
    references = References.of(Run(samples=[Sample(id="s", case=expected)]))
    sample = run(user("q"), agent(call("look")), case=Case(id="c", question="q", reference="ours"))
    joined = references.join(sample)
    assert joined.case is not None
    assert (joined.case.question, joined.case.reference) == ("q", "ours"), "what the recording states stays"
    assert joined.case.expected_state == {"k": 1}
    [score] = scores_of(joined, choose(["trajectory_accuracy"], [], []))
    assert score.value == 1.0


def test_a_sub_agent_counts_in_one_turn_and_never_twice() -> None:
    child = Trajectory(steps=(agent("c", usage=usage(7, 0), model="gpt-5"),))
    first = (user("a"), agent(call("task"), result("task"), usage=usage(1, 0), model="gpt-5"))
    second = (user("b"), agent(call("task"), result("task"), usage=usage(1, 0), model="gpt-5"))
    [checks] = [choose(["token_usage"], [], [])]

    def tokens(sample: Sample) -> list[int]:
        return [scores_of(part, checks)[0].details["total_tokens"] for _, part in by_turns(sample)]

    assert tokens(run(*first, children=(child,))) == [8], "the only turn"
    assert tokens(run(*first, *second, children=(child,))) == [1, 1], "whose it is cannot be said"
    called = msgspec.structs.replace(child, caller="x")
    named = agent(call("task", id="x"), usage=usage(1, 0), model="gpt-5")
    assert tokens(run(*first, user("b"), named, children=(called,))) == [1, 8]


@pytest.mark.parametrize(
    "setting",
    [
        "trajectory_accuracy.tolerance=-1",
        'trajectory_accuracy.tools={"a": {"tolerance": -1}}',
        "state_variable_fidelity.tolerance=nan",
        'state_variable_fidelity.keys={"a": {"tolerance": -1}}',
    ],
)
def test_a_tolerance_below_zero_is_refused_before_anything_is_measured(setting: str) -> None:
    with pytest.raises(UsageError, match="a tolerance is 0 or more"):
        choose([setting.partition(".")[0]], [setting], [])


def test_an_empty_list_of_words_is_empty() -> None:
    [(_, settings)] = choose(["swallowed_errors"], ["swallowed_errors.words="], [])
    assert settings.words == ()  # type: ignore[attr-defined]
