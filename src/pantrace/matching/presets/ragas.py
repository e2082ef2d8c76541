"""Ragas' ToolCallAccuracy and ToolCallF1."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from pantrace.matching.call import Call


def tool_call_accuracy(predicted: Sequence[Call], reference: Sequence[Call], *, strict_order: bool = True) -> float:
    """Mean share of reference arguments that are equal as texts, and 0 unless the names are the same, one by one
    (sorted first without `strict_order`). Both empty: 1; one empty: 0."""
    if not predicted or not reference:
        return float(not predicted and not reference)
    if not strict_order:
        predicted, reference = sorted(predicted, key=_sort_key), sorted(reference, key=_sort_key)
    if [call.name for call in predicted] != [call.name for call in reference]:
        return 0.0
    shares = [_share(*both) for both in zip(predicted, reference, strict=True)]
    return sum(shares) / len(reference)


def _share(call: Call, wanted: Call) -> float:
    if not wanted.arguments:
        return float(not call.arguments)
    given = call.arguments
    # Ragas compares the arguments as texts: 1 equals "1".
    same = sum(key in given and str(given[key]) == str(value) for key, value in wanted.arguments.items())
    return same / len(wanted.arguments)


def _sort_key(call: Call) -> tuple[str, ...]:
    return (call.name, *(text for key in sorted(call.arguments) for text in (key, str(call.arguments[key]))))


def tool_call_f1(predicted: Sequence[Call], reference: Sequence[Call]) -> float:
    """F1 of the sets of calls, so repeated calls count once, rounded to four digits; both empty: 0."""
    ours = {(call.name, _hashable(call.arguments)) for call in predicted}
    theirs = {(call.name, _hashable(call.arguments)) for call in reference}
    return round(2 * len(ours & theirs) / (len(ours) + len(theirs)), 4) if ours or theirs else 0.0


def _hashable(value: Any) -> Hashable:
    if isinstance(value, dict):
        return frozenset((key, _hashable(each)) for key, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(_hashable(each) for each in value)
    return value  # type: ignore[no-any-return]  # JSON has no other value that cannot be hashed
