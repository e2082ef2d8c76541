"""Plot: evaluations as figures. Reading and statistics happen here; `plots` only draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pantrace.errors import UsageError
from pantrace.model import Scale
from pantrace.plots import (
    DPI,
    KINDS,
    Bar,
    CasePair,
    Curve,
    Values,
    comparison,
    distribution,
    paired,
    pass_curve,
    render,
)
from pantrace.stats import Estimate, pass_hat_k, pass_k
from pantrace.wire.output import writing

from .compare_cases import difference_of_cases
from .compare_side import unknown_cluster
from .metric_values import Evaluation, MetricValues, short_names
from .reduce import within

Figure = dict[str, Any]
Kind = Literal["comparison", "distribution", "paired", "passk"]


def label_names(evaluations: Sequence[Evaluation], labels: Sequence[str]) -> list[str]:
    """A name for each evaluation: the given labels, one for each, or distinct names made from the files."""
    if labels:
        if len(labels) != len(evaluations):
            raise UsageError(f"there are {len(evaluations)} evaluations and {len(labels)} labels; give one for each")
        if len(set(labels)) != len(labels):
            raise UsageError("two labels are the same; their bars would look alike")
        return list(labels)
    names = [each.name for each in evaluations]
    # Results of several runs often have the same file name, in folders of different names.
    if len(set(names)) < len(names):
        names = [f"{Path(each.path).absolute().parent.name}_{each.name}" for each in evaluations]
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        names[place] = name if seen[name] == 1 else f"{name} #{seen[name]}"
    return short_names(names)


def figure(
    kind: Kind,
    evaluations: Sequence[Evaluation],
    labels: Sequence[str],
    metrics: Sequence[str] = (),
    title: str | None = None,
    cluster: str | None = None,
) -> Figure:
    """The figure of that kind; a UsageError that says what is missing. `cluster` is what evaluations were read with."""
    if cluster is not None and kind != "paired":
        raise UsageError(f"--cluster is for --kind paired; a {kind} plot does not use it")
    _known(evaluations, metrics)
    if kind == "comparison":
        return _comparison(evaluations, labels, metrics, title)
    metric = _single(evaluations, metrics, kind)
    measured = [each.metrics.get(metric) or MetricValues(metric) for each in evaluations]
    if not any(each.values for each in measured):
        raise UsageError(f"{kind} needs the scores of samples; these files store only results: try --kind comparison")
    if kind == "distribution":
        return _distribution(metric, measured, labels, title)
    if kind == "paired":
        clusters = {case: found for each in evaluations for case, found in each.clusters.items()}
        return _paired(metric, measured, labels, title, clusters, cluster)
    return _passk(metric, measured, labels, title)


def _known(evaluations: Sequence[Evaluation], metrics: Sequence[str]) -> None:
    there = sorted({name for each in evaluations for name in each.metrics})
    for name in metrics:
        if any(name in each.units for each in evaluations):
            raise UsageError(f"{name} is a count, which cannot be used to compare evaluations")
        if name not in there:
            raise UsageError(f"no input has the metric {name!r}; there are: {', '.join(there) or 'none'}")


def _single(evaluations: Sequence[Evaluation], metrics: Sequence[str], kind: str) -> str:
    there = list(metrics) or [
        name for name in _present(evaluations) if any(name in each.metrics for each in evaluations)
    ]
    if len(there) != 1:
        listed = ", ".join(there) if there else "none"
        raise UsageError(f"--kind {kind} draws one metric; name it with --metric (there are: {listed})")
    return there[0]


def _present(evaluations: Sequence[Evaluation]) -> list[str]:
    """Metrics for which any evaluation has a value, in order of appearance; of our many measures, only the
    headlines."""
    names = dict.fromkeys(name for each in evaluations for name, found in each.metrics.items() if found.headline)
    return [name for name in names if any(_estimate(each, name) is not None for each in evaluations)]


def _estimate(evaluation: Evaluation, metric: str) -> Estimate | None:
    measured = evaluation.metrics.get(metric)
    return within(measured.estimate, measured.bounds) if measured is not None and measured.estimate else None


def _comparison(
    evaluations: Sequence[Evaluation], labels: Sequence[str], metrics: Sequence[str], title: str | None
) -> Figure:
    chosen = list(metrics) or _present(evaluations)
    if not chosen:
        raise UsageError("nothing to draw: no input has a stored result or a score that is a number")
    bars, methods, gap, withdrawn = [], set(), False, False
    scales: dict[str, Scale] = {}
    units: dict[str, str] = {}
    for metric in chosen:
        for evaluation, label in zip(evaluations, labels, strict=True):
            found = _estimate(evaluation, metric)
            withdrawn = withdrawn or metric in evaluation.withdrawn
            gap = gap or found is None
            if found is None:
                bars.append(Bar(label=label, metric=metric))
                continue
            if found.low is not None:
                methods.add(found.method)
            n = found.n or None
            bars.append(Bar(label=label, metric=metric, value=found.value, low=found.low, high=found.high, n=n))
        for each in evaluations:
            measured = each.metrics.get(metric) or MetricValues(metric)
            if measured.scale is not None:
                scales.setdefault(metric, measured.scale)
            if measured.unit:
                units.setdefault(metric, measured.unit)
    notes = []
    if methods:
        notes.append(f"Lines: 95 % intervals ({', '.join(sorted(methods))}).")
    if gap:
        notes.append(f"n/a: not applicable{', withdrawn' if withdrawn else ''} or not in the file.")
    text = [" ".join(notes)] if notes else []
    return comparison(bars, title=title or "Evaluations compared", subtitle=text, scales=scales, units=units)


def _distribution(metric: str, measured: Sequence[MetricValues], labels: Sequence[str], title: str | None) -> Figure:
    series = [
        Values(
            label=label,
            values=tuple(value for values in each.values.values() for value in values),
            left_out=each.left_out,
        )
        for each, label in zip(measured, labels, strict=True)
    ]
    # One axis for all evaluations, so one scale.
    scale = next((each.scale for each in measured if each.scale is not None), None)
    verdicts = all(each.binary for each in measured if each.values)
    return distribution(metric, series, scale=scale, verdicts=verdicts, title=title)


def _paired(
    metric: str,
    measured: Sequence[MetricValues],
    labels: Sequence[str],
    title: str | None,
    clusters: dict[str, str],
    cluster: str | None,
) -> Figure:
    if len(measured) != 2:
        raise UsageError(f"--kind paired needs two evaluations, the first before the second; there are {len(measured)}")
    first, second = measured[0].values, measured[1].values
    common = [case for case in first if case in second]
    if not common:
        raise UsageError("the two evaluations have no case in common, so there are no pairs to draw")
    if cluster is not None and not any(case in clusters for case in common):
        raise unknown_cluster(cluster, ())
    pairs = [
        CasePair(
            case=case,
            before=sum(first[case]) / len(first[case]),
            after=sum(second[case]) / len(second[case]),
            cluster=clusters.get(case),
        )
        for case in common
    ]
    before, after = ({case: side[case] for case in common} for side in (first, second))
    scale = measured[0].scale or measured[1].scale
    binary = all(each.binary for each in measured)
    notes = [f"Cases of one {cluster} are treated as a group."] if cluster is not None else []
    if any(len(side[case]) > 1 for side in (first, second) for case in common):
        notes.append("Trials of a case are averaged.")
    alone = [len(first) - len(common), len(second) - len(common)]
    if any(alone):
        notes.append(f"Not drawn: {alone[0]} cases only in {labels[0]}, {alone[1]} only in {labels[1]}.")
    return paired(
        metric,
        pairs,
        # As in `compare`, so that figure and table give the same interval.
        difference_of_cases(before, after, binary, clusters, scale),
        labels=(labels[0], labels[1]),
        better=scale.better if scale is not None else None,
        title=title,
        subtitle=[" ".join(notes)] if notes else [],
    )


def _passk(metric: str, measured: Sequence[MetricValues], labels: Sequence[str], title: str | None) -> Figure:
    curves, sizes, uneven = [], [], False
    for each, label in zip(measured, labels, strict=True):
        tasks = [(len(passed), sum(passed)) for passed in each.passes.values()]
        if not tasks:
            raise UsageError(f"{label}: the scores of {metric} say neither pass nor fail, so nothing can be counted")
        # As far as any task goes; for large k only a few tasks are left, and the interval shows it.
        longest = max(trials for trials, _ in tasks)
        curves.append(Curve(label=label, estimates=tuple(pass_k(tasks, k, pass_hat_k) for k in range(1, longest + 1))))
        sizes.append(str(len(tasks)))
        uneven = uneven or any(trials < longest for trials, _ in tasks)
    if max(len(curve.estimates) for curve in curves) < 2:
        raise UsageError("no case was tried more than once, so there is only pass^1: try --kind comparison")
    listed = [f"{label} {size}" for label, size in zip(labels, sizes, strict=True)]
    counts = f"{sizes[0]} tasks" if len(set(sizes)) == 1 else f"Tasks: {', '.join(listed)}"
    # A list of more than six does not fit above the figure.
    if len(set(sizes)) > 1 and len(sizes) > 6:
        counts = f"{min(sizes, key=int)} to {max(sizes, key=int)} tasks each"
    notes = [f"{counts}. Lines: 95 % intervals (Wilson over tasks)."]
    if uneven:
        notes.append("Tasks with fewer than k trials are left out of pass^k.")
    return pass_curve(curves, metric=metric, title=title, subtitle=notes)


def kind_of(target: Path) -> str:
    """The kind of picture, from the suffix of the file."""
    suffix = target.suffix.removeprefix(".")
    kind = "vl.json" if suffix == "json" else suffix
    if kind not in KINDS:
        endings = ", ".join("." + each for each in KINDS)
        raise UsageError(f"{target}: the name must end in {endings}, or --format must name the format")
    return kind


def save(
    drawn: Figure,
    target: Path,
    kind: str | None = None,
    *,
    width: float | None = None,
    height: float | None = None,
    dpi: int = DPI,
) -> None:
    """Write a picture, of the kind of its suffix if none is given; the file appears when it is complete."""
    picture = render(drawn, kind or kind_of(target), width=width, height=height, dpi=dpi)
    with writing(target) as file:
        file.write(picture)
