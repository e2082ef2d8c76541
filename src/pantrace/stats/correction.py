"""Correction: a pass rate without the errors of the judge that counted it."""

from __future__ import annotations

from math import sqrt

from .estimate import CONFIDENCE, Estimate, TooFew, normal_quantile

Count = tuple[int, int]
"""Successes, trials."""


def corrected_rate(counted: Count, sensitivity: Count, specificity: Count, confidence: float = CONFIDENCE) -> Estimate:
    """The true share of good items, by Rogan and Gladen: from the share that a judge calls good, and from how often
    labels show it to be right about good items (sensitivity) and about bad ones (specificity).

    The interval accounts for the uncertainty of all three. One success and one failure are added to each count of
    labels, so that a judge without a single error in few labels does not look infallible."""
    if min(counted[1], sensitivity[1], specificity[1]) == 0:
        raise TooFew("labels of both kinds are needed")
    rate, hit, spared = (successes / trials for successes, trials in (counted, sensitivity, specificity))
    if hit + spared <= 1:
        raise TooFew("the judge is no better than chance, so its rate says nothing")
    z = normal_quantile(confidence)
    p, n = _shrunk_share(counted, z * z)
    (q1, m1), (q0, m0) = _shrunk_share(sensitivity, 2), _shrunk_share(specificity, 2)
    apart = q0 + q1 - 1
    if apart <= 0:
        raise TooFew("too few labels to tell the judge from chance")
    centre = (p + q0 - 1) / apart
    spread = p * (1 - p) / n + (1 - centre) ** 2 * q0 * (1 - q0) / m0 + centre**2 * q1 * (1 - q1) / m1
    half = z * sqrt(spread) / apart
    return Estimate(
        value=_within((rate + spared - 1) / (hit + spared - 1)),
        low=_within(centre - half),
        high=_within(centre + half),
        n=counted[1],
        method="Rogan-Gladen",
    )


def _shrunk_share(count: Count, added: float) -> tuple[float, float]:
    """A share with this many trials added, half of them successes."""
    successes, trials = count
    return (successes + added / 2) / (trials + added), trials + added


def _within(share: float) -> float:
    return min(1.0, max(0.0, share))
