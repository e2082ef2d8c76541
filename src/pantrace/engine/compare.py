"""Compare: did B get better than A, by how much, and how sure is that?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

from pantrace.model import Record, Run, Sample, Scale, Score
from pantrace.stats import (
    Estimate,
    PairedDifference,
    TooFew,
    clustered_mean,
    detectable_difference,
    difference_of_means,
    difference_of_proportions,
    holm,
    mean,
    paired_difference,
    paired_proportions,
    wilson,
)

Verdict = Literal["better", "worse", "higher", "lower", "equivalent", "inconclusive"]

SMALL = 30
"""Below so many cases an interval is taken with a word of caution."""


@dataclass
class Side:
    """The scores of one run, by metric and case."""

    name: str
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """metric -> case -> values, one for each epoch."""
    binary: dict[str, bool] = field(default_factory=dict)
    scales: dict[str, Scale | None] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    """Metrics of our own that only count something: without a scale neither end of them is good."""
    left_out: Counter[str] = field(default_factory=Counter)
    """metric -> scores that are not numbers: unscored, failed, not applicable."""
    clusters: dict[str, str] = field(default_factory=dict)
    """case -> cluster."""
    cases: set[str] = field(default_factory=set)


class Flip(Record, frozen=True, kw_only=True):
    """A case whose score changed."""

    case: str
    before: float
    after: float


class Comparison(Record, frozen=True, kw_only=True):
    """One metric on both sides."""

    metric: str
    first: Estimate | None
    second: Estimate | None
    difference: Estimate | None
    p_adjusted: float | None = None
    """By Holm over the metrics shown."""
    verdict: Verdict
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None
    common: int
    only_first: int
    only_second: int
    left_out: int = 0
    detectable: float | None = None
    """The least true difference that this size would have shown, four times of five."""
    better: str | None = None
    """Which end of the metric is good; None where it does not say."""
    flips: tuple[Flip, ...] = ()
    notes: tuple[str, ...] = ()


def side_of(run: Run, samples: Iterable[Sample], *, cluster: str | None = None, pair_by: str = "case") -> Side:
    """Collect the scores of a run."""
    side = Side(name=run.name or "run")
    for sample in samples:
        case = _case(sample, pair_by)
        side.cases.add(case)
        if cluster is not None and (found := cluster_of(sample, cluster)):
            side.clusters[case] = found
        for score in sample.scores:
            number = as_number(score)
            if number is None:
                side.left_out[score.name] += 1
                continue
            side.values.setdefault(score.name, {}).setdefault(case, []).append(number)
            side.binary[score.name] = side.binary.get(score.name, True) and number in (0.0, 1.0)
            side.scales.setdefault(score.name, score.scale)
            if score.scale is None and score.maker is not None and score.maker.kind == "check":
                side.counted.add(score.name)
    return side


_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Correct, incorrect, partially correct, no answer: the words of Inspect's scorers."""


def as_number(score: Score) -> float | None:
    """A score as a number; None where there is none. Grades of Inspect count as Inspect counts them."""
    if score.status != "scored" or score.value is None:
        return None
    if isinstance(score.value, str):
        return _GRADES.get(score.value)
    return float(score.value) if isfinite(score.value) else None


def _case(sample: Sample, pair_by: str) -> str:
    if pair_by == "case" and sample.case is not None and sample.case.id:
        return sample.case.id
    return sample.id


def cluster_of(sample: Sample, name: str) -> str | None:
    """What a sample belongs to: its task, scenario or agent, or the value of that label; None where it does not say."""
    case = sample.case
    if case is None:
        return None
    own = {"task": case.scenario or case.id, "scenario": case.scenario, "agent": case.agent}
    return case.labels.get(name) or own.get(name)


def compare_sides(
    first: Side, second: Side, *, metrics: Sequence[str] = (), margin: float | None = None
) -> list[Comparison]:
    """Every metric that both sides have (or those named), p-values adjusted together."""
    shared = [name for name in first.values if name in second.values]
    wanted = list(metrics) or shared
    found = [_compare(name, first, second) for name in wanted]
    tested = [each for each in found if each.difference is not None and each.difference.p is not None]
    adjusted = holm([each.difference.p for each in tested if each.difference and each.difference.p is not None])
    by_name = {each.metric: p for each, p in zip(tested, adjusted, strict=True)}
    return [judged(each, by_name.get(each.metric), margin) for each in found]


def _compare(metric: str, first: Side, second: Side) -> Comparison:
    one, two = first.values.get(metric, {}), second.values.get(metric, {})
    binary = first.binary.get(metric, True) and second.binary.get(metric, True) and bool(one) and bool(two)
    common = [case for case in one if case in two]
    notes: list[str] = []
    scale = first.scales.get(metric)
    if one and two and scale != second.scales.get(metric):
        notes.append("the two sides declare different scales, so a difference means nothing")
    result = _Difference()
    if not notes:
        result = (
            _paired(common, one, two, binary, first.clusters | second.clusters)
            if common
            else _unpaired(one, two, binary)
        )
    notes += result.notes
    return Comparison(
        metric=metric,
        first=average(one, binary),
        second=average(two, binary),
        difference=result.estimate,
        verdict="inconclusive",
        wins=result.wins,
        losses=result.losses,
        ties=result.ties,
        common=len(common),
        only_first=len(one) - len(common),
        only_second=len(two) - len(common),
        left_out=first.left_out[metric] + second.left_out[metric],
        detectable=_detectable(result.estimate),
        better=scale.better if scale is not None else "higher" if binary and metric not in first.counted else None,
        flips=result.flips,
        notes=tuple(notes),
    )


@dataclass
class _Difference:
    estimate: Estimate | None = None
    wins: int | None = None
    losses: int | None = None
    ties: int | None = None
    flips: tuple[Flip, ...] = ()
    notes: list[str] = field(default_factory=list)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _averaged(
    common: Sequence[str], one: dict[str, list[float]], two: dict[str, list[float]]
) -> tuple[list[float], list[float], bool]:
    """The mean of each case before and after, and whether any case has more than one value."""
    repeated = any(len(one[case]) > 1 or len(two[case]) > 1 for case in common)
    return [_mean(one[case]) for case in common], [_mean(two[case]) for case in common], repeated


def _paired(
    common: list[str],
    one: dict[str, list[float]],
    two: dict[str, list[float]],
    binary: bool,
    clusters: dict[str, str],
) -> _Difference:
    before, after, repeated = _averaged(common, one, two)
    found = difference_of_cases(common, one, two, binary, clusters)
    notes = [] if found.estimate.note is None else [found.estimate.note]
    if repeated:
        notes.append("epochs are averaged within each case")
    if len(common) < SMALL:
        notes.append(f"only {len(common)} pairs")
    flips = sorted(
        (Flip(case=case, before=a, after=b) for case, a, b in zip(common, before, after, strict=True) if a != b),
        key=lambda flip: (flip.after - flip.before, flip.case),
    )
    return _Difference(found.estimate, found.wins, found.losses, found.ties, tuple(flips), notes)


def difference_of_cases(
    common: Sequence[str],
    one: dict[str, list[float]],
    two: dict[str, list[float]],
    binary: bool,
    clusters: dict[str, str],
) -> PairedDifference:
    """Second - first over the cases of both, epochs averaged: McNemar for one yes or no per case, clustered where cases
    belong together (a case without a cluster is one of its own), else a sign-flip permutation."""
    before, after, repeated = _averaged(common, one, two)
    # A tuple: a case must not fall into a cluster of the same name.
    grouped = [(case in clusters, clusters.get(case, case)) for case in common] if clusters else None
    if binary and not repeated and grouped is None:
        return paired_proportions([value == 1 for value in before], [value == 1 for value in after])
    return paired_difference(before, after, grouped)


def _unpaired(one: dict[str, list[float]], two: dict[str, list[float]], binary: bool) -> _Difference:
    first, second = _per_case(one), _per_case(two)
    if not first or not second:
        return _Difference(notes=["one side has no number"])
    notes = ["no common case: the two sides are compared as independent"]
    if binary and all(value in (0, 1) for value in first + second):
        estimate = difference_of_proportions((int(sum(first)), len(first)), (int(sum(second)), len(second)))
    else:
        estimate = difference_of_means(first, second)
    if estimate.note:
        notes.append(estimate.note)
    if min(len(first), len(second)) < SMALL:
        notes.append(f"only {min(len(first), len(second))} cases on a side")
    return _Difference(estimate, notes=notes)


def _per_case(values: dict[str, list[float]]) -> list[float]:
    return [_mean(each) for each in values.values()]


def average(values: dict[str, list[float]], binary: bool) -> Estimate | None:
    """The mean of one side: Wilson for one yes or no per case, clustered where cases repeat."""
    flat = [value for each in values.values() for value in each]
    try:
        if binary and len(flat) == len(values):
            return wilson(int(sum(flat)), len(flat))
        if len(flat) == len(values):
            return mean(flat)
        return clustered_mean(flat, [case for case, each in values.items() for _ in each])
    except TooFew:
        return None


def _detectable(estimate: Estimate | None) -> float | None:
    """From the interval's half width, which is about two standard errors."""
    if estimate is None or estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return None
    return detectable_difference((estimate.high - estimate.low) / (2 * 1.959963985))


def judged(found: Comparison, p: float | None, margin: float | None) -> Comparison:
    """The comparison with its adjusted p-value and its verdict."""
    from msgspec.structs import replace

    verdict: Verdict = "inconclusive"
    difference = found.difference
    if difference is not None and difference.low is not None and difference.high is not None:
        apart = (difference.low > 0 or difference.high < 0) and p is not None and p < 0.05
        if margin is not None and -margin <= difference.low and difference.high <= margin:
            verdict = "equivalent"
        elif apart:
            up = difference.value > 0
            if found.better is None:
                verdict = "higher" if up else "lower"
            else:
                verdict = "better" if up == (found.better == "higher") else "worse"
    return replace(found, p_adjusted=p, verdict=verdict)
