"""Agreement: how well a judge's scores match labels, and how well they match each other when it is asked again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import isnan, sqrt
from typing import Any

from .estimate import CONFIDENCE, Estimate, TooFew, normal_quantile
from .means import SEED, mean

# Leaves 50 draws beyond each end of a 95 % interval. Fewer than for means, because each draw rebuilds its table.
RESAMPLES = 2000
_BOOTSTRAP = "cluster bootstrap"


def concordance(
    labels: Sequence[float],
    scores: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Of two items with different labels, how often the one with the higher label also has the higher score; an equal
    score counts as half a success. With two labels this is the area under the ROC curve. 0.5 is chance."""
    levels = sorted(set(labels))
    if len(levels) < 2:
        raise TooFew("all labels are the same")
    # A perfect judge has no spread to resample, so the bootstrap would give no interval; Newcombe's score interval
    # does. It assumes two labels and independent items.
    if len(levels) == 2 and _independent(clusters):
        value = _statistic(_concordant, labels, scores)
        high = sum(label == levels[1] for label in labels)
        return _area(value, high, len(labels) - high, confidence)
    return _estimate(_concordant, labels, scores, clusters, confidence)


def rank_correlation(
    labels: Sequence[float],
    scores: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Spearman's rank correlation; equal values share their rank. 0 is chance."""
    if len(set(labels)) < 2 or len(set(scores)) < 2:
        raise TooFew("all labels, or all scores, are the same")
    return _estimate(_rank_correlation, labels, scores, clusters, confidence)


def kappa(
    labels: Sequence[float],
    scores: Sequence[float],
    *,
    quadratic: bool = False,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """Cohen's kappa: agreement beyond chance; 1 is perfect and 0 is chance. `quadratic` weighs a disagreement by the
    square of its distance."""
    grades = sorted({*labels, *scores})
    if len(grades) < 2:
        raise TooFew("all labels and scores are the same")

    def statistic(table: Any) -> float:
        return _kappa(table, grades, quadratic)

    # Both sides use all grades: without them, a grade that only one side gave would shift its rows against the columns.
    return _estimate(statistic, labels, scores, clusters, confidence, grades)


def flip_rate(repeats: Sequence[Sequence[Hashable]], confidence: float = CONFIDENCE) -> Estimate:
    """How often two verdicts on the same item differ: averaged over all pairs of verdicts on it, then over items."""
    rates = []
    for verdicts in repeats:
        n = len(verdicts)
        if n > 1:
            same = sum(count * (count - 1) for count in Counter(verdicts).values())
            rates.append(1 - same / (n * (n - 1)))
    if not rates:
        raise TooFew("nothing was judged more than once")
    found = mean(rates, confidence)
    # Not a plain proportion, because an item's rate can lie between 0 and 1: a t interval, cut to where a rate can be.
    if found.low is None or found.high is None:
        return found
    from msgspec.structs import replace

    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


Statistic = Callable[[Any], float]
"""Computes a number from a table of counts: a row for each label, a column for each score, both ascending."""


def _concordant(table: Any) -> float:
    import numpy as np

    # Running sums over the table count all pairs at once: comparing item by item would be quadratic, for each resample.
    below = np.cumsum(table, axis=0) - table
    lower = np.cumsum(below, axis=1) - below
    won = float((table * (lower + below / 2)).sum())
    margins = table.sum(axis=1)
    pairs = (margins.sum() ** 2 - (margins**2).sum()) / 2
    return won / float(pairs) if pairs else float("nan")


def _rank_correlation(table: Any) -> float:
    rows, columns = _ranks(table.sum(axis=1)), _ranks(table.sum(axis=0))
    joint = float(rows @ table @ columns)
    alone = float((rows**2) @ table.sum(axis=1)) * float((columns**2) @ table.sum(axis=0))
    return joint / sqrt(alone) if alone > 0 else float("nan")


def _ranks(counts: Any) -> Any:
    """The mean rank of each value, minus the mean of all ranks."""
    import numpy as np

    return np.cumsum(counts) - (counts - 1) / 2 - (counts.sum() + 1) / 2


def _kappa(table: Any, grades: Sequence[float], quadratic: bool) -> float:
    import numpy as np

    values = np.asarray(grades, float)
    apart = values[:, None] - values[None, :]
    cost = apart**2 if quadratic else (apart != 0).astype(float)
    total = table.sum()
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    chance = float((cost * expected).sum())
    return 1 - float((cost * table).sum()) / chance if chance > 0 else float("nan")


def _coded(values: Sequence[float], levels: Sequence[float] | None) -> tuple[Any, int]:
    import numpy as np

    known = sorted(set(values)) if levels is None else levels
    return np.searchsorted(np.asarray(known, float), np.asarray(values, float)), len(known)


def _statistic(statistic: Statistic, labels: Sequence[float], scores: Sequence[float]) -> float:
    return _estimate(statistic, labels, scores, ["all"] * len(labels), CONFIDENCE).value


def _independent(clusters: Sequence[Hashable] | None) -> bool:
    return clusters is None or len(set(clusters)) == len(clusters)


def _estimate(
    statistic: Statistic,
    labels: Sequence[float],
    scores: Sequence[float],
    clusters: Sequence[Hashable] | None,
    confidence: float,
    levels: Sequence[float] | None = None,
) -> Estimate:
    """A statistic of the table of labels and scores, with its seeded bootstrap over the clusters."""
    import numpy as np

    rows, height = _coded(labels, levels)
    columns, width = _coded(scores, levels)
    cells = rows * width + columns
    # Whole clusters are resampled: items of one cluster go together, so they must not be drawn as if they were
    # independent.
    names = {name: number for number, name in enumerate(dict.fromkeys(clusters or range(len(cells))))}
    count = len(names)
    member = np.asarray([names[name] for name in clusters] if clusters else range(count))
    size = height * width
    value = statistic(np.bincount(cells, minlength=size).reshape(height, width).astype(float))
    if isnan(value):
        raise TooFew("there is nothing to compare")
    if count < 2:
        return Estimate(value=value, n=len(cells), method=_BOOTSTRAP, note="one cluster has no interval")
    dice = np.random.default_rng(SEED)
    found = []
    for _ in range(RESAMPLES):
        taken = np.bincount(dice.integers(0, count, count), minlength=count)
        table = np.bincount(cells, weights=taken[member], minlength=size).reshape(height, width)
        again = statistic(table)
        # A resample can consist of one label only, and then has no statistic.
        if not isnan(again):
            found.append(again)
    low, high = np.quantile(found, [0.5 - confidence / 2, 0.5 + confidence / 2]) if found else (value, value)
    note = None if count == len(cells) else f"{count} clusters"
    # The bootstrap of a perfect (or constant) result has no width, which would look like certainty.
    if low == high:
        return Estimate(value=value, n=len(cells), method=_BOOTSTRAP, note="no resample differs: no interval")
    return Estimate(value=value, low=float(low), high=float(high), n=len(cells), method=_BOOTSTRAP, note=note)


def _area(value: float, first: int, second: int, confidence: float) -> Estimate:
    """An area under the curve with Newcombe's score interval, which holds at the ends and for small groups."""
    z = normal_quantile(confidence)
    star = (first + second) / 2 - 1

    def outside(area: float) -> bool:
        spread = area * (1 - area) / (first * second)
        spread *= 1 + star * ((1 - area) / (2 - area) + area / (1 + area))
        return (value - area) ** 2 > z * z * spread

    def end(inner: float, outer: float) -> float:
        if not outside(outer):
            return outer
        for _ in range(60):
            middle = (inner + outer) / 2
            inner, outer = (inner, middle) if outside(middle) else (middle, outer)
        return inner

    # At 0 and 1 the spread vanishes, so that the search must not begin there.
    low = 0.0 if value == 0 else end(value - 1e-12 if value == 1 else value, 0.0)
    high = 1.0 if value == 1 else end(value + 1e-12 if value == 0 else value, 1.0)
    return Estimate(value=value, low=low, high=high, n=first + second, method="Newcombe (area)")
