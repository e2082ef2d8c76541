"""Measure: references that lie elsewhere, and turns."""

from __future__ import annotations

import msgspec
import pytest

from pantrace.engine.measure import References, by_turns, choose, measure_samples, row, scores_of, stored_row
from pantrace.errors import UsageError
from pantrace.model import Aggregate, Case, ExpectedCall, Maker, Run, Sample, Scale, Score, Trajectory, Usage
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
        return [scores_of(part, checks)[0].values["total_tokens"] for _, part in by_turns(sample)]

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


def test_a_row_says_whose_number_it_is_and_which_end_is_good() -> None:
    stored = Score(name="match", value=1.0, maker=Maker(name="match"), scale=Scale(low=0, high=1))
    found = row("r", Sample(id="s"), None, stored)
    assert found.maker == {"name": "match", "kind": "stored", "version": None, "model": None}
    assert found.scale == {"low": 0, "high": 1, "better": "higher"}
    assert row("r", Sample(id="s"), None, Score(name="match", value=1.0)).maker == {"kind": "stored"}


def test_null_of_a_stored_aggregate_stays_null() -> None:
    found = stored_row("r", Aggregate(name="click_hit_rate", value=None))
    assert (found.sample, found.value, found.status) == (None, None, "not_applicable")
    assert stored_row("r", Aggregate(name="match", metric="stderr", value=0.1, n=5)).metric == "match.stderr"


def turn_tokens(sample: Sample) -> list[tuple[int | None, int | None]]:
    found = measure_samples([sample], choose(["token_usage"], [], []), by_turn=True)
    return [(turn, scores[0].values.get("total_tokens") if scores else None) for _, turn, scores in found]


def test_turns_lose_nothing_that_the_agent_did() -> None:
    early, late = agent("hello", usage=usage(5, 0)), agent("yes", usage=usage(7, 0))
    assert turn_tokens(run(early, late)) == [(1, 12)], "a stream without prompts is one turn"
    assert turn_tokens(run(early, user("a"), late)) == [(0, 5), (1, 7)], "before the first prompt"
    assert turn_tokens(run(user("a"), late)) == [(1, 7)]
    assert turn_tokens(Sample(id="s")) == [(None, None)], "what was not run is handed on, to be counted"


def test_the_total_of_a_run_is_that_of_its_only_turn() -> None:
    total = {"gpt-5": Usage(input=3, output=4)}
    assert turn_tokens(run(user("a"), agent("b"), usage=total)) == [(1, 7)]
    assert turn_tokens(run(user("a"), agent("b"), user("c"), agent("d"), usage=total)) == [(1, None), (2, None)]


def test_a_golden_run_of_another_id_is_found_by_its_prompt() -> None:
    golden = Sample(id="golden", trajectory=run(user("what  is it?"), agent(call("look"))).trajectory)
    references = References.of(Run(samples=[golden]))
    joined = references.join(Sample(id="new", trajectory=run(user("what is it?"), agent("no idea")).trajectory))
    assert joined.expected == golden.trajectory
    assert (references.prompted, references.unmatched) == (1, 0)
    assert references.join(Sample(id="new", trajectory=run(user("else"), agent("x")).trajectory)).expected is None
    assert list(references.to_tell("x")) == [
        "1 samples were joined with x by their first prompt, not by an id",
        "1 samples have no counterpart in x",
    ]


def test_a_prompt_of_several_references_joins_none() -> None:
    same = [Sample(id=name, trajectory=run(user("q"), agent(name)).trajectory) for name in ("a", "b")]
    references = References.of(Run(samples=same))
    assert references.join(Sample(id="new", trajectory=run(user("q"), agent("x")).trajectory)).expected is None
    assert references.unmatched == 1
