"""What a recording can show: "nothing was done" is not the same as "nothing was recorded"."""

from __future__ import annotations

from collections.abc import Iterable

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
    given_up_steps,
    has_failed,
    is_staff,
    pair_up,
    reports,
)

from .tally import tally_by_frequency
from .tokens import Tokens


class Recording:
    """A trajectory and its sub-agents, prepared in one walk for all metrics. It is never changed afterwards."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.trajectories = list(agent_trajectories(trajectory)) if trajectory.children else [trajectory]
        """The trajectory and, depth first, those of its sub-agents; a grader's are left out."""
        self.pairs_by_trajectory: list[list[CallPair]] = []
        """The agents' calls in each of these trajectories."""
        self.responses: list[Step] = []
        """The agents' own steps, including compactions."""
        self.model_calls: list[tuple[str | None, Step, Usage]] = []
        """Model responses that report tokens or cost: the model's name, the step, its usage."""
        self.given_up: list[tuple[str | None, Step, Usage]] = []
        """The same for abandoned branches: they were paid for, but are not part of the measured run."""
        self.interrupted: list[tuple[str | None, Step, Usage]] = []
        """The same for responses that never ended: the usage that they announced at the start."""
        self.silent: list[Step] = []
        """The agents' own steps that report neither tokens nor cost."""
        self.broken: list[Step] = []
        """Steps that ended in an error."""
        self.has_acted = False
        """Whether anything that the agent or a sub-agent did is recorded."""
        self.has_ends = False
        """Whether the end of a step, or start and end of a tool's run, were measured. If branches were abandoned it is
        true, as the walk does not see these."""
        self.part_types: set[type] = set()
        """The types of all parts except calls and results."""
        self._walk(trajectory)
        self.own_calls = len(self.model_calls)
        """How many of the model calls are the trajectory's own; they come first."""
        for each in self.trajectories[1:]:
            self._walk(each)
        if any(each.leaf is not None for each in self.trajectories):
            self._look_aside()
        by_trajectory = self.pairs_by_trajectory
        self.pairs = by_trajectory[0] if len(by_trajectory) == 1 else [pair for each in by_trajectory for pair in each]
        """The agents' calls of all trajectories."""
        self.answered = [(pair, pair.result) for pair in self.pairs if pair.result is not None]
        """The calls that have a result, with their results."""
        self.calls_by_tool = tally_by_frequency([pair.call.name for pair in self.pairs])
        """How often each tool was called, the most called first."""
        # By identity, because two results may be equal while only one is in a step that ended in an error.
        self.failed = {id(result) for _, result in self.answered if has_failed(result)}
        """The Python `id` of each result that is a failure, by itself or because its own step ended in an error."""
        for step in self.broken:
            if step.role == "tool":
                self.failed.update(map(id, step.parts))
        self.usages = [usage for _, _, usage in self.model_calls]
        self.tokens = Tokens(self.usages)
        """The sums over the model calls."""

    def _walk(self, trajectory: Trajectory) -> None:
        # Every sample goes through this loop, so the model's views (`is_staff`, `reports`, `counts_usage`) are written
        # out here: calling them for each step takes as long as everything else.
        models = models_by_agent(trajectory)
        responses, silent, model_calls = self.responses, self.silent, self.model_calls
        part_types = self.part_types
        tool_parts: list[tuple[Part, Step]] = []
        has_acted, has_ends = self.has_acted, self.has_ends or trajectory.leaf is not None
        for step in active_steps(trajectory):
            kind, usage = step.kind, step.usage
            staff = step.purpose is not None and is_staff(step.purpose)
            if usage is not None and (
                usage.input is None and usage.output is None and usage.total is None and usage.cost_usd is None
            ):
                usage = None
            if kind == "message" or kind == "compaction":
                role = step.role
                if role == "agent":
                    if not staff:
                        responses.append(step)
                        if usage is None:
                            silent.append(step)
                        has_acted = has_acted or kind == "message"
                elif role == "tool" and kind == "message":
                    has_acted = True
            if step.error is not None:
                self.broken.append(step)
            if usage is not None and not staff and kind != "copied" and kind != "user_shell":
                calls = self.interrupted if usage.interrupted else model_calls
                calls.append((step.model or models.get(step.agent or ""), step, usage))
            if step.ended is not None:
                has_ends = True
            for part in step.parts:
                # Not isinstance, which is slower: every part of every recording comes here, and no part has subclasses.
                part_type = type(part)
                if part_type is ToolCall or part_type is ToolResult:
                    tool_parts.append((part, step))
                else:
                    part_types.add(part_type)
        self.has_acted = has_acted
        results = [part for part, _ in tool_parts if type(part) is ToolResult]
        self.has_ends = has_ends or bool([1 for each in results if each.started is not None and each.ended is not None])
        self.pairs_by_trajectory.append(pair_up(tool_parts) if tool_parts else [])

    def _look_aside(self) -> None:
        """Count model calls of abandoned branches, and of the sub-agents that they had started."""
        counted = set(map(id, self.trajectories))
        for each in self.trajectories:
            self._set_aside(each, given_up_steps(each))
            for child in each.children:
                if id(child) not in counted and not is_staff(child.purpose):
                    for inner in agent_trajectories(child):
                        self._set_aside(inner, inner.steps)

    def _set_aside(self, trajectory: Trajectory, steps: Iterable[Step]) -> None:
        models = models_by_agent(trajectory)
        for step in steps:
            if step.usage is not None and reports(step.usage):
                call = (step.model or models.get(step.agent or ""), step, step.usage)
                if counts_usage(step):
                    self.given_up.append(call)
                elif step.usage.interrupted:
                    self.interrupted.append(call)

    @property
    def no_tools_because(self) -> str | None:
        """Why a recording without tool calls says nothing about tools; None if it shows that none was called."""
        if not self.has_acted:
            return "the recording has nothing that the agent did"
        return "the agent acts by GUI actions, not by tools" if Action in self.part_types else None


def models_by_agent(trajectory: Trajectory) -> dict[str, str | None]:
    """The model of each agent by its name; under "" the model of steps that name no agent, if there is only one."""
    models = {agent.name: agent.model for agent in trajectory.agents}
    if len(trajectory.agents) == 1:
        models.setdefault("", trajectory.agents[0].model)
    return models


def step_ids(pairs: Iterable[CallPair]) -> tuple[str, ...]:
    """The ids of the steps that made these calls, each once."""
    return tuple(dict.fromkeys([pair.step.id for pair in pairs if pair.step.id is not None]))


# One is enough: all metrics measure one sample before the next.
_last = Recording(Trajectory())


def recording_of(trajectory: Trajectory) -> Recording:
    """The recording of a trajectory. The last one is cached, as many metrics need the same one in a row."""
    global _last
    kept = _last
    if kept.trajectory is not trajectory:
        _last = kept = Recording(trajectory)
    return kept
