"""statsmodels, scikit-learn and scipy give the same numbers, wherever they have the number at all."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats
from sklearn.metrics import cohen_kappa_score, roc_auc_score
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    proportion_confint,
    proportion_effectsize,
)
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from pantrace.stats import (
    Estimate,
    Spread,
    benjamini_hochberg,
    cluster_mean,
    clustered_mean,
    concordance,
    difference_of_means,
    difference_of_proportions,
    holm,
    kappa,
    mcnemar,
    mean,
    newcombe,
    paired_difference,
    per_arm_needed,
    planned_cases,
    planned_power,
    rank_correlation,
    ratio_of_pairs,
    samples_needed,
    sign_flip,
    sums_of,
    wilson,
)

DICE = [np.random.default_rng(seed) for seed in range(12)]


def ends(found: Estimate) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def near(value: object) -> object:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(0, 1), (1, 1), (0, 30), (3, 10), (47, 224), (500, 1000), (99_999, 100_000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson(k: int, n: int, confidence: float) -> None:
    low, high = proportion_confint(k, n, alpha=1 - confidence, method="wilson")
    assert ends(wilson(k, n, confidence)) == near((max(0.0, low), min(1.0, high)))


@pytest.mark.parametrize(("one", "two"), [*product([(0, 32), (6, 15), (47, 224)], [(4, 32), (84, 84), (116, 224)])])
def test_two_independent_proportions(one: tuple[int, int], two: tuple[int, int]) -> None:
    expected = confint_proportions_2indep(*two, *one, compare="diff", method="newcomb")
    assert ends(newcombe(one, two)) == near(expected)
    table = [[one[0], one[1] - one[0]], [two[0], two[1] - two[0]]]
    assert difference_of_proportions(one, two).p == near(scipy_stats.fisher_exact(table).pvalue)


@pytest.mark.parametrize(("b", "c"), [(0, 0), (0, 5), (1, 4), (12, 30), (100, 90), (7, 7)])
def test_mcnemar(b: int, c: int) -> None:
    assert mcnemar(b, c) == near(mcnemar_of_statsmodels([[40, b], [c, 10]], exact=True).pvalue)


@pytest.mark.parametrize("dice", DICE)
def test_means_and_differences(dice: np.random.Generator) -> None:
    a, b = dice.normal(1, 2, int(dice.integers(3, 40))), dice.gamma(2, 1, int(dice.integers(3, 40)))
    assert ends(mean(a.tolist())) == near(DescrStatsW(a).tconfint_mean())
    compared = CompareMeans(DescrStatsW(b), DescrStatsW(a))
    found = difference_of_means(a.tolist(), b.tolist())
    assert ends(found) == near(compared.tconfint_diff(usevar="unequal"))
    assert found.p == near(compared.ttest_ind(usevar="unequal")[1])
    size = min(len(a), len(b))
    paired = paired_difference(a[:size].tolist(), b[:size].tolist())
    assert ends(paired.estimate) == near(DescrStatsW(b[:size] - a[:size]).tconfint_mean())


@pytest.mark.parametrize("dice", DICE)
def test_clusters(dice: np.random.Generator) -> None:
    names = dice.integers(0, 6, 40)
    values = dice.normal(0, 1, 6)[names] + dice.normal(0, 1, 40)
    groups = len(set(names.tolist()))
    fit = sm.OLS(values, np.ones(40)).fit(cov_type="cluster", cov_kwds={"groups": names, "df_correction": True})
    # statsmodels corrects by G / (G - 1) * (n - 1) / (n - k); for a mean, k is 1.
    half = scipy_stats.t.ppf(0.975, groups - 1) * fit.bse[0]
    assert ends(clustered_mean(values.tolist(), names.tolist())) == near((fit.params[0] - half, fit.params[0] + half))


def test_clusters_of_one_size_are_a_mean_of_their_means() -> None:
    values = np.random.default_rng(3).normal(0, 1, (7, 5))
    found = cluster_mean(list(sums_of(values.ravel().tolist(), np.repeat(np.arange(7), 5).tolist()).values()))
    described = DescrStatsW(values.mean(1))
    assert (found.mean, found.error, found.freedom) == near((described.mean, described.std_mean, 6))


@pytest.mark.parametrize("dice", DICE)
def test_sign_flips(dice: np.random.Generator) -> None:
    values = dice.normal(0.4, 1, int(dice.integers(4, 12)))
    expected = scipy_stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=inf, alternative="two-sided"
    )
    assert sign_flip(values.tolist()) == near(expected.pvalue)


@pytest.mark.parametrize("dice", DICE)
def test_adjusted_p_values(dice: np.random.Generator) -> None:
    values = (dice.random(int(dice.integers(1, 25))) ** 3).tolist()
    assert holm(values) == near(multipletests(values, method="holm")[1].tolist())
    assert benjamini_hochberg(values) == near(multipletests(values, method="fdr_bh")[1].tolist())


@pytest.mark.parametrize(("delta", "variance"), [(0.03, 1 / 9), (0.1, 0.5), (2.0, 30.0)])
def test_cases_for_a_mean(delta: float, variance: float) -> None:
    solver = NormalIndPower(ddof=0)
    expected = solver.solve_power(delta / variance**0.5, alpha=0.05, power=0.8, ratio=0)
    # statsmodels counts the chance to find it the wrong way round, too: one in a million.
    assert samples_needed(delta, variance) == pytest.approx(expected, rel=1e-4)
    spread = Spread(between=variance)
    assert planned_cases(delta, spread) == pytest.approx(expected, rel=1e-4)
    for cases in (10, 100, 1000):
        power = solver.power(delta / variance**0.5, cases, 0.05, ratio=0)
        assert planned_power(delta, cases, spread) == pytest.approx(power, rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.6), (0.1, 0.15), (0.9, 0.8)])
def test_cases_for_two_proportions(first: float, second: float) -> None:
    effect = proportion_effectsize(second, first)
    expected = NormalIndPower().solve_power(abs(effect), alpha=0.05, power=0.8)
    assert per_arm_needed(first, second) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("dice", DICE)
def test_agreement(dice: np.random.Generator) -> None:
    labels = dice.integers(1, 6, 60)
    scores = np.clip(labels + dice.integers(-1, 2, 60), 1, 5)
    one, two = labels.astype(float).tolist(), scores.astype(float).tolist()
    assert kappa(one, two).value == near(cohen_kappa_score(labels, scores))
    assert kappa(one, two, quadratic=True).value == near(cohen_kappa_score(labels, scores, weights="quadratic"))
    assert rank_correlation(one, two).value == near(scipy_stats.spearmanr(labels, scores).statistic)
    good = (labels > 2).astype(float)
    assert concordance(good.tolist(), two).value == near(roc_auc_score(good, scores))


@pytest.mark.parametrize("dice", DICE)
def test_the_ratio_of_geometric_means(dice: np.random.Generator) -> None:
    a, b = dice.lognormal(0, 1, (2, 25))
    found = ratio_of_pairs(a.tolist(), b.tolist())
    assert ends(found) == near(tuple(np.exp(DescrStatsW(np.log(b) - np.log(a)).tconfint_mean())))
    assert found.value == near(scipy_stats.gmean(b) / scipy_stats.gmean(a))


@pytest.mark.parametrize("n", [5, 50, 1000])
def test_what_equal_values_may_have_missed(n: int) -> None:
    _, others = proportion_confint(0, n, alpha=0.05, method="beta")
    found = mean([0.5] * n, bounds=(0.0, 1.0))
    assert ends(found) == near((0.5 - others / 2, 0.5 + others / 2))
