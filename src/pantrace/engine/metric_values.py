"""Metric values: the numbers of whole evaluations, from stored results or from scored samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from pantrace.errors import ReadError, UsageError
from pantrace.formats import Format
from pantrace.formats.format import StoredMeasure
from pantrace.metrics import measure_named
from pantrace.model import Aggregate, Measure, Run, Sample, Scale, Score, numbers_of
from pantrace.stats import Estimate, wilson
from pantrace.wire.json import encode

from .compare_side import as_number, cluster_of, is_yes_or_no
from .measure import case_of
from .outlined import outlined
from .read import Notes, inputs, open_run
from .reduce import estimate_of, moments_of
from .stored_numbers import is_number, is_outside, stored_results

_SHARE = Scale(low=0.0, high=1.0)


@dataclass
class MetricValues:
    """One metric of one evaluation."""

    metric: str
    estimate: Estimate | None = None
    """None if it is null, does not apply, or is not in the file."""
    weight: float | None = None
    """How many items the number is about; None if the file does not say."""
    independent: float | None = None
    """For shares, how many of these items are independent; None if it is not a share, or not known."""
    scale: Scale | None = None
    """As declared; None if it is not known which end is good."""
    bounds: Scale | None = None
    """An interval is cut off at these ends."""
    unit: str = ""
    values: dict[str, list[float]] = field(default_factory=dict)
    """From samples: case -> numbers, one for each epoch."""
    passes: dict[str, list[bool]] = field(default_factory=dict)
    """From samples: case -> passed or not, if that is clear."""
    binary: bool = True
    """Whether all numbers so far mean no or yes."""
    left_out: int = 0
    """Scores of samples that are not numbers."""
    withdrawn: bool = False
    """Whether the file has a sentinel (-1) instead of a number."""
    stored: bool = False
    """Whether it comes from the source, and was not measured or judged by pantrace."""
    measure: Measure | None = None
    """What the metric declares about it, if it is one of ours."""

    @property
    def headline(self) -> bool:
        """Whether it is shown in tables that have no room for all."""
        return self.measure is None or self.measure.headline


@dataclass
class Evaluation:
    """One evaluation, or the part of it that belongs to a group."""

    name: str
    path: str
    format: str
    group: tuple[str, ...] = ()
    metrics: dict[str, MetricValues] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    """case -> cluster, if clusters were requested and the case has one."""
    samples: int = 0
    origin: str = ""
    """What the file says about the run: model, settings, time."""
    withdrawn: tuple[str, ...] = ()
    """Metrics and counts that are a sentinel in the file."""
    impossible: dict[str, float] = field(default_factory=dict)
    """Numbers of the file that its own format rules out, such as a share of 250."""
    units: dict[str, str] = field(default_factory=dict)
    """What the counts count."""


def read_evaluations(
    paths: Sequence[Path],
    *,
    format: str | None = None,  # noqa: A002
    by: Sequence[str] = (),
    cluster: str | None = None,
    notes: Notes,
) -> list[Evaluation]:
    """Every evaluation in these paths: each file is one, but files of a format with one sample per file are one
    together. With `by`, each is split into groups; with `cluster`, it knows which cases belong together."""
    keys = [group_key(name) for name in by]
    found: list[Evaluation] = []
    for path in paths:
        pooled: dict[tuple[str, ...], Evaluation] = {}
        for place, chosen, variant in inputs([path], format, notes):
            alone = chosen.is_split
            groups: dict[tuple[str, ...], Evaluation] = pooled if alone else {}
            try:
                # The columns may not have the agent, model or label that groups are made by.
                outline = outlined(place) if not keys and cluster != "agent" else None
                run = outline or open_run(place, chosen, variant, notes.on_broken)
                _samples_into(groups, run, chosen, path if alone else place, keys, cluster)
            except ReadError as error:
                if place == path:
                    raise
                notes.on_broken(error)
                continue
            # Numbers of a file count only if it has no scored samples: its samples give the same numbers with
            # intervals.
            if not groups and run.results:
                found.append(_stored(run, chosen, place, keys))
            elif not alone:
                found += groups.values()
        found += pooled.values()
    for evaluation in found:
        evaluation.metrics = _distinct(evaluation.metrics)
        for measured in evaluation.metrics.values():
            _finish(measured)
    return found


def _distinct(metrics: dict[str, MetricValues]) -> dict[str, MetricValues]:
    """Metrics by name. If the source and pantrace have a number of the same name, the source's gets "(stored)"."""
    names = [measured.metric for measured in metrics.values()]
    found: dict[str, MetricValues] = {}
    for measured in metrics.values():
        if measured.stored and names.count(measured.metric) > 1:
            measured.metric = f"{measured.metric} (stored)"
        found[measured.metric] = measured
    return found


def without_groups(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations as they were before they were split into groups."""
    found: dict[str, Evaluation] = {}
    for part in evaluations:
        whole = found.setdefault(part.path, Evaluation(name=part.name, path=part.path, format=part.format))
        whole.samples += part.samples
        whole.withdrawn, whole.origin = part.withdrawn, part.origin
        whole.counts |= part.counts
        whole.units |= part.units
        for name, measured in part.metrics.items():
            if not measured.values and not measured.left_out:
                whole.metrics[name] = measured
                continue
            mine = whole.metrics.setdefault(
                name, MetricValues(name, scale=measured.scale, unit=measured.unit, measure=measured.measure)
            )
            for case, values in measured.values.items():
                mine.values.setdefault(case, []).extend(values)
            mine.left_out += measured.left_out
            mine.binary = mine.binary and measured.binary
            _finish(mine)
    return list(found.values())


def warnings_of(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """What a reader of numbers over these evaluations should know."""
    for each in evaluations:
        if each.withdrawn:
            listed = ", ".join(each.withdrawn)
            yield f"{each.path}: left out: {listed} (-1 in the file says that a metric was withdrawn)"
        for name, value in each.impossible.items():
            yield f"{each.path}: left out: {name} ({value:g} is outside its scale; `pantrace validate` says more)"


def copies_among(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Warnings about evaluations with the same numbers, such as a file and its migrated copy."""
    first: dict[object, Evaluation] = {}
    for each in evaluations:
        numbers = [
            (name, tuple(sorted((case, *values) for case, values in found.values.items())) or found.estimate)
            for name, found in sorted(each.metrics.items())
        ]
        content = (each.origin, tuple(sorted(each.counts.items())), encode(numbers))
        if (other := first.setdefault(content, each)) is not each:
            yield f"{other.path} and {each.path} hold the same numbers; if one is a copy, it counts twice"


def _samples_into(
    groups: dict[tuple[str, ...], Evaluation],
    run: Run,
    chosen: Format,
    path: Path,
    keys: list[GroupKey],
    cluster: str | None,
) -> None:
    """Put the scores of a run's samples into their groups."""
    for sample in run.samples:
        if not sample.scores:
            continue
        group = tuple(key(run, sample) for key in keys)
        if group not in groups:
            groups[group] = Evaluation(name=evaluation_name(path), path=str(path), format=chosen.name, group=group)
        evaluation = groups[group]
        evaluation.samples += 1
        if cluster is not None and (found := cluster_of(sample, cluster)):
            evaluation.clusters[case_of(sample)] = found
        for score in sample.scores:
            for address, number in _numbers(score):
                _add(_place(evaluation, score, address), sample, score, number)


def _numbers(score: Score) -> Iterator[tuple[str, float | None]]:
    """The measures of a score by address, or its own value; None if there is no number."""
    ours = score.maker is not None and score.maker.kind == "check"
    main = measure_named(score.name) if ours else None
    named = dict(numbers_of(score)) if score.values else {}
    yield from named.items()
    address = main.address if main is not None else score.name
    if address not in named:
        yield address, None if score.values else as_number(score)


def _place(evaluation: Evaluation, score: Score, address: str) -> MetricValues:
    stored = score.maker is None or score.maker.kind == "stored"
    key = f"{address} {stored}"
    if key not in evaluation.metrics:
        measure = None if stored else measure_named(address)
        unit = (measure.unit if measure is not None else None) or "mean of samples"
        scale = measure.scale if measure is not None and measure.name else None
        evaluation.metrics[key] = MetricValues(address, unit=unit, stored=stored, measure=measure, scale=scale)
    return evaluation.metrics[key]


def _add(measured: MetricValues, sample: Sample, score: Score, number: float | None) -> None:
    if number is None or not isfinite(number):
        measured.left_out += 1
        return
    case = case_of(sample)
    measured.values.setdefault(case, []).append(number)
    if measured.measure is not None and measured.measure.name:
        measured.binary = measured.binary and measured.measure.yes_or_no and number in (0.0, 1.0)
        if measured.measure.yes_or_no and measured.measure.better == "higher":
            measured.passes.setdefault(case, []).append(number == 1.0)
        return
    measured.binary = measured.binary and is_yes_or_no(score, number)
    graded = isinstance(score.value, str) or (score.passed is not None and number in (0.0, 1.0))
    measured.scale = measured.scale or score.scale or (_SHARE if graded else None)
    passed = score.passed
    if passed is None and (isinstance(score.value, bool) or number in (0.0, 1.0)):
        passed = number == 1.0
    if passed is not None:
        measured.passes.setdefault(case, []).append(passed)


def _finish(measured: MetricValues) -> None:
    if not measured.values:
        return
    measured.estimate = estimate_of(moments_of(measured.values), binary=measured.binary)
    measured.weight = len(measured.values)
    # Numbers that are all 0 or 1 are bounded by 0 and 1; only a declared scale or a grade says which of them is good.
    measured.bounds = measured.scale or (_SHARE if measured.binary else None)
    if measured.measure is not None and measured.scale is None:
        measured.bounds = Scale(low=measured.measure.low, high=measured.measure.high)


def _stored(run: Run, chosen: Format, place: Path, keys: list[GroupKey]) -> Evaluation:
    group = tuple(key(run, None) for key in keys)
    evaluation = Evaluation(name=evaluation_name(place), path=str(place), format=chosen.name, group=group)
    evaluation.origin = encode([run.model, run.config, run.created, run.checkpoint]).decode()
    results = stored_results(run)
    numbers = {name: float(each.value) for name, each in results.items() if is_number(each.value)}
    evaluation.withdrawn = tuple(name for name, each in results.items() if each.withdrawn)
    for name, each in results.items():
        known = chosen.stored.get(name)
        if name in numbers and known is not None and is_outside(numbers[name], known.bounds):
            evaluation.impossible[name] = numbers.pop(name)
        if known is not None and known.kind == "count":
            evaluation.units[name] = known.unit
            if name in numbers:
                evaluation.counts[name] = numbers[name]
        elif not isinstance(each.value, str):
            # The format says what its independent units are: the episodes of an OpenAdapt file.
            independent = numbers.get(chosen.clusters) if chosen.clusters else None
            evaluation.metrics[name] = _measured(name, each, known, numbers, independent)
    return evaluation


def _measured(
    name: str, each: Aggregate, known: StoredMeasure | None, numbers: dict[str, float], clusters: float | None
) -> MetricValues:
    scale = known.scale if known else None
    unit = known.unit if known else ""
    measured = MetricValues(name, scale=scale, bounds=scale, unit=unit, withdrawn=each.withdrawn)
    if name not in numbers:
        return measured
    value = numbers[name]
    count = each.n if each.n is not None else numbers.get(known.of) if known and known.of else None
    measured.weight = count
    if known is not None and known.kind == "share" and count:
        # Steps of one episode may succeed or fail together; in the worst case, an episode is worth one step.
        measured.independent = min(count, count if clusters is None else clusters) or None
    # A stored interval that does not contain its own value is wrong.
    if each.low is not None and each.high is not None and each.low <= value <= each.high:
        measured.estimate = Estimate(value=value, low=each.low, high=each.high, n=int(count or 0), method="as stored")
    elif measured.independent is not None and measured.independent >= 1 and 0 <= value <= 1:
        measured.estimate = share_of(value, measured.independent)
    else:
        measured.estimate = Estimate(value=value, n=int(count or 0), method="as stored", note="no interval stored")
    return measured


def share_of(value: float, trials: float) -> Estimate:
    """A share with the Wilson interval for this many independent trials."""
    n = int(trials)
    found = wilson(value * n, n)
    return Estimate(value=value, low=found.low, high=found.high, n=n, method="Wilson over episodes")


GroupKey = Callable[[Run, Sample | None], str]
NONE = "(none)"


def group_key(name: str) -> GroupKey:
    """The function that assigns evaluations to groups: by a field of the run, or a label of the case."""
    head, _, rest = name.partition(".")
    if head == "label" and rest:
        return lambda _, sample: sample.case.labels.get(rest, NONE) if sample is not None and sample.case else NONE
    if head == "config" and rest:
        return lambda run, _: str(run.config.get(rest, NONE))
    if name in _FIELDS:
        field_of = _FIELDS[name]
        return lambda run, sample: next((text for text in field_of(run, sample) if text), NONE)
    raise UsageError(f"--by {name!r}: known are {', '.join(_FIELDS)}, label.NAME and config.NAME")


def _models(run: Run, sample: Sample | None) -> Iterator[str | None]:
    yield run.model
    if sample is not None and sample.trajectory is not None:
        yield from (agent.model for agent in sample.trajectory.agents)
        yield from (step.model for step in sample.trajectory.steps)


def _agents(run: Run, sample: Sample | None) -> Iterator[str | None]:
    if sample is not None:
        yield sample.case.agent if sample.case else None
        if sample.trajectory is not None:
            yield from (agent.name for agent in sample.trajectory.agents)
    yield run.agent


_FIELDS: dict[str, Callable[[Run, Sample | None], Iterable[str | None]]] = {
    "backend": _models,
    "dsl_mode": lambda run, _: [run.config.get("dsl_mode")],
    "model": _models,
    "agent": _agents,
    "task": lambda run, _: [run.task],
    "format": lambda run, _: [run.source.format if run.source else None],
}


_ENDINGS = {".gz", ".zst", ".json", ".jsonl", ".eval", ".trace", ".ndjson", ".db"}


def evaluation_name(path: Path) -> str:
    """The name of an evaluation: its file name without suffixes."""
    name = Path(path.name)
    while not path.is_dir() and name.suffix in _ENDINGS and name.stem:
        name = Path(name.stem)
    return name.name


def short_names(names: Sequence[str]) -> list[str]:
    """Names without the words that all of them share: eval_a_login, eval_b_login -> a, b."""
    parts = [name.replace("-", "_").split("_") for name in names]
    shared = set(parts[0]).intersection(*parts[1:]) if len(parts) > 1 else set()
    short = [" ".join(word for word in words if word not in shared) for words in parts]
    whole = [name.replace("_", " ") for name in names]
    return short if all(short) and len(set(short)) == len(set(names)) else whole
