"""The smallest difference that a test could have found with a given power, at this size and with this data."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from math import asin, fsum, inf, sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

from .estimate import distributions
from .means import SEED
from .power import ALPHA, POWER, detectable_difference, pairs_needed, per_arm_needed

# A power only has to be right to a few per cent: the standard error of 200 draws is at most 3.5 points (at 50 %).
RESAMPLES = 200
FEW = 10
"""Up to this many clusters, all sign flips are tried."""
LARGE = 200
"""From this many cases on each side on, the arcsine formula is close enough to Fisher's test."""
MANY = 50
"""From this many clusters on, t and permutations agree."""


CLOSED = 5000
"""From this many clusters on, a formula is accurate enough, and resamples would fill the memory."""


class Sums(NamedTuple):
    """The clusters of one side, or of the differences: sum and number of cases of each. A single case is a cluster."""

    totals: tuple[float, ...]
    counts: tuple[float, ...]


def mcnemar_power(pairs: int, only_first: float, only_second: float, alpha: float = ALPHA) -> float:
    """How often McNemar's exact test is significant if these are the true shares of discordant pairs."""
    import numpy as np

    binom = distributions().binom
    changed = min(1.0, only_first + only_second)
    if changed <= 0:
        return 0.0
    # Practically everything that can happen: 10 standard deviations on either side.
    half = 10 * sqrt(pairs * changed * (1 - changed)) + 10
    m = np.arange(max(0, int(pairs * changed - half)), min(pairs, int(pairs * changed + half)) + 1)
    # How large the smaller of the two counts may be and still be significant; -1 if nothing is.
    critical = binom.ppf(alpha / 2, m, 0.5)
    critical = np.where(2 * binom.cdf(critical, m, 0.5) < alpha, critical, critical - 1)
    share = only_second / changed
    rejected = binom.cdf(critical, m, share) + binom.cdf(critical, m, 1 - share)
    return float((binom.pmf(m, pairs, changed) * np.where(m > 0, rejected, 0.0)).sum())


def least_by_mcnemar(pairs: int, other_way: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest difference of two pass rates that McNemar's exact test finds, if this share of pairs changes the
    other way. Infinite if no result of so few pairs is significant."""
    most = 1 - 2 * other_way

    def found(difference: float) -> float:
        return mcnemar_power(pairs, other_way, other_way + difference, alpha)

    return _least(found, most, power) if most > 0 and found(most) >= power else inf


def fisher_power(first: tuple[float, int], second: tuple[float, int], alpha: float = ALPHA) -> float:
    """How often Fisher's exact test of two sides, each (true share, size), is significant: by seeded draws."""
    import numpy as np

    dice = np.random.default_rng(SEED)
    one, two = (dice.binomial(n, share, 10 * RESAMPLES) for share, n in (first, second))
    # Fisher's test depends on the total only, so its region is computed once for each total and not once for each draw.
    critical = {int(total): _fisher_region(first[1], second[1], int(total), alpha) for total in np.unique(one + two)}
    low, high = np.asarray([critical[int(total)] for total in one + two]).T
    return float(((one <= low) | (one >= high)).mean())


@lru_cache(maxsize=4096)
def _fisher_region(first: int, second: int, total: int, alpha: float) -> tuple[int, int]:
    """With this many successes in total: up to which count, and from which count on, the first side is significant."""
    import numpy as np

    successes = np.arange(max(0, total - second), min(first, total) + 1)
    chance = distributions().hypergeom.pmf(successes, first + second, total, first)
    order = np.argsort(chance, kind="stable")
    ordered = chance[order]
    # The tail is all tables that are at most as likely; the factor includes equal ones that differ by rounding.
    ends = np.searchsorted(ordered, ordered * (1 + 1e-7), side="right") - 1
    p = np.empty(len(chance))
    p[order] = np.cumsum(ordered)[ends]
    kept = np.flatnonzero(p >= alpha)
    if not len(kept):
        return first + 1, -1
    return int(successes[kept[0]]) - 1, int(successes[kept[-1]]) + 1


def arms_by_fisher(first: float, second: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """How many cases on each side Fisher's exact test needs to tell these two true shares apart."""
    first, second = sorted((first, second))
    # An exact test is as cautious as one with a continuity correction, which costs about 2 / difference cases.
    guess = per_arm_needed(first, second, alpha, power) + 2 / (second - first)
    if guess >= LARGE:
        return guess
    return _fewest(lambda n: fisher_power((first, n), (second, n), alpha), 2, int(2 * guess) + 10, power)


def pairs_by_mcnemar(only_first: float, only_second: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """How many pairs McNemar's exact test needs to tell these two shares of discordant pairs apart."""
    guess = pairs_needed(only_first, only_second, alpha, power)
    most = int(guess + 4 / abs(only_second - only_first)) + 10
    return _fewest(lambda n: mcnemar_power(n, only_first, only_second, alpha), int(guess * 0.8), most, power)


def _fewest(found: Callable[[int], float], low: int, high: int, power: float) -> float:
    """The smallest number in this range that reaches the power; the upper end if no smaller one does."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return float(high)


def least_by_fisher(share: float, sizes: tuple[int, int], alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest difference of two independent pass rates that Fisher's exact test finds, upwards or downwards from
    this share, whichever has more room. Infinite if not even all against none is significant."""
    room = max(share, 1 - share)
    sign = 1 if share <= 0.5 else -1
    # An exact test is as cautious as one with a continuity correction.
    careful = (1 / sizes[0] + 1 / sizes[1]) / 2

    def found(difference: float) -> float:
        if min(sizes) >= LARGE:
            other = min(1.0, max(0.0, share + sign * max(0.0, difference - careful)))
            effect = abs(asin(sqrt(other)) - asin(sqrt(share))) * 2 * sqrt(sizes[0] * sizes[1] / sum(sizes))
            return NormalDist().cdf(effect - NormalDist().inv_cdf(1 - alpha / 2))
        other = min(1.0, max(0.0, share + sign * difference))
        return fisher_power((share, sizes[0]), (other, sizes[1]), alpha)

    return _least(found, room, power) if found(room) >= power else inf


def _least(found: Any, most: float, power: float) -> float:
    low, high = 0.0, most
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) >= power else (middle, high)
    return high


def least_shift(
    first: Sums | None, second: Sums, alpha: float = ALPHA, power: float = POWER, *, permuted: bool = True
) -> float:
    """The smallest shift of all cases that a comparison of means finds: the second side against the first by t and a
    permutation of clusters (not `permuted`: t alone), or differences of pairs against 0 by t and sign flips.

    Clusters are resampled, and each resample is searched for the shift at which the test becomes significant. Infinite
    if it never does."""
    import numpy as np

    # Sorted, because the random draws must not depend on which run was named first.
    given = [second] if first is None else sorted([_in_order(first), _in_order(second)])
    if min(len(side.totals) for side in given) >= CLOSED:
        return detectable_difference(sqrt(sum(_square_error(side) for side in given)), alpha, power)
    dice = np.random.default_rng(SEED)
    sides = [_drawn(side, dice) for side in given]
    if not any(np.ptp(totals) > 0 for totals, _ in sides):
        return 0.0
    # Both directions: the data may be skewed, and the answer must hold for a rise and for a fall.
    shifts = [_turns_by_t(sides, sign, alpha) for sign in (1, -1)]
    sizes = [totals.shape[1] for totals, _ in sides]
    if permuted and min(sizes) < MANY:
        # Enough arrangements to tell a share just below alpha from one just above it.
        times = min(9999, max(499, int(10 / alpha)))
        arranged = _flips(sides[0], dice, times) if first is None else _swaps(sides, dice, times)
        by_order = [_turns(*arranged, sign, alpha) for sign in (1, -1)]
        # A comparison is proven only if its interval (t) and its p (permutation) agree, so the larger shift is needed.
        shifts = [np.maximum(*each) for each in zip(shifts, by_order, strict=True)]
    return max(float(np.quantile(shift, power, method="higher")) for shift in shifts)


def _in_order(side: Sums) -> Sums:
    return Sums(*zip(*sorted(zip(side.totals, side.counts, strict=True)), strict=True))


def _square_error(side: Sums) -> float:
    """The square of the standard error of a side's mean."""
    size, n = len(side.totals), sum(side.counts)
    mean = fsum(side.totals) / n
    off = fsum((total - count * mean) ** 2 for total, count in zip(side.totals, side.counts, strict=True))
    return off / n**2 * size / (size - 1)


Drawn = tuple[Any, Any]
"""Sums and counts of clusters, a row for each draw."""


def _drawn(side: Sums, dice: Any) -> Drawn:
    """Resamples of a side's clusters around their mean, with the spread that a new run would have."""
    import numpy as np

    totals, counts = np.asarray(side.totals, float), np.asarray(side.counts, float)
    size = len(totals)
    # Resampling from few clusters underestimates their variance by (n - 1) / n.
    off = (totals - counts * totals.sum() / counts.sum()) * sqrt(size / max(1, size - 1))
    places = dice.integers(0, size, (RESAMPLES, size))
    return off[places], counts[places]


def _turns_by_t(sides: list[Drawn], sign: int, alpha: float) -> Any:
    import numpy as np

    centre, square, spread = 0.0, 0.0, 0.0
    for place, (totals, counts) in enumerate(sides):
        size, n = totals.shape[1], counts.sum(1)
        mean = totals.sum(1) / n
        variance = ((totals - counts * mean[:, None]) ** 2).sum(1) / n**2 * size / max(1, size - 1)
        centre = centre + (mean if place == len(sides) - 1 else -mean)
        square = square + variance
        spread = spread + variance**2 / max(1, size - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.where(spread > 0, square**2 / spread, 1.0)
    critical = distributions().t.ppf(1 - alpha / 2, freedom)
    return critical * np.sqrt(square) - sign * centre


def _flips(side: Drawn, dice: Any, times: int) -> tuple[Any, Any, Any, Any]:
    """The sum of each draw under each sign flip (draws x flips), what a shift of 1 adds to it, and both unflipped."""
    import numpy as np

    totals, counts = side
    size = totals.shape[1]
    if size <= FEW:
        # The first sign is fixed: flipping all signs gives the mirror image, which is equally extreme.
        signs = np.asarray([(1.0, *each) for each in product((1.0, -1.0), repeat=size - 1)])
    else:
        signs = np.vstack([np.ones(size), dice.choice((1.0, -1.0), (times, size))])
    return totals @ signs.T, counts @ signs.T, totals.sum(1), counts.sum(1)


def _swaps(sides: list[Drawn], dice: Any, times: int) -> tuple[Any, Any, Any, Any]:
    """The same for whole clusters that change sides."""
    import numpy as np

    (one, one_counts), (two, two_counts) = sides
    size = one.shape[1]
    totals, counts = np.hstack([one, two]), np.hstack([one_counts, two_counts])
    shifted = np.hstack([np.zeros_like(one), two_counts])
    places = np.arange(totals.shape[1])
    order = np.vstack([places, dice.permuted(np.tile(places, (times, 1)), axis=1)])
    second = np.zeros((len(order), len(places)))
    np.put_along_axis(second, order[:, size:], 1.0, axis=1)
    n_two = counts @ second.T
    n_one = counts.sum(1)[:, None] - n_two

    def differences(values: Any) -> Any:
        part = values @ second.T
        return part / n_two - (values.sum(1)[:, None] - part) / n_one

    moved, slope = differences(totals), differences(shifted)
    return moved, slope, moved[:, 0], slope[:, 0]


def _turns(moved: Any, slope: Any, observed: Any, step: Any, sign: int, alpha: float) -> Any:
    """For each draw, the shift from which on fewer than alpha of the arrangements are as extreme as its own."""
    import numpy as np

    width = float(np.abs(observed).max() + np.abs(moved).max()) / float(step.min()) * 4 + 1e-300
    high = np.full(len(observed), width)
    low = np.full(len(observed), -width)

    def significant(shift: Any) -> Any:
        own = observed + sign * shift * step
        others = moved + sign * shift[:, None] * slope
        slack = 1e-9 * width * step
        return (np.abs(others) >= (sign * own - slack)[:, None]).mean(1) < alpha

    never = ~significant(high)
    for _ in range(16):
        middle = (low + high) / 2
        yes = significant(middle)
        low, high = np.where(yes, low, middle), np.where(yes, middle, high)
    return np.where(never, inf, high)
