"""Calibrate: the scores of judges compared with labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import floor
from typing import Any

from pantrace.errors import UsageError
from pantrace.judges import Band, Calibration, Judged, Pair, is_judged, judged_by
from pantrace.model import Record, Sample, Scale, Score
from pantrace.stats import (
    Estimate,
    TooFew,
    clustered_mean,
    concordance,
    corrected_rate,
    flip_rate,
    kappa,
    rank_correlation,
    wilson,
)

from .compare_side import as_number
from .labels import Label, Labels, Ranked, rank_labels

Tried = Callable[[str, Callable[[], Estimate]], Estimate | None]
"""Returns an estimate, or None after adding a note that says why there is none."""


class Minimums(Record, frozen=True, kw_only=True):
    """What a judge must achieve before a gate may rely on it."""

    labels: int = 50
    """Smallest number of labelled samples."""
    auc: float | None = None
    """Smallest AUC; if None, the whole interval must be above 0.5, which is chance."""
    kappa: float | None = None
    accuracy: float | None = None


@dataclass
class Observed:
    """Scores of one judge that have labels."""

    labels: list[Label] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)
    repeats: list[list[float]] = field(default_factory=list)
    """Verdicts of one model on one sample, if it was asked more than once."""
    scale: Scale | None = None
    thresholds: set[float | None] = field(default_factory=set)
    yes_or_no: bool = True
    unscored: int = 0
    unlabelled: list[float] = field(default_factory=list)
    """Scores of samples that have no label."""


def observe(samples: Iterable[Sample], labels: Labels, metrics: Sequence[str] = ()) -> dict[Judged, Observed]:
    """The scores by judges (or those named) of the samples that have a label, grouped by judge."""
    found: dict[Judged, Observed] = {}
    seen: set[str] = set()
    for sample in samples:
        for score in sample.scores:
            seen.add(score.name)
            if score.name not in metrics if metrics else not is_judged(score):
                continue
            label = labels.of(sample, score.name)
            observed = found.setdefault(judged_by(score), Observed())
            if label is not None:
                _take(observed, sample, score, label)
            elif (number := as_number(score)) is not None:
                observed.unlabelled.append(number)
    missing = [name for name in metrics if name not in seen]
    if missing:
        raise UsageError(f"there is no score {missing[0]!r}; there are {', '.join(sorted(seen)) or 'none'}")
    if not found and not seen:
        raise UsageError(
            "there is no score to calibrate; `pantrace eval` or `pantrace judge -o x.trace.jsonl` make them"
        )
    return found


def _take(observed: Observed, sample: Sample, score: Score, label: Label) -> None:
    number = as_number(score)
    if number is None:
        observed.unscored += score.status != "not_applicable"
        return
    observed.labels.append(label)
    observed.scores.append(number)
    # The case, not the sample: repetitions of one case are a cluster.
    observed.samples.append(sample.case.id if sample.case is not None and sample.case.id else sample.id)
    observed.scale = observed.scale or score.scale
    observed.thresholds.add(score.threshold)
    observed.yes_or_no = observed.yes_or_no and isinstance(score.value, bool)
    by_model: dict[Any, list[float]] = {}
    verdicts = score.details.get("samples")
    for verdict in verdicts if isinstance(verdicts, list) else ():
        # Probability-weighted scores are almost never equal, so grades show whether a judge agrees with itself.
        given = verdict.get("grade", verdict.get("score")) if isinstance(verdict, Mapping) else None
        # A forged integer may be too long for a float.
        if isinstance(given, (int, float)) and abs(given) < 1e300:
            by_model.setdefault(verdict.get("model"), []).append(float(given))
    observed.repeats += [each for each in by_model.values() if len(each) > 1]


def calibration(
    judged: Judged,
    observed: Observed,
    *,
    order: tuple[str, ...] = (),
    threshold: float | None = None,
    minimums: Minimums | None = None,
) -> Calibration:
    """How well one judge agrees with the labels, and whether that is enough for a gate."""
    scale = observed.scale
    ends = (scale.low, scale.high) if scale is not None and scale.low is not None and scale.high is not None else None
    labels = rank_labels(observed.labels, order, ends)
    numbers = [labels.numbers[label] for label in observed.labels]
    # For words and for pass or fail, the better label is the higher number, whichever end of the scale is good.
    lower = labels.kind != "grades" and scale is not None and scale.better == "lower"
    scores = [-score for score in observed.scores] if lower else observed.scores
    clusters = observed.samples
    notes: list[str] = []

    def tried(name: str, compute: Callable[[], Estimate]) -> Estimate | None:
        try:
            return compute()
        except TooFew as error:
            notes.append(f"no {name}: {error}")
            return None

    found = Calibration(
        judged=judged,
        labels=labels.kind,
        n=len(numbers),
        samples=len(set(clusters)),
        unscored=observed.unscored,
        auc=tried("AUC", lambda: concordance(numbers, scores, clusters)),
        spearman=tried("Spearman", lambda: rank_correlation(numbers, scores, clusters)),
        flip_rate=tried("flip rate", lambda: flip_rate(observed.repeats)),
        bands=_bands(numbers, observed, labels),
        pairs=_pairs(numbers, scores, clusters, labels),
    )
    from msgspec.structs import replace

    # Kappa and accuracy need labels and scores on one scale; AUC and rank correlation above do not.
    converted = _on_label_scale(observed, labels, threshold)
    if converted is None:
        notes.append(f"no accuracy and no kappa: {_why_missing(labels, judged.metric)}")
        table = _confusion(numbers, [_whole(score) for score in observed.scores], labels.names, {})
        found = replace(found, confusion=table)
    else:
        words = labels.names if labels.kind == "pass" else {}
        hits = [float(one == two) for one, two in zip(numbers, converted, strict=True)]
        grades = labels.kind == "grades"
        found = replace(
            found,
            threshold=_threshold(observed, threshold) if labels.kind == "pass" else None,
            accuracy=_share(hits, clusters),
            kappa=tried("kappa", lambda: kappa(numbers, converted, clusters=clusters)),
            weighted_kappa=tried("weighted kappa", lambda: kappa(numbers, converted, quadratic=True, clusters=clusters))
            if grades
            else None,
            confusion=_confusion(numbers, converted, labels.names, words),
        )
        if labels.kind == "pass":
            found = _with_rates(found, observed, threshold, tried)
    why_not = _shortcomings(found, minimums or Minimums())
    return replace(found, calibrated=not why_not, why_not=tuple(why_not), notes=tuple(notes))


def _with_rates(found: Calibration, observed: Observed, given: float | None, tried: Tried) -> Calibration:
    """How often the judge is right about good and about bad samples, and its pass rate corrected for its errors."""
    from msgspec.structs import replace

    table = {label: (row["pass"], row["fail"]) for label, row in found.confusion.items()}
    (hits, missed), (wrong, spared) = table.get("pass", (0, 0)), table.get("fail", (0, 0))
    of_all = [*_passing(observed, observed.unlabelled, given), *([1.0] * (hits + wrong) + [0.0] * (missed + spared))]
    counted = (int(sum(of_all)), len(of_all))
    found = replace(
        found,
        sensitivity=wilson(hits, hits + missed) if hits + missed else None,
        specificity=wilson(spared, wrong + spared) if wrong + spared else None,
        counted_rate=wilson(*counted),
    )
    if found.samples < found.n:
        # Repetitions of a case are not independent, and the interval of the correction assumes that labels are.
        return found
    rates = ((hits, hits + missed), (spared, wrong + spared))
    return replace(found, corrected_rate=tried("corrected rate", lambda: corrected_rate(counted, *rates)))


def _threshold(observed: Observed, given: float | None) -> float | None:
    if given is not None:
        return given
    if observed.yes_or_no:
        return 0.5
    return next(iter(observed.thresholds)) if len(observed.thresholds) == 1 else None


def _on_label_scale(observed: Observed, labels: Ranked, given: float | None) -> list[float] | None:
    """The scores on the scale of the labels; None if they cannot be converted."""
    if labels.kind == "grades":
        return [_whole(score) for score in observed.scores] if _all_whole(labels) else None
    if labels.kind == "bands" or _threshold(observed, given) is None:
        return None
    return _passing(observed, observed.scores, given)


def _passing(observed: Observed, scores: list[float], given: float | None) -> list[float]:
    """1 for each score that passes, 0 for each that does not."""
    limit = _threshold(observed, given)
    assert limit is not None
    lower = observed.scale is not None and observed.scale.better == "lower" and not observed.yes_or_no
    return [float(score <= limit if lower else score >= limit) for score in scores]


def _all_whole(labels: Ranked) -> bool:
    return all(number.is_integer() for number in labels.numbers.values())


def _why_missing(labels: Ranked, metric: str) -> str:
    """Why scores and labels cannot be compared for equality."""
    if labels.kind == "pass":
        return f"set the lowest score that passes (--threshold {metric}=N)"
    if labels.kind == "bands":
        return "the labels are words, the scores numbers"
    return "some labels lie between the grades, which no score can equal"


def _whole(score: float) -> float:
    """The nearest whole grade; a mean of several verdicts can be between grades."""
    # Not round(), which rounds 2.5 to 2 and 3.5 to 4.
    return float(floor(score + 0.5))


def _share(hits: list[float], clusters: list[str]) -> Estimate:
    if len(set(clusters)) == len(clusters):
        return wilson(sum(hits), len(hits))
    found = clustered_mean(hits, clusters)
    if found.low is None or found.high is None:
        return found
    from msgspec.structs import replace

    # A t interval can leave the range of a share.
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def _confusion(
    labels: list[float], scores: list[float], label_names: Mapping[float, str], score_names: Mapping[float, str]
) -> dict[str, dict[str, int]]:
    columns = sorted({*scores, *(score_names if score_names else ())})
    table = {}
    for label in sorted(set(labels)):
        row = [score for one, score in zip(labels, scores, strict=True) if one == label]
        table[label_names.get(label, f"{label:g}")] = {
            score_names.get(column, f"{column:g}"): row.count(column) for column in columns
        }
    return table


MANY = 12
"""With more different labels than this, a row for each would say nothing."""


def _bands(numbers: list[float], observed: Observed, labels: Ranked) -> tuple[Band, ...]:
    levels = sorted(set(numbers))
    if len(levels) > MANY:
        return ()
    found = []
    for level in levels:
        chosen = [place for place, number in enumerate(numbers) if number == level]
        scores = [observed.scores[place] for place in chosen]
        average = clustered_mean(scores, [observed.samples[place] for place in chosen])
        found.append(Band(label=labels.names.get(level, f"{level:g}"), n=len(chosen), mean=average))
    return tuple(found)


def _pairs(numbers: list[float], scores: Sequence[float], clusters: Sequence[str], labels: Ranked) -> tuple[Pair, ...]:
    levels = sorted(set(numbers))
    if not 2 < len(levels) <= MANY:
        return ()
    found = []
    for worse, better in [*pairwise(levels), (levels[0], levels[-1])]:
        chosen = [place for place, number in enumerate(numbers) if number in (worse, better)]
        auc = concordance(
            [numbers[place] for place in chosen],
            [scores[place] for place in chosen],
            [clusters[place] for place in chosen],
        )
        found.append(Pair(worse=labels.names[worse], better=labels.names[better], auc=auc))
    return tuple(found)


def _shortcomings(found: Calibration, minimums: Minimums) -> list[str]:
    """Why a gate should not rely on this judge."""
    why = []
    # Samples, not labels: fifty labels of one sample say nothing about others.
    if found.samples < minimums.labels:
        why.append(f"{found.samples} labelled samples; {minimums.labels} are required")
    if found.auc is None:
        why.append("it is not known whether it tells good from bad")
    elif minimums.auc is not None:
        if found.auc.value < minimums.auc:
            why.append(f"AUC is {found.auc.value:.2f}; {minimums.auc:g} is required")
    # The lower end of the interval: with few labels, chance alone can give a high AUC.
    elif (least := found.auc.low if found.auc.low is not None else found.auc.value) <= 0.5:
        why.append(
            f"it may be no better than chance at telling good from bad: AUC is {found.auc.value:.2f} and may be as low "
            f"as {least:.2f}; more than 0.5 is required"
        )
    for name, wanted in (("kappa", minimums.kappa), ("accuracy", minimums.accuracy)):
        if wanted is None:
            continue
        value = getattr(found, name)
        if value is None:
            why.append(f"{name} is not known; {wanted:g} is required")
        elif value.value < wanted:
            why.append(f"{name} is {value.value:.2f}; {wanted:g} is required")
    return why
