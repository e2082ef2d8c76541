"""Paired comparison: the same cases under two conditions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import product
from math import comb, fsum, sqrt

from msgspec.structs import replace

from pantrace.model import Record

from .clusters import cluster_mean, sums_of
from .estimate import CONFIDENCE, Bounds, Estimate, TooFew, distributions, mirrored
from .means import RESAMPLES as FLIPS
from .means import SEED, bounded_t, is_noise, mean, without_spread
from .proportions import tango
from .skewed import FEW_FOR_SHAPE, MANY, bootstrap_t, lognormal_pairs, may_be_lognormal, t_witness, widest

MANY_FLIPS = 5000
"""From this many differences on, sums of flipped signs are practically normal, and sampling them would take seconds."""


class PairedDifference(Record, frozen=True, kw_only=True):
    """A difference b - a over pairs, and how many pairs went up, down or nowhere."""

    estimate: Estimate
    wins: int
    losses: int
    ties: int


def paired_difference(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    confidence: float = CONFIDENCE,
    bounds: Bounds | None = None,
) -> PairedDifference:
    """The mean of second - first: t interval (clustered where pairs belong together), p by sign-flip permutation.
    If the bounds of a difference are given, there is an interval even when all pairs change by the same amount."""
    differences = differences_of(first, second)
    if clusters is None or len(set(clusters)) == len(differences):
        found, p = mean(differences, confidence, bounds), sign_flip(differences)
    else:
        # A whole cluster flips its sign together. Flipping its cases one by one would treat them as independent.
        sums = sums_of(differences, clusters)
        found, p = _clustered(differences, sums, confidence, bounds), sign_flip([total for total, _ in sums.values()])
    method = f"paired {found.method}, sign-flip permutation"
    note = found.note.replace("all values are", "all differences are") if found.note else None
    return _with_counts(differences, replace(found, p=p, method=method, note=note))


def _clustered(
    differences: Sequence[float],
    sums: Mapping[Hashable, tuple[float, int]],
    confidence: float,
    bounds: Bounds | None,
) -> Estimate:
    n, groups = len(differences), len(sums)
    value = fsum(differences) / n
    if groups < 2:
        return Estimate(value=value, n=n, method="clustered t", note="one cluster has no interval")
    error, freedom = cluster_mean(list(sums.values()))[1:]
    # Clusters with equal means: t would give an interval without width, as if nothing were uncertain.
    if is_noise(error, differences):
        return without_spread(value, n, groups, "clustered t", bounds, confidence)
    low, high = bounded_t(value, error, freedom, bounds, confidence)
    return Estimate(value=value, low=low, high=high, n=n, method="clustered t", note=f"{groups} clusters")


def paired_skewed(first: Sequence[float], second: Sequence[float], confidence: float = CONFIDENCE) -> PairedDifference:
    """The mean of second - first for values without an upper end: the wider of a studentised bootstrap and a lognormal
    model (t if some values are not above 0); p is the largest of both and of sign flips."""
    if list(first) > list(second):
        # Swapping the two runs must give the opposite answer, so the random draws must not depend on their order.
        turned = paired_skewed(second, first, confidence)
        return replace(turned, estimate=mirrored(turned.estimate), wins=turned.losses, losses=turned.wins)
    differences = differences_of(first, second)
    plain = paired_difference(first, second, None, confidence)
    if plain.estimate.low is None or plain.estimate.p is None:
        return plain
    witnesses, methods = [t_witness(differences, confidence)], ["t"]
    n = len(differences)
    if n < MANY:
        witnesses, methods = [bootstrap_t(differences, confidence), *witnesses], ["bootstrap-t", *methods]
    # The model of pairs needs four of them (degrees of freedom of its covariance).
    if 4 <= n < FEW_FOR_SHAPE and may_be_lognormal(first, second):
        witnesses[1], methods[1] = lognormal_pairs(first, second, confidence), "lognormal model"
    found = widest(witnesses)
    estimate = replace(
        plain.estimate,
        low=found.low,
        high=found.high,
        # Interval and p must not contradict each other, so the most cautious of each is shown.
        p=max(plain.estimate.p, found.p),
        method=f"paired {' and '.join(methods)}{' (the wider)' if len(methods) > 1 else ''}, sign-flip permutation",
    )
    return _with_counts(differences, estimate)


def _with_counts(differences: Sequence[float], estimate: Estimate) -> PairedDifference:
    return PairedDifference(
        estimate=estimate,
        wins=sum(each > 0 for each in differences),
        losses=sum(each < 0 for each in differences),
        ties=sum(each == 0 for each in differences),
    )


def differences_of(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """second - first, pair by pair."""
    if len(first) != len(second):
        raise ValueError("pairs need two values each")
    if not first:
        raise TooFew("no pair")
    return [_difference(before, after) for before, after in zip(first, second, strict=True)]


def _difference(before: float, after: float) -> float:
    """after - before, or 0 if the two differ only by rounding."""
    return 0.0 if is_noise(abs(after - before), (before, after)) else after - before


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p of no difference: exact over all flips of up to 16 non-zero differences, else from a seeded sample.
    For very many differences of which none stands out, the normal distribution that the flips approach."""
    # Flipping a zero changes nothing: without them, more cases can be done exactly.
    moving = [each for each in differences if each != 0]
    if not moving:
        return 1.0
    observed = abs(sum(moving))
    # Sums that are equal on paper differ in their last digits, depending on the order of addition; they belong to the
    # tail.
    slack = 1e-12 * sum(abs(each) for each in moving)
    # At most 65,536 flips, a fraction of a second.
    if len(moving) <= 16:
        flips = product((1, -1), repeat=len(moving))
        totals = (sum(sign * each for sign, each in zip(signs, moving, strict=True)) for signs in flips)
        extreme = sum(abs(total) >= observed - slack for total in totals)
        return float(extreme / 2 ** len(moving))
    import numpy as np

    values = np.asarray(moving)
    squares = float(values @ values)
    # The normal limit fails if one difference dominates: then the sum is about its sign.
    if len(values) >= MANY_FLIPS and float(abs(values).max()) ** 2 <= squares / 50:
        # Sums of equal steps are whole numbers of them: half a step between two sums belongs to the tail.
        beyond = max(0.0, observed - float(abs(values).min()))
        return float(2 * distributions().norm.sf(beyond / sqrt(squares)))
    dice = np.random.default_rng(SEED)
    extreme = 0
    # As many flips at once as fit into a few megabytes.
    rows = max(1, min(1000, 2_000_000 // len(values)))
    for start in range(0, FLIPS, rows):
        signs = dice.choice((-1.0, 1.0), size=(min(rows, FLIPS - start), len(values)))
        extreme += int((abs(signs @ values) >= observed - slack).sum())
    # The data as observed is one of the arrangements, so that p can never be 0.
    return (extreme + 1) / (FLIPS + 1)


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p of equal success on discordant pairs; 1 when there is none."""
    m = only_first + only_second
    if m == 0:
        return 1.0
    fewer = min(only_first, only_second)
    if m > 1000:
        # Adding up integers of thousands of digits takes seconds.
        return float(min(1.0, 2 * distributions().binom.cdf(fewer, m, 0.5)))
    return float(min(1.0, 2 * sum(comb(m, i) for i in range(fewer + 1)) / 2**m))


def paired_proportions(
    first: Sequence[bool], second: Sequence[bool], confidence: float = CONFIDENCE
) -> PairedDifference:
    """The difference of two pass rates on the same cases: Tango's score interval, p by exact McNemar."""
    if len(first) != len(second):
        raise ValueError("pairs need two values each")
    pairs = list(zip(first, second, strict=True))
    wins, losses = pairs.count((False, True)), pairs.count((True, False))
    found = tango(losses, wins, len(pairs), confidence)
    estimate = Estimate(
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        method="Tango, McNemar exact",
        p=mcnemar(losses, wins),
        note=None if wins or losses else "no discordant pair",
    )
    return PairedDifference(estimate=estimate, wins=wins, losses=losses, ties=len(pairs) - wins - losses)
