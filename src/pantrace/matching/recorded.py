"""What a recording can show: nothing done is not the same as nothing recorded."""

from __future__ import annotations

from pantrace.model import Action, Trajectory, all_trajectories, is_agents


def has_acted(trajectory: Trajectory) -> bool:
    """Whether anything that the agent or a sub-agent did was recorded."""
    return any(is_agents(step) for each in all_trajectories(trajectory) for step in each.steps)


def no_tools_because(trajectory: Trajectory) -> str | None:
    """Why a recording without tool calls says nothing about tools; None where it says that none was called."""
    if not has_acted(trajectory):
        return "the recording holds nothing that the agent did"
    steps = (step for each in all_trajectories(trajectory) for step in each.steps)
    if any(isinstance(part, Action) for step in steps for part in step.parts):
        return "the agent acts by GUI actions, not by tools"
    return None
