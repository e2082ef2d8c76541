"""A recording says what the views say, and is never that of another trajectory."""

from __future__ import annotations

import sys
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from any_sample import trajectories, usages
from pantrace.matching.recorded_data import recording_of
from pantrace.matching.tally import tally, tally_by_frequency
from pantrace.matching.tokens import Tokens
from pantrace.model import (
    Action,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    all_trajectories,
    answer_tokens,
    call_pairs,
    has_failed,
    is_agents,
    prompt_tokens,
    reports,
    total_tokens,
)


def model_calls(trajectory: Trajectory) -> list[tuple[str | None, Step, Usage]]:
    """What a recording tells of models, by the definition: slowly."""
    return [
        (step.model or {agent.name: agent.model for agent in each.agents}.get(step.agent or ""), step, step.usage)
        for each in all_trajectories(trajectory)
        for step in each.steps
        if step.usage is not None and step.kind not in ("copied", "user_shell") and reports(step.usage)
    ]


@given(trajectories())
def test_one_walk_finds_what_the_views_find(trajectory: Trajectory) -> None:
    found = recording_of(trajectory)
    every = list(all_trajectories(trajectory))
    steps = [step for each in every for step in each.steps]
    assert found.trajectories == every
    assert found.pairs_by_trajectory == [call_pairs(each) for each in every]
    assert found.pairs == call_pairs(trajectory, children=True)
    views = model_calls(trajectory)
    assert [each[1:] for each in found.model_calls] == [each[1:] for each in views]
    # A step that names no model is one of its agent's.
    assert all(mine[0] == view[0] for mine, view in zip(found.model_calls, views, strict=True) if view[0] is not None)
    assert found.tokens.totals == [total_tokens(usage) for _, _, usage in model_calls(trajectory)]
    assert found.has_acted == any(is_agents(step) for step in steps)
    assert (Action in found.part_types) == any(isinstance(part, Action) for step in steps for part in step.parts)
    failed = [pair.result for pair in found.pairs if id(pair.result) in found.failed]
    broken = {id(part) for step in steps if step.role == "tool" and step.error is not None for part in step.parts}
    answers = [pair.result for pair in found.pairs if pair.result is not None]
    assert failed == [each for each in answers if has_failed(each) or id(each) in broken]


def test_a_trajectory_that_is_equal_is_another() -> None:
    one = Trajectory(steps=(Step(role="agent", parts=(ToolCall(id="c", name="bash"), ToolResult(call_id="c"))),))
    other = msgspec.structs.replace(one)
    first, second = recording_of(one), recording_of(other)
    assert recording_of(other) is second
    assert first is not second and second.trajectory is other


def test_only_the_last_trajectory_is_kept() -> None:
    trajectory = Trajectory(steps=(Step(role="agent", parts=(Text(text="hi"),)),))
    before = sys.getrefcount(trajectory)
    recording_of(trajectory)
    assert sys.getrefcount(trajectory) > before
    recording_of(Trajectory())
    assert sys.getrefcount(trajectory) == before


def test_names_are_counted_in_order_or_by_frequency() -> None:
    assert list(tally(["a", "b", "c", "b"]).items()) == [("a", 1), ("b", 2), ("c", 1)]
    assert list(tally_by_frequency(["a", "b", "c", "b"]).items()) == [("b", 2), ("a", 1), ("c", 1)]


def test_ends_are_known_where_a_duration_can_be_measured() -> None:
    def ends(part: ToolResult, **step: Any) -> bool:
        return recording_of(Trajectory(steps=(Step(role="agent", parts=(part,), **step),))).has_ends

    assert not ends(ToolResult(call_id="c", ended=2.0), at=1.0)
    assert ends(ToolResult(call_id="c", started=1.0, ended=2.0))
    assert ends(ToolResult(call_id="c"), at=1.0, ended=2.0)
    # Steps of a branch that was given up are not walked, and one of them may have been measured.
    assert recording_of(Trajectory(steps=(Step(id="a", role="agent"),), leaf="a")).has_ends


@given(st.lists(usages(), max_size=5))
def test_sums_of_tokens_are_those_of_single_calls(calls: list[Usage]) -> None:
    found = Tokens(calls)
    assert found.totals == [total_tokens(usage) for usage in calls]
    assert found.prompts == [prompt_tokens(usage) for usage in calls]
    assert found.answers == [answer_tokens(usage) for usage in calls]
    told = [usage.cache_read for usage in calls if usage.cache_read is not None]
    assert found.cached == (sum(told) if told else None, len(calls) - len(told))
