"""Means, with clusters where measurements belong together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil, fsum, sqrt

from .estimate import CONFIDENCE, Bounds, Estimate, TooFew, t_quantile

SEED = 20260101
"""Fixed, so that the same data always gives the same interval."""
# Together with the data as observed these are 10,000 draws: p is a multiple of 1/10,000 and never 0.
RESAMPLES = 9999
NO_SPREAD = "all values are equal, so there is no interval"
MISSED = "the interval allows for other values that so few could have missed"


def is_noise(spread: float, values: Sequence[float]) -> bool:
    """Whether a spread is no more than the rounding error of adding up such values."""
    return spread <= 1e-12 * max(map(abs, values), default=0.0)


def cases_for_t(values: Sequence[float]) -> int:
    """How many values like these a t interval needs to be trustworthy: 25 times the square of their skewness, by
    Cochran's rule. 0 if they are all equal."""
    n, average = len(values), fsum(values) / len(values)
    square = fsum((value - average) ** 2 for value in values) / n
    if is_noise(sqrt(square), values):
        return 0
    skewness = fsum((value - average) ** 3 for value in values) / n / (square * sqrt(square))
    return ceil(25 * skewness * skewness)


def interval_of_equal_values(value: float, n: int, bounds: Bounds, confidence: float = CONFIDENCE) -> Bounds:
    """The interval of a mean of n equal values that could have been anything within the bounds.

    Other values may be so rare that n draws missed them. Their share is at most Clopper and Pearson's upper limit for
    0 in n; the interval assumes that all of them are at one end of the scale."""
    others = 1 - (0.5 - confidence / 2) ** (1 / n)
    low, high = bounds
    return value - others * (value - low), value + others * (high - value)


def bounded_t(value: float, error: float, freedom: float, bounds: Bounds | None, confidence: float) -> Bounds:
    """A t interval, cut off at the bounds of the values."""
    half = t_quantile(confidence, freedom) * error
    low, high = value - half, value + half
    return (low, high) if bounds is None else (max(low, bounds[0]), min(high, bounds[1]))


def mean(values: Sequence[float], confidence: float = CONFIDENCE, bounds: Bounds | None = None) -> Estimate:
    """The mean of independent values with its t interval; with bounds, equal values have an interval, too."""
    n = len(values)
    if n == 0:
        raise TooFew("no value")
    # fsum, because a plain sum depends on the order of the cases: runs must compare the same in any order.
    average = fsum(values) / n
    if n == 1:
        return Estimate(value=average, n=1, method="t", note="one value has no interval")
    spread = sqrt(fsum((value - average) ** 2 for value in values) / (n - 1))
    if is_noise(spread, values):
        return without_spread(average, n, n, "t", bounds, confidence)
    low, high = bounded_t(average, spread / sqrt(n), n - 1, bounds, confidence)
    return Estimate(value=average, low=low, high=high, n=n, method="t")


def without_spread(
    value: float, n: int, clusters: int, method: str, bounds: Bounds | None, confidence: float
) -> Estimate:
    """The mean of values that are all equal; with bounds, its interval allows for values that were not drawn."""
    if bounds is None:
        note = NO_SPREAD if clusters == n else NO_SPREAD.replace("values", "clusters")
        return Estimate(value=value, n=n, method=method, note=note)
    low, high = interval_of_equal_values(value, clusters, bounds, confidence)
    note = f"all {'values' if clusters == n else 'clusters'} are equal: {MISSED}"
    return Estimate(value=value, low=low, high=high, n=n, method="Clopper-Pearson", note=note)


def clustered_mean(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    confidence: float = CONFIDENCE,
    bounds: Bounds | None = None,
) -> Estimate:
    """The mean of values that come in clusters (epochs of a task, steps of an episode): clustered standard error with
    the C/(C-1) correction and t with C-1 degrees of freedom."""
    n = len(values)
    if n == 0:
        raise TooFew("no value")
    average = fsum(values) / n
    groups = _by_cluster([value - average for value in values], clusters)
    count = len(groups)
    # Every cluster has one member: this is the ordinary mean, and should be called so.
    if count == n:
        return mean(values, confidence, bounds)
    if count < 2:
        return Estimate(value=average, n=n, method="clustered t", note="one cluster has no interval")
    error = sqrt(fsum(fsum(group) ** 2 for group in groups) * count / (count - 1)) / n
    if is_noise(error, values):
        return without_spread(average, n, count, "clustered t", bounds, confidence)
    low, high = bounded_t(average, error, count - 1, bounds, confidence)
    return Estimate(value=average, low=low, high=high, n=n, method="clustered t", note=f"{count} clusters")


def _by_cluster(values: Sequence[float], clusters: Sequence[Hashable]) -> list[list[float]]:
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    return list(groups.values())
