"""deepeval's ToolCorrectnessMetric without its language model part. Calls beyond the reference do not lower the score;
both empty: 1; only the reference empty: 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pantrace.matching.call import Call
from pantrace.matching.values import canonical


def tool_correctness(predicted: Sequence[Call], reference: Sequence[Call], *, ignore_arguments: bool = True) -> float:
    """Mean similarity, if each reference call takes the most similar call that is left. Calls equal to one that was
    taken are taken, too, as in deepeval: a tool called twice in the same way counts once."""
    if not reference:
        return float(not predicted)
    total = 0.0
    taken: set[Any] = set()
    keys = [(call.name, canonical(call.arguments)) for call in predicted]
    for wanted in reference:
        best, best_key = 0.0, None
        for call, key in zip(predicted, keys, strict=True):
            if key not in taken and (similarity := _similarity(wanted, call, ignore_arguments)) > best:
                best, best_key = similarity, key
        if best > 0:
            total += best
            # By value and not by place: this is what makes equal calls count once.
            taken.add(best_key)
    return total / len(reference)


def tool_correctness_ordered(
    predicted: Sequence[Call], reference: Sequence[Call], *, ignore_arguments: bool = True
) -> float:
    """Weight of the heaviest common subsequence per reference call."""
    if not reference:
        return float(not predicted)
    # Only the last row of the table is needed for the weight.
    above = [0.0] * (len(predicted) + 1)
    for wanted in reference:
        row = [0.0]
        for place, call in enumerate(predicted):
            gained = above[place] + _similarity(wanted, call, ignore_arguments)
            row.append(max(above[place + 1], row[place], gained))
        above = row
    return above[-1] / len(reference)


def tool_correctness_exact(
    predicted: Sequence[Call], reference: Sequence[Call], *, ignore_arguments: bool = True
) -> float:
    """The same calls in the same order."""
    if len(predicted) != len(reference):
        return 0.0
    same = (
        call.name == wanted.name and (ignore_arguments or call.arguments == wanted.arguments)
        for call, wanted in zip(predicted, reference, strict=True)
    )
    return float(all(same))


def _similarity(wanted: Call, call: Call, ignore_arguments: bool) -> float:
    if wanted.name != call.name:
        return 0.0
    return 1.0 if ignore_arguments else _shared(wanted.arguments, call.arguments)


def _shared(left: dict[str, Any], right: dict[str, Any]) -> float:
    """Share of all keys with equal values on both sides; nested objects count by their own share."""
    if left == right:
        return 1.0
    total = 0.0
    for key in left.keys() & right.keys():
        one, other = left[key], right[key]
        if one == other:
            total += 1
        elif isinstance(one, dict) and isinstance(other, dict):
            total += _shared(one, other)
    return total / len(left.keys() | right.keys())
