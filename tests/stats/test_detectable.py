"""What could have been seen: the power of the very test, checked by running that test."""

from __future__ import annotations

from math import comb, inf

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pantrace.stats import (
    Sums,
    arms_by_fisher,
    cluster_mean,
    fisher_power,
    least_by_fisher,
    least_by_mcnemar,
    least_shift,
    mcnemar,
    mcnemar_power,
    paired_difference,
    pairs_by_mcnemar,
)


def test_mcnemars_power_is_the_sum_over_all_tables() -> None:
    n, b, c = 12, 0.1, 0.5
    by_hand = 0.0
    for losses in range(n + 1):
        for wins in range(n + 1 - losses):
            if mcnemar(losses, wins) < 0.05:
                ways = comb(n, losses) * comb(n - losses, wins)
                by_hand += ways * b**losses * c**wins * (1 - b - c) ** (n - losses - wins)
    assert mcnemar_power(n, b, c) == pytest.approx(by_hand)
    assert mcnemar_power(n, 0.0, 0.0) == 0


def test_the_least_difference_is_found_four_times_of_five() -> None:
    for pairs, other_way in ((50, 0.1), (200, 0.15), (1000, 0.05), (40, 0.0)):
        least = least_by_mcnemar(pairs, other_way)
        assert mcnemar_power(pairs, other_way, other_way + least) == pytest.approx(0.8, abs=1e-3)
    assert least_by_mcnemar(5, 0.2) == inf


def test_fishers_power_is_the_sum_over_all_tables() -> None:
    first, second = (0.2, 15), (0.8, 12)
    by_hand = 0.0
    for x in range(16):
        for y in range(13):
            if scipy_stats.fisher_exact([[x, 15 - x], [y, 12 - y]]).pvalue < 0.05:
                by_hand += scipy_stats.binom.pmf(x, 15, 0.2) * scipy_stats.binom.pmf(y, 12, 0.8)
    assert fisher_power(first, second) == pytest.approx(by_hand, abs=0.03)
    least = least_by_fisher(0.5, (100, 100))
    assert fisher_power((0.5, 100), (0.5 + least, 100)) == pytest.approx(0.8, abs=0.03)
    assert least_by_fisher(0.5, (3, 3)) == inf
    # By the arcsine, .5 against .6 takes 387 cases on each side; Fisher's test takes 20 more.
    least = least_by_fisher(0.5, (387, 387))
    assert 0.101 < least < 0.105
    assert fisher_power((0.5, 387), (0.5 + least, 387)) == pytest.approx(0.8, abs=0.03)


def test_so_many_cases_as_are_named_find_the_difference_with_the_exact_test() -> None:
    for first, second in ((0.333, 0.52), (0.5, 0.6), (0.9, 0.99), (0.02, 0.06)):
        arms = round(arms_by_fisher(first, second))
        assert arms == round(arms_by_fisher(second, first))
        assert fisher_power((first, arms), (second, arms)) == pytest.approx(0.8, abs=0.03)
    for one, two in ((0.1, 0.15), (0.02, 0.05), (0.0, 0.05), (0.2, 0.25)):
        pairs = round(pairs_by_mcnemar(one, two))
        assert mcnemar_power(pairs - 2, one, two) < mcnemar_power(pairs, one, two)
        assert mcnemar_power(pairs, one, two) == pytest.approx(0.8, abs=0.01)


def test_of_very_many_cases_a_formula_says_what_draws_say() -> None:
    dice = np.random.default_rng(4)
    totals = tuple(dice.normal(0, 1, 6000).tolist())
    many = least_shift(None, Sums(totals, (1.0,) * 6000))
    few = least_shift(None, Sums(totals[:1500], (1.0,) * 1500))
    assert many == pytest.approx(few / 2, rel=0.1)


@pytest.mark.parametrize(("clusters", "size"), [(7, 1), (20, 1), (8, 5)])
def test_a_shift_of_that_size_is_found_four_times_of_five(clusters: int, size: int) -> None:
    """Fresh data of the same kind, shifted so far, through the whole test: t interval and sign flips."""
    dice, found, draws = np.random.default_rng(8), 0, 150
    names = [name for name in range(clusters) for _ in range(size)]
    shifts = []
    for _ in range(40):
        sums = tuple((dice.normal(0, 1, clusters) * size + dice.normal(0, 1, clusters)).tolist())
        shifts.append(least_shift(None, Sums(sums, (size,) * clusters)))
    shift = float(np.median(shifts))
    for _ in range(draws):
        own = np.repeat(dice.normal(0, 1, clusters) + dice.normal(0, 1, clusters) / size, size)
        estimate = paired_difference([0.0] * len(own), (own + shift).tolist(), names).estimate
        assert estimate.low is not None
        assert estimate.p is not None
        found += estimate.low > 0 and estimate.p < 0.05
    assert 0.68 < found / draws < 0.92


def test_five_clusters_can_show_nothing() -> None:
    assert least_shift(None, Sums((1.0, -2.0, 0.5, 0.3, 1.0), (4.0,) * 5)) == inf
    assert least_shift(None, Sums((1.0,) * 20, (1.0,) * 20)) == 0


def test_sides_in_clusters() -> None:
    dice = np.random.default_rng(9)
    one, two = (Sums(tuple((dice.normal(0, 1, 12) * 4).tolist()), (4.0,) * 12) for _ in range(2))
    both = least_shift(one, two)
    # (1.96 + 0.84) standard errors and some more, for t and 11 degrees of freedom each.
    error = float(np.sqrt(sum(np.var(np.asarray(side.totals) / 4, ddof=1) / 12 for side in (one, two))))
    assert 2.8 < both / error < 3.4


# Few clusters


def test_clusters_of_one_size_have_one_less_degrees_of_freedom() -> None:
    totals = [3.0, 1.0, 2.0, 5.0, 4.0]
    found = cluster_mean([(total, 4) for total in totals])
    means = np.asarray(totals) / 4
    assert found.mean == pytest.approx(means.mean())
    assert found.error == pytest.approx(scipy_stats.sem(means))
    assert found.freedom == pytest.approx(4)


def test_a_large_cluster_takes_freedom_away() -> None:
    """The variance is free of bias and the freedom is Satterthwaite's: both from a matrix, without the shortcut."""
    sizes = np.asarray([1, 2, 4, 8, 30])
    weights = sizes / sizes.sum()
    centred = np.eye(5) - np.outer(np.ones(5), weights)
    form = centred.T @ np.diag(weights**2 / (1 - 2 * weights + (weights**2).sum())) @ centred
    y = np.asarray([0.3, -1.2, 0.7, 0.1, 2.0])
    found = cluster_mean([(float(each * size), int(size)) for each, size in zip(y, sizes, strict=True)])
    assert found.error**2 == pytest.approx(float(y @ form @ y))
    assert np.trace(form) == pytest.approx((weights**2).sum())
    assert found.freedom == pytest.approx(np.trace(form) ** 2 / np.trace(form @ form))
    assert found.freedom < 2


def test_few_clusters_of_unlike_sizes_keep_their_level() -> None:
    """Five clusters of 1 to 30 cases: with G - 1 degrees of freedom, more than every fifth interval misses."""
    dice, missed, plain, draws = np.random.default_rng(10), 0, 0, 1000
    sizes = np.asarray([1, 2, 4, 8, 30])
    for _ in range(draws):
        y = dice.normal(0, 1, 5)
        found = cluster_mean([(float(each * size), int(size)) for each, size in zip(y, sizes, strict=True)])
        missed += abs(found.mean) > scipy_stats.t.ppf(0.975, found.freedom) * found.error
        off = sizes * (y - found.mean)
        plain += abs(found.mean) > scipy_stats.t.ppf(0.975, 4) * np.sqrt((off**2).sum() * 5 / 4) / sizes.sum()
    assert missed / draws < 0.07
    assert plain / draws > 0.15
