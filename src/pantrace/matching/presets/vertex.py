"""The trajectory metrics of Vertex's evaluation service, as its documentation defines them.

The service computes them itself, and does not document how it treats repeated calls: here a call counts if an equal one
occurs on the other side. None: nothing to divide by."""

from __future__ import annotations

from collections.abc import Sequence

from pantrace.matching.call import Call
from pantrace.matching.values import alike


def exact_match(predicted: Sequence[Call], reference: Sequence[Call]) -> float:
    """trajectory_exact_match: the same calls in the same order."""
    same = len(predicted) == len(reference) and all(map(_equal, predicted, reference))
    return float(same)


def in_order_match(predicted: Sequence[Call], reference: Sequence[Call]) -> float:
    """trajectory_in_order_match: the reference is a subsequence; an empty one always is."""
    wanted = 0
    for call in predicted:
        if wanted < len(reference) and _equal(call, reference[wanted]):
            wanted += 1
    return float(wanted == len(reference))


def any_order_match(predicted: Sequence[Call], reference: Sequence[Call]) -> float:
    """trajectory_any_order_match: every reference call occurs; an empty reference always matches."""
    return float(all(_occurs(call, predicted) for call in reference))


def precision(predicted: Sequence[Call], reference: Sequence[Call]) -> float | None:
    """trajectory_precision: share of the predicted calls that occur in the reference."""
    return sum(_occurs(call, reference) for call in predicted) / len(predicted) if predicted else None


def recall(predicted: Sequence[Call], reference: Sequence[Call]) -> float | None:
    """trajectory_recall: share of the reference calls that occur in the prediction."""
    return sum(_occurs(call, predicted) for call in reference) / len(reference) if reference else None


def single_tool_use(predicted: Sequence[Call], tool: str) -> float:
    """trajectory_single_tool_use: whether the tool was called at all."""
    return float(any(call.name == tool for call in predicted))


def _equal(call: Call, other: Call) -> bool:
    return call.name == other.name and alike(call.arguments, other.arguments)


def _occurs(call: Call, calls: Sequence[Call]) -> bool:
    return any(_equal(call, other) for other in calls)
