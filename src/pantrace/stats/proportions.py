"""Proportions: Wilson for one, Newcombe for the difference of two."""

from __future__ import annotations

from math import sqrt

from .estimate import CONFIDENCE, Estimate, TooFew, normal_quantile


def wilson(successes: float, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """One proportion with its Wilson interval: never empty, never outside 0..1, also at 0 of n and n of n."""
    if n <= 0:
        raise TooFew("no trial")
    z = normal_quantile(confidence)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Estimate(value=share, low=low, high=high, n=n, method="Wilson")


def newcombe(first: tuple[int, int], second: tuple[int, int], confidence: float = CONFIDENCE) -> Estimate:
    """The difference second - first of two independent proportions (successes, n)."""
    one, two = wilson(*first, confidence), wilson(*second, confidence)
    assert one.low is not None and one.high is not None and two.low is not None and two.high is not None
    difference = two.value - one.value
    low = difference - sqrt((two.value - two.low) ** 2 + (one.high - one.value) ** 2)
    high = difference + sqrt((two.high - two.value) ** 2 + (one.value - one.low) ** 2)
    return Estimate(value=difference, low=low, high=high, n=first[1] + second[1], method="Newcombe")
