"""Compare: did B get better than A, by how much, and how sure is that?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

from msgspec.structs import replace

from pantrace.model import Record, Run, Sample, Scale, Score
from pantrace.stats import ALPHA, CONFIDENCE, Estimate, detectable_difference, discordant_needed, holm, normal_quantile

from .compare_cases import Difference, Values, average, difference_with_notes, mean_of, unpaired_difference

Verdict = Literal["better", "worse", "higher", "lower", "equivalent", "inconclusive"]


@dataclass
class Side:
    """The scores of one run, by metric and case."""

    name: str
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """metric -> case -> values, one for each epoch."""
    binary: dict[str, bool] = field(default_factory=dict)
    scales: dict[str, Scale | None] = field(default_factory=dict)
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
            side.binary[score.name] = side.binary.get(score.name, True) and is_yes_or_no(score, number)
            side.scales.setdefault(score.name, score.scale)
    return side


def is_yes_or_no(score: Score, number: float) -> bool:
    """Whether a score stands for no or yes. What counts something may happen to count none or one: numbers whose scale
    does not end at 1, and those of a metric without a scale."""
    if number not in (0.0, 1.0) or isinstance(score.value, bool):
        return number in (0.0, 1.0)
    if score.scale is None:
        return score.maker is None or score.maker.kind != "check"
    return (score.scale.low, score.scale.high) == (0, 1)


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
    found = [_compare(name, first, second) for name in list(metrics) or shared]
    p_values = [each.estimate.p for _, each in found if each.estimate is not None and each.estimate.p is not None]
    adjusted = iter(holm(p_values))
    return [
        with_verdict(
            _with_power(comparison, each, len(p_values)),
            next(adjusted) if each.estimate is not None and each.estimate.p is not None else None,
            margin,
        )
        for comparison, each in found
    ]


def _compare(metric: str, first: Side, second: Side) -> tuple[Comparison, Difference]:
    one, two = first.values.get(metric, {}), second.values.get(metric, {})
    binary = bool(one) and bool(two) and first.binary[metric] and second.binary[metric]
    common = [case for case in one if case in two]
    only = len(one) - len(common), len(two) - len(common)
    scale, clusters = first.scales.get(metric), first.clusters | second.clusters
    if one and two and scale != second.scales.get(metric):
        found = Difference(notes=("the two sides declare different scales, so a difference means nothing",))
    elif common:
        # One row speaks of one set of cases: B - A is the difference.
        one, two = ({case: side[case] for case in common} for side in (one, two))
        found = difference_with_notes(one, two, binary, clusters, scale)
    else:
        found = unpaired_difference(one, two, binary, (first.clusters, second.clusters), scale)
    comparison = Comparison(
        metric=metric,
        first=average(one, binary, scale, clusters),
        second=average(two, binary, second.scales.get(metric), clusters),
        difference=found.estimate,
        verdict="inconclusive",
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        common=len(common),
        only_first=only[0],
        only_second=only[1],
        left_out=first.left_out[metric] + second.left_out[metric],
        better=scale.better if scale is not None else "higher" if binary else None,
        flips=_flips(one, two) if common and found.estimate is not None else (),
        notes=found.notes,
    )
    return comparison, found


def _flips(one: Values, two: Values) -> tuple[Flip, ...]:
    flips = [Flip(case=case, before=mean_of(one[case]), after=mean_of(two[case])) for case in one]
    changed = (flip for flip in flips if flip.before != flip.after)
    return tuple(sorted(changed, key=lambda flip: (flip.after - flip.before, flip.case)))


def _with_power(comparison: Comparison, found: Difference, tests: int) -> Comparison:
    """The comparison with the least true difference that it would have found four times of five, when so many metrics
    are tested together; a note where it could not have found any."""
    estimate, alpha = found.estimate, ALPHA / max(1, tests)
    if estimate is None or estimate.p is None or estimate.low is None or estimate.high is None:
        return comparison
    if found.least_p >= alpha:
        together = f", before it is adjusted for {tests} metrics" if tests > 1 else ""
        note = f"so few cannot show a difference: p is never below {found.least_p:.3g}{together}"
        return replace(comparison, notes=(*comparison.notes, note))
    # The half width is about two standard errors; an interval without any spread behind it says nothing of them.
    spread = 0.0 if "Clopper" in estimate.method else (estimate.high - estimate.low) / (2 * normal_quantile(CONFIDENCE))
    least = discordant_needed(estimate.n, alpha) if found.yes_or_no else 0.0
    detectable = max(detectable_difference(spread, alpha), least)
    return replace(comparison, detectable=detectable or None)


def with_verdict(found: Comparison, p: float | None, margin: float | None) -> Comparison:
    """The comparison with its adjusted p-value and its verdict."""
    verdict: Verdict = "inconclusive"
    difference = found.difference
    if difference is not None and difference.low is not None and difference.high is not None:
        apart = (difference.low > 0 or difference.high < 0) and p is not None and p < ALPHA
        if margin is not None and -margin <= difference.low and difference.high <= margin:
            verdict = "equivalent"
        elif apart:
            up = difference.value > 0
            if found.better is None:
                verdict = "higher" if up else "lower"
            else:
                verdict = "better" if up == (found.better == "higher") else "worse"
    return replace(found, p_adjusted=p, verdict=verdict)
