"""Measure recordings, as `pantrace measure` does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

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
from pantrace.engine.read import Notes, read_pile, split_children
from pantrace.engine.select import Selection
from pantrace.errors import UsageError
from pantrace.metrics import full_address
from pantrace.model import Run, Sample

from .scores import Scores
from .sources import Recordings, listed, pile_of, refuse_other


@dataclass
class Measuring:
    """What is to be measured, and what there is to say of it when it is done. Its rows are made one sample at a time,
    so that a pile of any size flows through."""

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
    _without_turn: int = 0

    def rows(self, on_sample: Callable[[Sample], None] = lambda _: None) -> Iterator[Row]:
        """All scores; `on_sample` is called before the rows of each sample."""
        seen: Sample | None = None
        for sample, turn, scores in measure_samples(self._samples(), self.checks, by_turn=self.by_turn):
            if sample is not seen:
                seen, self.samples = sample, self.samples + 1
                on_sample(sample)
            self._without_turn += self.by_turn and turn is None
            for score in scores:
                found = row(self.notes.reading, sample, turn, score)
                if found.status == "failed" and kind_of(found) == "check":
                    self.failed.setdefault(found.metric, []).append(found.explanation or "")
                yield found
            for score in sample.scores if self.stored else ():
                if self._wants(score.name):
                    yield row(self.notes.reading, sample, None, score)
        if self.stored and not self._narrowed:
            # Behind the samples: by then all headers have been read.
            yield from (stored_row(name, each) for name, each in self.notes.results if self._wants(each.name))

    def remarks(self) -> Iterator[str]:
        """What a reader should know, when all is measured."""
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
        samples = self.selection.apply(samples) if self.selection is not None else samples
        if self.references is None:
            yield from samples
            return
        yield from map(self.references.join, samples)
        if not self._narrowed:
            # Behind the samples: by then it is known which references nobody ran.
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
) -> Measuring:
    """What `measure` does, before the first sample. `settings` are METRIC.KEY=VALUE."""
    given = [*settings]
    for option, file, setting in (
        ("--prices", prices, "token_usage.prices"),
        ("--milestones", milestones, "gui.milestones"),
    ):
        metric = setting.partition(".")[0]
        if file and metrics and metric not in [full_address(name).partition(".")[0] for name in metrics]:
            raise UsageError(f"{option} is for the metric {metric}, which is not among those measured")
        given += [f"{setting}={file}"] if file else []
    checks = choose(metrics, given, [Path(each) for each in plugins])
    notes = Notes.keeping()
    run = pile_of(sources, format, notes)
    references = References.of(read_pile([Path(reference)], notes=Notes())) if reference is not None else None
    by_turn = per == "turn"
    return Measuring(
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
    )


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

    A metric that the data does not allow is `not_applicable` with a reason, never zero. Scores that a source stores are
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
        f"{name} failed on {len(reasons)} samples or turns: {reasons[0]}" for name, reasons in found.failed.items()
    ]
    return Scores(rows, found.checks, found.wanted, found.notes.broken, remarks)
