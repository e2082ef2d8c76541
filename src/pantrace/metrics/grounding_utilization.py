"""How many sources the answers cite."""

from __future__ import annotations

from pantrace.matching.recorded_data import recording_of
from pantrace.model import Citation, Measure, Record, Sample, Step, Trajectory

from .metric import Found, Measurement, NotApplicable, metric


class Settings(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings."""

    carriers: tuple[str, ...] = ("adk-history", "adk-session", "adk-jsonl")
    """Formats that record grounding: in these, no citation means that there was none."""


@metric(
    settings=Settings,
    measures=(
        Measure(name="total_grounding_chunks", unit="count", pooling="sum", headline=True, what="sources"),
        Measure(name="total_grounded_responses", unit="count", pooling="sum", what="responses with a source"),
        Measure(name="total_llm_responses", unit="count", pooling="sum", what="responses"),
    ),
)
def grounding_utilization(sample: Sample, settings: Settings) -> Found:
    """Number of sources that the agent's answers cite.

    Formula: citations (grounding chunks) in all steps of the agent and its sub-agents; `total_grounded_responses`
    counts the responses that have at least one.

    Not applicable when: there is no citation and it is not known whether the source records grounding: its format is
    not one of `carriers`, or it reports no usage either (ADK's invocation events without a session have neither).

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it looked where grounding never is.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    responses = [
        step for step in recording.responses if step.kind == "message" and (step.parts or step.usage is not None)
    ]
    cited = responses if Citation in recording.part_types else ()
    total = len([part for step in cited for part in step.parts if type(part) is Citation])
    if not total and not _would_record(sample.trajectory, responses, settings.carriers):
        return NotApplicable("no citation is recorded, and the source may not record any")
    grounded = [step for step in cited if any(type(part) is Citation for part in step.parts)]
    return Measurement(
        value=total,
        explanation=f"{total} sources in {len(grounded)} of {len(responses)} responses",
        values={"total_grounded_responses": len(grounded), "total_llm_responses": len(responses)},
        evidence=tuple(step.id for step in grounded if step.id is not None),
    )


def _would_record(trajectory: Trajectory, responses: list[Step], carriers: tuple[str, ...]) -> bool:
    known = trajectory.source is not None and trajectory.source.format in carriers
    # ADK's invocation events without a session have neither usage nor grounding.
    return known and any(step.usage is not None for step in responses)
