"""Convert part by part: each part of an input is written and measured by itself, by whoever does it, and the pieces are
put together in their order. What comes of it is what one process would have written, to the byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pantrace.errors import LossRefused, NothingWritten
from pantrace.formats import by_name
from pantrace.model import Record, Sample, with_samples
from pantrace.wire.cuts import SPAN_BYTES, Cutting
from pantrace.wire.output import staging, writing
from pantrace.wire.pace import pace
from pantrace.wire.rows import written_layout

from .balance import Balance
from .executor import Engine, InProcess
from .input_part import InputPart, parts_of, weight_of
from .loss_report import Report
from .read import RUN_DIRECTORY, GivenUp, Notes, inputs, open_run
from .select import Selection

_ELSEWHERE = Sample(id="")
"""Shown to whoever counts samples, for one that was read in another process."""

WriteRun = Callable[..., Report]
"""`engine.convert.write_run`, which knows this module."""


@dataclass(kw_only=True)
class Piece:
    """What a part came to."""

    file: Path
    """Its rows; not there if it has none."""
    report: Report
    """Without its notes, which cannot be sent."""
    selection: Selection
    broken: list[Any]
    unread: Balance | None


@dataclass
class ConvertParts:
    """The task of one conversion."""

    write: WriteRun
    to: str
    options: Record
    measure: bool
    carry: bool
    strict: bool
    selection: Selection
    folder: Path = Path()
    """Where the pieces wait."""

    def __call__(self, part: InputPart) -> Iterator[Piece]:
        notes = Notes() if self.strict else Notes.keeping()
        notes.unread = Balance() if self.measure and part.chosen is not RUN_DIRECTORY else None
        report = Report(to=self.to, notes=notes, measured=self.measure)
        path, selection = Path(part.path), self.selection.fresh()
        opening = partial(open_run, path, part.chosen, part.variant, span=part.span)
        if notes.unread is None:
            run = opening(notes.on_broken)
        else:
            goes_on = part.number > 0
            run = notes.unread.open(path, part.chosen, part.variant, notes.on_broken, opening, goes_on=goes_on)
        samples, file = selection.wanted(run.samples), self.folder / f"{part.number:08d}.jsonl"
        with suppress(NothingWritten):
            self.write(
                with_samples(run, samples),
                file,
                to=self.to,
                options=self.options,
                measure=self.measure,
                carry=self.carry,
                report=report,
                goes_on=part.number > 0,
            )
        if notes.unread is not None:
            notes.unread.last = None
        report.notes = Notes()
        yield Piece(file=file, report=report, selection=selection, broken=notes.broken, unread=notes.unread)


class _ByOne(Exception):
    """One process must do it."""


def in_parts(paths: list[Path], target: Path, task: ConvertParts, engine: Engine, **others: Any) -> Report | None:
    """The report of a conversion that others did part by part; None where nothing was written, and one process must do
    it."""
    if task.strict and not task.measure:
        return None
    notes = Notes() if task.strict else Notes.keeping()
    notes.unread = Balance() if task.measure else None
    report = Report(to=task.to, notes=notes, measured=task.measure)
    try:
        with staging(target) as place:
            if not _convert(paths, place, task, report, engine, **others):
                raise _ByOne
            if task.strict:
                refuse_losses(report)
    except _ByOne:
        return None
    report.outputs.append(target)
    return report


def refuse_losses(report: Report) -> None:
    """A LossRefused where anything was lost."""
    if (unread := report.notes.unread) is not None and (sentence := unread.sentence()) is not None:
        raise LossRefused(f"{sentence} and --strict: nothing was written")
    if report.losses:
        count = sum(report.losses.values())
        raise LossRefused(f"{count} losses and --strict: nothing was written; --loss FILE lists them")


def _convert(
    paths: list[Path],
    place: Path,
    task: ConvertParts,
    report: Report,
    engine: Engine,
    *,
    format: str | None = None,  # noqa: A002
    on_sample: Callable[[Sample], None] | None = None,
    span_bytes: int = SPAN_BYTES,
) -> bool:
    """Write one input as lines to `place`, part by part. False where one process must do it from the start: the target
    is no file of lines, the input has one part, a copy is to be held against its source, an id is there twice, or the
    loss of reading an archive or a database is to be measured."""
    target = by_name(task.to)
    is_rows = target.save is None and not target.is_split and written_layout(place, target.layout) == "lines"
    if not is_rows or not task.selection.is_by_part:
        return False
    opened = [*inputs(paths, format, Notes.keeping())]
    if len(opened) != 1:
        return False
    path, chosen, variant = opened[0]
    executor = engine.executor(weight_of(path), report.by.append)
    if isinstance(executor, InProcess) or chosen.name == task.to:
        return False
    task.selection.begin()
    ids: set[str] = set()
    watched, task.folder = pace(), place.parent
    with ExitStack() as held:
        parts = parts_of(path, chosen, variant, Cutting(span_bytes, held))
        begun = [*islice(parts, 2)]
        if len(begun) < 2 or (task.measure and not _is_of_lines(begun[1])):
            return False
        if watched is not None:
            watched.expect([path])
        held.enter_context(executor)
        file = held.enter_context(writing(place))
        for part, pieces in executor.map_parts(task, chain(begun, parts)):
            if watched is not None:
                watched.begin_part(part.weight)
            for piece in pieces:
                if piece.report.renamed or not ids.isdisjoint(piece.report.ids) or _is_given_up(piece):
                    return False
                ids |= piece.report.ids
                _absorb(report, piece, chosen.name, task)
                if piece.file.exists():
                    with piece.file.open("rb") as rows:
                        shutil.copyfileobj(rows, file, 1 << 20)
                    piece.file.unlink()
                for _ in range(piece.selection.taken if on_sample is not None else 0):
                    assert on_sample is not None
                    on_sample(_ELSEWHERE)
            if watched is not None:
                watched.end()
    task.selection.settle()
    return report.samples > 0


def _is_of_lines(part: InputPart) -> bool:
    """Whether a part that is not the first is a stretch of lines. Of an archive or a database each part also reads
    what belongs to the others, so that only the whole tells which values no sample holds."""
    return part.span is not None and part.span.before > 0


def _is_given_up(piece: Piece) -> bool:
    return any(isinstance(error, GivenUp) for error in piece.broken)


def _absorb(report: Report, piece: Piece, name: str, task: ConvertParts) -> None:
    report.absorb(piece.report)
    for error in piece.broken:
        report.notes.on_broken(error)
    report.notes.formats[name] = report.notes.formats.get(name, 0) + piece.selection.read
    task.selection.absorb(piece.selection)
    if report.notes.unread is not None and piece.unread is not None:
        report.notes.unread.absorb(piece.unread)
