"""Several comparisons at once: adjusted p-values."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """Holm's adjusted p-values, which control the family-wise error: each p times the number of tests not yet rejected,
    never decreasing. With weights, a test gets that share of the error rate instead of an equal one."""
    # Equal weights are 1 and not 1/n, so that sums stay whole numbers.
    shares = [1.0] * len(p_values) if weights is None else weights
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    order = sorted(range(len(p_values)), key=lambda place: p_values[place] / shares[place])
    for rank, place in enumerate(order):
        left = sum(shares[each] for each in order[rank:])
        # Without the running maximum, a larger p could get a smaller adjusted one, because fewer tests remain.
        highest = max(highest, min(1.0, p_values[place] * left / shares[place]))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values, which control the false discovery rate. For exploration."""
    count = len(p_values)
    adjusted = [0.0] * count
    lowest = 1.0
    for rank, place in reversed(list(enumerate(sorted(range(count), key=lambda place: p_values[place]), 1))):
        lowest = min(lowest, count * p_values[place] / rank)
        adjusted[place] = lowest
    return adjusted
