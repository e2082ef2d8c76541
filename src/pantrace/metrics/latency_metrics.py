"""How long the user waited."""

from __future__ import annotations

from math import inf
from typing import Any

from pantrace.matching.recorded_data import recording_of
from pantrace.model import Measure, Sample, Step, ToolResult, Trajectory, is_prompt
from pantrace.wire.time_spans import Span, length, union, without

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(
    measures=(
        Measure(
            name="total_latency_seconds",
            unit="s",
            better="lower",
            pooling="sum",
            headline=True,
            what="time of all turns",
        ),
        Measure(
            name="average_turn_latency_seconds",
            unit="s",
            better="lower",
            pooling="ratio",
            over=("total_latency_seconds", "turns"),
            what="time of a turn",
        ),
        Measure(name="llm_latency_seconds", unit="s", better="lower", pooling="sum", what="time of the model"),
        Measure(name="tool_latency_seconds", unit="s", better="lower", pooling="sum", what="time of the tools"),
        Measure(
            name="time_to_first_response_seconds", unit="s", better="lower", what="until the first model call ends"
        ),
        Measure(name="turns", unit="count", pooling="sum", what="turns that were measured"),
        Measure(name="turns_not_measured", unit="count", pooling="sum", what="turns that were not"),
    )
)
def latency_metrics(sample: Sample, settings: NoSettings) -> Found:
    """Seconds that the user waited, with the shares of model and tools.

    Formula: sum of the measured durations of the invocations; where the source measured none, the time of all turns,
    each from its prompt to its last measured end (of a step or a tool run), so that the user's time between turns never
    counts; parallel work counts once. Tools: the union of their runs. Model: the union of the steps without the runs of
    their own tools; both with sub-agents. First response: end of the first model call of the first turn - begin of that
    turn. Over many samples: seconds per turn as a ratio of sums.

    Not applicable when: the source measured no durations (timestamps of events have a start but no end), or all of
    several durations are exactly one second (they are made up).

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it counted one second per event and
    the user's time.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    # What the source measured itself goes first: it includes work that left no step.
    values: dict[str, Any] | str | None = _waits_of_invocations(sample.trajectory)
    if values is None and recording_of(sample.trajectory).has_ends:
        values = _waits_of_steps(sample.trajectory)
    if values is None:
        return NotApplicable("the source measured no durations; time stamps of events alone cannot give them")
    if isinstance(values, str):
        return NotApplicable(values)
    source = values.pop("source")
    total = values["total_latency_seconds"]
    values["average_turn_latency_seconds"] = total / values["turns"]
    return Measurement(
        value=total,
        explanation=f"{total:.3f} s in {values['turns']} turns",
        values=values,
        details={"source": source, "estimated": False},
    )


def _waits_of_invocations(trajectory: Trajectory) -> dict[str, Any] | None:
    measured = [each for each in trajectory.invocations if each.seconds is not None]
    if not measured:
        return None
    models = [each.model_seconds for each in measured if each.model_seconds is not None]
    tools = [each.tool_seconds for each in measured if each.tool_seconds is not None]
    return {
        "total_latency_seconds": sum(each.seconds or 0 for each in measured),
        "llm_latency_seconds": sum(models) if models else None,
        "tool_latency_seconds": sum(tools) if tools else None,
        # The source measured only whole invocations.
        "time_to_first_response_seconds": None,
        "turns": len(measured),
        "source": "invocations",
        "turns_not_measured": len(trajectory.invocations) - len(measured),
    }


def _waits_of_steps(trajectory: Trajectory) -> dict[str, Any] | str | None:
    own = _Times(trajectory.steps)
    # Parallel runs count once, as the user waited once.
    tool_spans = union(own.runs)
    # A step may last until its tools have ended; their time is not the model's.
    model_spans = without(union(own.responses), tool_spans)
    measured, beside = own.responses + own.runs, own.compacting
    if trajectory.children:
        for child in recording_of(trajectory).trajectories[1:]:
            times = _Times(child.steps)
            runs = union(times.runs)
            model_spans = model_spans + without(union(times.responses), runs)
            tool_spans = tool_spans + runs
            beside = beside + times.responses + times.runs
            measured += times.responses + times.runs
        model_spans, tool_spans = union(model_spans), union(tool_spans)
    if not measured:
        return None
    if len(measured) > 1 and _is_one_second(measured[0]) and all(map(_is_one_second, measured)):
        # The ADK workshop writes synthetic spans of one second for every event.
        return "every duration is exactly one second: they were made up, not measured"
    return {
        # Work within a turn is already inside its wait; the union counts it once.
        "total_latency_seconds": length(union(own.waits + beside)),
        "llm_latency_seconds": length(model_spans) if model_spans else None,
        "tool_latency_seconds": length(tool_spans) if tool_spans else None,
        "time_to_first_response_seconds": own.first_response,
        "turns": max(len(own.waits), 1),
        "source": "steps",
    }


def _is_one_second(span: Span) -> bool:
    return abs(span[1] - span[0] - 1) < 1e-6


class _Times:
    """When model and tools were working, as far as both start and end were measured."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.responses: list[Span] = []
        self.runs: list[Span] = []
        self.compacting: list[Span] = []
        """The spans of compactions. One may come hours after the answer: it must not stretch the wait of its turn."""
        self.waits: list[Span] = []
        """For each measured turn: from its prompt, or its first start, to its last end."""
        self.first_response: float | None = None
        """Seconds from the start of the first wait to the first end of a response in that turn."""
        self._walk(steps)

    def _walk(self, steps: tuple[Step, ...]) -> None:
        responses, runs = self.responses, self.runs
        asked: list[float] = []
        first, last, soonest, answered = inf, -inf, inf, True
        for step in steps:
            role, kind = step.role, step.kind
            if role == "user":
                if kind == "message" and is_prompt(step):
                    # Prompts directly after each other share a turn.
                    if answered:
                        self._end_turn(asked, first, last, soonest)
                        asked = []
                        first, last, soonest, answered = inf, -inf, inf, False
                    if step.at is not None:
                        asked.append(step.at)
            elif role != "system":
                answered = True
            if kind != "message":
                if kind == "compaction":
                    soonest = min(soonest, self._add_compaction(step))
                continue
            begin, end = step.at, step.ended
            if role == "agent" and begin is not None and end is not None and begin <= end:
                responses.append((begin, end))
                if end < soonest:
                    soonest = end
                if begin < first:
                    first = begin
                if end > last:
                    last = end
            for part in step.parts:
                if type(part) is ToolResult:
                    begin, end = part.started, part.ended
                    if begin is not None and end is not None and begin <= end:
                        runs.append((begin, end))
                        if begin < first:
                            first = begin
                        if end > last:
                            last = end
        self._end_turn(asked, first, last, soonest)

    def _add_compaction(self, step: Step) -> float:
        """Add a compaction; returns when it ended."""
        responses = _measured_spans([(step.at, step.ended)] if step.role == "agent" else [])
        runs = _measured_spans([(part.started, part.ended) for part in step.parts if type(part) is ToolResult])
        self.responses += responses
        self.runs += runs
        self.compacting += responses + runs
        return responses[0][1] if responses else inf

    def _end_turn(self, asked: list[float], first: float, last: float, soonest: float) -> None:
        if first <= last:
            # From the last prompt before any work: the user's pause between two prompts is not a wait.
            since = max([at for at in asked if at <= first] or [first])
            if not self.waits and soonest < inf:
                self.first_response = soonest - since
            self.waits.append((since, last))


def _measured_spans(times: list[tuple[float | None, float | None]]) -> list[Span]:
    return [(begin, end) for begin, end in times if begin is not None and end is not None and begin <= end]
