"""Several comparisons at once: adjusted p-values."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's p-values, which hold the family-wise error: each p times the number not yet rejected, never falling."""
    count = len(p_values)
    adjusted = [0.0] * count
    highest = 0.0
    for rank, place in enumerate(sorted(range(count), key=lambda place: p_values[place])):
        highest = max(highest, min(1.0, (count - rank) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's p-values, which hold the false discovery rate, for exploration."""
    count = len(p_values)
    adjusted = [0.0] * count
    lowest = 1.0
    for rank, place in reversed(list(enumerate(sorted(range(count), key=lambda place: p_values[place]), 1))):
        lowest = min(lowest, count * p_values[place] / rank)
        adjusted[place] = lowest
    return adjusted
