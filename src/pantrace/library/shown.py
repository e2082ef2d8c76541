"""What `report` and `view` show: runs read through the engine, with their numbers, plots and comparisons."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pantrace.engine.compare import compare_sides
from pantrace.engine.compare_side import side_of
from pantrace.engine.metric_values import Evaluation, read_evaluations
from pantrace.engine.nothing_read import nothing_read
from pantrace.engine.plot import figure, label_names
from pantrace.engine.read import Notes, inputs, open_run
from pantrace.engine.reduce import within
from pantrace.engine.select import Selection
from pantrace.errors import MissingExtra, PantraceError, ReadError, UsageError
from pantrace.formats import Format
from pantrace.model import Run, Sample, header_of, with_samples
from pantrace.normalise.secrets import Redactor
from pantrace.places import is_url
from pantrace.plots import render
from pantrace.store import RunDirectory, is_run_directory
from pantrace.viewer import Comparison, Plot, Shown, ShownRun, ShownSample
from pantrace.wire.progress import current_progress

T = TypeVar("T")

COMPARED = 6
"""Up to this many runs, each is compared with each other; with more, each with the first."""
FEW = 5
"""With fewer values, a mean is shown without its interval."""
MAIN = 4
"""Number of measures that the list of runs shows."""


LEFT_OUT = "Left out: "
"""How a remark about samples that could not be read begins."""


@dataclass
class Wanted:
    """Which runs and samples to show, and how."""

    paths: Sequence[Path]
    format: str | None = None
    selection: Selection = field(default_factory=Selection)
    sample: tuple[str, ...] = ()
    failed_only: bool = False
    redactor: Redactor | None = field(default_factory=Redactor)
    """Replaces secrets in everything that is shown; None: nothing is replaced."""
    replaced: int = 0
    """Number of secrets replaced so far."""
    drawing: bool = True
    on_sample: Callable[[Sample], None] = lambda _: None

    def clean(self, shown: T) -> T:
        """Any struct of the model, or plain data, without secrets."""
        if self.redactor is None:
            return shown
        found, replaced = self.redactor.record(shown)
        self.replaced += sum(each.count for each in replaced)
        return found


def gather(wanted: Wanted, notes: Notes) -> Shown:
    """The runs at these paths. Their samples are read when they are packed."""
    sources = find_sources(wanted, notes)
    if (watched := current_progress()) is not None:
        watched.expect(place for source in sources for place, _, _ in source.places)
    remarks: list[str] = []
    evaluations = _evaluations(wanted, remarks)
    runs = [_shown_run(source, wanted, evaluations, notes, remarks) for source in sources]
    named = [run.name for run in runs]
    for run, source in zip(runs, sources, strict=True):
        run.name = wanted.clean(run.name if named.count(run.name) == 1 else source.name)
    title = runs[0].name if len(runs) == 1 else f"{len(runs)} runs"

    def compare() -> list[Comparison]:
        names = [run.name for run in runs]
        return _comparisons(sources, names, wanted, evaluations, remarks) if len(sources) > 1 else []

    def plots() -> list[Plot]:
        several = [each for each in evaluations if each.metrics]
        return _drawn("comparison", several, wanted, remarks) if wanted.drawing and len(several) > 1 else []

    return Shown(title=title, runs=runs, compare=compare, plots=plots, notes=remarks)


@dataclass(frozen=True)
class Source:
    """One run: an evaluation's directory, a file with a run, or many files with one sample each."""

    name: str
    places: tuple[tuple[Path, Format, str], ...]
    root: Path
    """The path that was given."""

    @property
    def path(self) -> Path:
        return self.places[0][0]


def find_sources(wanted: Wanted, notes: Notes) -> list[Source]:
    """What to read; an error if there is nothing. Each file with several samples is a separate run; files with one
    sample each form one run for each path given."""
    found: list[Source] = []
    for path in wanted.paths:
        piles: dict[str, list[tuple[Path, Format, str]]] = {}
        for place in inputs([path], wanted.format, notes):
            if place[1].is_split:
                piles.setdefault(place[1].name, []).append(place)
            else:
                found.append(Source(place[0].name, (place,), path))
        for pile in piles.values():
            common = Path(os.path.commonpath([place.absolute() for place, _, _ in pile]))
            found.append(Source(common.name or str(path), tuple(pile), path))
    # Better an error than a page without samples.
    if not found:
        raise nothing_read(wanted.paths, notes.broken)
    return [replace(each, name=name) for each, name in zip(found, _told_apart(found), strict=True)]


def _told_apart(sources: Sequence[Source]) -> list[str]:
    """A unique name for each source: its own, with as many folders in front as necessary."""
    folders = [each.path.absolute().parts[:-1] for each in sources]
    names = [each.name for each in sources]
    for depth in range(1, max(map(len, folders), default=0)):
        if len(set(names)) == len(names):
            break
        names = [
            "/".join((*folder[-depth:], each.name)) if names.count(name) > 1 else name
            for each, folder, name in zip(sources, folders, names, strict=True)
        ]
    return names


def _opened(source: Source, notes: Notes) -> Run:
    path, chosen, variant = source.places[0]
    run = open_run(path, chosen, variant, notes.on_broken)
    if len(source.places) == 1:
        return run

    def samples() -> Iterator[Sample]:
        yield from run.samples
        for other, form, kind in source.places[1:]:
            if (watched := current_progress()) is not None:
                watched.begin(other)
            try:
                yield from open_run(other, form, kind, notes.on_broken).samples
            except ReadError as error:
                notes.on_broken(error)

    return with_samples(msgspec.structs.replace(header_of(run), name=source.name), samples())


def _shown_run(
    source: Source, wanted: Wanted, evaluations: Sequence[Evaluation], notes: Notes, remarks: list[str]
) -> ShownRun:
    directory = RunDirectory.open(source.path) if is_run_directory(source.path) else None
    own = Notes.keeping()
    run = directory.run() if directory is not None else _opened(source, own)
    header = wanted.clean(header_of(run))
    shown = ShownRun(
        # Every run by one plan has the plan's name: a run directory has its own, as in `compare`.
        name=source.name if directory is not None else header.name or source.name,
        header=header,
        samples=(),
        path=wanted.clean(str(source.path)),
        roots=_roots(source, directory),
        live=directory is not None and header.status != "complete",
    )
    if (found := _evaluation(source, evaluations)) is not None:
        measures = _measures(found)
        shown.plots = _plots(found, measures, wanted, remarks) if wanted.drawing else []
        shown.measures = wanted.clean(measures)
    if directory is not None:
        shown.decisions = wanted.clean(_decisions(source.path))
    shown.samples = _paced(_samples(run, directory, wanted, own, shown.notes), source)
    return shown


def _paced(samples: Iterator[ShownSample], source: Source) -> Iterator[ShownSample]:
    """The same samples; the progress display is told when reading starts and ends."""
    watched = current_progress()
    if watched is not None:
        watched.begin(source.path)
    yield from samples
    if watched is not None:
        watched.end()


def _roots(source: Source, directory: RunDirectory | None) -> tuple[Path, ...]:
    """Folders that the user named, or that the evaluation was given: only there may pictures be opened."""
    if directory is not None:
        given = directory.header.dataset.get("inputs")
        # The header is free-form: somebody may have put anything there.
        texts = map(str, given) if isinstance(given, list) else ()
        named = [Path(text) for text in texts if not is_url(text)]
        return tuple(each if each.is_dir() else each.parent for each in named)
    return tuple({place if place.is_dir() else place.parent for place, _, _ in source.places})


def _samples(
    run: Run, directory: RunDirectory | None, wanted: Wanted, own: Notes, remarks: list[str]
) -> Iterator[ShownSample]:
    results: Iterable[ShownSample]
    if directory is not None:
        results = (
            ShownSample(
                msgspec.structs.replace(each.sample, scores=each.sample.scores + each.scores),
                each.decisions,
                len(each.scores),
            )
            for each in directory.results(lambda error: remarks.append(wanted.clean(f"{LEFT_OUT}{error}")))
        )
    else:
        results = map(ShownSample, run.samples)
    wanted.selection.begin()
    for shown in results:
        if wanted.sample and shown.sample.id not in wanted.sample:
            continue
        # Selected one by one, because decisions and scores come with the sample here.
        if not any(wanted.selection.wanted([shown.sample])):
            continue
        if wanted.failed_only and not _failed(shown):
            continue
        wanted.on_sample(shown.sample)
        yield ShownSample(wanted.clean(shown.sample), wanted.clean(shown.decisions), shown.made)
    remarks += [wanted.clean(f"{LEFT_OUT}{error}") for error in own.broken]


def _failed(shown: ShownSample) -> bool:
    """Whether a sample did not pass, by its decisions, its outcome or a grade."""
    from pantrace.viewer.table import status_of

    outcome = shown.sample.trajectory.outcome if shown.sample.trajectory is not None else None
    return status_of(shown, outcome.status if outcome is not None else None) in (
        "failed",
        "error",
        "limit",
        "undecided",
    )


def _evaluations(wanted: Wanted, remarks: list[str]) -> list[Evaluation]:
    """The numbers over whole runs, even if only some samples are shown."""
    try:
        found = read_evaluations(wanted.paths, format=wanted.format, notes=Notes.keeping())
        for each in found:
            each.name = wanted.clean(each.name)
        return found
    except MissingExtra as error:
        remarks.append(f"No intervals: {error}")
    except PantraceError as error:
        remarks.append(wanted.clean(f"No numbers over all samples: {error}"))
    return []


def _evaluation(source: Source, evaluations: Sequence[Evaluation]) -> Evaluation | None:
    """The numbers of a run; files with one sample each were counted together, under the path that was given."""
    named = {str(source.path)} if len(source.places) == 1 else {str(source.root)}
    return next((each for each in evaluations if each.path in named and each.format == source.places[0][1].name), None)


def _measures(evaluation: Evaluation) -> list[dict[str, Any]]:
    found = []
    for name, values in evaluation.metrics.items():
        estimate, scale = within(values.estimate, values.bounds) if values.estimate else None, values.scale
        if estimate is not None and estimate.n < FEW and estimate.method == "t":
            estimate = msgspec.structs.replace(estimate, low=None, high=None)  # too wide to be of use
        found.append(
            {
                "name": name,
                "value": estimate.value if estimate is not None else None,
                "low": estimate.low if estimate is not None else None,
                "high": estimate.high if estimate is not None else None,
                "n": estimate.n if estimate is not None else 0,
                "method": estimate.method if estimate is not None else None,
                "better": values.scale.better if values.scale is not None else None,
                "scale_low": scale.low if scale is not None else None,
                "scale_high": scale.high if scale is not None else None,
                "share": values.binary and bool(values.values),
                "unit": values.unit,
                "headline": values.headline,
                "left_out": values.left_out,
                "why": "withdrawn by the source" if values.withdrawn else None,
            }
        )
    ranked = [each for each in found if each["value"] is not None]
    # Pass rates and measures with a scale say most about a run.
    ranked.sort(key=lambda each: (not each["share"], each["scale_high"] is None))
    for each in ranked[:MAIN]:
        each["main"] = True
    return found


def _plots(
    evaluation: Evaluation, measures: Sequence[dict[str, Any]], wanted: Wanted, remarks: list[str]
) -> list[Plot]:
    """The distribution of the main measures, and pass^k if cases were tried several times."""
    main = [each["name"] for each in measures if each.get("main") and each["n"] >= FEW]
    found = [plot for name in main for plot in _drawn("distribution", [evaluation], wanted, remarks, name)]
    tried = [name for name in main if any(len(each) > 1 for each in evaluation.metrics[name].passes.values())]
    return found + [plot for name in tried[:1] for plot in _drawn("passk", [evaluation], wanted, remarks, name)]


def _decisions(path: Path) -> list[dict[str, Any]]:
    from pantrace.engine.summary import summarise

    try:
        return [msgspec.to_builtins(each) for each in summarise(path).decisions]
    except PantraceError:
        return []


def _comparisons(
    sources: Sequence[Source],
    names: Sequence[str],
    wanted: Wanted,
    evaluations: Sequence[Evaluation],
    remarks: list[str],
) -> list[Comparison]:
    sides = []
    for source, name in zip(sources, names, strict=True):
        run = _opened(source, Notes.keeping())
        try:
            # Read a second time: packing has consumed the samples, and keeping them would need too much memory.
            sides.append(side_of(run, run.samples))
        except PantraceError as error:
            remarks.append(wanted.clean(f"Not compared: {name}: {error}"))
            return []
        sides[-1].name = name  # its sentences call it as the page does
    found = []
    # The number of pairs grows quadratically, and so does the page.
    for first in range(len(sides) if len(sides) <= COMPARED else 1):
        for second in range(first + 1, len(sides)):
            try:
                rows = compare_sides(sides[first], sides[second])
            except PantraceError as error:
                remarks.append(wanted.clean(f"Not compared: {names[first]} and {names[second]}: {error}"))
                continue
            if rows:
                sought = [_evaluation(sources[place], evaluations) for place in (first, second)]
                pair = [each for each in sought if each is not None]
                main = next((row.metric for row in rows if row.common), None)
                drawing = wanted.drawing and main and len(pair) == 2
                drawn = _drawn("paired", pair, wanted, remarks, main) if drawing else []
                found.append(Comparison(first, second, wanted.clean([msgspec.to_builtins(row) for row in rows]), drawn))
    return found


def _drawn(
    kind: Any, evaluations: Sequence[Evaluation], wanted: Wanted, remarks: list[str], metric: str | None = None
) -> list[Plot]:
    try:
        names = label_names(evaluations, ())
        # The picture and its title contain names of runs, metrics and cases, which may contain secrets, too.
        drawn = wanted.clean(figure(kind, evaluations, names, [metric] if metric else []))
        return [Plot(wanted.clean(f"{kind} of {metric}") if metric else kind, render(drawn, "svg"))]
    except MissingExtra as error:
        if (remark := f"No plots: {error}") not in remarks:
            remarks.append(remark)
    except UsageError:
        pass  # there is nothing to draw
    return []
