"""How many tool calls were made."""

from __future__ import annotations

from pantrace.matching.recorded_data import recording_of
from pantrace.model import Measure, Sample

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(
    measures=(
        Measure(name="total_tool_calls", unit="count", pooling="sum", headline=True, what="tool calls"),
        Measure(name="unique_tools_used", unit="count", what="tools that were called"),
        Measure(name="transfers", unit="count", pooling="sum", what="calls that hand over to another agent"),
    )
)
def tool_utilization(sample: Sample, settings: NoSettings) -> Found:
    """Number of tool calls, including transfers and calls of sub-agents.

    Formula: one per tool call, and none for its result; commands that the user ran and copied context do not count.
    `transfers` counts the calls that hand over to another agent.

    Not applicable when: the agent did nothing that was recorded, or it acts by GUI actions instead of tools.

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it counted a call and its result as
    two.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    if not recording.pairs and (reason := recording.no_tools_because):
        return NotApplicable(reason)
    total, counts = len(recording.pairs), recording.calls_by_tool
    return Measurement(
        value=total,
        explanation=f"{total} calls of {len(counts)} tools",
        values={
            "unique_tools_used": len(counts),
            "transfers": sum([count for name, count in counts.items() if name.startswith("transfer_to_")]),
        },
        details={"tool_counts": dict(counts)},
    )
