"""Planning a comparison: what cannot be planned first, then numbers that a simulation of the test confirms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import pantrace
from pantrace.engine.convert import write_run
from pantrace.errors import UsageError
from pantrace.model import Case, Run, Sample, Scale, Score
from pantrace.stats import Spread, mcnemar, planned_cases, planned_difference, planned_power, samples_needed


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "delta=0.05"),
        ({"delta": 0.0}, "can never be seen"),
        ({"delta": float("nan")}, "is not a difference"),
        ({"delta": 0.1, "variance": -1.0}, "negative"),
        ({"delta": 0.1, "metric": "m"}, "run=DIR"),
        ({"cases": 1}, "2 or more"),
        ({"delta": 0.1, "correlation": 2.0}, "between -1 and 1"),
        ({"delta": 0.1, "runs": ["a", "b", "c"]}, "one run, or two"),
    ],
)
def test_what_cannot_be_planned_is_said(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        pantrace.power(**asked)


def found_by_mcnemar(cases: int, delta: float, draws: int = 400) -> float:
    """How often McNemar's test finds a difference of pass rates, in data as `power` assumes them: rates of cases spread
    evenly between 0 and 1, both trials of their own, and a change that hits some cases and not others."""
    dice, found = np.random.default_rng(1), 0

    def changed_rates(rate: Any, shift: float) -> Any:
        return np.clip(rate + shift + dice.choice((-1, 1), len(rate)) / 3, 0, 1)

    # Rates end at 0 and 1, so that a shift of all of them comes to less than itself.
    even = (np.arange(20_000) + 0.5) / 20_000
    shift = brentq(lambda each: float((changed_rates(even, each) - even).mean()) - delta, 0, 0.3, xtol=1e-3)
    for _ in range(draws):
        rate = dice.random(cases)
        changed = changed_rates(rate, shift)
        a, b = dice.random(cases) < rate, dice.random(cases) < changed
        found += mcnemar(int((a & ~b).sum()), int((~a & b).sum())) < 0.05
    return found / draws


def test_pass_or_fail_with_one_trial_needs_many_more_cases_than_its_means() -> None:
    """349 cases, as the formula without the noise of a trial has it, find 0.05 only every fourth time."""
    assert samples_needed(0.05, 1 / 9) == pytest.approx(348.8, abs=0.1)
    plan = pantrace.power(delta=0.05)
    assert plan.cases is not None
    assert 1390 < plan.cases < 1500
    assert plan.test == "McNemar exact"
    assert pantrace.power(delta=0.05, cases=349).power == pytest.approx(0.25, abs=0.02)
    assert found_by_mcnemar(349, 0.05) < 0.4
    assert 0.7 < found_by_mcnemar(plan.cases, 0.05) < 0.95


def test_backwards_is_the_same_equation() -> None:
    for scores in (False, True):
        plan = pantrace.power(cases=200, scores=scores)
        assert plan.delta is not None
        again = pantrace.power(delta=plan.delta, scores=scores)
        assert again.cases == pytest.approx(200, abs=2)
    assert pantrace.power(cases=5).delta is None


def test_means_are_millers_formula() -> None:
    assert pantrace.power(delta=0.03, scores=True).cases == 969
    assert pantrace.power(delta=0.03, sampling_variance=1 / 6, samples_per_case=10).cases == 1260
    spread = Spread(between=1 / 9, within=1 / 6)
    assert planned_cases(0.03, spread, 10) == pytest.approx(samples_needed(0.03, 1 / 9, 1 / 6, 10))
    assert planned_power(0.03, planned_cases(0.03, spread, 10), spread, 10) == pytest.approx(0.8, abs=1e-6)
    assert planned_difference(1260, spread, 10) == pytest.approx(0.03, abs=1e-5)


def test_the_assumptions_are_told() -> None:
    told = "; ".join(pantrace.power(delta=0.05).assumptions)
    assert "pass or fail; one trial of a case has variance 0.167" in told
    assert "Miller" in told
    assert "Miller" not in "; ".join(pantrace.power(delta=0.05, variance=0.2).assumptions)


def test_the_cheapest_way_is_where_the_derivative_is_zero() -> None:
    """n (C + 2 K T) with n as w^2 + 2 s^2 / K is least at K = sqrt(s^2 C / (w^2 T)): 1/6, 1/9, C 20, T 1: 5.48."""
    plan = pantrace.power(delta=0.03, samples_per_case=2, case_cost=20.0)
    assert plan.cheapest is not None
    assert plan.cheapest.trials in (5, 6)
    assert plan.cheapest.cost == min(way.cost for way in plan.ways)
    assert plan.cheapest.cost == plan.cheapest.cases * (20 + 2 * plan.cheapest.trials)
    free = pantrace.power(delta=0.03)
    assert free.cheapest is not None
    assert free.cheapest.trials == 1


def written(path: Path, cases: list[list[float]], scale: Scale | None = None, size: int = 1) -> str:
    samples = [
        Sample(
            id=f"s{n}",
            epoch=epoch,
            case=Case(id=f"c{n}", scenario=f"t{n // size}"),
            scores=(Score(name="m", value=value if scale else bool(value), scale=scale),),
        )
        for n, values in enumerate(cases)
        for epoch, value in enumerate(values, 1)
    ]
    write_run(Run(samples=samples), path, to="native", measure=False)
    return str(path)


def test_a_run_tells_noise_within_cases_from_differences_between_them(tmp_path: Path) -> None:
    dice = np.random.default_rng(2)
    own = dice.normal(0, 0.2, 400)
    cases = [(mean + dice.normal(0, 0.1, 3)).tolist() for mean in own]
    run = written(tmp_path / "a.trace.jsonl", cases, Scale(low=-9, high=9))
    plan = pantrace.power(delta=0.01, runs=[run], metric="m", correlation=0.75)
    assert plan.spread.within == pytest.approx(0.01, rel=0.15)
    # Twice what cases are on their own, but for the quarter that they do not share.
    assert plan.spread.between == pytest.approx(2 * 0.04 * 0.25, rel=0.25)
    assert not plan.spread.pass_or_fail


def test_two_runs_tell_how_alike_they_are(tmp_path: Path) -> None:
    dice = np.random.default_rng(3)
    own = dice.random(600)
    runs = [
        written(tmp_path / f"{name}.trace.jsonl", [[float(dice.random() < rate)] for rate in own])
        for name in ("a", "b")
    ]
    plan = pantrace.power(delta=0.05, runs=runs)
    # Twice the mean of p (1 - p) over evenly spread p.
    assert plan.spread.of_difference(1) == pytest.approx(1 / 3, rel=0.12)
    assert plan.spread.pass_or_fail
    assert plan.ways == ()
    # One run alone cannot tell, and is on the careful side: 2 * 0.25.
    alone = pantrace.power(delta=0.05, runs=runs[:1])
    assert alone.spread.of_difference(1) == pytest.approx(0.5, rel=0.05)


def test_cases_that_belong_together_count_for_less(tmp_path: Path) -> None:
    cases = [[float(n // 10 % 2)] for n in range(200)]
    run = written(tmp_path / "a.trace.jsonl", cases, size=10)
    plain = pantrace.power(delta=0.1, runs=[run])
    clustered = pantrace.power(delta=0.1, runs=[run], cluster="task")
    # Ten cases that pass or fail as one are worth one; n - 1 on both sides makes 10 * 199 / 190.
    assert clustered.spread.design_effect == pytest.approx(10 * 199 / 190, rel=1e-6)
    assert plain.cases is not None
    assert clustered.cases == pytest.approx(plain.cases * clustered.spread.design_effect, rel=0.02)
