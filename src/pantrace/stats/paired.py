"""Paired comparison: the same cases under two conditions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from math import comb

from pantrace.model import Record

from .estimate import CONFIDENCE, Bounds, Estimate, TooFew
from .means import RESAMPLES as FLIPS
from .means import SEED, clustered_mean, is_noise
from .proportions import tango


class PairedDifference(Record, frozen=True, kw_only=True):
    """A difference b - a over pairs, with how the pairs fell."""

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
    With the bounds of a difference there is an interval when all pairs change alike, too."""
    if len(first) != len(second):
        raise ValueError("pairs need two values each")
    if not first:
        raise TooFew("no pair")
    differences = [_difference(before, after) for before, after in zip(first, second, strict=True)]
    found = clustered_mean(differences, range(len(first)) if clusters is None else clusters, confidence, bounds)
    p = sign_flip(_sums(differences, clusters) if clusters is not None else differences)
    estimate = Estimate(
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        method=f"paired {found.method}, sign-flip permutation",
        p=p,
        note=found.note,
    )
    return PairedDifference(
        estimate=estimate,
        wins=sum(each > 0 for each in differences),
        losses=sum(each < 0 for each in differences),
        ties=sum(each == 0 for each in differences),
    )


def _difference(before: float, after: float) -> float:
    """after - before; what only rounding makes of two equal numbers is 0."""
    return 0.0 if is_noise(abs(after - before), (before, after)) else after - before


def _sums(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    """Pairs of one cluster flip together."""
    sums: dict[Hashable, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value
    return list(sums.values())


def sign_flip(differences: Sequence[float]) -> float:
    """Two-sided p of no difference: exact over all flips of up to 16 non-zero differences, else a seeded sample."""
    moving = [each for each in differences if each != 0]
    if not moving:
        return 1.0
    observed = abs(sum(moving))
    slack = 1e-12 * sum(abs(each) for each in moving)
    if len(moving) <= 16:
        flips = product((1, -1), repeat=len(moving))
        totals = (sum(sign * each for sign, each in zip(signs, moving, strict=True)) for signs in flips)
        extreme = sum(abs(total) >= observed - slack for total in totals)
        return float(extreme / 2 ** len(moving))
    import numpy as np

    dice = np.random.default_rng(SEED)
    values = np.asarray(moving)
    extreme = 0
    # So many flips at once as fit into a few megabytes.
    rows = max(1, min(1000, 2_000_000 // len(values)))
    for start in range(0, FLIPS, rows):
        signs = dice.choice((-1.0, 1.0), size=(min(rows, FLIPS - start), len(values)))
        extreme += int((abs(signs @ values) >= observed - slack).sum())
    return (extreme + 1) / (FLIPS + 1)


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p of equal success on discordant pairs; 1 when there is none."""
    m = only_first + only_second
    if m == 0:
        return 1.0
    tail = sum(comb(m, i) for i in range(min(only_first, only_second) + 1))
    return float(min(1.0, 2 * tail / 2**m))


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
