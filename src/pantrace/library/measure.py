"""Measure recordings, as `pantrace measure` does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from pantrace.engine.measure import Chosen, References, Row, choose, measure_samples, row, stored_row
from pantrace.engine.read import Notes, read_pile, split_children
from pantrace.engine.select import Selection
from pantrace.model import Sample

from .scores import Scores
from .sources import Recordings, listed, pile_of, refuse_other


def measure(
    *sources: Recordings,
    metrics: str | Iterable[str] = (),
    reference: str | PathLike[str] | None = None,
    per: Literal["sample", "turn"] = "sample",
    settings: Mapping[str, Any] | None = None,
    prices: str | PathLike[str] | None = None,
    milestones: str | PathLike[str] | None = None,
    plugins: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    stored: bool = True,
    sub_agents: bool = False,
    selection: Selection | None = None,
    format: str | None = None,  # noqa: A002
) -> Scores:
    """Measure recordings with deterministic metrics: all of them, or those named.

    What the data does not allow to be measured is `not_applicable` with a reason, never zero. Scores that a source
    stores come along unless `stored` is False. `settings` are those of metrics: {"gui.profile": "strict"}.
    Broken records are left out and listed in `.broken`."""
    refuse_other("per", per, ("sample", "turn"))
    wanted = listed(metrics)
    given = {**(settings or {})}
    if prices is not None:
        given["token_usage.prices"] = prices
    if milestones is not None:
        given["gui.milestones"] = milestones
    checks = choose(wanted, [f"{name}={value}" for name, value in given.items()], [*map(Path, listed(plugins))])
    notes = Notes.keeping()
    run = pile_of(sources, format, notes)
    samples: Iterable[Sample] = split_children(run.samples) if sub_agents else run.samples
    samples = selection.apply(samples) if selection is not None else samples
    narrowed = selection is not None and selection.narrows
    references = References.of(read_pile([Path(reference)], notes=Notes())) if reference is not None else None
    if references is not None:
        samples = _joined(samples, references, not_run=not narrowed)
    stored = stored and per == "sample"
    rows = [*_rows(samples, checks, notes, wanted, by_turn=per == "turn", stored=stored)]
    if stored and not narrowed:
        rows += [stored_row(name, each) for name, each in notes.results if not wanted or each.name in wanted]
    remarks = [*references.to_tell(str(reference))] if references is not None else []
    return Scores(rows, checks, wanted, notes.broken, remarks)


def _joined(samples: Iterable[Sample], references: References, *, not_run: bool) -> Iterator[Sample]:
    yield from map(references.join, samples)
    if not_run:
        yield from references.not_run()


def _rows(
    samples: Iterable[Sample],
    checks: Sequence[Chosen],
    notes: Notes,
    wanted: Sequence[str],
    *,
    by_turn: bool,
    stored: bool,
) -> Iterator[Row]:
    for sample, turn, scores in measure_samples(samples, checks, by_turn=by_turn):
        for score in (*scores, *(each for each in sample.scores if stored and (not wanted or each.name in wanted))):
            yield row(notes.reading, sample, turn, score)
