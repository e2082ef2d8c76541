"""Power: how many cases it takes to see a difference, and which difference a number of cases can show."""

from __future__ import annotations

from math import asin, sqrt
from statistics import NormalDist

# The conventions (Cohen 1988): one false alarm in 20, and four of five true differences found.
ALPHA = 0.05
POWER = 0.8


def _z(alpha: float, power: float) -> float:
    return NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)


def samples_needed(
    delta: float,
    variance: float,
    sampling_variance: float = 0.0,
    samples_per_case: int = 1,
    alpha: float = ALPHA,
    power: float = POWER,
) -> float:
    """Cases needed for a paired comparison of means. `variance` is that of the difference of the cases' own means,
    `sampling_variance` that of one trial within a case (the same on both sides)."""
    # Miller 2024. More trials per case reduce only the second term.
    return _z(alpha, power) ** 2 * (variance + 2 * sampling_variance / samples_per_case) / delta**2


def detectable_difference(standard_error: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest true difference that a comparison with this standard error finds with this power."""
    return _z(alpha, power) * standard_error


def pairs_needed(only_first: float, only_second: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Pairs needed for McNemar's test, from the shares of discordant pairs."""
    discordant, delta = only_first + only_second, only_second - only_first
    normal = NormalDist()
    first = normal.inv_cdf(1 - alpha / 2) * sqrt(discordant)
    second = normal.inv_cdf(power) * sqrt(discordant - delta**2)
    return (first + second) ** 2 / delta**2


def per_arm_needed(first: float, second: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Cases needed on each side to compare two independent proportions."""
    # The arcsine makes the variance of a share the same everywhere, so that one formula serves all shares.
    effect = 2 * asin(sqrt(second)) - 2 * asin(sqrt(first))
    return 2 * _z(alpha, power) ** 2 / effect**2
