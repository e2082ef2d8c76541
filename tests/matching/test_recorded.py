"""A recording says what the views say, and is never that of another trajectory."""

from __future__ import annotations

import sys

import msgspec
from hypothesis import given

from any_sample import trajectories
from pantrace.matching.recording import recording_of, tally, tally_by_frequency
from pantrace.model import (
    Action,
    Step,
    Text,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    all_trajectories,
    call_pairs,
    has_failed,
    is_agents,
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
    assert found.model_calls == model_calls(trajectory)
    assert found.totals == [total_tokens(usage) for _, _, usage in model_calls(trajectory)]
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
