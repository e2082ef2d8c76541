"""Share of the output that was reasoning."""

from __future__ import annotations

from pantrace.matching.recorded_data import recording_of
from pantrace.model import Measure, Sample, Thinking

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(
    measures=(
        Measure(
            name="reasoning_ratio",
            unit="share",
            high=1.0,
            pooling="ratio",
            over=("total_thinking_tokens", "total_output_tokens"),
            headline=True,
            what="output tokens that were reasoning",
        ),
        Measure(name="total_thinking_tokens", unit="tokens", pooling="sum", what="reasoning tokens"),
        Measure(name="total_candidate_tokens", unit="tokens", pooling="sum", what="answer tokens"),
        Measure(name="total_output_tokens", unit="tokens", pooling="sum", what="reasoning and answer tokens"),
        Measure(name="turns_with_thinking", unit="count", pooling="sum", what="calls with reasoning tokens"),
        Measure(name="calls_missing_thinking", unit="count", pooling="sum", what="calls that report no reasoning"),
    )
)
def thinking_metrics(sample: Sample, settings: NoSettings) -> Found:
    """Share of the output tokens spent on reasoning.

    Formula: sum of reasoning tokens / sum of (reasoning + answer tokens) over all model calls; a call that reports no
    reasoning counts as 0 (`calls_missing_thinking`). `turns_with_thinking` counts calls with more than 0. Over many
    samples: the same ratio of sums.

    Not applicable when: no call reports reasoning tokens, all report 0 though thoughts are recorded, or there is no
    output.

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it lost the answer tokens of calls
    with null reasoning.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    tokens = recording.tokens
    thinking, missing = tokens.reasoning
    if thinking is None:
        return NotApplicable("no model call reports reasoning tokens")
    # Some providers send thoughts but report 0 tokens for them: 0 % would be wrong.
    if not thinking and Thinking in recording.part_types:
        return NotApplicable("thoughts are recorded, but the calls report 0 tokens for them: they were not counted")
    # The original skipped a call with null reasoning altogether, and lost its answer tokens.
    answers = sum(filter(None, tokens.answers))
    output = thinking + answers
    if output <= 0:
        return NotApplicable("no output tokens are reported")
    return Measurement(
        value=thinking / output,
        explanation=f"{thinking} of {output} output tokens were reasoning",
        values={
            "total_thinking_tokens": thinking,
            "total_candidate_tokens": answers,
            "total_output_tokens": output,
            "turns_with_thinking": len([count for count in tokens.thoughts if count is not None and count > 0]),
            "calls_missing_thinking": missing,
        },
    )
