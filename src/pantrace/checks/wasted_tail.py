"""What was spent after the last useful step."""

from __future__ import annotations

from pantrace.model import (
    Sample,
    Step,
    ToolCall,
    Trajectory,
    call_pairs,
    has_failed,
    is_agents,
    is_prompt,
    model_calls,
    said,
    total_tokens,
)

from .check import Found, Measured, NoSettings, NotApplicable, check
from .pooling import pooled


@check(low=0, high=1, better="lower", aggregate=pooled("tail_tokens", "total_tokens"))
def wasted_tail(sample: Sample, settings: NoSettings) -> Found:
    """Share of the tokens that were spent after the last useful step.

    Formula: tokens of the model calls behind the last useful step / tokens of all of them, of the main agent;
    compactions do not count. A step is useful when a tool call of it succeeded, or when it is the final answer (the
    agent's last text after the last prompt, in a step that calls no tool). Without any useful step all is wasted.
    `tail_seconds` is the time from the last useful step to the last step. Over many samples: the same ratio of sums.

    Not applicable when: no model call reports usage.

    Source: pantrace; agents that go on after they are done, or end in failing calls.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    trajectory = sample.trajectory
    last = _last_useful(trajectory)
    tail = tuple(step for step in trajectory.steps[last + 1 :] if is_agents(step))
    details = {
        "tail_steps": sum(step.role == "agent" for step in tail),
        "tail_calls": sum(isinstance(part, ToolCall) for step in tail for part in step.parts),
        "tail_seconds": _seconds(trajectory.steps[last : last + 1] if last >= 0 else (), tail),
        "last_useful_step": trajectory.steps[last].id if last >= 0 else None,
    }
    alone = Trajectory(steps=tuple(step for step in trajectory.steps if is_agents(step)))
    total = sum(total_tokens(usage) or 0 for _, _, usage in model_calls(alone))
    if not total:
        return NotApplicable("no model call reports its usage", details)
    spent = sum(total_tokens(usage) or 0 for _, _, usage in model_calls(Trajectory(steps=tail)))
    details |= {"tail_tokens": spent, "total_tokens": total}
    return Measured(
        value=spent / total,
        explanation=f"{spent} of {total} tokens after the last useful step",
        details=details,
        evidence=tuple(step.id for step in tail if step.role == "agent" and step.id is not None),
    )


def _last_useful(trajectory: Trajectory) -> int:
    """Place of the last useful step; -1 when there is none."""
    good = {id(pair.step) for pair in call_pairs(trajectory) if pair.result is not None and not has_failed(pair.result)}
    asked = False
    for place in range(len(trajectory.steps) - 1, -1, -1):
        step = trajectory.steps[place]
        if id(step) in good:
            return place
        asked = asked or is_prompt(step)
        if not asked and _answers(step):
            return place
    return -1


def _answers(step: Step) -> bool:
    if step.role != "agent" or step.kind != "message" or not said(step):
        return False
    return not any(isinstance(part, ToolCall) for part in step.parts)


def _seconds(useful: tuple[Step, ...], tail: tuple[Step, ...]) -> float | None:
    if not tail:
        return 0.0
    begin, end = _end(useful[0]) if useful else None, _end(tail[-1])
    return max(end - begin, 0.0) if begin is not None and end is not None else None


def _end(step: Step) -> float | None:
    return step.ended if step.ended is not None else step.at
