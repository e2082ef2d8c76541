"""Intervals that must hold where there is little or no spread: shares, differences on the same cases, clusters.

Each is held against another way to reckon it: a number of R's, scipy, a likelihood climbed by hand, a regression.
"""

from __future__ import annotations

from math import comb, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from scipy import stats as scipy_stats

from pantrace.stats import (
    Estimate,
    TooFew,
    cases_for_t,
    clustered_mean,
    difference_of_clusters,
    difference_of_means,
    least_by_mcnemar,
    mcnemar,
    mean,
    paired_difference,
    paired_proportions,
    pass_hat_k,
    pass_k,
    pooled_share,
    share_over_cases,
    tango,
    wilson,
)

Z = scipy_stats.norm.ppf(0.975)


def ends(found: Estimate) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


# Differences on the same cases


def test_tango_is_what_r_gives() -> None:
    # PropCIs::scoreci.mp(25, 28, 618, conf.level = 0.9) in R: -0.0148 to 0.0247.
    assert ends(tango(25, 28, 618, 0.9)) == pytest.approx((-0.0148, 0.0247), abs=5e-5)


@pytest.mark.parametrize(("b", "c", "n"), [(1, 4, 20), (0, 3, 50), (2, 12, 50), (7, 1, 21), (40, 20, 160), (5, 5, 30)])
def test_tangos_ends_lie_where_the_score_test_turns(b: int, c: int, n: int) -> None:
    """At each end, the nuisance probability is climbed for numerically instead of solved for."""
    for delta in ends(tango(b, c, n)):

        def unlikely(q: float, delta: float = delta) -> float:
            cells = [(b, q), (c, q + delta), (n - b - c, 1 - 2 * q - delta)]
            return -sum(count * log(max(p, 1e-300)) for count, p in cells if count)

        low, high = max(0.0, -delta), (1 - delta) / 2
        q = optimize.minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
        score = (c - b - n * delta) / sqrt(n * (2 * q + delta * (1 - delta)))
        assert abs(score) == pytest.approx(Z, abs=1e-3)


def test_tango_where_nothing_and_where_everything_changes() -> None:
    # By hand: with no discordant pair n d / (1 - d) = z^2, so d = z^2 / (n + z^2) = 3.8415 / 53.8415 = 0.071348.
    assert ends(tango(0, 0, 50)) == pytest.approx((-0.071348, 0.071348), abs=1e-6)
    # All up is all down mirrored, and as far from 1 as twice that: 1 - 2 * 0.071348.
    assert ends(tango(0, 50, 50)) == pytest.approx((0.857305, 1.0), abs=1e-6)
    assert ends(tango(50, 0, 50)) == pytest.approx((-1.0, -0.857305), abs=1e-6)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))))
def test_tango_is_always_there_and_inside_and_mirrored(counts: tuple[int, int, int]) -> None:
    b, c, n = counts[0], min(counts[1], counts[2] - counts[0]), counts[2]
    found, mirrored = tango(b, c, n), tango(c, b, n)
    low, high = ends(found)
    assert -1 <= low <= found.value <= high <= 1
    assert low < high
    assert (low, high) == pytest.approx((-ends(mirrored)[1], -ends(mirrored)[0]), abs=1e-9)


def test_fifty_pairs_that_change_alike() -> None:
    found = paired_proportions([False] * 50, [True] * 50).estimate
    # Two-sided sign test by hand: 2 / 2^50 = 1.776e-15.
    assert found.p == pytest.approx(2 / 2**50)
    assert ends(found)[0] > 0.85


def test_an_interval_in_every_repetition_with_few_discordant_pairs() -> None:
    """50 pairs, 5 % discordant: a t interval has none in one repetition of thirteen."""
    dice = np.random.default_rng(11)
    held = without_t = 0
    for _ in range(400):
        b, c, _ = (int(each) for each in dice.multinomial(50, [0.025, 0.025, 0.95]))
        low, high = ends(tango(b, c, 50))
        held += low <= 0 <= high
        without_t += b + c == 0
    assert held / 400 > 0.93
    assert without_t > 10


# Values that are all alike


def test_equal_values_have_an_interval_only_within_bounds() -> None:
    assert mean([0.5] * 20).low is None
    found = mean([0.5] * 20, bounds=(0.0, 1.0))
    # Clopper and Pearson's upper limit of 0 in 20, by scipy; so many others at either end.
    others = scipy_stats.beta.ppf(0.975, 1, 20)
    assert ends(found) == pytest.approx((0.5 - others / 2, 0.5 + others / 2))
    # What only rounding tells apart is equal.
    assert mean([0.1 + 0.2, 0.3, 0.3, 0.3]).low is None


def test_a_run_against_itself_is_close_to_itself() -> None:
    scores = [n % 7 / 7 for n in range(1000)]
    found = paired_difference(scores, scores, bounds=(-1.0, 1.0)).estimate
    # 1 - 0.025^(1/1000) = 0.003682.
    assert ends(found) == pytest.approx((-0.003682, 0.003682), abs=1e-6)
    assert found.p == 1.0
    clustered = paired_difference(scores, scores, [n % 20 for n in range(1000)], bounds=(-1.0, 1.0)).estimate
    # Twenty clusters are twenty proofs, not a thousand: 1 - 0.025^(1/20) = 0.168433.
    assert ends(clustered)[1] == pytest.approx(0.168433, abs=1e-6)


def test_a_t_interval_ends_where_differences_end() -> None:
    found = paired_difference([0.0, 0.0, 0.0], [1.0, 1.0, 0.5], bounds=(-1.0, 1.0)).estimate
    assert ends(found)[1] == 1.0


def test_skewed_values_need_many_cases() -> None:
    values = list(np.random.default_rng(1).lognormal(0, 1, 30))
    assert cases_for_t(values) == int(np.ceil(25 * scipy_stats.skew(values) ** 2))
    assert cases_for_t([0.3] * 10) == 0


# Shares


def test_shares_over_cases_by_hand() -> None:
    """Case shares 1, 0.5, 0, 0.5 (two trials each): mean 0.5, variance of the mean (0.25 + 0.25) / 3 / 4 = 1/24, that
    of 0.25 * 24 = 6 trials, fewer than 8. Wilson's limits solve (p - 0.5)^2 = t^2 p (1 - p) / 6, t of 3 degrees."""
    found = share_over_cases([1.0, 0.5, 0.0, 0.5], 8)
    t = scipy_stats.t.ppf(0.975, 3)
    for p in ends(found):
        assert (p - 0.5) ** 2 == pytest.approx(t**2 * p * (1 - p) / 6)
    assert (found.value, found.n) == (0.5, 4)


def test_shares_that_agree_count_a_case_once() -> None:
    assert ends(share_over_cases([1.0] * 10, 500)) == ends(wilson(10, 10))
    assert ends(pooled_share([0] * 10, [7] * 10)) == ends(wilson(0, 10))
    assert share_over_cases([0.5], 4).low is None
    with pytest.raises(TooFew):
        share_over_cases([], 0)


def test_a_count_that_squares_beyond_all_floats_has_an_interval() -> None:
    found = wilson(0.25 * 10**300, 10**300)
    assert found.value == pytest.approx(0.25) and ends(found) == pytest.approx((0.25, 0.25))


def test_independent_trials_are_wilsons() -> None:
    """Where shares spread as independent trials would, or less, as many trials count as there are."""
    found, plain = share_over_cases([0.5] * 200, 400), wilson(200, 400)
    assert ends(found) == pytest.approx(ends(plain), abs=2e-3)


@given(
    st.lists(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=20)
)
def test_shares_stay_inside_and_hold_their_value(counts: list[tuple[int, int]]) -> None:
    parts, wholes = zip(*counts, strict=True)
    for found in (pooled_share(parts, wholes), share_over_cases([a / b for a, b in counts], sum(wholes))):
        low, high = ends(found)
        assert 0 <= low <= found.value + 1e-12
        assert found.value - 1e-12 <= high <= 1


def test_shares_over_cases_hold_the_truth_where_a_t_interval_does_not() -> None:
    """Ten tasks of four trials, each task with its own chance around 0.1: t holds it in about eight of ten draws."""
    dice, held, held_by_t, draws = np.random.default_rng(3), 0, 0, 400
    for _ in range(draws):
        own = dice.beta(0.2, 1.8, 10)
        shares = (dice.random((10, 4)) < own[:, None]).mean(axis=1).tolist()
        low, high = ends(share_over_cases(shares, 40))
        held += low <= 0.1 <= high
        by_t = mean(shares)
        held_by_t += by_t.low is not None and by_t.high is not None and by_t.low <= 0.1 <= by_t.high
    assert held / draws > 0.92
    assert held_by_t / draws < 0.88


def test_pass_k_stays_inside() -> None:
    found = pass_k([(4, 4), (4, 4), (4, 3)], 2, pass_hat_k)
    assert 0 <= ends(found)[0] < ends(found)[1] <= 1
    assert ends(pass_k([(4, 4)] * 5, 2, pass_hat_k))[0] < 1


# Two runs without pairs


def clusters(dice: np.random.Generator, tasks: int, cases: int, icc: float) -> list[float]:
    """Pass or fail of cases whose task has its own chance around 0.5; at icc 1 a task passes or fails as a whole."""
    spread = (1 - icc) / icc
    own = dice.beta(0.5 * spread, 0.5 * spread, tasks) if icc < 1 else (dice.random(tasks) < 0.5).astype(float)
    return [float(value) for value in (dice.random((tasks, cases)) < own[:, None]).ravel()]


def test_clusters_of_one_are_welchs() -> None:
    first, second = [1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0]
    welch = difference_of_means(first, second)
    single = difference_of_clusters((first, "abcd"), (second, "efg"))
    assert ends(single) == pytest.approx(ends(welch))
    exact = scipy_stats.permutation_test(
        (second, first), lambda a, b: np.mean(a) - np.mean(b), vectorized=False, n_resamples=np.inf
    )
    assert single.p == pytest.approx(exact.pvalue, abs=0.02)


def test_shared_clusters_are_a_regressions() -> None:
    """The sandwich of a regression on the side, by its matrices: an independent formula."""
    dice = np.random.default_rng(2)
    names = [f"t{n % 12}" for n in range(60)]
    first, second = (list(dice.normal(size=60) + [int(name[1:]) for name in names]) for _ in range(2))
    found = difference_of_clusters((first, names), (second, names))
    x = np.column_stack([np.ones(120), np.repeat([0.0, 1.0], 60)])
    y, groups = np.array(first + second), np.array(names + names)
    bread = np.linalg.inv(x.T @ x)
    coefficients = bread @ x.T @ y
    left = y - x @ coefficients
    meat = sum(
        np.outer(score, score) for name in set(names) if (score := x[groups == name].T @ left[groups == name]).size
    )
    error = sqrt((bread @ meat @ bread)[1, 1] * 12 / 11)
    half = scipy_stats.t.ppf(0.975, 11) * error
    assert found.value == pytest.approx(coefficients[1])
    assert ends(found) == pytest.approx((coefficients[1] - half, coefficients[1] + half))
    # As paired means of clusters, since all are of one size.
    means = [np.mean([b - a for a, b, c in zip(first, second, names, strict=True) if c == name]) for name in set(names)]
    paired = scipy_stats.permutation_test(
        (means,), np.mean, permutation_type="samples", vectorized=False, n_resamples=np.inf
    )
    assert found.p == pytest.approx(paired.pvalue, abs=0.02)


def test_sides_of_one_value_each() -> None:
    names = [f"t{n // 5}" for n in range(40)]
    others = [f"u{n // 5}" for n in range(40)]
    found = difference_of_clusters(([0.0] * 40, names), ([1.0] * 40, others), bounds=(0.0, 1.0))
    # Eight clusters against eight: two of C(16, 8) = 12,870 arrangements are as extreme.
    assert found.p == pytest.approx(2 / comb(16, 8))
    # 0 in 8 by Clopper and Pearson ends at 0.369417; Newcombe puts two of them together: 1 - 0.369417 * sqrt(2).
    assert ends(found) == pytest.approx((1 - 0.369417 * sqrt(2), 1.0), abs=1e-6)
    assert difference_of_clusters(([0.0] * 40, names), ([1.0] * 40, others)).low is None
    assert difference_of_clusters(([1.0, 2.0], "aa"), ([3.0, 4.0], "bc")).p is None


@pytest.mark.parametrize(("tasks", "cases", "icc"), [(8, 12, 1.0), (20, 5, 0.6)])
def test_clusters_keep_false_alarms_down(tasks: int, cases: int, icc: float) -> None:
    """Two runs that differ by chance alone. Without clusters, Fisher's test calls 46 and 19 of 100 different."""
    dice = np.random.default_rng(17)
    alarms = blind = 0
    draws = 150
    for _ in range(draws):
        first, second = (clusters(dice, tasks, cases, icc) for _ in range(2))
        names = [[f"{side}{place // cases}" for place in range(tasks * cases)] for side in "ab"]
        found = difference_of_clusters((first, names[0]), (second, names[1]), bounds=(0.0, 1.0))
        low, high = ends(found)
        assert found.p is not None
        alarms += (low > 0 or high < 0) and found.p < 0.05
        table = [[sum(each), len(each) - sum(each)] for each in (first, second)]
        blind += scipy_stats.fisher_exact(np.array(table, int)).pvalue < 0.05
    # 5 % of 150 draws, and four standard deviations of chance.
    assert alarms / draws < 0.05 + 4 * sqrt(0.05 * 0.95 / draws)
    assert blind / draws > 0.15


def test_clusters_let_a_real_difference_through() -> None:
    dice = np.random.default_rng(23)
    found = 0
    for _ in range(20):
        first = clusters(dice, 20, 5, 0.3)
        second = [min(1.0, value + float(dice.random() < 0.8)) for value in clusters(dice, 20, 5, 0.3)]
        names = [[f"{side}{place // 5}" for place in range(100)] for side in "ab"]
        estimate = difference_of_clusters((first, names[0]), (second, names[1]), bounds=(0.0, 1.0))
        found += ends(estimate)[0] > 0 and estimate.p is not None and estimate.p < 0.05
    assert found == 20


# What could have been seen


def test_how_many_pairs_must_change() -> None:
    # Six changes one way give 2 / 2^6 = 0.03125, five 0.0625: of 50 pairs, at least six must change.
    assert mcnemar(0, 5) > 0.05 > mcnemar(0, 6)
    share = least_by_mcnemar(50, 0)
    assert scipy_stats.binom.sf(5, 50, share) == pytest.approx(0.8, abs=1e-5)
    assert least_by_mcnemar(5, 0) == float("inf")
    # After Holm over twenty metrics, nine must change: 2 / 2^9 = 0.0039 > 0.0025 > 2 / 2^10.
    assert scipy_stats.binom.sf(9, 50, least_by_mcnemar(50, 0, 0.05 / 20)) == pytest.approx(0.8, abs=1e-5)


def test_clustered_means_within_bounds() -> None:
    assert clustered_mean([1.0] * 12, "aaabbbccdddd").low is None
    assert ends(clustered_mean([1.0] * 12, "aaabbbccdddd", bounds=(0.0, 1.0)))[1] == 1.0
