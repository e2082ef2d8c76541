"""pydantic-evals' TrajectoryMatch: names only. Both empty: 1; one empty: 0. It does not count failed calls; the caller
leaves them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pantrace.matching.align import common_subsequence


def exact(predicted: Sequence[str], reference: Sequence[str]) -> float:
    """The same names in the same order."""
    return float(list(predicted) == list(reference))


def in_order(predicted: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of the longest common subsequence."""
    places: dict[str, int] = {}
    for place, name in enumerate(reference):
        places[name] = places.get(name, 0) | 1 << place
    return _f1(len(common_subsequence([places.get(name, 0) for name in predicted])), predicted, reference)


def any_order(predicted: Sequence[str], reference: Sequence[str]) -> float:
    """F1 of the common names, in any order."""
    return _f1(sum((Counter(predicted) & Counter(reference)).values()), predicted, reference)


def _f1(common: int, predicted: Sequence[str], reference: Sequence[str]) -> float:
    return 2 * common / (len(predicted) + len(reference)) if predicted or reference else 1.0
