"""Sub-agents: everyone who worked on a run beside the agent that began it."""

from __future__ import annotations

from typing import NamedTuple

from pantrace.model import Step, Trajectory, Usage, active_steps, add_usage, counts_usage

from .recorded_data import recording_of


class SubAgent(NamedTuple):
    """An agent beside the one that began."""

    name: str | None
    took_over: bool
    """Whether control was handed to it inside a trajectory; else it was started, and has a trajectory of its own."""
    usage: Usage | None
    """What it took itself."""


def sub_agents(trajectory: Trajectory) -> list[SubAgent]:
    """All of them: each started run of an agent, and each agent that took over, once per trajectory.

    An agent that the user chose is none: in OpenCode people change between "plan" and "build" as they like. A tool
    that asks a model itself is none, either."""
    found: list[SubAgent] = []
    for number, each in enumerate(recording_of(trajectory).trajectories):
        (first, own), *others = _by_agent(each).items()
        if number and each.purpose != "tool":
            name = first or (each.agents[0].name if each.agents else None)
            # A run whose steps tell nothing may tell its total.
            whole = add_usage([*(each.usage or {}).values()])
            found.append(SubAgent(name, took_over=False, usage=_spent(own) or whole))
        found += [SubAgent(name, took_over=True, usage=_spent(steps)) for name, steps in others]
    return found


def _by_agent(trajectory: Trajectory) -> dict[str | None, list[Step]]:
    """The steps of the first agent and of each that took over; what nobody else did is the first one's."""
    first: str | None = None
    addressed: str | None = None
    found: dict[str | None, list[Step]] = {}
    for step in active_steps(trajectory):
        if step.role == "user":
            # Only sources whose users choose an agent name one here.
            addressed = step.agent
        if step.role != "agent" or step.kind == "copied":
            continue
        if not found:
            first = step.agent
        is_new = step.agent is not None and step.kind == "message" and step.agent != addressed
        found.setdefault(step.agent if is_new or step.agent in found else first, []).append(step)
    return found or {None: []}


def _spent(steps: list[Step]) -> Usage | None:
    return add_usage([step.usage for step in steps if step.usage is not None and counts_usage(step)])
