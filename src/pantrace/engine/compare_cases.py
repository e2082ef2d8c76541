"""Compare cases: means over cases, with repeats averaged within the case, and differences between two sides."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

from msgspec.structs import replace

from pantrace.model import Scale
from pantrace.stats import (
    Bounds,
    Estimate,
    PairedDifference,
    TooFew,
    clustered_mean,
    difference_of_clusters,
    difference_of_means,
    difference_of_proportions,
    difference_of_skewed,
    mean,
    paired_difference,
    paired_proportions,
    paired_skewed,
    pooled_share,
    ratio_of_pairs,
    ratio_of_sides,
    share_over_cases,
    wilson,
)

from .compare_notes import notes_of_pairs, notes_of_sides
from .compare_power import Reach, reach_of_pairs, reach_of_sides

Values = Mapping[str, Sequence[float]]
"""Case -> values, one for each epoch."""
Clusters = Mapping[str, str]
"""Case -> its cluster."""
Kind = Literal["binary", "bounded", "positive", "any"]
"""binary: yes or no; bounded: a scale with two ends; positive: from 0 upwards without an end (cost, tokens)."""


def kind_of(binary: bool, scale: Scale | None, values: Sequence[float]) -> Kind:
    """What kind of number a measure is, as its scale declares; without a scale, whether all values are above 0."""
    # Nothing else about the values may choose the method: a method chosen by looking at the data loses its error rate.
    if binary:
        return "binary"
    if scale is None:
        return "positive" if min(values, default=0) > 0 else "any"
    if scale.low is not None and scale.high is not None:
        return "bounded"
    return "positive" if scale.low is not None and scale.low >= 0 else "any"


@dataclass(frozen=True)
class Difference:
    """How the second side differs from the first."""

    estimate: Estimate | None = None
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None
    ratio: Estimate | None = None
    """Of the geometric means, if all values are above 0 and have no upper end."""
    reach: Reach | None = None
    """What the test could have seen; None if there is no test."""
    notes: tuple[str, ...] = ()


def average(
    values: Values, binary: bool, scale: Scale | None = None, clusters: Clusters | None = None
) -> Estimate | None:
    """The mean over the cases of one side; None if it has no case. Wilson for yes or no, t for other numbers; over
    clusters if cases belong together."""
    clusters = _shared(clusters or {}, values)
    means = _means(values)
    trials = sum(map(len, values.values()))
    try:
        if clusters:
            return _clustered(values, means, binary, scale, clusters)
        if binary and trials == len(means):
            return wilson(int(fsum(means)), trials)
        return share_over_cases(means, trials) if binary else _within(mean(means), scale)
    except TooFew:
        return None


def _clustered(values: Values, means: list[float], binary: bool, scale: Scale | None, clusters: Clusters) -> Estimate:
    groups = _grouped(values, clusters)
    if not binary:
        return _within(clustered_mean(means, groups), scale)
    parts: dict[Hashable, list[float]] = {}
    for group, each in zip(groups, means, strict=True):
        parts.setdefault(group, []).append(each)
    found = pooled_share([fsum(part) for part in parts.values()], [len(part) for part in parts.values()])
    return replace(found, n=len(means))


def difference_of_cases(
    one: Values, two: Values, binary: bool, clusters: Clusters, scale: Scale | None = None
) -> PairedDifference:
    """Second - first over the same cases: Tango and McNemar for one yes or no per case; clustered if cases belong
    together (a case without a cluster is a cluster of its own); otherwise t and a sign-flip permutation, or a method
    for skewed data if numbers have no upper end."""
    clusters = _shared(clusters, one)
    before, after = _means(one), [mean_of(two[case]) for case in one]
    # McNemar and Tango are for one yes or no per case; a mean of several trials is a number between.
    if binary and not clusters and not has_repeats(one, two):
        return paired_proportions([value == 1 for value in before], [value == 1 for value in after])
    # With clusters there is no method for skewed data here, so t with clustered errors is used, and a note says so.
    grouped = _grouped(one, clusters) if clusters else None
    if grouped is None and kind_of(binary, scale, before + after) in ("positive", "any"):
        skewed = paired_skewed(before, after)
        if skewed.estimate.low is not None:
            return skewed
    estimates: list[PairedDifference] = []

    def estimate(ends: Bounds | None) -> Estimate:
        bounds = None if ends is None else (ends[0] - ends[1], ends[1] - ends[0])
        estimates.append(paired_difference(before, after, grouped, bounds=bounds))
        return estimates[-1].estimate

    found = _bounded(estimate, binary, scale, before + after)
    return replace(estimates[-1], estimate=found)


def difference_of_pairs(one: Values, two: Values, binary: bool, clusters: Clusters, scale: Scale | None) -> Difference:
    """The difference over the common cases of both sides, with its power and its notes."""
    clusters = _shared(clusters, one)
    found = difference_of_cases(one, two, binary, clusters, scale)
    before, after = _means(one), [mean_of(two[case]) for case in one]
    kind = kind_of(binary, scale, before + after)
    groups = _grouped(one, clusters)
    again = has_repeats(one, two)
    # A ratio of geometric means needs logarithms.
    positive = kind == "positive" and min(before + after) > 0
    return Difference(
        estimate=found.estimate,
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        ratio=ratio_of_pairs(before, after) if positive and not clusters else None,
        reach=reach_of_pairs(before, after, groups, found, yes_or_no=binary and not again and not clusters),
        notes=notes_of_pairs(before, after, found.estimate, groups if clusters else None, kind, repeats=again),
    )


def difference_of_sides(
    one: Values, two: Values, binary: bool, clusters: tuple[Clusters, Clusters], scale: Scale | None
) -> Difference:
    """The difference between sides without a common case."""
    if not one or not two:
        return Difference(notes=("one side has no number",))
    first, second = _means(one), _means(two)
    unpaired = "no common case: the two sides are compared as independent"
    groups: list[list[Hashable]] = []
    kind = kind_of(binary, scale, first + second)
    if _shared({**clusters[0], **clusters[1]}, {**one, **two}):
        for name, side, each in zip(("first", "second"), (one, two), clusters, strict=True):
            # Otherwise every case of that run would be a cluster of its own, which is not known.
            if not any(case in each for case in side):
                return Difference(notes=(unpaired, f"no case of the {name} run says which cluster it belongs to"))
        groups = [_grouped(side, each) for side, each in zip((one, two), clusters, strict=True)]

        def estimate(ends: Bounds | None) -> Estimate:
            return difference_of_clusters((first, groups[0]), (second, groups[1]), bounds=ends)

        found = _bounded(estimate, binary, scale, first + second)
    elif binary and not has_repeats(one, two):
        found = difference_of_proportions((int(fsum(first)), len(first)), (int(fsum(second)), len(second)))
    else:
        skewed = difference_of_skewed(first, second) if kind in ("positive", "any") else None
        if skewed is not None and skewed.low is not None:
            found = skewed
        else:
            found = _bounded(
                lambda ends: difference_of_means(first, second, bounds=ends), binary, scale, first + second
            )
    positive = kind == "positive" and min(first + second) > 0 and not groups
    return Difference(
        estimate=found,
        ratio=ratio_of_sides(first, second) if positive else None,
        reach=reach_of_sides(first, second, groups, found, yes_or_no=found.method == "Newcombe, Fisher exact"),
        notes=(unpaired, *notes_of_sides(first, second, found, groups, kind, repeats=has_repeats(one, two))),
    )


def has_repeats(*sides: Values) -> bool:
    """Whether any case has more than one value."""
    return any(len(values) > 1 for side in sides for values in side.values())


def mean_of(values: Sequence[float]) -> float:
    """The mean of the values of one case, independent of their order."""
    return fsum(values) / len(values)


def _means(side: Values) -> list[float]:
    return [mean_of(values) for values in side.values()]


def _shared(clusters: Clusters, cases: Values) -> Clusters:
    """The clusters, if any has two cases; otherwise none, because independent cases need no special method."""
    return clusters if clusters and len(set(_grouped(cases, clusters))) < len(cases) else {}


def _grouped(cases: Values, clusters: Clusters) -> list[Hashable]:
    # A tuple, so that a case without a cluster cannot fall into a cluster that has its name.
    return [(case in clusters, clusters.get(case, case)) for case in cases]


def _ends(binary: bool, scale: Scale | None, values: Sequence[float]) -> Bounds | None:
    """The bounds of values: 0 and 1 for yes or no, or those of the scale, widened to the values seen; None if open."""
    if binary:
        return 0.0, 1.0
    if scale is None or scale.low is None or scale.high is None:
        return None
    return min(scale.low, *values), max(scale.high, *values)


def _bounded(
    estimate: Callable[[Bounds | None], Estimate], binary: bool, scale: Scale | None, values: Sequence[float]
) -> Estimate:
    """An estimate within the ends of the scale. If there are none, and no spread either, the range of the values seen
    is used."""
    found = estimate(_ends(binary, scale, values))
    if found.low is not None:
        return found
    low, high, why = min(values), max(values), "as those seen"
    if low == high and scale is not None and scale.low == 0:
        # All values are the same: it could have been less; and if all are 0, it could have been 1.
        low, high, why = 0.0, high or 1.0, "as nothing else was seen"
    again = estimate((low, high)) if low < high else found
    if again.low is None:
        return found
    assumed = f"the scale has no end, so values are assumed to lie between {low:g} and {high:g}, {why}"
    return replace(again, note=f"{again.note}; {assumed}")


def _within(found: Estimate, scale: Scale | None) -> Estimate:
    """An interval cut off at the ends of the scale, unless the value itself is beyond them."""
    low, high = found.low, found.high
    if scale is None or low is None or high is None:
        return found
    if scale.low is not None:
        low = min(found.value, max(low, scale.low))
    if scale.high is not None:
        high = max(found.value, min(high, scale.high))
    return replace(found, low=low, high=high)
