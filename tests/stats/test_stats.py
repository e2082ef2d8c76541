"""Statistics against oracle values of scipy and statsmodels, and by hand where no library has the number."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from corpus import CORPUS, needs_corpus
from pantrace.stats import (
    TooFew,
    benjamini_hochberg,
    clustered_mean,
    detectable_difference,
    difference_of_means,
    difference_of_proportions,
    holm,
    mcnemar,
    mean,
    newcombe,
    paired_difference,
    paired_proportions,
    pairs_needed,
    pass_at_k,
    pass_hat_k,
    pass_k,
    per_arm_needed,
    pooled_share,
    samples_needed,
    sign_flip,
    wilson,
)

A = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1]
B = [1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1]
X = [1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0]
CLUSTERS = "aaabbbccdddd"


def near(value: float | None) -> Any:
    return pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    "estimate",
    [
        lambda: mean([]),
        lambda: wilson(0, 0),
        lambda: clustered_mean([], []),
        lambda: pooled_share([0], [0]),
        lambda: paired_difference([], []),
        lambda: pass_at_k(2, 1, 3),
        lambda: pass_k([(1, 1)], 2, pass_at_k),
        lambda: difference_of_means([], [1]),
    ],
)
def test_nothing_to_estimate_from_is_said(estimate: Any) -> None:
    with pytest.raises(TooFew):
        estimate()


@pytest.mark.parametrize(
    "estimate",
    [mean([2.0]), clustered_mean([1.0, 2.0], "aa"), pooled_share([1], [2]), difference_of_means([1.0], [1.0, 2.0])],
)
def test_one_of_a_kind_has_a_value_and_no_interval(estimate: Any) -> None:
    assert estimate.low is None
    assert estimate.high is None
    assert "has no interval" in estimate.note


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 1, 0, 0.793451),
        (1, 1, 0.206549, 1),
        (3, 4, 0.300642, 0.954413),
        (0, 32, 0, 0.107179),
        (47, 224, 0.161617, 0.267811),
        (500, 1000, 0.469070, 0.530930),
    ],
)
def test_wilson(k: int, n: int, low: float, high: float) -> None:
    found = wilson(k, n)
    assert (found.low, found.high) == (near(low), near(high))


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_its_value_and_stays_inside(counts: tuple[int, int]) -> None:
    found = wilson(*counts)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high


def test_means() -> None:
    plain, clustered = mean(X), clustered_mean(X, CLUSTERS)
    assert (plain.value, plain.low, plain.high) == (near(0.583333), near(0.256163), near(0.910503))
    assert (clustered.low, clustered.high) == (near(0.089814), near(1.076852))
    assert clustered_mean(X, range(12)) == plain
    assert mean([0.5, 0.5]).low is None


def test_a_ratio_of_sums_is_not_a_mean_of_ratios() -> None:
    found = pooled_share([1, 90], [10, 100])
    assert found.value == pytest.approx(91 / 110)
    many = pooled_share([3, 1, 4, 1, 5, 2] * 5, [6, 5, 8, 3, 9, 7] * 5)
    assert many.low is not None
    assert many.high is not None
    assert 0.3 < many.low < many.value < many.high < 0.55


def test_paired() -> None:
    found = paired_difference(A, B)
    assert (found.wins, found.losses, found.ties) == (4, 1, 15)
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == (
        near(0.15),
        near(-0.079028),
        near(0.379028),
    )
    assert found.estimate.p == near(0.375)
    rates = paired_proportions([bool(a) for a in A], [bool(b) for b in B])
    assert rates.estimate.p == near(0.375)
    assert rates.estimate.method == "Tango, McNemar exact"
    assert (rates.wins, rates.losses, rates.ties) == (4, 1, 15)
    assert paired_proportions([True, False], [True, False]).estimate.note == "no discordant pair"


def test_mcnemar_and_sign_flips() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(1, 4) == near(0.375)
    assert sign_flip([0, 0]) == 1.0
    assert sign_flip([1.0] * 5) == near(2 / 2**5)
    assert sign_flip([1.0] * 30) == pytest.approx(1 / 10000)
    assert sign_flip([1.0, -1.0] * 20) == 1.0


def test_many_pairs_are_told_as_exactly_and_at_once() -> None:
    # Whole numbers of 15,000 digits would be added up ten thousand times.
    assert mcnemar(24_600, 25_400) == pytest.approx(scipy_stats.binomtest(24_600, 50_000).pvalue, rel=1e-9)
    assert mcnemar(560, 460) == pytest.approx(scipy_stats.binomtest(460, 1020).pvalue, rel=1e-9)
    # Six thousand ones are flips of a coin: the normal limit lies where the sample of flips does.
    ones = [1.0] * 3075 + [-1.0] * 2925
    assert sign_flip(ones) == pytest.approx(scipy_stats.binomtest(2925, 6000).pvalue, rel=0.02)
    # One difference outweighs all others: no normal limit, and the sample says how often they pull it no further.
    assert sign_flip([-1e6, *ones]) == pytest.approx(scipy_stats.binom.sf(2924, 6000, 0.5), abs=0.02)


def test_two_independent_runs() -> None:
    found = newcombe((47, 224), (116, 224))
    assert (found.low, found.high) == (near(0.220791), near(0.388624))
    assert difference_of_proportions((0, 32), (4, 32)).p == near(0.113193)
    first, second = [1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0]
    welch, oracle = difference_of_means(first, second), scipy_stats.ttest_ind(second, first, equal_var=False)
    interval = oracle.confidence_interval(0.95)
    assert (welch.value, welch.p) == (near(1.5), near(oracle.pvalue))
    assert (welch.low, welch.high) == (near(interval.low), near(interval.high))
    assert difference_of_means([1.0, 1.0], [2.0, 2.0]).high is None


@pytest.mark.parametrize(
    ("n", "c", "k", "at", "hat"),
    [
        (4, 1, 2, 0.5, 0),
        (4, 3, 2, 1, 0.5),
        (4, 3, 3, 1, 0.25),
        (8, 5, 2, 0.892857, 0.357143),
        (10, 8, 5, 1, 0.222222),
        (100, 50, 8, 0.997115, 0.002885),
    ],
)
def test_pass_k(n: int, c: int, k: int, at: float, hat: float) -> None:
    assert (pass_at_k(n, c, k), pass_hat_k(n, c, k)) == (near(at), near(hat))


def test_pass_k_over_tasks_leaves_out_those_with_too_few_trials_and_says_so() -> None:
    found = pass_k([(4, 4), (4, 2), (1, 1)], 2, pass_hat_k)
    assert found.value == near((1 + 1 / 6) / 2)
    assert (found.n, found.note) == (2, "1 tasks have fewer than 2 trials")


def test_power() -> None:
    assert samples_needed(0.03, 1 / 9) == pytest.approx(968.9975, abs=0.01)
    assert samples_needed(0.03, 1 / 9, 1 / 6) == pytest.approx(3876.0, abs=0.1)
    assert samples_needed(0.03, 1 / 9, 1 / 6, 10) == pytest.approx(1259.7, abs=0.1)
    assert pairs_needed(0.1, 0.2) == pytest.approx(233.0945, abs=0.001)
    assert per_arm_needed(0.5, 0.6) == pytest.approx(387.1687, abs=0.001)
    assert samples_needed(detectable_difference(0.01), 1.0) == pytest.approx(10_000)


def exactly(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


@needs_corpus
def test_against_the_stored_oracles() -> None:
    """Full-precision values of scipy and statsmodels, to 1e-9."""
    oracle = json.loads((CORPUS / "own/openadapt/golden/statistics.json").read_bytes())
    assert holm(oracle["multiple"]["p"]) == exactly(oracle["multiple"]["holm"])
    assert benjamini_hochberg(oracle["multiple"]["p"]) == exactly(oracle["multiple"]["fdr_bh"])
    for each in oracle["proportion_ci_95"]:
        found = wilson(each["k"], each["n"])
        assert [found.low, found.high] == exactly(each["wilson"])
    for each in oracle["two_independent"]:
        difference = difference_of_proportions((each["k1"], each["n1"]), (each["k2"], each["n2"]))
        assert [difference.low, difference.high] == exactly(each["newcomb"])
        assert (difference.value, difference.p) == (exactly(each["diff_2_minus_1"]), exactly(each["fisher_p"]))
    clusters = oracle["clustered_se"]
    plain, clustered = mean(clusters["x"]), clustered_mean(clusters["x"], clusters["cluster"])
    assert [plain.low, plain.high] == exactly(clusters["t_ci95"])
    assert [clustered.low, clustered.high] == exactly(clusters["t_ci95_cluster_df_C-1"])
    pairs = oracle["paired"]
    paired = paired_difference(pairs["a"], pairs["b"]).estimate
    assert [paired.low, paired.high] == exactly(pairs["ci95_t"])
    assert paired.p == exactly(pairs["permutation_exact_two_sided_p"])
    rates = paired_proportions([value == 1 for value in pairs["a"]], [value == 1 for value in pairs["b"]])
    assert rates.estimate.p == exactly(pairs["mcnemar_exact_p"])
    for each in oracle["pass_k"]:
        assert pass_at_k(each["n"], each["c"], each["k"]) == exactly(each["pass_at_k"])
        assert pass_hat_k(each["n"], each["c"], each["k"]) == exactly(each["pass_hat_k"])
    power = oracle["power"]
    for each in power["miller"]:
        needed = samples_needed(each["delta"], each["omega2"], each["sA2"], each["K"])
        assert needed == exactly(each["n"])
    assert pairs_needed(0.1, 0.2) == exactly(power["mcnemar_n_pairs_p10=.1_p01=.2"])
