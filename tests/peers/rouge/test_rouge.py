"""ROUGE-1 of the package rouge-score, without its stemmer, is ours on ASCII text."""

from __future__ import annotations

from random import Random

import pytest
from rouge_score.rouge_scorer import RougeScorer

from pantrace.metrics import by_name
from pantrace.model import Case
from short_samples import agent, run, user


@pytest.mark.parametrize("seed", range(50))
def test_the_same_f(seed: int) -> None:
    dice = Random(seed)
    answer, reference = ("".join(dice.choices("abc XY.9-_\n", k=dice.randint(1, 60))) + "a" for _ in range(2))
    found = by_name("rouge_1").score(run(user("q"), agent(answer), case=Case(reference=reference)))
    expected = RougeScorer(["rouge1"]).score(reference, answer)["rouge1"]
    assert found.value == pytest.approx(expected.fmeasure)
    assert found.values["precision"] == pytest.approx(expected.precision)
    assert found.values["recall"] == pytest.approx(expected.recall)
