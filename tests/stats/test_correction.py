"""Rates without the errors of the judge that counted them."""

from __future__ import annotations

import numpy as np
import pytest

from pantrace.stats import TooFew, corrected_rate


def test_the_rate_of_rogan_and_gladen() -> None:
    # (0.6 + 0.8 - 1) / (0.9 + 0.8 - 1)
    found = corrected_rate((60, 100), (45, 50), (40, 50))
    assert found.value == pytest.approx(0.4 / 0.7)
    assert found.low is not None and found.high is not None and found.low < found.value < found.high
    assert corrected_rate((60, 100), (50, 50), (50, 50)).value == pytest.approx(0.6)


def test_few_labels_leave_much_open() -> None:
    many = corrected_rate((60, 100), (450, 500), (400, 500))
    few = corrected_rate((60, 100), (9, 10), (8, 10))
    assert many.value == pytest.approx(few.value)
    assert few.high - few.low > 1.5 * (many.high - many.low)  # type: ignore[operator]
    # Without an error among five labels the judge is not infallible.
    flawless = corrected_rate((60, 100), (5, 5), (5, 5))
    assert flawless.high - flawless.low > 0.35  # type: ignore[operator]


@pytest.mark.parametrize("rates", [((5, 10), (0, 0), (5, 5)), ((5, 10), (5, 10), (5, 10)), ((0, 0), (5, 5), (5, 5))])
def test_a_judge_of_chance_and_labels_of_one_kind_tell_nothing(rates: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(TooFew):
        corrected_rate(*rates)  # type: ignore[arg-type]


def test_the_true_rate_lies_in_the_interval() -> None:
    dice = np.random.default_rng(5)
    true, hit, spared, held, rounds = 0.6, 0.9, 0.8, 0, 400
    for _ in range(rounds):
        good = int(dice.binomial(200, true))
        counted = int(dice.binomial(good, hit) + dice.binomial(200 - good, 1 - spared))
        labels = (int(dice.binomial(40, hit)), 40), (int(dice.binomial(40, spared)), 40)
        found = corrected_rate((counted, 200), *labels)
        held += found.low <= true <= found.high  # type: ignore[operator]
    assert 0.94 <= held / rounds < 1
