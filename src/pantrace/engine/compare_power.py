"""Power of a comparison: what the test that it used could have seen, and how many cases would see more."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, comb, inf

from pantrace.stats import (
    POWER,
    Estimate,
    PairedDifference,
    Sums,
    arms_by_fisher,
    difference_of_skewed,
    differences_of,
    least_by_fisher,
    least_by_mcnemar,
    least_shift,
    least_skewed,
    paired_skewed,
    pairs_by_mcnemar,
    sums_of,
)

SMALLEST = 2 / 10_000
"""The smallest p that 9,999 arrangements or resamples can give."""


@dataclass(frozen=True)
class Reach:
    """What a test can see."""

    least_p: float
    """The smallest p that any result of this size could have."""
    least: Callable[[float], float]
    """For a significance level, the smallest true difference that is found with 80 % power; infinite if there is none,
    0 if the data has no spread to judge by."""
    needed: Callable[[float, float], float]
    """For a difference and a significance level, how many cases find it with that power."""


def reach_of_pairs(
    before: Sequence[float],
    after: Sequence[float],
    groups: Sequence[Hashable],
    found: PairedDifference,
    *,
    yes_or_no: bool,
) -> Reach | None:
    """For pairs: by McNemar's test, by sign flips, or by an interval for skewed data."""
    estimate, n = found.estimate, len(before)
    if estimate.p is None or estimate.low is None:
        return None
    if yes_or_no:
        other_way = min(found.wins, found.losses) / n

        def by_mcnemar(alpha: float) -> float:
            return least_by_mcnemar(n, other_way, alpha)

        def pairs(difference: float, alpha: float) -> float:
            return pairs_by_mcnemar(other_way, other_way + difference, alpha)

        return Reach(2 / 2 ** min(n, 1000), by_mcnemar, pairs)
    differences = differences_of(before, after)
    sums = sums_of(differences, groups)
    clusters = Sums(*zip(*sums.values(), strict=True))
    exact = 2 / 2 ** min(len(sums), 1000)
    floor = exact if len(sums) <= 16 else 1 / 10_000

    def by_flips(alpha: float) -> float:
        return least_shift(None, clusters, alpha)

    def by_skewed(alpha: float) -> float:
        again = paired_skewed(before, after, 1 - alpha).estimate
        if again.low is None or again.high is None:
            return by_flips(alpha)
        up = estimate.value >= 0
        return max(by_flips(alpha), least_skewed([differences], (again.low, again.high), POWER, up=up))

    skewed = _bears_skew(estimate)
    # Resampling takes a tenth of a second, and the number of cases that are needed asks for the same again.
    least = cache(by_skewed if skewed else by_flips)
    return Reach(max(floor, SMALLEST) if skewed else floor, least, _scaled(least, n))


def reach_of_sides(
    first: Sequence[float],
    second: Sequence[float],
    groups: Sequence[Sequence[Hashable]],
    found: Estimate,
    *,
    yes_or_no: bool,
) -> Reach | None:
    """For independent sides: by Fisher's test, by moving clusters, by t, or by an interval for skewed data."""
    if found.p is None or found.low is None:
        return None
    sizes = len(first), len(second)
    if yes_or_no:
        shares = sum(first) / sizes[0], sum(second) / sizes[1]

        def by_fisher(alpha: float) -> float:
            # The larger of both, so that it does not matter which run is named first.
            return max(least_by_fisher(shares[0], sizes, alpha), least_by_fisher(shares[1], sizes[::-1], alpha))

        def arms(difference: float, alpha: float) -> float:
            return arms_by_fisher(*shares, alpha)

        return Reach(min(1.0, (2 if sizes[0] == sizes[1] else 1) / _arrangements(*sizes)), by_fisher, arms)
    up = found.value >= 0
    if not groups:
        # The resamples must not depend on the order of the runs or of their cases.
        first, second = sorted(first), sorted(second)
        if first > second:
            first, second, up = second, first, not up
    named = groups or [range(len(first)), range(len(second))]
    sums = [sums_of(values, names) for values, names in zip((first, second), named, strict=True)]
    one, two = (Sums(*zip(*each.values(), strict=True)) for each in sums)

    def by_t(alpha: float) -> float:
        return least_shift(one, two, alpha, permuted=bool(groups))

    def by_skewed(alpha: float) -> float:
        again = difference_of_skewed(first, second, 1 - alpha)
        if again.low is None or again.high is None:
            return by_t(alpha)
        return least_skewed([first, second], (again.low, again.high), POWER, up=up)

    least = cache(by_skewed if _bears_skew(found) else by_t)
    floor = 0.0
    if "permutation" in found.method:
        floor = max(min(1.0, 2 / _arrangements(len(sums[0]), len(sums[1]))), SMALLEST)
    elif _bears_skew(found):
        floor = SMALLEST
    return Reach(floor, least, _scaled(least, max(sizes)))


def _bears_skew(found: Estimate) -> bool:
    return "bootstrap" in found.method or "lognormal" in found.method


def _scaled(least: Callable[[float], float], cases: int) -> Callable[[float, float], float]:
    """Cases needed, because a standard error falls with the square root of their number."""

    def needed(difference: float, alpha: float) -> float:
        seen = least(alpha)
        return cases * (seen / difference) ** 2 if 0 < seen < inf else inf

    return needed


def _arrangements(first: int, second: int) -> float:
    # Capped: with more, the integer becomes too long to compute with, and p is practically 0 anyway.
    return comb(min(first + second, 100), min(first, second, 50))


def whole(cases: float) -> int | None:
    """A number of cases for people, rounded up to two digits, because a plan is no more precise; None if no number is
    enough."""
    if not 0 < cases < 1e9:
        return None
    digits = max(0, len(str(ceil(cases))) - 2)
    return int(-(-ceil(cases - 1e-9) // 10**digits) * 10**digits)
