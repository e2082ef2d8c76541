"""Moments: estimates from sums over cases, for numbers that are too many to be held at once."""

from __future__ import annotations

from math import sqrt

from pantrace.model import Record

from .estimate import CONFIDENCE, Estimate, TooFew
from .means import NO_SPREAD, bounded_t
from .proportions import _clustered_share, wilson


class Moments(Record, frozen=True, kw_only=True):
    """Numbers of cases, each case counted once by the mean of its repeats."""

    cases: int
    trials: int
    """Repeats included."""
    mean: float
    """Over cases."""
    variance: float | None = None
    """Of the cases' means, with n - 1; None of one case."""
    lowest: float | None = None
    highest: float | None = None
    """Of single numbers."""
    yes_or_no: bool = False
    """Every single number is 0 or 1."""


def mean_of_moments(found: Moments, *, share: bool, confidence: float = CONFIDENCE) -> Estimate:
    """The mean over cases: Wilson's interval for a share of yes, over cases where these were repeated; t for others."""
    n = found.cases
    if n == 0:
        raise TooFew("no case")
    if share and found.trials == n:
        return wilson(round(found.mean * n), n, confidence)
    if share:
        error = (found.variance or 0.0) / n
        return _clustered_share(found.mean, error, n, found.trials, "Wilson over cases", confidence)
    if n == 1 or found.variance is None:
        return Estimate(value=found.mean, n=n, method="t", note="one value has no interval")
    spread = sqrt(found.variance)
    # What adding up leaves behind is no spread.
    if spread <= 1e-12 * max(abs(found.lowest or 0.0), abs(found.highest or 0.0), abs(found.mean)):
        return Estimate(value=found.mean, n=n, method="t", note=NO_SPREAD)
    low, high = bounded_t(found.mean, spread / sqrt(n), n - 1, None, confidence)
    return Estimate(value=found.mean, low=low, high=high, n=n, method="t")


class RatioMoments(Record, frozen=True, kw_only=True):
    """Sums over cases of the two numbers of a ratio, and of their products."""

    cases: int
    """That have something below the line."""
    above: float
    below: float
    above_squared: float
    below_squared: float
    product: float


def ratio_of_moments(found: RatioMoments, *, share: bool, confidence: float = CONFIDENCE) -> Estimate:
    """The ratio of two sums. What belongs to one case belongs together, so that cases are what repeats."""
    if found.below <= 0:
        raise TooFew("nothing to take a ratio of")
    value = found.above / found.below
    off = found.above_squared - 2 * value * found.product + value**2 * found.below_squared
    count = found.cases
    error = max(0.0, off) / found.below**2 * count / (count - 1) if count > 1 else 0.0
    if share and 0 <= value <= 1:
        return _clustered_share(value, error, count, found.below, "Wilson over clusters", confidence)
    if count < 2 or error <= (1e-12 * value) ** 2:
        return Estimate(value=value, n=count, method="ratio of sums", note=NO_SPREAD if count > 1 else None)
    low, high = bounded_t(value, sqrt(error), count - 1, None, confidence)
    return Estimate(value=value, low=low, high=high, n=count, method="ratio of sums, clustered t")
