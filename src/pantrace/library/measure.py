"""Measure recordings, as `pantrace measure` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from pantrace.engine.executor import ONE_PROCESS, Engine, Executor, InProcess
from pantrace.engine.fields import grouping
from pantrace.engine.measure import (
    Chosen,
    References,
    Row,
    choose,
    kind_of,
    measure_samples,
    row,
    stored_row,
)
from pantrace.engine.measure_part import MeasureParts, PartMeasured
from pantrace.engine.overview import Overview
from pantrace.engine.pile_parts import done_parts
from pantrace.engine.read import Notes, read_pile, split_children
from pantrace.engine.select import Selection
from pantrace.errors import UsageError
from pantrace.metrics import full_address
from pantrace.model import Run, Sample
from pantrace.places import path_at
from pantrace.wire.plural import few

from .scores import Scores
from .sources import Recordings, engine_for, listed, paths_of, pile_of, refuse_other

WHOLE_RUN = "(whole run)"
"""The group of numbers that a source states for all its samples together."""
_ELSEWHERE = Sample(id="")
"""Passed to `on_sample` for a sample that was measured in another process."""


@dataclass
class Measuring:
    """A measurement, and remarks about it at the end. Rows are made one sample at a time, so that memory stays small
    however many there are."""

    run: Run
    checks: list[Chosen]
    wanted: list[str]
    notes: Notes
    by_turn: bool
    stored: bool
    sub_agents: bool
    selection: Selection | None
    references: References | None
    reference: str
    samples: int = 0
    """How many were measured."""
    failed: dict[str, list[str]] = field(default_factory=dict)
    """Metrics that could not be run, with the reasons."""
    by: list[str] = field(default_factory=list)
    """Which processes measured, in words, if not only this one."""
    group: Callable[[Sample], str] | None = None
    """The group of a sample, if rows are grouped."""
    groups: dict[str | None, Overview] = field(default_factory=dict)
    """Sums that other processes computed, by group."""
    elsewhere: Iterator[PartMeasured] | None = None
    """Results of other processes; then nothing is read here."""
    _without_turn: int = 0

    def _rows_of_parts(self, on_sample: Callable[[Sample], None]) -> Iterator[Row]:
        """The rows that other processes made; their sums and failures are added to ours."""
        for part in self.elsewhere or ():
            self.samples += part.samples
            self._without_turn += part.without_turn
            for group, found in part.groups.items():
                self.groups.setdefault(group, Overview(self.checks)).absorb(found)
            for metric, reasons in part.failed.items():
                self.failed.setdefault(metric, []).extend(reasons)
            for _ in range(part.samples):
                on_sample(_ELSEWHERE)
            for each in part.rows:
                self._note_failure(each)
                yield each

    def _note_failure(self, found: Row) -> None:
        if found.status == "failed" and kind_of(found) == "check":
            self.failed.setdefault(found.metric, []).append(found.explanation or "")

    def rows(self, on_sample: Callable[[Sample], None] = lambda _: None) -> Iterator[Row]:
        """All scores; `on_sample` is called before the rows of each sample."""
        yield from self._rows_of_parts(on_sample)
        seen: Sample | None = None
        group: str | None = None
        for sample, turn, scores in measure_samples(self._samples(), self.checks, by_turn=self.by_turn):
            # With --per turn a sample comes once for each of its turns.
            if sample is not seen:
                seen, self.samples = sample, self.samples + 1
                group = self.group(sample) if self.group is not None else None
                on_sample(sample)
            self._without_turn += self.by_turn and turn is None
            for score in scores:
                found = row(self.notes.reading, sample, turn, score, group)
                self._note_failure(found)
                yield found
            for score in sample.scores if self.stored else ():
                if self._wants(score.name):
                    yield row(self.notes.reading, sample, None, score, group)
        if self.stored and not self._narrowed:
            # After the samples: only then have all headers been read.
            of = WHOLE_RUN if self.group is not None else None
            yield from (stored_row(name, each, of) for name, each in self.notes.results if self._wants(each.name))

    def remarks(self) -> Iterator[str]:
        """Remarks for the reader, after everything has been measured."""
        if self.references is not None:
            yield from self.references.to_tell(self.reference)
        if not self.samples and not (self.selection is not None and self.selection.found_nothing):
            yield "there was no sample to measure"
        if self._without_turn:
            yield f"{self._without_turn} samples were not recorded, have no turn and are left out (--per turn)"
        whole = [check.name for check, _ in self.checks if self.by_turn and not check.per_turn]
        if whole and (self.wanted or len(whole) == len(self.checks)):
            yield f"left out by --per turn, since they measure only whole samples: {', '.join(whole)}"

    @property
    def _narrowed(self) -> bool:
        return self.selection is not None and self.selection.narrows

    def _wants(self, metric: str) -> bool:
        return not self.wanted or metric in self.wanted

    def _samples(self) -> Iterator[Sample]:
        samples: Iterable[Sample] = split_children(self.run.samples) if self.sub_agents else self.run.samples
        # Other processes have selected already; applying it again would count what was left out twice.
        if self.selection is not None and self.elsewhere is None:
            samples = self.selection.apply(samples)
        if self.references is None:
            yield from samples
            return
        yield from map(self.references.join, samples)
        if not self._narrowed:
            # After the samples: only then is it known which references have no run.
            yield from self.references.not_run()


def measuring(
    sources: Sequence[Recordings],
    *,
    metrics: Sequence[str] = (),
    reference: str | PathLike[str] | None = None,
    per: str | None = None,
    settings: Sequence[str] = (),
    prices: str | PathLike[str] | None = None,
    milestones: str | PathLike[str] | None = None,
    plugins: Sequence[str | PathLike[str]] = (),
    stored: bool = True,
    sub_agents: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    engine: Engine = ONE_PROCESS,
    by: str | None = None,
    in_sums: bool = False,
) -> Measuring:
    """What `measure` does before the first sample. `settings` are METRIC.KEY=VALUE. Other processes may return sums
    instead of rows (`in_sums`), grouped by a field."""
    given = [*settings]
    for option, file, setting in (
        ("--prices", prices, "token_usage.prices"),
        ("--milestones", milestones, "gui.milestones"),
    ):
        metric = setting.partition(".")[0]
        # Otherwise the file would be silently ignored.
        if file and metrics and metric not in [full_address(name).partition(".")[0] for name in metrics]:
            raise UsageError(f"{option} is for the metric {metric}, which is not among those measured")
        given += [f"{setting}={file}"] if file else []
    checks = choose(metrics, given, [Path(each) for each in plugins])
    notes = Notes.keeping()
    started: list[str] = []
    executor = engine_for(sources, engine, selection, started.append, MeasureParts)
    run = pile_of(sources, format, notes) if isinstance(executor, InProcess) else Run(samples=())
    references = References.of(read_pile([path_at(reference)], notes=Notes())) if reference is not None else None
    by_turn = per == "turn"
    group = grouping(by) if by is not None else None
    found = Measuring(
        run,
        checks,
        [*metrics],
        notes,
        by_turn,
        stored and not by_turn,
        sub_agents,
        selection,
        references,
        str(reference),
        by=started,
        group=group,
    )
    if not isinstance(executor, InProcess):
        task = MeasureParts(
            metrics=tuple(metrics),
            settings=tuple(given),
            plugins=tuple(Path(each) for each in plugins),
            selection=selection if selection is not None else Selection(),
            references=references,
            sub_agents=sub_agents,
            by_turn=by_turn,
            stored=found.stored,
            by=by,
            in_sums=in_sums,
        )
        found.elsewhere = _elsewhere(paths_of(sources), format, task, executor, notes)
    return found


def _elsewhere(
    paths: list[Path], format_name: str | None, task: MeasureParts, executor: Executor, notes: Notes
) -> Iterator[PartMeasured]:
    with executor:
        yield from done_parts(paths, format_name, task, executor, notes)


def measure(
    *sources: Recordings,
    metrics: str | Iterable[str] = (),
    reference: str | PathLike[str] | None = None,
    per: Literal["sample", "turn"] | None = None,
    settings: Mapping[str, Any] | None = None,
    prices: str | PathLike[str] | None = None,
    milestones: str | PathLike[str] | None = None,
    plugins: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    stored: bool = True,
    sub_agents: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
    on_sample: Callable[[Sample], None] = lambda _: None,
) -> Scores:
    """Measure recordings with deterministic metrics: all of them, or those named.

    A metric that cannot be computed is `not_applicable` with a reason, never zero. Scores that a source stores are
    included unless `stored` is False. `settings` are those of metrics: {"gui.profile": "strict"}. With `per="turn"`
    each turn is measured by itself. Broken records are left out and listed in `.broken`."""
    if per is not None:
        refuse_other("per", per, ("sample", "turn"))
    found = measuring(
        sources,
        metrics=listed(metrics),
        reference=reference,
        per=per,
        settings=[f"{name}={value}" for name, value in (settings or {}).items()],
        prices=prices,
        milestones=milestones,
        plugins=listed(plugins),
        stored=stored,
        sub_agents=sub_agents,
        selection=selection,
        format=format,
    )
    rows = [*found.rows(on_sample)]
    remarks = [*found.remarks()]
    remarks += [
        f"{name} failed on {few(len(reasons), 'sample')} or turn{'s' * (len(reasons) > 1)}: {reasons[0]}"
        for name, reasons in found.failed.items()
    ]
    return Scores(rows, found.checks, found.wanted, found.notes.broken, remarks)
