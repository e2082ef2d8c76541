"""Two independent runs: differences without pairs."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt

from .estimate import CONFIDENCE, Estimate, TooFew, distributions, t_quantile
from .proportions import newcombe


def difference_of_proportions(
    first: tuple[int, int], second: tuple[int, int], confidence: float = CONFIDENCE
) -> Estimate:
    """second - first with Newcombe's interval and Fisher's exact p."""
    found = newcombe(first, second, confidence)
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    p = float(distributions().fisher_exact(table).pvalue)
    return Estimate(value=found.value, low=found.low, high=found.high, n=found.n, method="Newcombe, Fisher exact", p=p)


def difference_of_means(first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """second - first with Welch's t interval."""
    if not first or not second:
        raise TooFew("one side has no value")
    (mean_a, error_a), (mean_b, error_b) = _mean_and_error(first), _mean_and_error(second)
    difference, n = mean_b - mean_a, len(first) + len(second)
    if min(len(first), len(second)) < 2:
        return Estimate(value=difference, n=n, method="Welch t", note="one value on a side has no interval")
    error = sqrt(error_a + error_b)
    if error == 0:
        same = difference == 0
        note = "all values of a side are equal: no spread to take an interval from"
        return Estimate(value=difference, n=n, method="Welch t", p=1.0 if same else None, note=note)
    freedom = (error_a + error_b) ** 2 / (error_a**2 / (len(first) - 1) + error_b**2 / (len(second) - 1))
    half = t_quantile(confidence, freedom) * error
    p = float(2 * distributions().t.sf(abs(difference) / error, freedom))
    return Estimate(value=difference, low=difference - half, high=difference + half, n=n, method="Welch t", p=p)


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    n = len(values)
    average = fsum(values) / n
    return average, fsum((value - average) ** 2 for value in values) / (n - 1) / n if n > 1 else 0.0
