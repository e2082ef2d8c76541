"""What a recording can show: nothing done is not the same as nothing recorded."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

from pantrace.model import (
    Action,
    CallPair,
    Part,
    Step,
    ToolCall,
    ToolResult,
    Trajectory,
    Usage,
    active_steps,
    agent_trajectories,
    counts_usage,
    has_failed,
    is_staff,
    pair_up,
    reports,
    total_tokens,
)


class Recording:
    """A trajectory and its sub-agents, sorted out in one walk for all checks that ask. Nobody changes it."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.trajectories = list(agent_trajectories(trajectory)) if trajectory.children else [trajectory]
        """The trajectory and, depth first, those of its sub-agents; what a grader asked a model is not the agent's."""
        self.pairs_by_trajectory: list[list[CallPair]] = []
        """The agents' calls of each of them."""
        self.responses: list[Step] = []
        """The agents' own steps, compactions included."""
        self.model_calls: list[tuple[str | None, Step, Usage]] = []
        """Model responses that report tokens or cost: the model's name, the step, its usage."""
        self.silent: list[Step] = []
        """The agents' own steps that report neither."""
        self.broken: list[Step] = []
        """Steps that ended in an error."""
        self.has_acted = False
        """Whether anything that the agent or a sub-agent did was recorded."""
        self.part_types: set[type] = set()
        """Of all parts but calls and results."""
        self._walk(trajectory)
        self.own_calls = len(self.model_calls)
        """How many of the model calls are the trajectory's own; they come first."""
        for each in self.trajectories[1:]:
            self._walk(each)
        self.has_acted = self.has_acted or any(step.kind == "message" for step in self.responses)
        self.pairs = [pair for pairs in self.pairs_by_trajectory for pair in pairs]
        """The agents' calls of all trajectories."""
        self.calls_by_tool = tally_by_frequency([pair.call.name for pair in self.pairs])
        """How often each tool was called, the most called first."""
        # By identity: two results may be equal, and only one of them belong to a step that ended in an error.
        self.failed = {id(pair.result) for pair in self.pairs if pair.result is not None and has_failed(pair.result)}
        """The `id` of each result that is a failure, by itself or since its own step ended in an error."""
        self.failed |= {id(part) for step in self.broken if step.role == "tool" for part in step.parts}
        self.usages = [usage for _, _, usage in self.model_calls]
        self.totals = [total_tokens(usage) for usage in self.usages]
        """All tokens of each model call."""

    def _walk(self, trajectory: Trajectory) -> None:
        models = {agent.name: agent.model for agent in trajectory.agents}
        responses, silent, model_calls = self.responses, self.silent, self.model_calls
        part_types = self.part_types
        tool_parts: list[tuple[Part, Step]] = []
        for step in active_steps(trajectory):
            role, kind, usage = step.role, step.kind, step.usage
            staff = step.purpose is not None and is_staff(step.purpose)
            reported = usage is not None and reports(usage)
            if role == "agent" and not staff:
                if kind == "message" or kind == "compaction":
                    responses.append(step)
                    if not reported:
                        silent.append(step)
            elif kind == "message" and role == "tool":
                self.has_acted = True
            if step.error is not None:
                self.broken.append(step)
            if reported and usage is not None and not staff and counts_usage(step):
                model_calls.append((step.model or models.get(step.agent or ""), step, usage))
            for part in step.parts:
                # Not isinstance: this loop sees every part of every recording, and no part has subclasses.
                part_type = type(part)
                if part_type is ToolCall or part_type is ToolResult:
                    tool_parts.append((part, step))
                else:
                    part_types.add(part_type)
        self.pairs_by_trajectory.append(pair_up(tool_parts))

    @property
    def no_tools_because(self) -> str | None:
        """Why a recording without tool calls says nothing about tools; None where it says that none was called."""
        if not self.has_acted:
            return "the recording holds nothing that the agent did"
        return "the agent acts by GUI actions, not by tools" if Action in self.part_types else None


def tally(names: Iterable[str]) -> dict[str, int]:
    """How often each name occurs, in the order of their first occurrence."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def tally_by_frequency(names: Iterable[str]) -> dict[str, int]:
    """How often each name occurs, the most frequent first."""
    return dict(sorted(tally(names).items(), key=itemgetter(1), reverse=True))


# One is enough: all metrics measure one sample before the next one comes.
_last = Recording(Trajectory())


def recording_of(trajectory: Trajectory) -> Recording:
    """The recording of a trajectory; the last one is kept, as many checks ask for the same in a row."""
    global _last
    kept = _last
    if kept.trajectory is not trajectory:
        _last = kept = Recording(trajectory)
    return kept
