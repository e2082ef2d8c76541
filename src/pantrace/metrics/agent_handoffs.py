"""Changes of control between agents."""

from __future__ import annotations

from pantrace.matching.recorded_data import recording_of
from pantrace.matching.sub_agents import sub_agents
from pantrace.model import CallPair, Measure, Record, Sample, Trajectory

from .metric import Found, Measurement, NotApplicable, metric


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    transfer_prefix: str | tuple[str, ...] = ("transfer_to_", "handoff_to_")
    """Tools whose name begins with one of these hand over to another agent."""
    agent_suffix: str | None = "Agent"
    """A tool whose name ends with this is taken for an agent even if no agent of that name is declared, and marked as a
    guess. None: never guess."""


@metric(
    settings=Settings,
    measures=(
        Measure(name="total_handoffs", unit="count", pooling="sum", headline=True, what="changes to another agent"),
        Measure(name="unique_agents_count", unit="count", what="agents that took over"),
        Measure(name="transfers", unit="count", pooling="sum", what="answered transfers"),
        Measure(name="agent_tool_calls", unit="count", pooling="sum", what="calls of agents as tools"),
        Measure(name="sub_agent_runs", unit="count", pooling="sum", what="recorded runs of sub-agents"),
        Measure(
            name="sub_agents", unit="count", pooling="sum", what="agents beside the first: started or handed over to"
        ),
    ),
)
def agent_handoffs(sample: Sample, settings: Settings) -> Found:
    """Number of times that control passed to another agent.

    Formula: answered transfers (`transfer_to_agent` and the like) + calls of tools that are agents (their name is that
    of an agent of the trajectory, or, as a guess listed in `guessed_agent_tools`, ends in "Agent") + recorded sub-agent
    runs whose call is not counted yet. A single agent gives 0. `sub_agents` counts the agents other than the first:
    each run of a started agent, and each agent that control was handed to.

    Not applicable when: the agent did nothing that was recorded.

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it counted the user's turns.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    if not recording.has_acted:
        return NotApplicable("the recording has nothing that the agent did")
    agents = {agent.name for each in recording.trajectories for agent in each.agents}
    invoked: list[str] = []
    counted: set[str | None] = set()
    transfers = tools = 0
    guessed: list[str] = []
    steps = []
    prefixes, suffix = settings.transfer_prefix, settings.agent_suffix
    prefixes = (prefixes,) if isinstance(prefixes, str) else prefixes
    named = [name for name in recording.calls_by_tool if name.startswith(prefixes) or name in agents]
    guesses = [name for name in recording.calls_by_tool if suffix is not None and name.endswith(suffix)]
    # Most recordings have neither: pairing calls with results is skipped for them.
    for pair in recording.pairs if named or guesses else ():
        name = pair.call.name
        if name.startswith(prefixes):
            # A transfer without a result did not happen.
            if pair.result is None:
                continue
            transfers += 1
            invoked.append(_receiver(pair, prefixes))
        elif name in agents or name in guesses:
            tools += 1
            invoked.append(name)
            if name not in agents:
                guessed.append(name)
        else:
            continue
        counted.add(pair.call.id)
        steps.append(pair.step.id)
    # A sub-agent whose call was counted above must not be counted twice.
    started = [child for child in recording.trajectories[1:] if child.caller is None or child.caller not in counted]
    invoked += [_name(child) for child in started]
    total = transfers + tools + len(started)
    return Measurement(
        value=total,
        explanation=f"{transfers} transfers, {tools} calls of agents as tools, {len(started)} recorded sub-agent runs",
        values={
            "unique_agents_count": len(set(invoked)),
            "transfers": transfers,
            "agent_tool_calls": tools,
            "sub_agent_runs": len(started),
            "sub_agents": len(sub_agents(sample.trajectory)),
        },
        details={
            "agents_invoked_list": list(dict.fromkeys(invoked)),
            "guessed_agent_tools": list(dict.fromkeys(guessed)),
        },
        evidence=tuple(dict.fromkeys([step for step in steps if step is not None])),
    )


def _receiver(pair: CallPair, prefixes: tuple[str, ...]) -> str:
    arguments = pair.call.arguments
    if isinstance(arguments, dict):
        for key in ("agent_name", "agent"):
            if isinstance(arguments.get(key), str):
                return str(arguments[key])
    begun = next(prefix for prefix in prefixes if pair.call.name.startswith(prefix))
    return pair.call.name.removeprefix(begun)


def _name(child: Trajectory) -> str:
    if child.agents:
        return child.agents[0].name
    spoken = (step.agent for step in child.steps if step.role == "agent" and step.agent)
    return next(spoken, None) or child.title or child.id or "(not named)"
