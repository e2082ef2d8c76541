"""How many tools were called."""

from __future__ import annotations

from collections import Counter

from pantrace.matching.recorded import no_tools_because
from pantrace.model import Sample, call_pairs

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
    if not pairs and (reason := no_tools_because(sample.trajectory)):
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
