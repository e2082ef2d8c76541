"""How many tools were called."""

from __future__ import annotations

from collections import Counter

from pantrace.model import Action, Sample, Trajectory, all_trajectories, call_pairs, is_agents

from .check import Found, Measured, NoSettings, NotApplicable, check


@check(low=0)
def tool_utilization(sample: Sample, settings: NoSettings) -> Found:
    """Number of tool calls, transfers and the calls of sub-agents included.

    Formula: one per tool call, never one more for its result; commands that the user ran and copied context do not
    count. `transfers` counts the calls that hand over to another agent.

    Not applicable when: the agent did nothing that was recorded, or it acts by GUI actions instead of tools.

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it counted a call and its result as
    two.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    pairs = call_pairs(sample.trajectory, children=True)
    if not pairs and (reason := _no_place(sample.trajectory)):
        return NotApplicable(reason)
    counts = Counter(pair.call.name for pair in pairs)
    return Measured(
        value=len(pairs),
        explanation=f"{len(pairs)} calls of {len(counts)} tools",
        details={
            "total_tool_calls": len(pairs),
            "unique_tools_used": len(counts),
            "tool_counts": dict(counts.most_common()),
            "transfers": sum(count for name, count in counts.items() if name.startswith("transfer_to_")),
        },
    )


def _no_place(trajectory: Trajectory) -> str | None:
    steps = [step for each in all_trajectories(trajectory) for step in each.steps if is_agents(step)]
    if not steps:
        return "the recording holds nothing that the agent did"
    if any(isinstance(part, Action) for step in steps for part in step.parts):
        return "the agent acts by GUI actions, not by tools"
    return None
