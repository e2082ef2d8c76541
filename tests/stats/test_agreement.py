"""Agreement of scores with labels, against scipy and against figures of other programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pantrace.stats import TooFew, concordance, flip_rate, kappa, rank_correlation

LABELS = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5, 2]
SCORES = [1, 2, 2, 2, 3, 4, 4, 3, 5, 5, 4, 1]


def made(n: int, seed: int, noise: float) -> tuple[list[float], list[float]]:
    dice = np.random.default_rng(seed)
    labels = dice.integers(0, 2, n)
    return [float(each) for each in labels], [float(each) for each in np.round(labels + dice.normal(0, noise, n), 1)]


@pytest.mark.parametrize("seed", range(8))
def test_area_is_that_of_mann_and_whitney(seed: int) -> None:
    labels, scores = made(40, seed, 1.0)
    good = [score for label, score in zip(labels, scores, strict=True) if label]
    bad = [score for label, score in zip(labels, scores, strict=True) if not label]
    area = stats.mannwhitneyu(good, bad).statistic / (len(good) * len(bad))
    found = concordance(labels, scores)
    assert found.value == pytest.approx(area, rel=1e-12)
    assert found.low is not None and found.high is not None and found.low < area < found.high


@pytest.mark.parametrize("seed", range(4))
def test_rank_correlation_is_spearmans(seed: int) -> None:
    dice = np.random.default_rng(seed)
    labels = [float(each) for each in dice.integers(1, 6, 60)]
    scores = [min(5.0, max(1.0, label + float(dice.integers(-2, 3)))) for label in labels]
    assert rank_correlation(labels, scores).value == pytest.approx(stats.spearmanr(labels, scores).statistic, rel=1e-12)


def test_kappa_is_that_of_statsmodels() -> None:
    # statsmodels 0.15, cohens_kappa of the same table, unweighted and with quadratic weights.
    assert kappa(LABELS, SCORES).value == pytest.approx(0.47826086956521746, rel=1e-12)
    assert kappa(LABELS, SCORES, quadratic=True).value == pytest.approx(0.8936170212765957, rel=1e-12)


def test_a_perfect_judge_of_few_is_not_certain() -> None:
    found = concordance([0.0] * 5 + [1.0] * 5, [1.0] * 5 + [2.0] * 5)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low is not None and 0.6 < found.low < 0.7
    turned = concordance([1.0] * 5 + [0.0] * 5, [1.0] * 5 + [2.0] * 5)
    assert (turned.value, turned.low) == (0.0, 0.0)
    assert turned.high == pytest.approx(1 - found.low)


@pytest.mark.parametrize(("few", "many", "apart"), [(15, 15, 0.5), (10, 40, 1.0)])
def test_nineteen_of_twenty_intervals_hold_the_true_area(few: int, many: int, apart: float) -> None:
    dice = np.random.default_rng(7)
    true, held, rounds = float(stats.norm.cdf(apart / np.sqrt(2))), 0, 300
    for _ in range(rounds):
        scores = [*dice.normal(0, 1, few), *dice.normal(apart, 1, many)]
        found = concordance([0.0] * few + [1.0] * many, scores)
        assert found.low is not None and found.high is not None
        held += found.low <= true <= found.high
    assert 0.91 <= held / rounds <= 0.985


def test_repeated_cases_make_wider_intervals() -> None:
    labels, scores = made(30, 3, 1.0)
    alone = rank_correlation(labels, scores)
    repeated = rank_correlation(labels * 4, scores * 4, [*range(30)] * 4)
    as_if = rank_correlation(labels * 4, scores * 4)
    assert repeated.value == pytest.approx(alone.value)
    width = {name: each.high - each.low for name, each in (("alone", alone), ("repeated", repeated), ("as_if", as_if))}  # type: ignore[operator]
    assert width["repeated"] == pytest.approx(width["alone"], rel=0.1)
    assert width["as_if"] < 0.6 * width["alone"]


def test_what_cannot_be_known_is_said() -> None:
    with pytest.raises(TooFew, match="labels are the same"):
        concordance([1.0, 1.0], [1.0, 2.0])
    with pytest.raises(TooFew):
        rank_correlation([1.0, 2.0], [3.0, 3.0])
    with pytest.raises(TooFew):
        kappa([1.0, 1.0], [1.0, 1.0])
    with pytest.raises(TooFew, match="more than once"):
        flip_rate([[1], [2]])


def test_flips_are_counted_by_pairs_of_verdicts() -> None:
    assert flip_rate([[1, 1, 1], [1, 1, 2]]).value == pytest.approx((0 + 2 / 3) / 2)
    assert flip_rate([["a", "b"], ["a", "a"], ["b", "b"], ["a", "b"]]).value == pytest.approx(0.5)
