"""Moments: estimates from sums over cases, for runs that are too large to keep every number in memory."""

from __future__ import annotations

from math import sqrt

from pantrace.model import Record

from .estimate import CONFIDENCE, Estimate, TooFew
from .means import NO_SPREAD, bounded_t
from .proportions import _clustered_share, wilson


class Moments(Record, frozen=True, kw_only=True):
    """The numbers of a run, summed up; each case counts once, by the mean of its repeats."""

    cases: int
    trials: int
    """Repeats included."""
    mean: float
    """Over cases."""
    variance: float | None = None
    """Of the cases' means, divided by n - 1; None for a single case."""
    lowest: float | None = None
    highest: float | None = None
    """Of the single numbers."""
    yes_or_no: bool = False
    """Every single number is 0 or 1."""


def mean_of_moments(found: Moments, *, share: bool, confidence: float = CONFIDENCE) -> Estimate:
    """The mean over cases. A share has Wilson's interval, over cases if these were repeated; other numbers have t."""
    n = found.cases
    if n == 0:
        raise TooFew("no case")
    if share and found.trials == n:
        # round: a mean of zeros and ones, times n, is a whole number except for rounding.
        return wilson(round(found.mean * n), n, confidence)
    if share:
        error = (found.variance or 0.0) / n
        return _clustered_share(found.mean, error, n, found.trials, "Wilson over cases", confidence)
    if n == 1 or found.variance is None:
        return Estimate(value=found.mean, n=n, method="t", note="one value has no interval")
    spread = sqrt(found.variance)
    # A spread this small is only the rounding error of adding up.
    if spread <= 1e-12 * max(abs(found.lowest or 0.0), abs(found.highest or 0.0), abs(found.mean)):
        return Estimate(value=found.mean, n=n, method="t", note=NO_SPREAD)
    low, high = bounded_t(found.mean, spread / sqrt(n), n - 1, None, confidence)
    return Estimate(value=found.mean, low=low, high=high, n=n, method="t")


class RatioMoments(Record, frozen=True, kw_only=True):
    """Sums over cases of the two numbers of a ratio, and of their products."""

    cases: int
    """Cases whose denominator is not 0."""
    above: float
    below: float
    above_squared: float
    below_squared: float
    product: float


def ratio_of_moments(found: RatioMoments, *, share: bool, confidence: float = CONFIDENCE) -> Estimate:
    """The ratio of two sums. All numbers of a case form a cluster, so the number of cases decides the interval."""
    if found.below <= 0:
        raise TooFew("nothing to take a ratio of")
    value = found.above / found.below
    off = found.above_squared - 2 * value * found.product + value**2 * found.below_squared
    count = found.cases
    # Differences of large squares can come out slightly below 0.
    error = max(0.0, off) / found.below**2 * count / (count - 1) if count > 1 else 0.0
    if share and 0 <= value <= 1:
        return _clustered_share(value, error, count, found.below, "Wilson over clusters", confidence)
    if count < 2 or error <= (1e-12 * value) ** 2:
        return Estimate(value=value, n=count, method="ratio of sums", note=NO_SPREAD if count > 1 else None)
    low, high = bounded_t(value, sqrt(error), count - 1, None, confidence)
    return Estimate(value=value, low=low, high=high, n=count, method="ratio of sums, clustered t")
