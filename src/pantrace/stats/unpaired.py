"""Two independent runs: differences without pairs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import comb, fsum, sqrt
from typing import Any

from msgspec.structs import replace

from .clusters import cluster_mean, sums_of
from .estimate import CONFIDENCE, Bounds, Estimate, TooFew, distributions, mirrored
from .means import MISSED, RESAMPLES, SEED, bounded_t, interval_of_equal_values, is_noise
from .proportions import newcombe
from .skewed import FEW_FOR_SHAPE, MANY, Witness, bootstrap_t_difference, lognormal_sides, may_be_lognormal, widest

MANY_CLUSTERS = 50
"""From this many clusters on each side on, t agrees with a permutation, and is fast."""


def difference_of_proportions(
    first: tuple[int, int], second: tuple[int, int], confidence: float = CONFIDENCE
) -> Estimate:
    """second - first with Newcombe's interval and Fisher's exact p."""
    found = newcombe(first, second, confidence)
    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    p = float(distributions().fisher_exact(table).pvalue)
    return Estimate(value=found.value, low=found.low, high=found.high, n=found.n, method="Newcombe, Fisher exact", p=p)


def difference_of_means(
    first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE, bounds: Bounds | None = None
) -> Estimate:
    """second - first of independent values, with Welch's t interval; `bounds` are those of a single value."""
    # Each value is its own cluster; the names differ between the sides, so that no cluster seems to be on both.
    one, two = _Side(first, [("first", place) for place in range(len(first))]), _Side(second, range(len(second)))
    if min(len(first), len(second)) < 2:
        note = "one value on a side has no interval"
        return Estimate(value=two.mean - one.mean, n=one.n + two.n, method="Welch t", note=note)
    error, freedom = _welch(one, two)
    if is_noise(error, [*first, *second]):
        return _without_spread(one, two, bounds, confidence, "Welch t")
    low, high = bounded_t(two.mean - one.mean, error, freedom, _width(bounds), confidence)
    p = float(2 * distributions().t.sf(abs(two.mean - one.mean) / error, freedom))
    return Estimate(value=two.mean - one.mean, low=low, high=high, n=one.n + two.n, method="Welch t", p=p)


def difference_of_skewed(first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """second - first of independent values without an upper end: the wider of a studentised bootstrap and a lognormal
    model (Welch's t if some values are not above 0), with the larger p."""
    first, second = sorted(first), sorted(second)
    if first > second:
        # Swapping the two runs must give the opposite answer, so the random draws must not depend on their order.
        return mirrored(difference_of_skewed(second, first, confidence))
    plain = difference_of_means(first, second, confidence)
    if plain.low is None or plain.high is None or plain.p is None:
        return plain
    witnesses, methods = [Witness(plain.low, plain.high, plain.p)], ["Welch t"]
    sizes = len(first), len(second)
    if max(sizes) < MANY:
        witnesses, methods = [bootstrap_t_difference(first, second, confidence), *witnesses], ["bootstrap-t", *methods]
    if min(sizes) < FEW_FOR_SHAPE and may_be_lognormal(first, second):
        witnesses[-1], methods[-1] = lognormal_sides(first, second, confidence), "lognormal model"
    found = widest(witnesses)
    method = f"{' and '.join(methods)}{' (the wider)' if len(methods) > 1 else ''}"
    return replace(plain, low=found.low, high=found.high, p=found.p, method=method)


Clustered = tuple[Sequence[float], Sequence[Hashable]]
"""Values, and the cluster of each."""


def difference_of_clusters(
    first: Clustered, second: Clustered, confidence: float = CONFIDENCE, bounds: Bounds | None = None
) -> Estimate:
    """second - first of two means whose values come in clusters: clustered standard errors with t, and p by permuting
    whole clusters between the sides, which is right for few clusters, too. A cluster on both sides is one cluster."""
    one, two = _Side(*first), _Side(*second)
    note = f"{len(one.clusters)} and {len(two.clusters)} clusters"
    few = min(len(one.clusters), len(two.clusters))
    if few < 2:
        return Estimate(value=two.mean - one.mean, n=one.n + two.n, method="clustered t", note=f"{note}: no interval")
    error, freedom = _welch(one, two) if one.clusters.keys().isdisjoint(two.clusters) else _pooled(one, two)
    if is_noise(error, [*first[0], *second[0]]):
        return _without_spread(one, two, bounds, confidence, "clustered t")
    low, high = bounded_t(two.mean - one.mean, error, freedom, _width(bounds), confidence)
    method = "clustered t"
    if few < MANY_CLUSTERS:
        p, method = _permuted(one, two), "clustered t, permutation of clusters"
    else:
        p = float(2 * distributions().t.sf(abs(two.mean - one.mean) / error, freedom))
    return Estimate(value=two.mean - one.mean, low=low, high=high, n=one.n + two.n, method=method, p=p, note=note)


class _Side:
    """The values of one run: their mean, and sum and count in each cluster."""

    def __init__(self, values: Sequence[float], clusters: Sequence[Hashable]):
        if not values:
            raise TooFew("one side has no value")
        self.n = len(values)
        self.mean = fsum(values) / self.n
        self.clusters = sums_of(values, clusters)

    def pull(self, cluster: Hashable) -> float:
        """How far the cluster moves the mean of all values."""
        total, count = self.clusters.get(cluster, (0.0, 0))
        return (total - count * self.mean) / self.n


def _welch(one: _Side, two: _Side) -> tuple[float, float]:
    """The standard error of a difference between sides that share no cluster, and its degrees of freedom."""
    found = [cluster_mean(list(side.clusters.values())) for side in (one, two)]
    spread = fsum(each.error**4 / each.freedom for each in found)
    square = fsum(each.error**2 for each in found)
    return sqrt(square), square**2 / spread if spread else 1.0


def _pooled(one: _Side, two: _Side) -> tuple[float, float]:
    """The same for sides that share clusters: a cluster that moves both means the same way cancels out."""
    every = one.clusters.keys() | two.clusters.keys()
    square = fsum((two.pull(each) - one.pull(each)) ** 2 for each in every)
    return sqrt(square * len(every) / (len(every) - 1)), min(len(one.clusters), len(two.clusters)) - 1


def _width(bounds: Bounds | None) -> Bounds | None:
    """The bounds of a difference between two values within the bounds."""
    return None if bounds is None else (bounds[0] - bounds[1], bounds[1] - bounds[0])


def _without_spread(one: _Side, two: _Side, bounds: Bounds | None, confidence: float, method: str) -> Estimate:
    """The difference of two sides without spread: all values, or all clusters, of each side are equal."""
    difference, sizes = two.mean - one.mean, (len(one.clusters), len(two.clusters))
    # A permutation test: of all ways to divide the clusters, only the observed one is this extreme; times two, for
    # both directions.
    p = 1.0 if difference == 0 else min(1.0, 2 / comb(sum(sizes), sizes[0]))
    what = f"each run has {'equal values' if sizes == (one.n, two.n) else 'clusters that are all alike'}"
    if bounds is None:
        note = f"{what}: without spread there is no interval"
        return Estimate(value=difference, n=one.n + two.n, method=method, p=p, note=note)
    (low_a, high_a), (low_b, high_b) = (
        interval_of_equal_values(side.mean, size, bounds, confidence)
        for side, size in zip((one, two), sizes, strict=True)
    )
    # Newcombe's method of combining two intervals.
    low = difference - sqrt((two.mean - low_b) ** 2 + (high_a - one.mean) ** 2)
    high = difference + sqrt((high_b - two.mean) ** 2 + (one.mean - low_a) ** 2)
    method = "Clopper-Pearson, permutation"
    note = f"{what}: {MISSED}"
    return Estimate(value=difference, low=low, high=high, n=one.n + two.n, method=method, p=p, note=note)


def _permuted(one: _Side, two: _Side) -> float:
    """Two-sided p of no difference: in a seeded sample of arrangements, whole clusters change sides; if both sides
    have the same clusters, the two halves of each are swapped."""
    import numpy as np

    paired = one.clusters.keys() == two.clusters.keys()
    # The random draws must not depend on which run was named first, nor on the order of cases in a file.
    one, two = sorted((one, two), key=lambda side: sorted(side.clusters.values()))
    if paired:
        names = sorted(one.clusters, key=repr)
        rows = [side.clusters[name] for side in (one, two) for name in names]
    else:
        rows = [*sorted(one.clusters.values()), *sorted(two.clusters.values())]
    totals, counts = (np.asarray(column, float) for column in zip(*rows, strict=True))
    dice, size, places = np.random.default_rng(SEED), len(one.clusters), np.arange(len(rows))
    if paired:
        swapped = dice.integers(0, 2, (RESAMPLES, size)) * size
        order = np.concatenate([places[:size] + swapped, places[size:] - swapped], axis=1)
    else:
        order = dice.permuted(np.tile(places, (RESAMPLES, 1)), axis=1)

    def differences(order: Any) -> Any:
        a, b = order[:, :size], order[:, size:]
        return totals[b].sum(1) / counts[b].sum(1) - totals[a].sum(1) / counts[a].sum(1)

    found, observed = differences(order), differences(places[None])[0]
    # Arrangements that differ from the observed one only by rounding are as extreme as it.
    slack = 1e-9 * np.ptp(totals / counts)
    tail = min((found >= observed - slack).sum(), (found <= observed + slack).sum())
    return min(1.0, float(2 * (tail + 1) / (RESAMPLES + 1)))
