"""Compare: did B get better than A, by how much, and how sure is that?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite

from msgspec.structs import replace

from pantrace.model import Run, Sample, Scale, Score
from pantrace.stats import ALPHA, Estimate, holm

from .compare_cases import (
    Difference,
    Values,
    average,
    difference_of_pairs,
    difference_of_sides,
    kind_of,
    mean_of,
)
from .compare_power import whole
from .compare_result import Comparison, Flip, Verdict
from .compare_words import sentence_of


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


Margin = Callable[[str, Estimate | None], float | None]
"""From a metric and the baseline's mean, the difference that does not matter; None where none is set."""


def compare_sides(
    first: Side,
    second: Side,
    *,
    metrics: Sequence[str] = (),
    margin: float | None = None,
) -> list[Comparison]:
    """Every metric that both sides have (or those named), p-values adjusted together."""
    return compare_pairs([(first, second)], metrics=metrics, margin=lambda *_: margin)


def compare_pairs(
    pairs: Sequence[tuple[Side, Side]], *, metrics: Sequence[str] = (), margin: Margin = lambda *_: None
) -> list[Comparison]:
    """Every metric that both sides of a pair have (or those named), p-values adjusted over all pairs and metrics."""
    found = [
        _compare(name, *pair)
        for pair in pairs
        for name in list(metrics) or [name for name in pair[0].values if name in pair[1].values]
    ]
    p_values = [each.estimate.p for _, each in found if each.estimate is not None and each.estimate.p is not None]
    adjusted = iter(holm(p_values))
    return [
        with_verdict(
            _with_power(replace(comparison, tests=len(p_values)), each),
            next(adjusted) if each.estimate is not None and each.estimate.p is not None else None,
            margin(comparison.metric, comparison.first),
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
        found = difference_of_pairs(one, two, binary, clusters, scale)
    else:
        found = difference_of_sides(one, two, binary, (first.clusters, second.clusters), scale)
    better = scale.better if scale is not None else "higher" if binary else None
    comparison = Comparison(
        metric=metric,
        runs=(first.name, second.name),
        first=average(one, binary, scale, clusters),
        second=average(two, binary, second.scales.get(metric), clusters),
        difference=found.estimate,
        ratio=found.ratio,
        verdict="inconclusive",
        wins=found.wins,
        losses=found.losses,
        ties=found.ties,
        common=len(common),
        only_first=only[0],
        only_second=only[1],
        left_out=first.left_out[metric] + second.left_out[metric],
        kind=kind_of(binary, scale, [value for side in (one, two) for values in side.values() for value in values]),
        better=better,
        flips=_flips(one, two, better) if common and found.estimate is not None else (),
        notes=found.notes,
    )
    return comparison, found


def _flips(one: Values, two: Values, better: str | None) -> tuple[Flip, ...]:
    flips = [Flip(case=case, before=mean_of(one[case]), after=mean_of(two[case])) for case in one]
    changed = (flip for flip in flips if flip.before != flip.after)
    worse = -1 if better == "lower" else 1
    return tuple(sorted(changed, key=lambda flip: (worse * (flip.after - flip.before), flip.case)))


def _with_power(comparison: Comparison, found: Difference) -> Comparison:
    """The comparison with the least true difference that its test would have found four times of five, when so many
    are tested together; a note where it could not have found any."""
    reach, estimate, tests = found.reach, found.estimate, comparison.tests
    if reach is None or estimate is None:
        return comparison
    alpha = ALPHA / max(1, tests)
    least = reach.least(alpha) if reach.least_p < alpha else inf
    if least == inf:
        together = f", before it is adjusted for {tests} tests" if tests > 1 else ""
        never = f"p is never below {reach.least_p:.3g}{together}"
        why = never if reach.least_p >= alpha else "not even the largest difference is found four times of five"
        return replace(comparison, notes=(*comparison.notes, f"so few cannot show a difference: {why}"))
    size = abs(estimate.value)
    needed = whole(reach.needed(size, alpha)) if size else None
    return replace(comparison, detectable=least or None, needed=needed)


def with_verdict(found: Comparison, p: float | None, margin: float | None) -> Comparison:
    """The comparison with its adjusted p-value, its verdict and its sentence."""
    verdict: Verdict = "inconclusive"
    difference = found.difference
    no_worse: bool | None = None
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
        # The end of the interval that is bad for the second run, counted from the first run downwards.
        worst = difference.low if found.better == "higher" else -difference.high
        within = found.better is not None and margin is not None and worst >= -margin
        no_worse = True if within or verdict in ("better", "equivalent") else False if verdict == "worse" else None
    decided = replace(found, p_adjusted=p, verdict=verdict, margin=margin, no_worse=no_worse)
    return replace(decided, sentence=sentence_of(decided))
