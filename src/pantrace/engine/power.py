"""Power: how many cases a comparison needs, or what a number of cases can show, from assumptions or existing runs."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, fsum, inf
from os import PathLike, fspath
from typing import Any

import msgspec

from pantrace.errors import UsageError
from pantrace.model import Record
from pantrace.places import path_at
from pantrace.stats import (
    ALPHA,
    POWER,
    Option,
    Spread,
    cluster_mean,
    planned_cases,
    planned_difference,
    planned_power,
    sums_of,
    ways,
)

from .compare import clusters_of_both, shared_metrics
from .compare_cases import mean_of
from .compare_runs import read_sides
from .compare_side import Side, address_among
from .table import Table, Tabular

BETWEEN = 1 / 9
"""Variance of a change's effect on a case: Miller's example (Adding Error Bars to Evals, 2024)."""
WITHIN = 1 / 6
"""Variance of one pass or fail: the mean of p (1 - p) if the cases' pass rates are spread evenly from 0 to 1."""
CORRELATION = 0.9
"""Assumed correlation of the cases' means under both conditions, if only one run is known."""


class Plan(Record, Tabular, frozen=True, kw_only=True):
    """The size of a comparison, and its assumptions."""

    delta: float | None
    """The difference; None if so few cases cannot find any."""
    cases: int | None
    """None if no number of cases is enough."""
    trials: int
    """Per case, on each side."""
    power: float
    """How often the difference is found."""
    alpha: float
    test: str
    spread: Spread
    assumptions: tuple[str, ...]
    ways: tuple[Option, ...] = ()
    """Cases against trials per case, if a difference is given and trials have noise."""
    cheapest: Option | None = None

    __repr__ = Tabular.__repr__

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `pantrace power --json` prints it."""
        every = {name: getattr(self, name) for name in self.__struct_fields__}
        sides = None if self.cases is None else self.cases * self.trials
        plain: dict[str, Any] = msgspec.to_builtins({**every, "trials_per_side": sides})
        return plain

    def table(self) -> Table:
        """The ways to reach it: cases against trials per case; one row if there is only one way."""
        columns: dict[str, type] = {"cases": int, "trials_per_case": int, "trials_in_all": int, "cost": float}
        rows = [(each.cases, each.trials, 2 * each.trials * each.cases, each.cost) for each in self.ways]
        if not rows:
            total = None if self.cases is None else 2 * self.cases * self.trials
            return Table(columns, [(self.cases, self.trials, total, None)], sentence=self.sentence)
        return Table(columns, [*rows], sentence=self.sentence)

    @property
    def sentence(self) -> str:
        """The answer."""
        if self.cases is None or self.delta is None:
            return f"no difference is found {self.power:.0%} of the time"
        found = f"a difference of {self.delta:.3g} is found {self.power:.0%} of the time"
        return f"{self.cases:,} cases: {found} at alpha {self.alpha:g}"


def power(
    *,
    delta: float | None = None,
    cases: int | None = None,
    runs: Sequence[str | PathLike[str]] = (),
    metric: str | None = None,
    cluster: str | None = None,
    variance: float | None = None,
    sampling_variance: float | None = None,
    correlation: float = CORRELATION,
    scores: bool = False,
    samples_per_case: int = 1,
    alpha: float = ALPHA,
    power: float = POWER,
    case_cost: float = 0.0,
    trial_cost: float = 1.0,
) -> Plan:
    """Say how many cases a comparison of two runs needs.

    With `delta`: how many cases find that difference. With `cases`: which difference they find. With both: how often.
    Variances come from `runs` (one, or a pair), or are assumed."""
    trials, wanted = samples_per_case, power
    _refuse_nonsense(delta, cases, variance, sampling_variance, correlation, trials)
    if runs:
        if variance is not None or sampling_variance is not None:
            raise UsageError("variances come from the run, or from --variance and --sampling-variance, not from both")
        spread, assumptions = _spread_of_runs(runs, metric, cluster, correlation)
    else:
        if metric is not None or cluster is not None:
            raise UsageError("--metric and --cluster go with --run DIR")
        spread, assumptions = _assumed(variance, sampling_variance, scores)
    # Usually 5 points typed as 5.
    if delta is not None and abs(delta) > 1 and spread.pass_or_fail:
        raise UsageError(f"--delta {delta:g}: two shares differ by at most 1 (5 points are 0.05; --scores for others)")
    exact = spread.pass_or_fail and trials == 1
    found: list[Option] = []
    reached = wanted
    size: float | None = delta
    if delta is not None and cases is not None:
        reached = planned_power(delta, cases, spread, trials, alpha)
    elif cases is not None:
        least = planned_difference(cases, spread, trials, alpha, wanted)
        size = None if least == inf else least
    elif delta is not None:
        found = ways(delta, spread, alpha, wanted, case_cost=case_cost, trial_cost=trial_cost) if spread.within else []
        enough = planned_cases(delta, spread, trials, alpha, wanted)
        if enough == inf:
            raise UsageError(f"no number of cases shows a difference of {delta:g} with these variances")
        # Rounded up, but a formula that gives 100.0000000001 means 100.
        cases = max(2, ceil(enough - 1e-9))
    return Plan(
        delta=size,
        cases=cases,
        trials=trials,
        power=reached,
        alpha=alpha,
        test="McNemar exact" if exact else "paired difference of means",
        spread=spread,
        assumptions=assumptions,
        ways=tuple(found),
        cheapest=min(found, key=lambda each: each.cost) if found else None,
    )


def _refuse_nonsense(
    delta: float | None,
    cases: int | None,
    variance: float | None,
    sampling_variance: float | None,
    correlation: float,
    trials: int,
) -> None:
    if delta is None and cases is None:
        raise UsageError("name a difference to detect (--delta 0.05), a number of cases (--cases 200), or both")
    # Not `delta == 0`: NaN and infinity are not differences either.
    if delta is not None and not 0 < abs(delta) < inf:
        raise UsageError(
            f"--delta {delta:g} can never be seen" if delta == 0 else f"--delta {delta} is not a difference"
        )
    if cases is not None and cases < 2:
        raise UsageError("--cases must be 2 or more")
    if any(each is not None and not 0 <= each < inf for each in (variance, sampling_variance)):
        raise UsageError("a variance cannot be negative")
    if not -1 <= correlation <= 1:
        raise UsageError("--correlation must be between -1 and 1")
    if trials < 1:
        raise UsageError("there must be at least one trial per case")


def _assumed(variance: float | None, sampling_variance: float | None, scores: bool) -> tuple[Spread, tuple[str, ...]]:
    between = BETWEEN if variance is None else variance
    within = (0.0 if scores else WITHIN) if sampling_variance is None else sampling_variance
    assumptions = [
        "both runs have the same cases, and the cases are independent",
        f"the effect of the change on a case has variance {between:.3g}" + _default(variance, "Miller's example"),
    ]
    if scores:
        assumptions.append(f"one trial of a case has variance {within:.3g}" + _default(sampling_variance, "no noise"))
    else:
        why = "pass rates of cases are spread evenly from 0 to 1"
        noise = f"pass or fail; one trial of a case has variance {within:.3g}"
        assumptions.append(noise + _default(sampling_variance, why))
        if not within:
            assumptions.append("a case passes or fails the same each time it is tried")
    return Spread(between=between, within=within, pass_or_fail=not scores), tuple(assumptions)


def _default(given: float | None, why: str) -> str:
    return "" if given is not None else f" ({why})"


def _spread_of_runs(
    runs: Sequence[str | PathLike[str]], metric: str | None, cluster: str | None, correlation: float
) -> tuple[Spread, tuple[str, ...]]:
    if len(runs) > 2:
        raise UsageError("--run takes one run, or two to use their differences")
    sides = read_sides([(fspath(path), [path_at(path)]) for path in runs], cluster)
    name = _metric(sides, metric)
    pass_or_fail = all(side.binary[name] for side in sides)
    one = sides[0].values[name]
    names = " and ".join(side.name for side in sides)
    if len(sides) == 2:
        two = sides[1].values[name]
        common = [case for case in one if case in two]
        if len(common) < 2:
            raise UsageError(f"{names} have fewer than two cases with {name} in common")
        between, within, notes = _of_two([one[case] for case in common], [two[case] for case in common])
        values = {case: mean_of(two[case]) - mean_of(one[case]) for case in common}
    else:
        if len(one) < 2:
            raise UsageError(f"{names} has fewer than two cases with {name}")
        between, within, notes = _of_one(list(one.values()), correlation)
        values = {case: mean_of(each) for case, each in one.items()}
    kind = "pass or fail" if pass_or_fail else "scores"
    notes = [f"{name} as in {names}: {kind}, {len(values):,} cases", *notes]
    effect = 1.0
    if cluster is not None:
        effect = _design_effect(values, clusters_of_both(sides[0], sides[-1]))
        notes.append(f"cases of one {cluster} belong together: {effect:.3g} of them are worth one (design effect)")
    return Spread(between=between, within=within, pass_or_fail=pass_or_fail, design_effect=effect), tuple(notes)


def _metric(sides: Sequence[Side], metric: str | None) -> str:
    known = [name for name in sides[0].values if all(name in side.values for side in sides)]
    if metric is None:
        shown = shared_metrics(*sides)
        if len(shown) != 1:
            raise UsageError(f"name the metric to plan for with --metric; there are: {', '.join(known) or 'none'}")
        return shown[0]
    name = address_among(metric, *sides)
    if name not in known:
        raise UsageError(f"no numbers for {metric!r}; there are: {', '.join(known) or 'none'}")
    return name


def _of_one(cases: Sequence[Sequence[float]], correlation: float) -> tuple[float, float, list[str]]:
    """Variances from one run: between cases and, if there are repeats, within a case."""
    total, (within, often) = _variance([mean_of(each) for each in cases]), _within(cases)
    if within is None:
        notes = (
            f"cases differ with variance {total:.3g}; without repeats, a second run is assumed to differ as much again"
        )
        return 2 * total, 0.0, [notes, "repeats, or a second --run, would show how alike they are"]
    # The means of cases also vary by the noise of their trials, which is not a difference between cases.
    own = max(0.0, total - within * often)
    # The variance of a difference of two means with equal variance and this correlation.
    between = 2 * own * (1 - correlation)
    return (
        between,
        within,
        [
            f"one trial of a case has variance {within:.3g} (repeats), cases differ with variance {own:.3g}",
            f"their means under both conditions correlate by {correlation:g} "
            "(--correlation; a second run would show it)",
        ],
    )


def _of_two(one: Sequence[Sequence[float]], two: Sequence[Sequence[float]]) -> tuple[float, float, list[str]]:
    """Variances from two runs: of the differences and, if cases were repeated, of single trials."""
    total = _variance([mean_of(after) - mean_of(before) for before, after in zip(one, two, strict=True)])
    (first, often_first), (second, often_second) = _within(one), _within(two)
    if first is None or second is None:
        return total, 0.0, [f"differences have variance {total:.3g}, one trial per case as in these runs"]
    # Miller's formula has one variance for the trials of both sides.
    within = (first + second) / 2
    between = max(0.0, total - first * often_first - second * often_second)
    notes = f"one trial of a case has variance {within:.3g}, the effect of the change on a case {between:.3g}"
    return between, within, [notes]


def _variance(values: Sequence[float]) -> float:
    mean = fsum(values) / len(values)
    return fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _within(cases: Sequence[Sequence[float]]) -> tuple[float | None, float]:
    """The variance of one trial, pooled over repeated cases (None if there are none), and the mean of 1 / trials."""
    often = fsum(1 / len(each) for each in cases) / len(cases)
    freedom = sum(len(each) - 1 for each in cases)
    if not freedom:
        return None, often
    return fsum((value - mean_of(each)) ** 2 for each in cases for value in each) / freedom, often


def _design_effect(values: dict[str, float], clusters: dict[str, str]) -> float:
    # A tuple, so that a case without a cluster cannot fall into a cluster that has its name.
    sums = sums_of(list(values.values()), [(case in clusters, clusters.get(case, case)) for case in values])
    plain = _variance(list(values.values())) / len(values)
    if len(sums) < 2 or plain == 0:
        return 1.0
    # Never below 1: a plan must not count on clusters that happen to differ less than single cases.
    return max(1.0, cluster_mean(list(sums.values())).error ** 2 / plain)
