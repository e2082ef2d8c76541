"""What a recording can show: nothing done is not the same as nothing recorded."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from operator import itemgetter

from pantrace.model import (
    Action,
    CallPair,
    Step,
    Trajectory,
    Usage,
    all_trajectories,
    call_pairs,
    has_failed,
    is_agents,
    model_calls,
    total_tokens,
)


class Recording:
    """What many checks ask of a trajectory and its sub-agents, each answer worked out once, when it is first asked.

    The answers are shared: nobody changes them."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.trajectories = [*all_trajectories(trajectory)] if trajectory.children else [trajectory]
        """The trajectory and, depth first, those of its sub-agents."""

    @cached_property
    def pairs_by_trajectory(self) -> list[list[CallPair]]:
        """The agents' calls of each trajectory."""
        return [call_pairs(each) for each in self.trajectories]

    @cached_property
    def pairs(self) -> list[CallPair]:
        """The agents' calls of all trajectories."""
        return [pair for pairs in self.pairs_by_trajectory for pair in pairs]

    @cached_property
    def calls_by_tool(self) -> dict[str, int]:
        """How often each tool was called, the most called first."""
        return tally_by_frequency([pair.call.name for pair in self.pairs])

    @cached_property
    def failed(self) -> set[int]:
        """The `id` of each result that is a failure, among those of `pairs`."""
        return {id(pair.result) for pair in self.pairs if pair.result is not None and has_failed(pair.result)}

    @cached_property
    def model_calls(self) -> list[tuple[str | None, Step, Usage]]:
        """Model responses that report tokens or cost: the model's name, the step, its usage."""
        return model_calls(self.trajectory)

    @cached_property
    def usages(self) -> list[Usage]:
        """Tokens and cost of the model calls."""
        return [usage for _, _, usage in self.model_calls]

    @cached_property
    def totals(self) -> list[int | None]:
        """All tokens of each model call."""
        return [total_tokens(usage) for usage in self.usages]

    @cached_property
    def responses(self) -> list[Step]:
        """The agents' own steps, compactions included."""
        return [
            step
            for each in self.trajectories
            for step in each.steps
            if step.role == "agent" and step.kind in ("message", "compaction")
        ]

    @cached_property
    def has_acted(self) -> bool:
        """Whether anything that the agent or a sub-agent did was recorded."""
        return any(is_agents(step) for each in self.trajectories for step in each.steps)

    @cached_property
    def no_tools_because(self) -> str | None:
        """Why a recording without tool calls says nothing about tools; None where it says that none was called."""
        if not self.has_acted:
            return "the recording holds nothing that the agent did"
        steps = (step for each in self.trajectories for step in each.steps)
        if any(type(part) is Action for step in steps for part in step.parts):
            return "the agent acts by GUI actions, not by tools"
        return None


def tally(names: Iterable[str]) -> dict[str, int]:
    """How often each name occurs, in the order of their first occurrence."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def tally_by_frequency(names: Iterable[str]) -> dict[str, int]:
    """How often each name occurs, the most frequent first."""
    return dict(sorted(tally(names).items(), key=itemgetter(1), reverse=True))


_last = Recording(Trajectory())


def recorded(trajectory: Trajectory) -> Recording:
    """The recording of a trajectory; the last one is kept, as many checks ask for the same in a row."""
    global _last  # noqa: PLW0603 -- one place that is replaced as a whole, so that threads cannot mix answers
    kept = _last
    if kept.trajectory is not trajectory:
        _last = kept = Recording(trajectory)
    return kept
