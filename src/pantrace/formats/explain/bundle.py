"""The explain input bundle: the inputs of each of the nine judges, derived from any sample.

A dataset repeats the answer nine times in `explain_inputs`. The model stores it once and derives the bundle from it;
only a payload that differs is kept, and then judges read that payload.
"""

from __future__ import annotations

from typing import Any

from pantrace.model import CallPair, Sample
from pantrace.wire.extra_keys import rest_in
from pantrace.wire.judge_inputs import JudgeInputs, judge_inputs_of, outcome_of, stated_payload

from .keys import NAME, restore

EVALS = (
    "RelevanceExplain",
    "CoherenceExplain",
    "PerceivedIntelligenceExplain",
    "FluencyExplain",
    "EmpathyExplain",
    "HelpfulnessExplain",
    "IntentResolutionExplain",
    "ToolCallAccuracyExplain",
    "TaskAdherenceExplain",
)


def explain_inputs(sample: Sample) -> dict[str, dict[str, Any]]:
    """The nine payloads of a sample of any format: what the case states for an eval, and the rest derived. A value that
    the sample does not have is None."""
    derived = inputs_of(judge_inputs_of(sample, call_entry))
    return {name: {**payload, **stated_payload(sample.case, name)} for name, payload in derived.items()}


def inputs_of(given: JudgeInputs) -> dict[str, dict[str, Any]]:
    """The nine payloads, in the shape and order of the dataset's description."""
    common = {"input": given.answer, "question": given.question}
    return {
        "RelevanceExplain": {**common, "context": given.context},
        "CoherenceExplain": {**common},
        # The dataset's description has no other mode.
        "PerceivedIntelligenceExplain": {**common, "context": given.context, "rag_mode": "non-rag"},
        "FluencyExplain": {**common},
        "EmpathyExplain": {**common},
        "HelpfulnessExplain": {**common},
        "IntentResolutionExplain": {**common, "relevantContext": given.relevant_context},
        "ToolCallAccuracyExplain": {
            **common,
            "availableTools": given.available_tools,
            "invokedTools": given.calls,
        },
        "TaskAdherenceExplain": {**common, "goal": given.goal},
    }


def call_entry(pair: CallPair) -> dict[str, Any]:
    """A call in the dataset's words; without a result it has no outcome."""
    row = {"tool": pair.call.name, "arguments": pair.call.arguments, "outcome": None}
    if pair.result is None:
        return restore(row, rest_in(pair.call.extra, NAME))
    row["outcome"] = outcome_of(pair.result)
    return restore(row, rest_in(pair.call.extra, NAME), always=("outcome",))
