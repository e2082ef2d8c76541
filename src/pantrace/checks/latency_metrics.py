"""How long the user waited."""

from __future__ import annotations

from typing import Any

from pantrace.model import Sample, Step, ToolResult, Trajectory, Turn, all_trajectories, is_prompt, turns

from .check import Found, Measured, NoSettings, NotApplicable, check
from .pooling import pooled

Span = tuple[float, float]

_COUNTED = ("message", "compaction")


@check(low=0, better="lower", aggregate=pooled("total_latency_seconds", "turns"))
def latency_metrics(sample: Sample, settings: NoSettings) -> Found:
    """Seconds that the user waited, with the shares of model and tools.

    Formula: sum of the measured durations of the invocations; where the source measured none, the time of all turns,
    each from its prompt to its last measured end (of a step or a tool run), so that the user's time between turns
    never counts; what ran at once counts once. Tools: the union of their runs. Model: the union of the steps without
    the runs of their own tools; both with sub-agents. First response: end of the first model call of the first turn -
    begin of that turn. Over many samples: seconds per turn as a ratio of sums.

    Not applicable when: the source measured no durations (time stamps of events alone have a begin and no end), or all
    of several durations are exactly one second (they are made up).

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it counted one second per event and
    the user's time.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    details = _of_invocations(sample.trajectory) or _of_steps(sample.trajectory)
    if details is None:
        return NotApplicable("the source measured no durations; time stamps of events alone cannot give them")
    if isinstance(details, str):
        return NotApplicable(details)
    total = details["total_latency_seconds"]
    details["average_turn_latency_seconds"] = total / details["turns"]
    details["estimated"] = False
    return Measured(value=total, explanation=f"{total:.3f} s in {details['turns']} turns", details=details)


def _of_invocations(trajectory: Trajectory) -> dict[str, Any] | None:
    measured = [each for each in trajectory.invocations if each.seconds is not None]
    if not measured:
        return None
    models = [each.model_seconds for each in measured if each.model_seconds is not None]
    tools = [each.tool_seconds for each in measured if each.tool_seconds is not None]
    return {
        "total_latency_seconds": sum(each.seconds or 0 for each in measured),
        "llm_latency_seconds": sum(models) if models else None,
        "tool_latency_seconds": sum(tools) if tools else None,
        "time_to_first_response_seconds": None,
        "turns": len(measured),
        "source": "invocations",
        "turns_not_measured": len(trajectory.invocations) - len(measured),
    }


def _of_steps(trajectory: Trajectory) -> dict[str, Any] | str | None:
    model_spans: list[Span] = []
    tool_spans: list[Span] = []
    durations: list[float] = []
    for each in all_trajectories(trajectory):
        steps, runs = _measured(each.steps, _COUNTED)
        model_spans += _without(_union(steps), _union(runs))
        tool_spans += runs
        durations += [end - begin for begin, end in steps + runs]
    if not durations:
        return None
    if len(durations) > 1 and all(abs(seconds - 1) < 1e-6 for seconds in durations):
        return "every duration is exactly one second: they were made up, not measured"
    waits = [(turn, wait) for turn in turns(trajectory) if (wait := _wait(turn.steps)) is not None]
    return {
        "total_latency_seconds": _length(_union([*model_spans, *tool_spans, *(wait for _, wait in waits)])),
        "llm_latency_seconds": _length(_union(model_spans)) if model_spans else None,
        "tool_latency_seconds": _length(_union(tool_spans)) if tool_spans else None,
        "time_to_first_response_seconds": _first_response(*waits[0]) if waits else None,
        "turns": max(len(waits), 1),
        "source": "steps",
    }


def _wait(steps: tuple[Step, ...]) -> Span | None:
    """From the prompt, or the first measured begin, to the last measured end of a turn. A compaction behind the answer
    may come hours later, so it does not stretch the turn."""
    responses, runs = _measured(steps, ("message",))
    spans = responses + runs
    if not spans:
        return None
    begin, _ = min(spans)
    asked = [step.at for step in steps if is_prompt(step) and step.at is not None and step.at <= begin]
    return max(asked, default=begin), max(end for _, end in spans)


def _measured(steps: tuple[Step, ...], kinds: tuple[str, ...]) -> tuple[list[Span], list[Span]]:
    """When responses of the agent began and ended, and when tools ran, where both ends were measured."""
    responses: list[Span] = []
    runs: list[Span] = []
    for step in steps:
        if step.kind not in kinds:
            continue
        if step.role == "agent" and step.at is not None and step.ended is not None and step.at <= step.ended:
            responses.append((step.at, step.ended))
        for part in step.parts:
            if not isinstance(part, ToolResult) or part.started is None or part.ended is None:
                continue
            if part.started <= part.ended:
                runs.append((part.started, part.ended))
    return responses, runs


def _first_response(turn: Turn, wait: Span) -> float | None:
    responses, _ = _measured(turn.steps, _COUNTED)
    return min(end for _, end in responses) - wait[0] if responses else None


def _union(spans: list[Span]) -> list[Span]:
    """The same time in spans that do not overlap."""
    merged: list[Span] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _without(spans: list[Span], holes: list[Span]) -> list[Span]:
    """What is left of spans when other spans are cut out; both without overlaps and in order."""
    left: list[Span] = []
    first = 0
    for begin, end in spans:
        while first < len(holes) and holes[first][1] <= begin:
            first += 1
        place = first
        while place < len(holes) and holes[place][0] < end:
            if holes[place][0] > begin:
                left.append((begin, holes[place][0]))
            begin = max(begin, holes[place][1])
            place += 1
        if begin < end or (begin == end and place == first):
            left.append((begin, end))
    return left


def _length(spans: list[Span]) -> float:
    return sum(end - begin for begin, end in spans)
