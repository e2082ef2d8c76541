"""Skewed numbers: intervals that keep their level where t does not, against scipy and against themselves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pantrace.stats import (
    bootstrap_t,
    difference_of_skewed,
    lognormal_pairs,
    lognormal_sides,
    mean,
    paired_skewed,
    ratio_of_pairs,
    ratio_of_sides,
)


def test_the_ratio_of_typical_cases_is_t_on_logarithms() -> None:
    dice = np.random.default_rng(1)
    a, b = dice.lognormal(0, 1, 30), dice.lognormal(0.3, 1, 30)
    found = ratio_of_pairs(a.tolist(), b.tolist())
    oracle = scipy_stats.ttest_rel(np.log(b), np.log(a)).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((np.exp(oracle.low), np.exp(oracle.high)))
    assert found.value == pytest.approx(scipy_stats.gmean(b) / scipy_stats.gmean(a))
    apart = ratio_of_sides(a.tolist(), b[:20].tolist())
    oracle = scipy_stats.ttest_ind(np.log(b[:20]), np.log(a), equal_var=False).confidence_interval(0.95)
    assert (apart.low, apart.high) == pytest.approx((np.exp(oracle.low), np.exp(oracle.high)))


def test_a_bootstrap_of_values_without_skew_is_about_t() -> None:
    values = np.random.default_rng(2).normal(1, 1, 200).tolist()
    found, plain = bootstrap_t(values), mean(values)
    assert plain.low is not None
    assert plain.high is not None
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.02)
    assert found.p < 0.001


def test_the_same_numbers_give_the_same_interval() -> None:
    a, b = np.random.default_rng(3).lognormal(0, 1, (2, 30)).tolist()
    assert paired_skewed(a, b) == paired_skewed(a, b)
    assert difference_of_skewed(a, b) == difference_of_skewed(a, b)


def test_the_model_knows_of_the_tail_that_was_not_drawn() -> None:
    """A lognormal mean of sigma 1.5 is 3.08 times its median; with few values t rarely reaches that far up."""
    dice = np.random.default_rng(4)
    truth, by_t, by_model, draws = np.exp(1.5**2 / 2), 0, 0, 200
    for _ in range(draws):
        values = dice.lognormal(0, 1.5, 20)
        plain = mean(values.tolist())
        by_t += plain.low is not None and plain.high is not None and plain.low <= truth <= plain.high
        found = lognormal_pairs([1.0] * 20, values.tolist())
        by_model += found.low + 1 <= truth <= found.high + 1
    assert by_t / draws < 0.85
    assert by_model / draws > 0.91


def test_pairs_that_go_together_are_told_apart_more_finely_than_sides() -> None:
    dice = np.random.default_rng(5)
    own = dice.normal(0, 1, 60)
    a, b = np.exp(own), np.exp(own + 0.2 + dice.normal(0, 0.05, 60))
    pairs, sides = lognormal_pairs(a.tolist(), b.tolist()), lognormal_sides(a.tolist(), b.tolist())
    assert pairs.high - pairs.low < (sides.high - sides.low) / 3
    assert pairs.p < 0.05 < sides.p


@pytest.mark.parametrize(("sigma", "n"), [(1.0, 20), (1.5, 20), (1.5, 50)])
def test_equal_means_are_rarely_called_different(sigma: float, n: int) -> None:
    """A constant against a lognormal of the same mean: t and sign flips call 8 to 24 % of them different."""
    dice, alarms, by_t, draws = np.random.default_rng(6), 0, 0, 150
    constant = [float(np.exp(sigma**2 / 2))] * n
    for _ in range(draws):
        found = paired_skewed(constant, dice.lognormal(0, sigma, n).tolist()).estimate
        assert found.low is not None
        assert found.high is not None
        assert found.p is not None
        alarms += (found.low > 0 or found.high < 0) and found.p < 0.05
        plain = dice.lognormal(0, sigma, n) - constant[0]
        by_t += bool(scipy_stats.ttest_1samp(plain, 0).pvalue < 0.05)
    assert alarms / draws <= 0.06
    assert by_t / draws > 0.06


def test_a_real_rise_is_still_found() -> None:
    dice = np.random.default_rng(7)
    own = dice.normal(0, 1, 50)
    a, b = np.exp(own), np.exp(own + 0.3 + dice.normal(0, 0.2, 50))
    found = paired_skewed(a.tolist(), b.tolist()).estimate
    assert found.low is not None
    assert found.low > 0
    assert found.p is not None
    assert found.p < 0.05
    assert found.value == pytest.approx(float((b - a).mean()))


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0, 7.0, 3.0] * 4, [-1.0, 1.0, 2.0, 7.0, 3.0] * 4])
def test_without_a_logarithm_t_stands_in_for_the_model(values: list[float]) -> None:
    found = paired_skewed([1.0] * 20, values).estimate
    assert found.method == "paired bootstrap-t and t (the wider), sign-flip permutation"
    apart = difference_of_skewed([1.0, 2.0] * 10, values)
    assert apart.method == "bootstrap-t and Welch t (the wider)"


def test_tiny_samples_do_not_break() -> None:
    for n in (1, 2, 3, 4):
        a, b = [1.0 + each for each in range(n)], [2.0 + 1.5 * each * each for each in range(n)]
        found = paired_skewed(a, b).estimate
        assert (found.low is None) == (n == 1)
        apart = difference_of_skewed(a, b)
        assert (apart.low is None) == (n == 1)
