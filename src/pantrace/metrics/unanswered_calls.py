"""Calls that never got a result."""

from __future__ import annotations

from pantrace.matching.recorded_data import recording_of, step_ids
from pantrace.matching.tally import tally
from pantrace.model import Measure, Sample

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(
    measures=(
        Measure(
            name="unanswered_calls",
            unit="count",
            better="lower",
            pooling="sum",
            headline=True,
            what="calls without a result",
        ),
        Measure(name="total_tool_calls", unit="count", pooling="sum", what="tool calls"),
    )
)
def unanswered_calls(sample: Sample, settings: NoSettings) -> Found:
    """Number of tool calls without a result.

    Formula: calls - answered calls, sub-agents included; results belong to calls by id, without an id by name and
    order.

    Not applicable when: no tool was called.

    Source: pantrace; crashed tools and runs that were cut off.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    pairs = recording.pairs
    if not pairs:
        return NotApplicable("no tool was called")
    # Nearly every run: then the pairs need not be walked again.
    all_answered = len(recording.answered) == len(pairs)
    open_pairs = [] if all_answered else [pair for pair in pairs if pair.result is None]
    return Measurement(
        value=len(open_pairs),
        explanation=f"{len(open_pairs)} of {len(pairs)} calls have no result",
        values={"total_tool_calls": len(pairs)},
        details={"unanswered_tools": tally([pair.call.name for pair in open_pairs])},
        evidence=step_ids(open_pairs) if open_pairs else (),
    )
