"""Clusters: the mean of cases that belong together, with a standard error that is right for few, unequal clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import fsum, sqrt
from typing import NamedTuple

from .estimate import TooFew


class ClusterMean(NamedTuple):
    """A mean over clusters, its standard error and its degrees of freedom."""

    mean: float
    error: float
    freedom: float


def sums_of(values: Sequence[float], clusters: Sequence[Hashable]) -> dict[Hashable, tuple[float, int]]:
    """Sum and count of each cluster, in order of first appearance."""
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    return {name: (fsum(group), len(group)) for name, group in groups.items()}


def cluster_mean(sums: Sequence[tuple[float, float]]) -> ClusterMean:
    """The mean of all cases, each counting the same, from (sum, count) of each cluster.

    Its variance is unbiased if clusters differ as a whole, and has Satterthwaite's degrees of freedom: G - 1 for
    clusters of equal size, fewer if a few large ones dominate (Bell and McCaffrey's idea, for a mean). With G - 1
    always, 5 clusters of 1 to 30 cases give 20 % false alarms."""
    if len(sums) < 2:
        raise TooFew("one cluster has no interval")
    n = fsum(count for _, count in sums)
    mean = fsum(total for total, _ in sums) / n
    weights = [count / n for _, count in sums]
    square = fsum(weight**2 for weight in weights)
    # E(y_g - mean)^2 is the variance of a cluster times 1 - 2 w_g + sum of w^2.
    scaled = [weight**2 / (1 - 2 * weight + square) for weight in weights]
    off = [total / count - mean for total, count in sums]
    variance = fsum(each * distance**2 for each, distance in zip(scaled, off, strict=True))
    # Satterthwaite needs the trace of the squared quadratic form; this sum gives it without the G x G matrix.
    u = [square / 2 - weight for weight in weights]
    pairs = list(zip(scaled, u, strict=True))
    trace = (
        fsum(weight**4 for weight in weights)
        + 2 * fsum(scaled) * fsum(each * x**2 for each, x in pairs)
        + 2 * fsum(each * x for each, x in pairs) ** 2
        - 4 * fsum(each**2 * x**2 for each, x in pairs)
    )
    return ClusterMean(mean, sqrt(variance), square**2 / trace)
