"""Use of file and code tools."""

from __future__ import annotations

from pantrace.matching.recorded_data import recording_of
from pantrace.model import Measure, Record, Sample

from .metric import Found, Measurement, NotApplicable, metric

# The eight names of the original.
TOOLS = (
    "save_artifact",
    "load_artifact",
    "read_file",
    "write_file",
    "run_python_script",
    "execute_code",
    "save_to_file",
    "read_from_file",
)


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    names: tuple[str, ...] = TOOLS
    """A tool counts if its name contains one of these."""


@metric(
    settings=Settings,
    measures=(
        Measure(name="total_sandbox_ops", unit="count", pooling="sum", headline=True, what="calls of such tools"),
        Measure(name="unique_ops_used", unit="count", what="such tools that were called"),
    ),
)
def sandbox_usage(sample: Sample, settings: Settings) -> Found:
    """Number of calls of file and code tools.

    Formula: tool calls, sub-agents included, whose name contains one of the configured names (save_artifact,
    load_artifact, read_file, write_file, run_python_script, execute_code, save_to_file, read_from_file), each once.

    Not applicable when: the agent did nothing that was recorded, or it acts by GUI actions instead of tools.

    Source: the metric of the same name in the ADK evaluation workshop.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    if not recording.pairs and (reason := recording.no_tools_because):
        return NotApplicable(reason)
    # By containment, as in the original: `fs_read_file` counts as `read_file`.
    used = {tool: n for tool, n in recording.calls_by_tool.items() if any(name in tool for name in settings.names)}
    total = sum(used.values())
    return Measurement(
        value=total,
        explanation=f"{total} of {len(recording.pairs)} tool calls",
        values={"unique_ops_used": len(used)},
        details={"sandbox_tools_used": sorted(used), "sandbox_tool_counts": used},
    )
