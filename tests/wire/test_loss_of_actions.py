"""Losses where steps hold GUI actions, and where foreign keys are named like ours."""

from __future__ import annotations

import msgspec

from pantrace.model import Action, Sample, Step, ToolCall, Trajectory
from pantrace.wire.loss import sample_losses


def _sample(*steps: Step) -> Sample:
    return Sample(id="s", trajectory=Trajectory(steps=steps))


def _acting(kind: str, *more: ToolCall) -> Step:
    return Step(role="agent", parts=(Action(kind=kind), *more))


def test_a_step_that_still_acts_is_not_absent() -> None:
    call = ToolCall(name="bash")
    before = _sample(_acting("click", call), Step(role="user"), _acting("click"), _acting("wait"))
    after = _sample(_acting("click"), _acting("click"))
    assert [loss.path for loss in sample_losses(before, after, {}, "t")] == [
        "trajectory.steps[0].parts[1]",
        "trajectory.steps[1]",
        "trajectory.steps[3]",
    ]


def test_foreign_steps_and_parts_are_plain_values() -> None:
    odd = {"steps": [1, {"parts": 3}], "parts": [{"type": "text"}]}
    before = msgspec.structs.replace(_sample(Step(role="agent", parts=(ToolCall(name="t", arguments=odd),))), extra=odd)
    assert sample_losses(before, before, {}, "t") == []
    changed = msgspec.structs.replace(before, extra={**odd, "parts": [{"type": "x"}]})
    assert [loss.path for loss in sample_losses(before, changed, {}, "t")] == ["extra.parts[0].type"]
