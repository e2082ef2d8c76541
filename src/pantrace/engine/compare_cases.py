"""Compare cases: the mean over cases, repeats averaged within the case, on one side and from one side to the other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from math import comb, fsum

from msgspec.structs import replace

from pantrace.model import Record, Scale
from pantrace.stats import (
    Bounds,
    Estimate,
    PairedDifference,
    TooFew,
    cases_for_t,
    clustered_mean,
    difference_of_clusters,
    difference_of_means,
    difference_of_proportions,
    mean,
    paired_difference,
    paired_proportions,
    pooled_share,
    share_over_cases,
    wilson,
)

SMALL = 30
"""Below so many cases an interval is taken with a word of caution."""
FEW_CLUSTERS = 10
"""Below so many clusters, too."""
FEW_VALUES = 8
"""Below so many values nothing can be said of how they are spread."""

Values = Mapping[str, Sequence[float]]
"""Case -> values, one for each epoch."""
Clusters = Mapping[str, str]
"""Case -> what it belongs to."""


class Difference(Record, frozen=True, kw_only=True):
    """How the second side differs from the first."""

    estimate: Estimate | None = None
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None
    least_p: float = 1.0
    """The smallest p that any result of this size could have."""
    yes_or_no: bool = False
    """Pairs of one yes or no each."""
    notes: tuple[str, ...] = ()


def average(
    values: Values, binary: bool, scale: Scale | None = None, clusters: Clusters | None = None
) -> Estimate | None:
    """The mean over the cases of one side; None where there is none. Wilson for yes and no, t for other numbers; over
    clusters where cases belong together."""
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
    """Second - first over the same cases: Tango and McNemar for one yes or no per case, clustered where cases belong
    together (a case without a cluster is one of its own), else t and a sign-flip permutation."""
    before, after = _means(one), [mean_of(two[case]) for case in one]
    if binary and not clusters and not has_repeats(one, two):
        return paired_proportions([value == 1 for value in before], [value == 1 for value in after])
    grouped = _grouped(one, clusters) if clusters else None
    estimates: list[PairedDifference] = []

    def estimate(ends: Bounds | None) -> Estimate:
        bounds = None if ends is None else (ends[0] - ends[1], ends[1] - ends[0])
        estimates.append(paired_difference(before, after, grouped, bounds=bounds))
        return estimates[-1].estimate

    found = _bounded(estimate, binary, scale, before + after)
    return replace(estimates[-1], estimate=found)


def difference_with_notes(
    one: Values, two: Values, binary: bool, clusters: Clusters, scale: Scale | None
) -> Difference:
    """The difference over the cases of both sides, with what to know about it."""
    found = difference_of_cases(one, two, binary, clusters, scale)
    notes = [] if found.estimate.note is None else [found.estimate.note]
    again, groups = has_repeats(one, two), len(set(_grouped(one, clusters)))
    if again:
        notes.append("epochs are averaged within each case")
    if len(one) < SMALL:
        notes.append(f"only {len(one)} pairs")
    if not binary:
        means = zip(_means(one), (mean_of(two[case]) for case in one), strict=True)
        notes += _skewed([after - before for before, after in means], "differences")
    if clusters and groups < FEW_CLUSTERS:
        notes.append(f"only {groups} clusters: intervals of so few are rough")
    return Difference(
        estimate=found.estimate,
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        least_p=min(1.0, 2 / 2**groups),
        yes_or_no=binary and not again and not clusters,
        notes=tuple(notes),
    )


def unpaired_difference(
    one: Values, two: Values, binary: bool, clusters: tuple[Clusters, Clusters], scale: Scale | None
) -> Difference:
    """The difference of sides without a common case."""
    if not one or not two:
        return Difference(notes=("one side has no number",))
    first, second = _means(one), _means(two)
    notes, sizes = ["no common case: the two sides are compared as independent"], [len(one), len(two)]
    if any(clusters):
        for name, side, each in zip("AB", (one, two), clusters, strict=True):
            if not any(case in each for case in side):
                return Difference(notes=(*notes, f"no case of {name} says which cluster it belongs to"))
        groups = [_grouped(side, each) for side, each in zip((one, two), clusters, strict=True)]
        sizes = [len(set(each)) for each in groups]

        def estimate(ends: Bounds | None) -> Estimate:
            return difference_of_clusters((first, groups[0]), (second, groups[1]), bounds=ends)

        found = _bounded(estimate, binary, scale, first + second)
    elif binary and not has_repeats(one, two):
        found = difference_of_proportions((int(fsum(first)), len(first)), (int(fsum(second)), len(second)))
    else:
        found = _bounded(lambda ends: difference_of_means(first, second, bounds=ends), binary, scale, first + second)
    notes += [found.note] if found.note else []
    if not binary:
        notes += _skewed(first, "values of A") + _skewed(second, "values of B")
    if min(len(one), len(two)) < SMALL:
        notes.append(f"only {min(len(one), len(two))} cases on a side")
    if any(clusters) and min(sizes) < FEW_CLUSTERS:
        notes.append(f"only {min(sizes)} clusters on a side: intervals of so few are rough")
    # Capped: of many, the number is too long to reckon with, and p next to nothing.
    arrangements = comb(min(sum(sizes), 100), min(*sizes, 50))
    return Difference(estimate=found, least_p=min(1.0, 2 / arrangements), notes=tuple(notes))


def has_repeats(*sides: Values) -> bool:
    """Whether any case has more than one value."""
    return any(len(values) > 1 for side in sides for values in side.values())


def mean_of(values: Sequence[float]) -> float:
    """The mean of the values of one case; the same in whatever order they come."""
    return fsum(values) / len(values)


def _means(side: Values) -> list[float]:
    return [mean_of(values) for values in side.values()]


def _skewed(values: Sequence[float], what: str) -> list[str]:
    """A word of caution where few values lie far out on one side: then chance looks like a difference too often."""
    needed = cases_for_t(values)
    if needed <= len(values) or len(values) < FEW_VALUES:
        return []
    return [f"the {what} are skewed: it takes about {needed} cases until false alarms are as rare as 5 %"]


def _grouped(cases: Values, clusters: Clusters) -> list[Hashable]:
    # A tuple: a case must not fall into a cluster of the same name.
    return [(case in clusters, clusters.get(case, case)) for case in cases]


def _ends(binary: bool, scale: Scale | None, values: Sequence[float]) -> Bounds | None:
    """Where values end: those of yes and no, or of the scale and what was seen beyond it; None where they do not."""
    if binary:
        return 0.0, 1.0
    if scale is None or scale.low is None or scale.high is None:
        return None
    return min(scale.low, *values), max(scale.high, *values)


def _bounded(
    estimate: Callable[[Bounds | None], Estimate], binary: bool, scale: Scale | None, values: Sequence[float]
) -> Estimate:
    """An estimate within the ends of the scale. Where there are none and no spread to go by, what was seen must do."""
    found = estimate(_ends(binary, scale, values))
    seen = (min(values), max(values))
    if found.low is not None or seen[0] == seen[1]:
        return found
    again = estimate(seen)
    if again.low is None:
        return found
    told = f"the scale has no end, so values are taken to lie between {seen[0]:g} and {seen[1]:g}, as those seen"
    return replace(again, note=f"{again.note}; {told}")


def _within(found: Estimate, scale: Scale | None) -> Estimate:
    """An interval cut at the ends that the scale has, unless the value itself lies beyond them."""
    low, high = found.low, found.high
    if scale is None or low is None or high is None:
        return found
    if scale.low is not None:
        low = min(found.value, max(low, scale.low))
    if scale.high is not None:
        high = max(found.value, min(high, scale.high))
    return replace(found, low=low, high=high)
