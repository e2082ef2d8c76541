"""Skewed numbers (cost, tokens, seconds): differences of means with honest error rates, and the ratio of typical cases.

No method is right for every skew. So two methods that err in different directions are used, and the wider answer is
given: a studentised bootstrap, which assumes no shape but sees only the tail that was drawn, and a lognormal model,
which accounts for the tail that was not drawn but assumes one shape."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log, sqrt
from typing import Any, NamedTuple

from .estimate import CONFIDENCE, Estimate, TooFew, distributions, t_quantile
from .means import SEED, is_noise, mean

RESAMPLES = 9999
DRAWS = 9999
"""Draws from the lognormal model."""
MANY = 2000
"""From this many values on, t agrees with the bootstrap and costs nothing."""
# Numbers drawn into one array (16 MB): all resamples of a long run at once would fill the memory.
_AT_ONCE = 2_000_000


class Witness(NamedTuple):
    """One method's interval and p-value."""

    low: float
    high: float
    p: float


def widest(witnesses: Sequence[Witness]) -> Witness:
    """The widest interval and the largest p: what all methods agree on."""
    lows, highs, ps = zip(*witnesses, strict=True)
    return Witness(min(lows), max(highs), max(ps))


def bootstrap_t(values: Sequence[float], confidence: float = CONFIDENCE) -> Witness:
    """The studentised bootstrap of a mean, seeded; p of a mean of 0."""
    return bootstrap_t_difference([0.0], values, confidence)


def bootstrap_t_difference(first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE) -> Witness:
    """The same for a difference second - first of independent means; a side with one value counts as known exactly."""
    import numpy as np

    dice = np.random.default_rng(SEED)
    sides = [np.asarray(side, float) for side in (first, second)]
    difference = float(sides[1].mean() - sides[0].mean())
    error = sqrt(sum(_square_error(side[None])[0] for side in sides))
    rows = max(1, min(RESAMPLES, _AT_ONCE // max(map(len, sides))))
    found: list[Any] = []
    for start in range(0, RESAMPLES, rows):
        count = min(rows, RESAMPLES - start)
        drawn = [side[dice.integers(0, len(side), (count, len(side)))] for side in sides]
        moved = drawn[1].mean(1) - drawn[0].mean(1) - difference
        errors = np.sqrt(_square_error(drawn[0]) + _square_error(drawn[1]))
        # A resample of equal values has no standard error, so it has no t.
        usable = errors > 1e-9 * error
        found.append(moved[usable] / errors[usable])
    t = np.sort(np.concatenate(found))
    tail = (1 - confidence) / 2
    # The ends swap: a resample that came out too high means that the true mean may be lower.
    low, high = np.quantile(t, [1 - tail, tail], method="nearest")
    observed = difference / error
    return Witness(difference - float(low) * error, difference - float(high) * error, _two_sided(t, observed))


def _square_error(rows: Any) -> Any:
    """The square of the standard error of each row's mean; 0 for a row of one."""
    n = rows.shape[1]
    return rows.var(axis=1, ddof=1) / n if n > 1 else rows[:, 0] * 0.0


def _two_sided(sorted_values: Any, observed: float) -> float:
    """Twice the share of values at least as far out as the observed one, on the smaller side; the observed one counts
    as one of them, so p is never 0."""
    import numpy as np

    count = len(sorted_values)
    below = int(np.searchsorted(sorted_values, observed, side="right"))
    above = count - int(np.searchsorted(sorted_values, observed, side="left"))
    return min(1.0, 2 * (min(below, above) + 1) / (count + 1))


def lognormal_pairs(before: Sequence[float], after: Sequence[float], confidence: float = CONFIDENCE) -> Witness:
    """The difference of the means of two lognormal variables on the same cases: generalised pivots of their joint
    distribution (Krishnamoorthy and Mathew's method, for pairs), seeded."""
    import numpy as np

    dice = np.random.default_rng(SEED)
    logs = np.log(np.asarray([before, after], float))
    n = logs.shape[1]
    if n < 4:
        raise TooFew("a lognormal model of pairs takes four of them")
    # Not Cholesky: the covariance is singular if one run is constant, or both move together exactly.
    size, turned = np.linalg.eigh(np.cov(logs) * (n - 1))
    # Bartlett's decomposition of an inverse Wishart matrix. scipy draws one at a time, a hundred times slower.
    one, two = np.sqrt(dice.chisquare(n - 1, DRAWS)), np.sqrt(dice.chisquare(n - 2, DRAWS))
    factors = np.zeros((DRAWS, 2, 2))
    factors[:, 0, 0], factors[:, 1, 1] = 1 / one, 1 / two
    factors[:, 0, 1] = -dice.standard_normal(DRAWS) / (one * two)
    roots = turned * np.sqrt(np.clip(size, 0, None)) @ factors
    centres = logs.mean(1) - (roots @ dice.standard_normal((DRAWS, 2, 1)))[:, :, 0] / sqrt(n)
    # With few, widely spread values, the tail contains means that overflow a float.
    means = np.exp(np.clip(centres + (roots**2).sum(2) / 2, -700, 700))
    return _witness_of_draws(means[:, 1] - means[:, 0], confidence)


def lognormal_sides(first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE) -> Witness:
    """The same for two independent runs."""
    import numpy as np

    dice = np.random.default_rng(SEED)
    means = []
    for side in (first, second):
        logs = np.log(np.asarray(side, float))
        n = len(logs)
        spread = logs.var(ddof=1) * (n - 1) / dice.chisquare(n - 1, DRAWS)
        centre = logs.mean() - np.sqrt(spread / n) * dice.standard_normal(DRAWS)
        means.append(np.exp(np.clip(centre + spread / 2, -700, 700)))
    return _witness_of_draws(means[1] - means[0], confidence)


def _witness_of_draws(draws: Any, confidence: float) -> Witness:
    import numpy as np

    ordered = np.sort(draws)
    tail = (1 - confidence) / 2
    low, high = np.quantile(ordered, [tail, 1 - tail], method="nearest")
    return Witness(float(low), float(high), _two_sided(ordered, 0.0))


def ratio_of_pairs(before: Sequence[float], after: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """How many times as much a typical case has after as before: the ratio of the geometric means, by t on logarithms.
    All values must be above 0."""
    found = mean([log(two) - log(one) for one, two in zip(before, after, strict=True)], confidence)
    return _as_ratio(found, "ratio of geometric means, t on logarithms")


def ratio_of_sides(first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The same for two independent runs, by Welch's t on logarithms."""
    # Imported here, because `unpaired` imports this module.
    from .unpaired import difference_of_means

    found = difference_of_means(list(map(log, first)), list(map(log, second)), confidence)
    return _as_ratio(found, "ratio of geometric means, Welch t on logarithms")


def _as_ratio(found: Estimate, method: str) -> Estimate:
    ends = [None if end is None else exp(min(end, 700.0)) for end in (found.low, found.high)]
    return Estimate(value=exp(found.value), low=ends[0], high=ends[1], n=found.n, method=method, note=found.note)


def t_witness(values: Sequence[float], confidence: float = CONFIDENCE) -> Witness:
    """The t interval of a mean and its p of a mean of 0."""
    n, average = len(values), fsum(values) / len(values)
    error = sqrt(fsum((value - average) ** 2 for value in values) / (n - 1) / n)
    half = t_quantile(confidence, n - 1) * error
    return Witness(average - half, average + half, float(2 * distributions().t.sf(abs(average) / error, n - 1)))


FEW_FOR_SHAPE = 1000
"""With fewer values, the tail that was not drawn has to be modelled; with more, the data shows it."""
LEAN = -0.7
"""If the logarithms are skewed further to the left than this, values are not treated as lognormal."""


def may_be_lognormal(*sides: Sequence[float]) -> bool:
    """Whether values can come from a lognormal distribution: all above 0, and their logarithms not skewed to the left.
    If they are, the values are less skewed than the model assumes, and its means would be far too large."""
    return all(min(side) > 0 and skewness(list(map(log, side))) > LEAN for side in sides)


def skewness(values: Sequence[float]) -> float:
    """The skewness of values: above 0 if the outliers are high; 0 for equal values."""
    # scipy warns of catastrophic cancellation for (nearly) equal values, and returns NaN.
    if is_noise(max(values) - min(values), values):
        return 0.0
    return float(distributions().skew(values))


def least_skewed(sides: Sequence[Sequence[float]], ends: tuple[float, float], power: float, *, up: bool) -> float:
    """The smallest shift, upwards or downwards, that an interval with these ends finds with this power. Values are
    resampled, and each resample's interval is as wide as the given one in proportion to its standard error. A single
    side contains the differences of pairs."""
    import numpy as np

    dice = np.random.default_rng(SEED)
    arrays = [np.asarray(side, float) for side in sides]
    sign, value = 1, 0.0
    moved: Any = 0.0
    square: Any = 0.0
    # A power needs only a few hundred draws, and each reuses the given width: no bootstrap inside the bootstrap.
    times = max(50, min(400, _AT_ONCE // max(map(len, arrays))))
    for array in reversed(arrays):
        drawn = array[dice.integers(0, len(array), (times, len(array)))]
        value += sign * float(array.mean())
        moved = moved + sign * (drawn.mean(1) - array.mean())
        square = square + _square_error(drawn)
        sign = -1
    error = sqrt(sum(float(_square_error(array[None])[0]) for array in arrays))
    reach = value - ends[0] if up else ends[1] - value
    return float(np.quantile(reach * np.sqrt(square) / error - (moved if up else -moved), power, method="higher"))
