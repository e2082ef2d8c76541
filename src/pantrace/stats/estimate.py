"""Estimate: a number with its interval, the number of cases behind it, and its method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from pantrace.errors import MissingExtra
from pantrace.model import Record

CONFIDENCE = 0.95


class Estimate(Record, frozen=True, kw_only=True):
    """A number and how certain it is."""

    value: float
    low: float | None = None
    """None if there is no interval; `note` says why."""
    high: float | None = None
    n: int
    """What was counted: cases, tasks, members of clusters."""
    method: str
    p: float | None = None
    """p-value of no difference, for estimates of a difference."""
    note: str | None = None


Bounds = tuple[float, float]
"""The smallest and the largest possible value."""


class TooFew(ValueError):
    """There is nothing to estimate from."""


def mirrored(found: Estimate) -> Estimate:
    """The same difference with the sides swapped."""
    ends = [None if end is None else -end for end in (found.high, found.low)]
    return replace(found, value=-found.value, low=ends[0], high=ends[1])


def normal_quantile(confidence: float) -> float:
    """The z of a two-sided interval."""
    # The standard library, so that pass rates work without the `analysis` extra.
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + confidence / 2)


def t_quantile(confidence: float, freedom: float) -> float:
    """The t of a two-sided interval."""
    try:
        # scipy.stats uses this function itself, and takes four times as long to import.
        from scipy.special import stdtrit
    except ImportError:
        raise MissingExtra("an interval of a mean", "analysis") from None
    return float(stdtrit(freedom, 0.5 + confidence / 2))


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is zero, between two points at which it has different signs."""
    try:
        from scipy.optimize import brentq
    except ImportError:
        raise MissingExtra("an interval of a difference", "analysis") from None
    return float(brentq(function, low, high, xtol=1e-12))


def distributions() -> Any:
    """scipy.stats, imported when first needed."""
    try:
        from scipy import stats
    except ImportError:
        raise MissingExtra("an interval of a mean", "analysis") from None
    return stats
