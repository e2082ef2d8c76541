"""Sub-agents: all agents of a run other than the first."""

from __future__ import annotations

from typing import NamedTuple

from pantrace.model import Step, Trajectory, Usage, active_steps, add_usage, counts_usage

from .recorded_data import recording_of


class SubAgent(NamedTuple):
    """An agent other than the first."""

    name: str | None
    took_over: bool
    """Whether control was handed to it inside a trajectory; otherwise it was started, and has its own trajectory."""
    steps: list[Step]
    totals: tuple[Usage, ...] = ()
    """Of a run that has a total of its own."""

    @property
    def usage(self) -> Usage | None:
        """Its own usage. A run whose steps have none may still have a total."""
        told = add_usage([step.usage for step in self.steps if step.usage is not None and counts_usage(step)])
        return told or add_usage([*self.totals])


def sub_agents(trajectory: Trajectory) -> list[SubAgent]:
    """Each run of a started agent, and each agent that took over, once per trajectory.

    An agent that the user chose is not a sub-agent: in OpenCode users switch between "plan" and "build". Neither is a
    tool that calls a model itself."""
    found: list[SubAgent] = []
    for number, each in enumerate(recording_of(trajectory).trajectories):
        # Most runs have one agent: grouping its steps would only cost time.
        if not number and len({step.agent for step in each.steps if step.role == "agent"}) < 2:
            continue
        (first, own), *others = _by_agent(each).items()
        if number and each.purpose != "tool":
            name = first or (each.agents[0].name if each.agents else None)
            found.append(SubAgent(name, took_over=False, steps=own, totals=tuple((each.usage or {}).values())))
        found += [SubAgent(name, took_over=True, steps=steps) for name, steps in others]
    return found


def _by_agent(trajectory: Trajectory) -> dict[str | None, list[Step]]:
    """The steps of the first agent and of each that took over; all other steps count as the first agent's."""
    first: str | None = None
    addressed: str | None = None
    found: dict[str | None, list[Step]] = {}
    for step in active_steps(trajectory):
        if step.role == "user":
            # A user's step names an agent only if users can choose one in that tool.
            addressed = step.agent
        if step.role != "agent" or step.kind == "copied":
            continue
        if not found:
            first = step.agent
        is_new = step.agent is not None and step.kind == "message" and step.agent != addressed
        found.setdefault(step.agent if is_new or step.agent in found else first, []).append(step)
    return found or {None: []}
