"""How many of the answered calls succeeded."""

from __future__ import annotations

from pantrace.matching.recorded_data import recording_of, step_ids
from pantrace.matching.tally import tally
from pantrace.model import Measure, Sample

from .metric import Found, Measurement, NoSettings, NotApplicable, metric


@metric(
    measures=(
        Measure(
            name="tool_success_rate",
            unit="share",
            better="higher",
            high=1.0,
            pooling="ratio",
            over=("successful_tool_calls", "total_tool_calls"),
            headline=True,
            what="answered calls that succeeded",
        ),
        Measure(name="total_tool_calls", unit="count", pooling="sum", what="answered calls"),
        Measure(
            name="failed_tool_calls", unit="count", better="lower", pooling="sum", what="answered calls that failed"
        ),
        Measure(name="unanswered_calls", unit="count", better="lower", pooling="sum", what="calls without a result"),
        Measure(name="successful_tool_calls", unit="count", pooling="sum", what="answered calls that succeeded"),
    )
)
def tool_success_rate(sample: Sample, settings: NoSettings) -> Found:
    """Share of the answered tool calls that succeeded.

    Formula: (answered - failed) / answered, sub-agents included. A call failed when its result is recorded as a failure
    or has an error text, when its exit code is not 0, when its payload is an object with status "error" or with an
    error or error_message that is not empty, or when the tool's own step has an error (an error of the model after its
    call was answered does not count). `total_tool_calls` is the number of answered calls. Over many samples: the same
    ratio of sums.

    Not applicable when: no call was answered.

    Source: the metric of the same name in the ADK evaluation workshop, corrected: it gave 1.0 without any call; hidden
    failures (unknown tools, exit codes) are ours.
    """
    if sample.trajectory is None:
        return NotApplicable("the case was not run")
    recording = recording_of(sample.trajectory)
    pairs = recording.pairs
    answered = recording.answered
    # Neither a success nor a failure: it is reported on its own.
    unanswered = len(pairs) - len(answered)
    if not answered:
        reason = "no tool call was answered" if pairs else "no tool was called"
        return NotApplicable(reason, {"unanswered_calls": unanswered})
    failures = recording.failed
    failed = [each for each in answered if id(each[1]) in failures] if failures else []
    rate = (len(answered) - len(failed)) / len(answered)
    return Measurement(
        value=rate,
        explanation=f"{len(failed)} of {len(answered)} answered calls failed",
        values={
            "total_tool_calls": len(answered),
            "failed_tool_calls": len(failed),
            "unanswered_calls": unanswered,
            "successful_tool_calls": len(answered) - len(failed),
        },
        details={
            "failed_tools_list": [pair.call.name for pair, _ in failed],
            "failures": tally(
                [result.failure or ("exit_code" if result.exit_code else "error") for _, result in failed]
            ),
        },
        evidence=step_ids([pair for pair, _ in failed]) if failed else (),
    )
