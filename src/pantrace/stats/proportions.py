"""Proportions: Wilson for one, Newcombe for the difference of two, Tango for a difference on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt

from msgspec.structs import replace

from .estimate import CONFIDENCE, Estimate, TooFew, normal_quantile, root, t_quantile


def wilson(successes: float, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """One proportion with its Wilson interval, which has a width and stays within 0..1 even at 0 of n and n of n."""
    if n <= 0:
        raise TooFew("no trial")
    share = successes / n
    low, high = _score_interval(share, n, normal_quantile(confidence))
    return Estimate(value=share, low=low, high=high, n=n, method="Wilson")


def _score_interval(share: float, n: float, z: float) -> tuple[float, float]:
    """All true shares that are at most z of their own standard errors away from the observed share."""
    n = float(n)  # counts come from files, and the square of a huge whole number fits no float
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At 0 and 1 the formula gives the end itself, except for rounding.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return low, high


def share_over_cases(shares: Sequence[float], trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of the shares of cases that were tried several times, or of episodes with several steps; `trials` is the
    total. Each case counts the same."""
    cases = len(shares)
    if cases == 0:
        raise TooFew("no case")
    value = fsum(shares) / cases
    error = fsum((share - value) ** 2 for share in shares) / (cases - 1) / cases if cases > 1 else 0.0
    return _clustered_share(value, error, cases, trials, "Wilson over cases", confidence)


def pooled_share(parts: Sequence[float], wholes: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The share over all episodes together (hits of clicks, matches of steps). Each step counts the same, and the steps
    of an episode form a cluster."""
    whole = fsum(wholes)
    if whole == 0:
        raise TooFew("nothing to take a share of")
    value = fsum(parts) / whole
    count = sum(each > 0 for each in wholes)
    # The delta method for a ratio: the number of steps varies by chance, too. Wilson on pooled steps would ignore that
    # the steps of an episode succeed or fail together.
    off = fsum((part - value * each) ** 2 for part, each in zip(parts, wholes, strict=True)) / whole**2
    error = off * count / (count - 1) if count > 1 else 0.0
    return _clustered_share(value, error, count, whole, "Wilson over clusters", confidence)


def _clustered_share(
    value: float, variance: float, clusters: int, trials: float, method: str, confidence: float
) -> Estimate:
    """Wilson's interval for the number of independent trials that would have the same spread as these clusters (at most
    all of them), with t for few clusters. If all trials agree there is no spread: then a cluster is one trial."""
    if clusters == 1:
        return Estimate(value=value, n=1, method=method, note="one value has no interval")
    if value in (0, 1):
        low, high = _score_interval(value, clusters, normal_quantile(confidence))
    else:
        independent = min(trials, value * (1 - value) / variance) if variance > 0 else trials
        low, high = _score_interval(value, independent, t_quantile(confidence, clusters - 1))
    return Estimate(value=value, low=low, high=high, n=clusters, method=method)


def newcombe(first: tuple[int, int], second: tuple[int, int], confidence: float = CONFIDENCE) -> Estimate:
    """The difference second - first of two independent proportions (successes, n)."""
    found = difference_of_intervals(wilson(*first, confidence), wilson(*second, confidence))
    return replace(found, method="Newcombe")


def difference_of_intervals(one: Estimate, two: Estimate) -> Estimate:
    """The difference two - one of independent estimates, by Newcombe's method of combining their intervals; without
    an interval if one of them has none."""
    difference, n = two.value - one.value, one.n + two.n
    if one.low is None or one.high is None or two.low is None or two.high is None:
        return Estimate(value=difference, n=n, method="none")
    low = difference - sqrt((two.value - two.low) ** 2 + (one.high - one.value) ** 2)
    high = difference + sqrt((two.high - two.value) ** 2 + (one.value - one.low) ** 2)
    return Estimate(value=difference, low=low, high=high, n=n, method="Newcombe, Fisher exact")


def tango(only_first: int, only_second: int, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """The difference second - first of two proportions on the same n cases, from the cases where they differ: Tango's
    score interval. It exists even if all cases change or none does, and stays within -1..1."""
    if n <= 0:
        raise TooFew("no pair")
    z = normal_quantile(confidence)
    difference = (only_second - only_first) / n

    def outside(true: float) -> float:
        """Above 0 if the observed difference is further from the true one than chance explains."""
        apart = true * (1 - true)
        linear = (2 * n - only_second + only_first) * true - only_first - only_second
        # The likeliest share of pairs that only the first passes, given that true difference (the root of a quadratic).
        likeliest = (sqrt(max(0.0, linear**2 + 8 * n * only_first * apart)) - linear) / (4 * n)
        return n * (difference - true) ** 2 - z * z * (2 * likeliest + apart)

    # At the observed difference itself the spread is 0 if no pair, or every pair, differs: start next to it.
    near = 1e-9
    low = -1.0 if difference == -1 else root(outside, -1.0, difference - near)
    high = 1.0 if difference == 1 else root(outside, difference + near, 1.0)
    return Estimate(value=difference, low=low, high=high, n=n, method="Tango")
