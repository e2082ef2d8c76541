"""Means and ratios, with clusters where measurements belong together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import fsum, sqrt

from .estimate import CONFIDENCE, Estimate, TooFew, t_quantile

SEED = 20260101
"""Bootstrap intervals are the same each time."""
RESAMPLES = 9999
_NO_SPREAD = "all values are equal: no spread to take an interval from"


def mean(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The mean of independent values with its t interval."""
    n = len(values)
    if n == 0:
        raise TooFew("no value")
    average = fsum(values) / n
    if n == 1:
        return Estimate(value=average, n=1, method="t", note="one value has no interval")
    spread = sqrt(fsum((value - average) ** 2 for value in values) / (n - 1))
    if spread == 0:
        return Estimate(value=average, n=n, method="t", note=_NO_SPREAD)
    half = t_quantile(confidence, n - 1) * spread / sqrt(n)
    return Estimate(value=average, low=average - half, high=average + half, n=n, method="t")


def clustered_mean(values: Sequence[float], clusters: Sequence[Hashable], confidence: float = CONFIDENCE) -> Estimate:
    """The mean of values that come in clusters (epochs of a task, steps of an episode): clustered standard error with
    the C/(C-1) correction and t with C-1 degrees of freedom."""
    n = len(values)
    if n == 0:
        raise TooFew("no value")
    average = fsum(values) / n
    groups = _grouped([value - average for value in values], clusters)
    count = len(groups)
    if count == n:
        return mean(values, confidence)
    if count < 2:
        return Estimate(value=average, n=n, method="clustered t", note="one cluster has no interval")
    error = sqrt(fsum(fsum(group) ** 2 for group in groups) * count / (count - 1)) / n
    if error == 0:
        return Estimate(value=average, n=n, method="clustered t", note=_NO_SPREAD)
    half = t_quantile(confidence, count - 1) * error
    return Estimate(
        value=average,
        low=average - half,
        high=average + half,
        n=n,
        method="clustered t",
        note=f"{count} clusters",
    )


def _grouped(values: Sequence[float], clusters: Sequence[Hashable]) -> list[list[float]]:
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    return list(groups.values())


def ratio(parts: Sequence[float], wholes: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """A ratio of sums over episodes (hits of clicks, failures of calls): seeded bootstrap over the episodes."""
    whole = fsum(wholes)
    if whole == 0:
        raise TooFew("nothing to take a share of")
    value = fsum(parts) / whole
    count = sum(each > 0 for each in wholes)
    if count < 2:
        return Estimate(value=value, n=count, method="cluster bootstrap", note="one cluster has no interval")
    import numpy as np

    dice = np.random.default_rng(SEED)
    upper, lower = np.asarray(parts, float), np.asarray(wholes, float)
    picks = dice.integers(0, len(upper), size=(RESAMPLES, len(upper)))
    sums = lower[picks].sum(axis=1)
    shares = np.divide(upper[picks].sum(axis=1), sums, out=np.full(RESAMPLES, np.nan), where=sums > 0)
    low, high = np.nanquantile(shares, [0.5 - confidence / 2, 0.5 + confidence / 2])
    if low == high:
        return Estimate(value=value, n=count, method="cluster bootstrap", note=_NO_SPREAD)
    return Estimate(value=value, low=float(low), high=float(high), n=count, method="cluster bootstrap")
