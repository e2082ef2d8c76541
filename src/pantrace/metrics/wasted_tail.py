"""Tokens that were spent after the last useful step."""

from __future__ import annotations

from collections.abc import Iterable

from pantrace.matching.recorded_data import Recording, recording_of
from pantrace.model import Action, Measure, Sample, Step, ToolCall, is_agents, is_prompt, step_text, total_tokens

from .metric import Found, Measurement, NoSettings, NotApplicable, Numbers, metric


@metric(
    measures=(
        Measure(
            name="wasted_share",
            unit="share",
            better="lower",
            high=1.0,
            pooling="ratio",
            over=("tail_tokens", "total_tokens"),
            headline=True,
            what="tokens spent after the last useful step",
        ),
        Measure(name="tail_tokens", unit="tokens", better="lower", pooling="sum", what="tokens of the tail"),
        Measure(name="total_tokens", unit="tokens", pooling="sum", what="tokens of the main agent"),
        Measure(name="tail_steps", unit="count", better="lower", pooling="sum", what="steps of the tail"),
        Measure(name="tail_calls", unit="count", better="lower", pooling="sum", what="tool calls of the tail"),
        Measure(name="tail_seconds", unit="s", better="lower", pooling="sum", what="time of the tail"),
    )
)
def wasted_tail(sample: Sample, settings: NoSettings) -> Found:
    """Share of the tokens that were spent after the last useful step.

    Formula: tokens of the model calls after the last useful step / tokens of all model calls, of the main agent;
    compactions do not count. A step is useful when one of its tool calls succeeded, or when it is the final answer (the
    agent's last text after the last prompt, in a step that calls no tool). Without any useful step, everything is
    wasted. `tail_seconds` is the time from the last useful step to the last step. Over many samples: the same ratio of
    sums.

    Not applicable when: no model call reports usage, or the agent acts by GUI actions, and it was not recorded whether
    they were useful.

    Source: pantrace; agents that go on after they are done, or end in failing calls.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    steps, recording = sample.trajectory.steps, recording_of(sample.trajectory)
    # GUI actions have no results, so it is unknown whether one succeeded.
    if Action in recording.part_types:
        return NotApplicable("the agent uses GUI actions; whether they were useful is not recorded")
    last = _last_useful(recording)
    tail = [step for step in steps[last + 1 :] if is_agents(step)] if last + 1 < len(steps) else []
    values: Numbers = {"tail_steps": 0, "tail_calls": 0, "tail_seconds": 0.0}
    if tail:
        values = {
            "tail_steps": len([step for step in tail if step.role == "agent"]),
            "tail_calls": len([part for step in tail for part in step.parts if type(part) is ToolCall]),
            "tail_seconds": _seconds(steps[last] if last >= 0 else None, tail),
        }
    details = {"last_useful_step": steps[last].id if last >= 0 else None}
    calls = zip(recording.model_calls[: recording.own_calls], recording.tokens.totals, strict=False)
    # The calls contain none of a grader, so this check is the same as `is_agents`, and faster.
    total = sum(
        [tokens for (_, step, _), tokens in calls if tokens and step.kind == "message" and step.role in _AGENTS]
    )
    if not total:
        return NotApplicable("no model call reports its usage", values, details)
    spent = _tokens(tail) if tail else 0
    values |= {"tail_tokens": spent, "total_tokens": total}
    return Measurement(
        value=spent / total,
        explanation=f"{spent} of {total} tokens after the last useful step",
        values=values,
        details=details,
        evidence=tuple([step.id for step in tail if step.role == "agent" and step.id is not None]) if tail else (),
    )


_AGENTS = ("agent", "tool")


def _tokens(steps: Iterable[Step]) -> int:
    return sum([total_tokens(step.usage) or 0 for step in steps if step.usage is not None and is_agents(step)])


def _last_useful(recording: Recording) -> int:
    """The place of the last useful step; -1 if there is none."""
    steps, pairs, failed = recording.trajectory.steps, recording.pairs_by_trajectory[0], recording.failed
    good: set[int] | None = None
    asked = False
    for place in range(len(steps) - 1, -1, -1):
        step = steps[place]
        if not asked and _answers(step):
            # The final answer calls no tool, so `good` is not needed; most runs end here.
            return place
        if good is None:
            good = {id(pair.step) for pair in pairs if pair.result is not None and id(pair.result) not in failed}
        if id(step) in good:
            return place
        asked = asked or is_prompt(step)
    return -1


def _answers(step: Step) -> bool:
    if step.role != "agent" or step.kind != "message" or not step_text(step):
        return False
    return not any(type(part) is ToolCall for part in step.parts)


def _seconds(useful: Step | None, tail: list[Step]) -> float | None:
    begin, end = _end(useful) if useful is not None else None, _end(tail[-1])
    return max(end - begin, 0.0) if begin is not None and end is not None else None


def _end(step: Step) -> float | None:
    return step.ended if step.ended is not None else step.at
