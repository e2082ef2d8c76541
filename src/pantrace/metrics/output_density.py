"""Length of a model's answers."""

from __future__ import annotations

from pantrace.matching.recorded_data import recording_of
from pantrace.model import Measure, Sample

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(
    measures=(
        Measure(
            name="average_output_tokens",
            unit="tokens",
            pooling="ratio",
            over=("total_output_tokens", "llm_calls_count"),
            headline=True,
            what="answer tokens of a call",
        ),
        Measure(name="total_output_tokens", unit="tokens", pooling="sum", what="answer tokens"),
        Measure(name="llm_calls_count", unit="count", pooling="sum", what="calls that report their output"),
        Measure(name="average_thinking_tokens", unit="tokens", what="reasoning tokens of a call"),
    )
)
def output_density(sample: Sample, settings: NoSettings) -> Found:
    """Mean number of answer tokens per model call, reasoning left out.

    Formula: sum of (output - reasoning) / number of calls that report output; reasoning is in
    `average_thinking_tokens`. Over many samples: the same ratio of sums.

    Not applicable when: no call reports its output tokens.

    Source: the metric of the same name in the ADK evaluation workshop.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    tokens = recording_of(sample.trajectory).tokens
    # Only calls that report output: counting the others as 0 would lower the mean.
    reported = len(tokens.answers) - tokens.output[1]
    if not reported:
        return NotApplicable("no model call reports its output tokens")
    thinking, silent = tokens.reasoning
    total = sum(filter(None, tokens.answers))
    mean = total / reported
    return Measurement(
        value=mean,
        explanation=f"{total} answer tokens in {reported} model calls",
        values={
            "total_output_tokens": total,
            "llm_calls_count": reported,
            "average_thinking_tokens": thinking / (len(tokens.thoughts) - silent) if thinking is not None else None,
        },
    )
