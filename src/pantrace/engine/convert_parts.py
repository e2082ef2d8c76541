"""Convert in parts: workers write and measure each part of an input on its own, and the pieces are joined in order. The
result is, to the byte, what one process would have written."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from pantrace.errors import LossRefused, NothingWritten
from pantrace.formats import by_name
from pantrace.model import Record, Sample, with_samples
from pantrace.wire import input_cuts
from pantrace.wire.input_cuts import Cutting
from pantrace.wire.output import is_stream, staging, writing
from pantrace.wire.plural import few
from pantrace.wire.progress import current_progress
from pantrace.wire.rows import written_layout

from .balance import Balance
from .executor import Engine, Executor, InProcess
from .input_part import InputPart, parts_of, weight_of
from .loss_report import Report
from .read import GivenUp, Notes, inputs, open_run
from .run_format import RUN_DIRECTORY
from .select import Selection

_ELSEWHERE = Sample(id="")
"""Passed to `on_sample` for a sample that was read in another process."""

WriteRun = Callable[..., Report]
"""`engine.convert.write_run`, passed in because that module imports this one."""


@dataclass(kw_only=True)
class Piece:
    """The result of one part."""

    file: Path
    """Its rows; does not exist if there are none."""
    report: Report
    """Without its notes, which cannot be sent between processes."""
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
    """Where the pieces are until they are joined."""

    def __call__(self, part: InputPart) -> Iterator[Piece]:
        notes = Notes() if self.strict else Notes.keeping()
        notes.unread = Balance() if self.measure and part.chosen is not RUN_DIRECTORY else None
        report = Report(to=self.to, notes=notes, measured=self.measure)
        path, selection = part.place(), self.selection.fresh()
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
        # A whole sample, which nobody needs in the process that this piece is sent to.
        if notes.unread is not None:
            notes.unread.last = None
        report.notes = Notes()
        yield Piece(file=file, report=report, selection=selection, broken=notes.broken, unread=notes.unread)


class _ByOne(Exception):
    """The conversion has to be done by one process."""


def in_parts(
    paths: list[Path],
    target: Path,
    task: ConvertParts,
    engine: Engine,
    *,
    format: str | None = None,  # noqa: A002
    on_sample: Callable[[Sample], None] | None = None,
) -> Report | None:
    """The report of a conversion that workers did in parts. None if nothing was written and one process has to do it:
    the target is not a file of lines, there is not exactly one input with several parts, a copy has to be compared with
    its source, an id occurs twice, or the loss of reading an archive or a database is to be measured."""
    notes = Notes() if task.strict else Notes.keeping()
    notes.unread = Balance() if task.measure else None
    report = Report(to=task.to, notes=notes, measured=task.measure)
    with ExitStack() as held:
        if (planned := _planned(paths, target, task, report, engine, format, held)) is None:
            return None
        try:
            with staging(target) as place:
                _convert(planned, place, task, report, on_sample or (lambda _: None))
                if task.strict:
                    refuse_losses(report)
        except _ByOne:
            return None
    report.outputs.append(target)
    return report


def refuse_losses(report: Report) -> None:
    """Raise LossRefused if anything was lost."""
    if (unread := report.notes.unread) is not None and (sentence := unread.sentence()) is not None:
        raise LossRefused(f"{sentence}; --strict refuses that, and nothing was written")
    if report.losses:
        # Not the number of places: who counts without listing adds up several at once.
        what = few(sum(report.losses.values()), "value")
        raise LossRefused(f"{what} would be lost: --strict, so nothing was written (--loss FILE lists the places)")


class _Planned(NamedTuple):
    path: Path
    format: str
    executor: Executor
    parts: Iterator[InputPart]


def _planned(
    paths: list[Path],
    target: Path,
    task: ConvertParts,
    report: Report,
    engine: Engine,
    format: str | None,  # noqa: A002
    held: ExitStack,
) -> _Planned | None:
    """The executor and the parts; None if one process has to do it."""
    to = by_name(task.to)
    is_rows = to.save is None and not to.is_split and written_layout(target, to.layout) == "lines"
    if not is_rows or is_stream(target) or not task.selection.is_by_part or (task.strict and not task.measure):
        return None
    if engine.name != "local":
        return None  # pieces are kept next to the output, which other machines do not see
    # Asked before the inputs are opened: a small one is converted here anyway, and should not be searched twice.
    executor = engine.executor(sum(map(weight_of, paths)), report.by.append, ConvertParts)
    if isinstance(executor, InProcess):
        return None
    opened = [*inputs(paths, format, Notes.keeping())]
    if len(opened) != 1 or opened[0][1].name == task.to:
        return None
    path, chosen, variant = opened[0]
    parts = parts_of(path, chosen, variant, Cutting(input_cuts.SPAN_BYTES, held))
    # Two are enough to know that there are several; the others are cut while workers run.
    begun = [*islice(parts, 2)]
    if len(begun) < 2 or (task.measure and not _is_of_lines(begun[1])):
        return None
    return _Planned(path, chosen.name, executor, chain(begun, parts))


def _convert(
    planned: _Planned, place: Path, task: ConvertParts, report: Report, on_sample: Callable[[Sample], None]
) -> None:
    """Have the parts written, and join the pieces at `place`."""
    task.selection.begin()
    ids: set[str] = set()
    watched, task.folder = current_progress(), place.parent
    if watched is not None:
        watched.expect([planned.path])
    with planned.executor, writing(place) as file:
        for part, pieces in planned.executor.map_parts(task, planned.parts):
            if watched is not None:
                watched.begin_part(part.weight)
            for piece in pieces:
                # Renaming a repeated id needs a process that sees both samples. It is rare, so we start again.
                if piece.report.renamed or not ids.isdisjoint(piece.report.ids) or _is_given_up(piece):
                    raise _ByOne
                ids |= piece.report.ids
                _absorb(report, piece, planned.format, task)
                if piece.file.exists():
                    with piece.file.open("rb") as rows:
                        shutil.copyfileobj(rows, file, 1 << 20)
                    piece.file.unlink()
                for _ in range(piece.selection.taken):
                    on_sample(_ELSEWHERE)
            if watched is not None:
                watched.end()
    if not report.samples:
        raise _ByOne  # a single process reports why there is nothing
    task.selection.settle()


def _is_of_lines(part: InputPart) -> bool:
    """Whether a part that is not the first is a range of lines. In an archive or a database, each part also reads what
    belongs to others, so only the whole input shows which values no sample contains."""
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
