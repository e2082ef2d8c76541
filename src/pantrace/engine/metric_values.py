"""Metric values: what files say about whole evaluations, from stored results or from scored samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeGuard

from pantrace.errors import ReadError, UsageError
from pantrace.formats import Format
from pantrace.model import Aggregate, Record, Run, Sample, Scale, Score
from pantrace.stats import Estimate, wilson
from pantrace.wire.json import encode

from .compare import as_number, cluster_of, is_yes_or_no
from .compare_cases import average
from .read import Notes, inputs, open_run


class Known(Record, frozen=True, kw_only=True):
    """What is known of a metric that files store as a bare number."""

    kind: Literal["share", "mean", "count"]
    """share: successes of trials; mean: of some measure; count: a size, which is summed and never averaged."""
    of: str | None = None
    """The count that is its denominator, where the file has it."""
    unit: str = ""
    scale: Scale | None = None


_SHARE = Scale(low=0.0, high=1.0)

KNOWN = {
    "num_episodes": Known(kind="count", unit="episodes"),
    "num_steps": Known(kind="count", unit="steps"),
    "coord_error_count": Known(kind="count", unit="clicks with coordinates"),
    "action_type_accuracy": Known(kind="share", of="num_steps", unit="share of steps", scale=_SHARE),
    "mean_coord_error": Known(
        kind="mean", of="coord_error_count", unit="distance (share of screen)", scale=Scale(low=0.0, better="lower")
    ),
    "click_hit_rate": Known(kind="share", of="coord_error_count", unit="share of clicks", scale=_SHARE),
    "episode_success_rate": Known(kind="share", of="num_episodes", unit="share of episodes", scale=_SHARE),
    "bbox_hit_rate": Known(kind="share", unit="share of clicks", scale=_SHARE),
    "mean_episode_progress": Known(kind="mean", of="num_episodes", unit="share of steps", scale=_SHARE),
    "mean_episode_step_score": Known(kind="mean", of="num_episodes", unit="share of steps", scale=_SHARE),
    "weak_episode_success_rate": Known(kind="share", of="num_episodes", unit="share of episodes", scale=_SHARE),
    "state_success_rate": Known(kind="share", unit="share of episodes", scale=_SHARE),
    "element_accuracy": Known(kind="share", unit="share of steps", scale=_SHARE),
}
"""The metrics of OpenAdapt's eval JSON."""


@dataclass
class MetricValues:
    """One metric of one evaluation."""

    metric: str
    estimate: Estimate | None = None
    """None: null, not applicable, or not in the file."""
    weight: float | None = None
    """How many things the number counts; None: the file does not say."""
    independent: float | None = None
    """How many of them are independent of each other, for shares; None: no share, or not known."""
    scale: Scale | None = None
    """As declared; None: nobody says which end is good."""
    bounds: Scale | None = None
    """Where an interval must end."""
    unit: str = ""
    values: dict[str, list[float]] = field(default_factory=dict)
    """Of samples: case -> numbers, one for each epoch."""
    passes: dict[str, list[bool]] = field(default_factory=dict)
    """Of samples: case -> passed or not, where that is clear."""
    binary: bool = True
    """All numbers so far stand for no and yes."""
    left_out: int = 0
    """Scores of samples that are no numbers."""
    withdrawn: bool = False
    """The file gives a sentinel instead of a number."""
    stored: bool = False
    """Came with the samples; not measured or judged by pantrace."""


@dataclass
class Evaluation:
    """One evaluation, or that part of it which belongs to a group."""

    name: str
    path: str
    format: str
    group: tuple[str, ...] = ()
    metrics: dict[str, MetricValues] = field(default_factory=dict)
    counts: dict[str, float] = field(default_factory=dict)
    clusters: dict[str, str] = field(default_factory=dict)
    """case -> cluster, where one was asked for and the case says it."""
    samples: int = 0
    origin: str = ""
    """What the file says of the run: model, settings, time."""
    withdrawn: tuple[str, ...] = ()
    """Metrics and counts that the file gives a sentinel for."""


def read_evaluations(
    paths: Sequence[Path],
    *,
    format: str | None = None,  # noqa: A002
    by: Sequence[str] = (),
    cluster: str | None = None,
    notes: Notes,
) -> list[Evaluation]:
    """Every evaluation of these paths: each file is one; files of formats that hold one sample each are one together.
    With `by`, each is parted into the groups that it belongs to; with `cluster`, it knows which cases belong together.
    """
    keys = [group_key(name) for name in by]
    found: list[Evaluation] = []
    for path in paths:
        pooled: dict[tuple[str, ...], Evaluation] = {}
        for place, chosen, variant in inputs([path], format, notes):
            alone = chosen.layout == "document" and chosen.save is None
            groups: dict[tuple[str, ...], Evaluation] = pooled if alone else {}
            try:
                run = open_run(place, chosen, variant, notes.on_broken)
                _samples_into(groups, run, chosen, path if alone else place, keys, cluster)
            except ReadError as error:
                if place == path:
                    raise
                notes.on_broken(error)
                continue
            if not groups and run.results:
                found.append(_stored(run, chosen, place, keys))
            elif not alone:
                found += groups.values()
        found += pooled.values()
    for evaluation in found:
        evaluation.metrics = _told_apart(evaluation.metrics)
        for measured in evaluation.metrics.values():
            _finish(measured)
    return found


def _told_apart(metrics: dict[str, MetricValues]) -> dict[str, MetricValues]:
    """Metrics by name; what the source stored is told from what was measured, where both have one name."""
    names = [measured.metric for measured in metrics.values()]
    found: dict[str, MetricValues] = {}
    for measured in metrics.values():
        if measured.stored and names.count(measured.metric) > 1:
            measured.metric = f"{measured.metric} (stored)"
        found[measured.metric] = measured
    return found


def without_groups(evaluations: Sequence[Evaluation]) -> list[Evaluation]:
    """The evaluations as they were before they were parted into groups."""
    found: dict[str, Evaluation] = {}
    for part in evaluations:
        whole = found.setdefault(part.path, Evaluation(name=part.name, path=part.path, format=part.format))
        whole.samples += part.samples
        whole.withdrawn, whole.origin = part.withdrawn, part.origin
        whole.counts |= part.counts
        for name, measured in part.metrics.items():
            if not measured.values and not measured.left_out:
                whole.metrics[name] = measured
                continue
            mine = whole.metrics.setdefault(name, MetricValues(name, scale=measured.scale, unit=measured.unit))
            for case, values in measured.values.items():
                mine.values.setdefault(case, []).extend(values)
            mine.left_out += measured.left_out
            mine.binary = mine.binary and measured.binary
            _finish(mine)
    return list(found.values())


def warnings_of(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """What a reader of numbers over these evaluations must know."""
    for each in evaluations:
        if each.withdrawn:
            listed = ", ".join(each.withdrawn)
            yield f"{each.path}: left out: {listed} (-1 in the file says that a metric was withdrawn)"


def copies_among(evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Pairs of evaluations that hold the same numbers, such as a file and its migrated copy."""
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
            groups[group] = Evaluation(name=_name(path), path=str(path), format=chosen.name, group=group)
        evaluation = groups[group]
        evaluation.samples += 1
        if cluster is not None and (found := cluster_of(sample, cluster)):
            evaluation.clusters[_case(sample)] = found
        for score in sample.scores:
            stored = score.maker is None or score.maker.kind == "stored"
            measured = evaluation.metrics.setdefault(
                f"{score.name} {stored}", MetricValues(score.name, unit="mean of samples", stored=stored)
            )
            _add(measured, sample, score)


def _add(measured: MetricValues, sample: Sample, score: Score) -> None:
    number = as_number(score)
    if number is None or not isfinite(number):
        measured.left_out += 1
        return
    case = _case(sample)
    measured.values.setdefault(case, []).append(number)
    measured.binary = measured.binary and is_yes_or_no(score, number)
    graded = isinstance(score.value, str) or (score.passed is not None and number in (0.0, 1.0))
    measured.scale = measured.scale or score.scale or (_SHARE if graded else None)
    passed = score.passed
    if passed is None and (isinstance(score.value, bool) or number in (0.0, 1.0)):
        passed = number == 1.0
    if passed is not None:
        measured.passes.setdefault(case, []).append(passed)


def _case(sample: Sample) -> str:
    return sample.case.id if sample.case is not None and sample.case.id else sample.id


def _finish(measured: MetricValues) -> None:
    if not measured.values:
        return
    measured.estimate = average(measured.values, measured.binary)
    measured.weight = len(measured.values)
    # Zeros and ones end at 0 and 1; which of them is good, only a declared scale or a grade says.
    measured.bounds = measured.scale or (_SHARE if measured.binary else None)


def _stored(run: Run, chosen: Format, place: Path, keys: list[GroupKey]) -> Evaluation:
    group = tuple(key(run, None) for key in keys)
    evaluation = Evaluation(name=_name(place), path=str(place), format=chosen.name, group=group)
    evaluation.origin = encode([run.model, run.config, run.created, run.checkpoint]).decode()
    results = {_key(each): each for each in reversed(run.results) if each.metric not in _SPREADS}
    numbers = {name: float(each.value) for name, each in results.items() if is_number(each.value)}
    evaluation.withdrawn = tuple(name for name, each in reversed(results.items()) if each.withdrawn)
    for name, each in reversed(results.items()):
        known = KNOWN.get(name)
        if known is not None and known.kind == "count":
            if name in numbers:
                evaluation.counts[name] = numbers[name]
        elif not isinstance(each.value, str):
            evaluation.metrics[name] = _measured(name, each, known, numbers)
    return evaluation


def _key(each: Aggregate) -> str:
    """A metric's name; how it was aggregated and of what, where that is not the mean of everything."""
    name = each.name if each.metric in (None, "mean", "accuracy", each.name) else f"{each.name}.{each.metric}"
    of = [value for value in each.labels.values() if value != each.name]
    return f"{name}[{', '.join(of)}]" if of else name


_SPREADS = {"stderr", "bootstrap_stderr", "std", "var", "ci", "ci_wilson"}
"""Aggregates that say how sure another one is."""


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value can be calculated with: no text, no NaN."""
    return isinstance(value, (int, float)) and isfinite(value)


def _measured(name: str, each: Aggregate, known: Known | None, numbers: dict[str, float]) -> MetricValues:
    scale = known.scale if known else None
    unit = known.unit if known else ""
    measured = MetricValues(name, scale=scale, bounds=scale, unit=unit, withdrawn=each.withdrawn)
    if name not in numbers:
        return measured
    value = numbers[name]
    count = each.n if each.n is not None else numbers.get(known.of) if known and known.of else None
    measured.weight = count
    if known is not None and known.kind == "share" and count:
        # Steps of one episode may succeed or fail together: at worst an episode counts once.
        measured.independent = min(count, numbers.get("num_episodes", count)) or None
    if each.low is not None and each.high is not None and each.low <= value <= each.high:
        measured.estimate = Estimate(value=value, low=each.low, high=each.high, n=int(count or 0), method="as stored")
    elif measured.independent and 0 <= value <= 1:
        measured.estimate = share_of(value, measured.independent)
    else:
        measured.estimate = Estimate(value=value, n=int(count or 0), method="as stored", note="no interval stored")
    return measured


def share_of(value: float, trials: float) -> Estimate:
    """A share with the Wilson interval of so many independent trials."""
    n = int(trials)
    found = wilson(value * n, n)
    return Estimate(value=value, low=found.low, high=found.high, n=n, method="Wilson over episodes")


GroupKey = Callable[[Run, Sample | None], str]
NONE = "(none)"


def group_key(name: str) -> GroupKey:
    """What parts evaluations into groups: a field of the run, or a label of the case."""
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


def _name(path: Path) -> str:
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
