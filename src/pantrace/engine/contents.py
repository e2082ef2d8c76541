"""Contents: what data a collection of samples has, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pantrace.model import (
    Action,
    Citation,
    Media,
    Sample,
    Step,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Trajectory,
    Unknown,
    all_trajectories,
    call_pairs,
    has_failed,
    is_prompt,
)

_PARTS: tuple[tuple[type, str], ...] = (
    (Text, "texts"),
    (Thinking, "thoughts"),
    (ToolCall, "recorded_calls"),
    (ToolResult, "results"),
    (Media, "media"),
    (Action, "actions"),
    (Citation, "citations"),
    (Unknown, "unknown_parts"),
)

KEYS = (
    "samples",
    "trajectories",
    "steps",
    "prompts",
    *(name if name != "recorded_calls" else "calls" for _, name in _PARTS),
    "other_calls",
    "failed_results",
    "errors",
    "steps_with_usage",
    "steps_with_cost",
    "steps_with_time",
    "steps_with_model",
    "compactions",
    "invocations_timed",
    "outcomes",
    "states",
    "cases",
    "expected",
    "scores",
    "scored",
)


def contents(samples: Iterable[Sample]) -> dict[str, Any]:
    """How much there is of everything, with the names of agents, models and tools."""
    counts: Counter[str] = Counter()
    seen: dict[str, set[str]] = {"agents": set(), "models": set(), "tools": set()}
    absent: Counter[str] = Counter()
    for sample in samples:
        counts["samples"] += 1
        absent.update(absent_in(sample))
        counts["cases"] += sample.case is not None
        counts["expected"] += sample.expected is not None
        counts["scores"] += len(sample.scores)
        counts["scored"] += sum(score.status == "scored" for score in sample.scores)
        if sample.trajectory is not None:
            for trajectory in all_trajectories(sample.trajectory):
                _count_trajectory(trajectory, counts, seen)
            # The calls that `show` and the metrics count: of the agent and its sub-agents, on the active path.
            counts["calls"] += len(call_pairs(sample.trajectory, children=True))
    # Calls of graders, simulated users and abandoned branches are listed separately, so that both numbers add up.
    counts["other_calls"] = counts.pop("recorded_calls", 0) - counts["calls"]
    return {
        **{key: counts[key] for key in KEYS},
        **{name: sorted(values) for name, values in seen.items()},
        "absent": dict(sorted(absent.items())),
    }


def absent_in(sample: Sample) -> list[str]:
    """What a sample's reader did not find although other recordings of its format have it, in the format's words."""
    notes = [extra.get("absent") for extra in sample.extra.values() if isinstance(extra, dict)]
    return [word for note in notes if isinstance(note, list) for word in note if isinstance(word, str)]


def _count_trajectory(trajectory: Trajectory, counts: Counter[str], seen: dict[str, set[str]]) -> None:
    counts["trajectories"] += 1
    counts["outcomes"] += trajectory.outcome is not None
    counts["states"] += trajectory.state is not None
    counts["invocations_timed"] += sum(each.seconds is not None for each in trajectory.invocations)
    for agent in trajectory.agents:
        seen["agents"].add(agent.name)
        if agent.model:
            seen["models"].add(agent.model)
    for step in trajectory.steps:
        _count_step(step, counts, seen)


def _count_step(step: Step, counts: Counter[str], seen: dict[str, set[str]]) -> None:
    counts["steps"] += 1
    counts["prompts"] += is_prompt(step)
    counts["compactions"] += step.kind == "compaction"
    counts["errors"] += step.error is not None
    counts["steps_with_usage"] += step.usage is not None
    counts["steps_with_cost"] += step.usage is not None and step.usage.cost_usd is not None
    counts["steps_with_time"] += step.at is not None
    counts["steps_with_model"] += step.model is not None
    if step.agent and step.role == "agent":
        seen["agents"].add(step.agent)
    if step.model:
        seen["models"].add(step.model)
    for part in step.parts:
        for kind, name in _PARTS:
            if isinstance(part, kind):
                counts[name] += 1
        if isinstance(part, ToolCall):
            seen["tools"].add(part.name)
        elif isinstance(part, ToolResult):
            counts["failed_results"] += has_failed(part)
