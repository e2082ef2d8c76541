"""Power: how many cases a difference needs to be seen, and which difference a size could have seen."""

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
    """Cases for a paired comparison of means: `variance` of the difference of the cases' own means, `sampling_variance`
    of one trial within a case (the same on both sides)."""
    return _z(alpha, power) ** 2 * (variance + 2 * sampling_variance / samples_per_case) / delta**2


def detectable_difference(standard_error: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """The least true difference that a comparison with this standard error would have found with this power."""
    return _z(alpha, power) * standard_error


def pairs_needed(only_first: float, only_second: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Pairs for McNemar's test, from the shares of discordant pairs."""
    discordant, delta = only_first + only_second, only_second - only_first
    normal = NormalDist()
    first = normal.inv_cdf(1 - alpha / 2) * sqrt(discordant)
    second = normal.inv_cdf(power) * sqrt(discordant - delta**2)
    return (first + second) ** 2 / delta**2


def per_arm_needed(first: float, second: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Cases on each side for two independent proportions."""
    effect = 2 * asin(sqrt(second)) - 2 * asin(sqrt(first))
    return 2 * _z(alpha, power) ** 2 / effect**2
