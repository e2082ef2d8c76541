"""Aggregate: means over evaluations with intervals, weighted and unweighted. Missing values are counted, not used."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from pantrace.model import Record
from pantrace.stats import Estimate, mean

from .metric_values import Evaluation, MetricValues, share_of
from .reduce import estimate_of, moments_of, within
from .reliability import Reliability, reliability_of

DOCUMENTED = {
    "mean_action_accuracy": "action_type_accuracy",
    "mean_click_hit_rate": "click_hit_rate",
    "mean_episode_success": "episode_success_rate",
}
"""The three keys of OpenAdapt's document, and the metric that each is the mean of."""


class Summary(Record, frozen=True, kw_only=True):
    """One metric over several evaluations."""

    metric: str
    evaluations: int
    """How many have a value."""
    null: int
    """How many have none; left out, or counted as 0 if that was requested."""
    withdrawn: int = 0
    """How many have a sentinel (-1) instead; always left out."""
    mean: float | None
    """Each evaluation counts the same."""
    low: float | None = None
    high: float | None = None
    method: str | None = None
    weighted_mean: float | None = None
    """Each evaluation counts by its number of steps, clicks, episodes or cases."""
    weighted_low: float | None = None
    weighted_high: float | None = None
    weighted_method: str | None = None
    weighted_evaluations: int = 0
    """How many have a weight."""
    weight: float | None = None
    lowest: float | None = None
    highest: float | None = None
    left_out: int = 0
    """Scores of samples that are not numbers."""
    reliability: Reliability | None = None
    """pass@k and pass^k, if cases were tried several times and are pass or fail."""
    notes: tuple[str, ...] = ()


class Group(Record, frozen=True, kw_only=True):
    """Evaluations that are summarised together."""

    by: dict[str, str]
    evaluations: int
    totals: dict[str, float]
    """Counts, summed: episodes, steps."""
    metrics: dict[str, Summary]

    def documented(self) -> dict[str, float | None]:
        """The three means that OpenAdapt's document names; None if no evaluation has the metric."""
        return {key: self.metrics[name].mean if name in self.metrics else None for key, name in DOCUMENTED.items()}


def group_evaluations(
    evaluations: Sequence[Evaluation], by: Sequence[str], *, null_as_zero: bool = False
) -> list[Group]:
    """A group for each combination of values of `by`, sorted."""
    groups: dict[tuple[str, ...], list[Evaluation]] = {}
    for each in evaluations:
        groups.setdefault(each.group, []).append(each)
    return [
        aggregate(groups[key], dict(zip(by, key, strict=True)), null_as_zero=null_as_zero) for key in sorted(groups)
    ]


def aggregate(
    evaluations: Sequence[Evaluation], by: dict[str, str] | None = None, *, null_as_zero: bool = False
) -> Group:
    """All evaluations together."""
    names = list(dict.fromkeys(name for each in evaluations for name in each.metrics))
    # Counts are summed and never averaged: a mean number of episodes says nothing.
    counts = list(dict.fromkeys(name for each in evaluations for name in each.counts))
    summaries = {
        name: _summary(
            name, [each.metrics.get(name) or MetricValues(name) for each in evaluations], null_as_zero=null_as_zero
        )
        for name in names
    }
    return Group(
        by=by or {},
        evaluations=len(evaluations),
        totals={name: _whole(fsum(each.counts.get(name, 0.0) for each in evaluations)) for name in counts},
        metrics=summaries,
    )


def _summary(name: str, found: list[MetricValues], *, null_as_zero: bool) -> Summary:
    present = [(each, each.estimate) for each in found if each.estimate is not None]
    values = [estimate.value for _, estimate in present]
    withdrawn = sum(each.withdrawn for each in found)
    null = len(found) - len(present) - withdrawn
    bounds = next((each.bounds for each in found if each.bounds is not None), None)
    # The original counts null as 0. That is wrong as a default, but old numbers must be reproducible.
    over = mean([*values, *([0.0] * null if null_as_zero else [])]) if values or null_as_zero else None
    notes = [over.note] if over is not None and over.note else []
    if over is not None and (cut := within(over, bounds)) != over:
        over = cut
        notes.append("interval cut at the end of the scale")
    weighing, weight, weighers = _weighted([each for each, _ in present])
    if len({(each.scale.low, each.scale.high) for each, _ in present if each.scale is not None}) > 1:
        notes.append("the evaluations declare different scales, so a mean over them means little")
    return Summary(
        metric=name,
        evaluations=len(values),
        null=null,
        withdrawn=withdrawn,
        mean=over.value if over else None,
        low=over.low if over else None,
        high=over.high if over else None,
        method=f"{over.method} over evaluations" if over and over.low is not None else None,
        weighted_mean=weighing.value if weighing else None,
        weighted_low=weighing.low if weighing else None,
        weighted_high=weighing.high if weighing else None,
        weighted_method=weighing.method if weighing and weighing.low is not None else None,
        weighted_evaluations=weighers,
        weight=None if weight is None else _whole(weight),
        lowest=min(values, default=None),
        highest=max(values, default=None),
        left_out=sum(each.left_out for each in found),
        reliability=_reliability(found),
        notes=tuple(notes),
    )


def _reliability(found: list[MetricValues]) -> Reliability | None:
    """For a single evaluation only: several are not repeats of each other, because their agents may differ."""
    tried = [each.passes for each in found if each.passes]
    if len(tried) != 1:
        return None
    return reliability_of((len(passes), sum(passes), 1) for passes in tried[0].values())


def _whole(count: float) -> float:
    return int(count) if count == int(count) else count


def _weighted(found: list[MetricValues]) -> tuple[Estimate | None, float | None, int]:
    """The mean in which each evaluation counts by its weight, the sum of weights, and how many have one."""
    # If all evaluations have single cases, pool these: a mean of means would count a small evaluation like a large one.
    if found and all(each.values for each in found):
        values: dict[str, list[float]] = {}
        for each in found:
            for case, numbers in each.values.items():
                values.setdefault(case, []).extend(numbers)
        estimate = estimate_of(moments_of(values), binary=all(each.binary for each in found))
        return (within(estimate, found[0].bounds) if estimate else None), float(len(values)), len(found)
    known = [(each.estimate.value, each.weight, each.independent) for each in found if each.estimate and each.weight]
    if not known:
        return None, None, 0
    total = fsum(weight for _, weight, _ in known)
    value = fsum(value * weight for value, weight, _ in known) / total
    # Without the number of independent trials of each file, an interval would only be a guess.
    trials = [independent for _, _, independent in known if independent]
    if len(trials) == len(known) and 0 <= value <= 1:
        return share_of(value, fsum(trials)), total, len(known)
    return Estimate(value=value, n=int(total), method="weighted"), total, len(known)
