"""The explain input bundle: what each of the nine judges is given, derived from any sample.

A dataset repeats the answer nine times in `explain_inputs`. Here it is told once, and the bundle follows from it; only
a payload that says something else is kept, and then it is what a judge reads.
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
    """The nine payloads of a sample of any format: what the case states for an eval, the rest derived. A value that the
    sample does not have is None."""
    derived = inputs_of(judge_inputs_of(sample, call_entry))
    return {name: {**payload, **stated_payload(sample.case, name)} for name, payload in derived.items()}


def inputs_of(told: JudgeInputs) -> dict[str, dict[str, Any]]:
    """The nine payloads, in the shape and order of the dataset's description."""
    common = {"input": told.answer, "question": told.question}
    return {
        "RelevanceExplain": {**common, "context": told.context},
        "CoherenceExplain": {**common},
        # The dataset's description knows no other mode.
        "PerceivedIntelligenceExplain": {**common, "context": told.context, "rag_mode": "non-rag"},
        "FluencyExplain": {**common},
        "EmpathyExplain": {**common},
        "HelpfulnessExplain": {**common},
        "IntentResolutionExplain": {**common, "relevantContext": told.relevant_context},
        "ToolCallAccuracyExplain": {
            **common,
            "availableTools": told.available_tools,
            "invokedTools": told.calls,
        },
        "TaskAdherenceExplain": {**common, "goal": told.goal},
    }


def call_entry(pair: CallPair) -> dict[str, Any]:
    """A call in the dataset's words; without a result it has no outcome."""
    row = {"tool": pair.call.name, "arguments": pair.call.arguments, "outcome": None}
    if pair.result is None:
        return restore(row, rest_in(pair.call.extra, NAME))
    row["outcome"] = outcome_of(pair.result)
    return restore(row, rest_in(pair.call.extra, NAME), always=("outcome",))
