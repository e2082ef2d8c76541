"""How long the user waited."""

from __future__ import annotations

from math import inf
from typing import Any

from pantrace.matching.recorded import recorded
from pantrace.model import Sample, Step, ToolResult, Trajectory, Turn, is_prompt, turns

from .check import Found, Measured, NoSettings, NotApplicable, check
from .pooling import pooled

Span = tuple[float, float]


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
    responses: list[Span] = []
    runs: list[Span] = []
    _add_times(trajectory.steps, "compaction", responses, runs)
    beside = responses + runs
    waits: list[Span] = []
    first_response: float | None = None
    for turn in turns(trajectory):
        before = len(responses)
        wait = _add_times(turn.steps, "message", responses, runs)
        if wait is not None:
            if not waits:
                first_response = _first_response(turn, wait, responses[before:])
            waits.append(wait)
    model_spans = _without(_union(responses), _union(runs))
    tool_spans = runs
    durations = [end - begin for begin, end in responses + runs]
    for child in recorded(trajectory).trajectories[1:]:
        responses, runs = [], []
        for kind in ("message", "compaction"):
            _add_times(child.steps, kind, responses, runs)
        model_spans = model_spans + _without(_union(responses), _union(runs))
        tool_spans = tool_spans + runs
        beside += responses + runs
        durations += [end - begin for begin, end in responses + runs]
    if not durations:
        return None
    if len(durations) > 1 and all(abs(seconds - 1) < 1e-6 for seconds in durations):
        return "every duration is exactly one second: they were made up, not measured"
    return {
        # What ran within a turn lies within its wait.
        "total_latency_seconds": _length(waits + beside),
        "llm_latency_seconds": _length(model_spans) if model_spans else None,
        "tool_latency_seconds": _length(tool_spans) if tool_spans else None,
        "time_to_first_response_seconds": first_response,
        "turns": max(len(waits), 1),
        "source": "steps",
    }


def _add_times(steps: tuple[Step, ...], kind: str, responses: list[Span], runs: list[Span]) -> Span | None:
    """Adds when steps of that kind and their tools ran, where both ends were measured; gives how long was waited for
    all of it: from the prompt, or the first measured begin, to the last measured end. A compaction behind the answer
    may come hours later, so it must not stretch the wait for the messages of a turn."""
    asked: list[float] = []
    first, last = inf, -inf
    for step in steps:
        if step.kind != kind:
            continue
        begin = step.at
        if step.role == "agent":
            end = step.ended
            if begin is not None and end is not None and begin <= end:
                responses.append((begin, end))
                if begin < first:
                    first = begin
                if end > last:
                    last = end
        elif begin is not None and is_prompt(step):
            asked.append(begin)
        for part in step.parts:
            if type(part) is ToolResult:
                begin, end = part.started, part.ended
                if begin is not None and end is not None and begin <= end:
                    runs.append((begin, end))
                    if begin < first:
                        first = begin
                    if end > last:
                        last = end
    if first > last:
        return None
    since = -inf
    for at in asked:
        if since < at <= first:
            since = at
    return since if since > -inf else first, last


def _first_response(turn: Turn, wait: Span, responses: list[Span]) -> float | None:
    _add_times(turn.steps, "compaction", responses, [])
    return min(end for _, end in responses) - wait[0] if responses else None


def _union(spans: list[Span]) -> list[Span]:
    """The same time in spans that do not overlap."""
    merged: list[Span] = []
    last = -inf
    for span in sorted(spans):
        begin, end = span
        if begin > last:
            merged.append(span)
            last = end
        elif end > last:
            merged[-1] = (merged[-1][0], end)
            last = end
    return merged


def _without(spans: list[Span], holes: list[Span]) -> list[Span]:
    """What is left of spans when other spans are cut out; both without overlaps and in order."""
    if not holes:
        return spans
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
    """Seconds of the spans; what ran at once counts once."""
    return sum([end - begin for begin, end in _union(spans)])
