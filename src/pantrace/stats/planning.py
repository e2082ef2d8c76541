"""Planning: how many cases and trials per case it takes to find a difference between two runs on the same cases."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, inf, sqrt
from statistics import NormalDist

from pantrace.model import Record

from .detectable import mcnemar_power
from .power import ALPHA, POWER, samples_needed


class Spread(Record, frozen=True, kw_only=True):
    """How much the difference on a pair varies."""

    between: float
    """Variance, between cases, of the true effect on a case (w^2)."""
    within: float = 0.0
    """Variance of one trial of one case (s^2); for pass or fail, the mean of p (1 - p) over cases."""
    pass_or_fail: bool = False
    design_effect: float = 1.0
    """How many clustered cases are worth one independent case."""

    def of_difference(self, trials: int) -> float:
        """Variance of a case's difference if each side tries it this many times."""
        return self.between + 2 * self.within / trials


def planned_power(delta: float, cases: float, spread: Spread, trials: int = 1, alpha: float = ALPHA) -> float:
    """How often a comparison of this size finds this difference: McNemar's exact test for pass or fail with one trial,
    else the paired z of means."""
    independent, variance = cases / spread.design_effect, spread.of_difference(trials)
    if spread.pass_or_fail and trials == 1:
        # The share of discordant pairs follows from the variance: a difference of -1, 0 or 1 has E(d^2) = variance +
        # delta^2.
        changed = min(1.0, max(abs(delta), variance + delta**2))
        return mcnemar_power(int(independent), (changed - abs(delta)) / 2, (changed + abs(delta)) / 2, alpha)
    if variance == 0:
        return 1.0
    normal = NormalDist()
    reach, z = abs(delta) * sqrt(independent / variance), normal.inv_cdf(1 - alpha / 2)
    return normal.cdf(reach - z) + normal.cdf(-reach - z)


def planned_cases(delta: float, spread: Spread, trials: int = 1, alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest number of cases that finds this difference with this power."""
    means = samples_needed(delta, spread.between, spread.within, trials, alpha, power) * spread.design_effect
    if not (spread.pass_or_fail and trials == 1):
        return means
    return float(
        _smallest(lambda cases: planned_power(delta, cases, spread, trials, alpha) >= power, max(1, int(means / 2)))
    )


def _smallest(enough: Callable[[int], bool], start: int) -> int:
    """The smallest number that is enough; if a number is enough, so are all larger ones."""
    low, high = 0, start
    while not enough(high):
        low, high = high, 2 * high
        if high > 1e9:
            raise OverflowError("no number of cases is enough")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def planned_difference(
    cases: int, spread: Spread, trials: int = 1, alpha: float = ALPHA, power: float = POWER
) -> float:
    """The smallest difference that this many cases find with this power; infinite if there is none."""
    most = 1.0 if spread.pass_or_fail else 1e3 * sqrt(spread.of_difference(trials) or 1.0)
    if planned_power(most, cases, spread, trials, alpha) < power:
        return inf
    low, high = 0.0, most
    for _ in range(60 if not spread.pass_or_fail else 30):
        middle = (low + high) / 2
        found = planned_power(middle, cases, spread, trials, alpha) >= power
        low, high = (low, middle) if found else (middle, high)
    return high


class Option(Record, frozen=True, kw_only=True):
    """One way to find a difference."""

    trials: int
    """Per case, on each side."""
    cases: int
    cost: float
    """Of the cases and of their trials on both sides."""


def ways(
    delta: float,
    spread: Spread,
    alpha: float = ALPHA,
    power: float = POWER,
    *,
    case_cost: float = 0.0,
    trial_cost: float = 1.0,
    most_trials: int = 100,
) -> list[Option]:
    """How many cases it takes with 1, 2, 3 ... trials of each, and what that costs. The list ends when another trial
    no longer saves a case."""
    found: list[Option] = []
    for trials in range(1, most_trials + 1):
        # A formula that gives 100.0000000001 means 100 cases.
        cases = ceil(planned_cases(delta, spread, trials, alpha, power) - 1e-9)
        if found and cases >= found[-1].cases:
            break
        found.append(Option(trials=trials, cases=cases, cost=cases * (case_cost + 2 * trials * trial_cost)))
    return found
