"""Convert: read, write as another format, and measure what was lost on the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import IO, Any

import msgspec

from pantrace.errors import (
    NothingWritten,
    ReadError,
    SampleRefused,
    UsageError,
    WriteError,
)
from pantrace.formats import Format, by_name, detect
from pantrace.model import Loss, Record, Run, RunHeader, Sample, Trajectory, header_of, with_samples
from pantrace.places import path_at
from pantrace.wire import files
from pantrace.wire.depth import OURS, is_too_deep
from pantrace.wire.file_names import FileNames
from pantrace.wire.found import common_weight, weights
from pantrace.wire.json import to_plain
from pantrace.wire.limits import any_record_size, limits
from pantrace.wire.loss import header_losses, plain
from pantrace.wire.output import staging
from pantrace.wire.output_row import Row
from pantrace.wire.pantrace_key import carrying_allowed, without_carried
from pantrace.wire.plural import few
from pantrace.wire.private_folder import private_folder
from pantrace.wire.repairs import noting_repairs
from pantrace.wire.rows import raise_broken, write_rows

from .balance import Balance
from .convert_parts import ConvertParts, in_parts, refuse_losses
from .executor import ONE_PROCESS, Engine
from .loss_report import Report
from .overwriting import Output, refuse_overwriting
from .read import UNFORESEEN, Notes, open_run, read_pile, split_children, watch
from .recorded_words import has_words
from .select import Selection
from .target import format_named_by, no_format, parse_options
from .unique import unique_samples
from .weigh import Scales

OnLoss = Callable[[Loss], None]


def convert(
    sources: str | PathLike[str] | Iterable[str | PathLike[str]],
    target: str | PathLike[str],
    *,
    to: str | None = None,
    format: str | None = None,  # noqa: A002
    options: dict[str, str] | Record | None = None,
    strict: bool = False,
    measure: bool = True,
    carry: bool = True,
    sub_agents: bool = True,
    selection: Selection | None = None,
    on_loss: OnLoss | None = None,
    on_sample: Callable[[Sample], None] | None = None,
    engine: Engine = ONE_PROCESS,
) -> Report:
    """Write recordings as another format, and report what was lost.

    Without `to`, the name of the output says the format: log.eval, all.trace.jsonl. With `strict`, any loss and any
    broken record is an error, and no output is left behind. Without `measure`, losses are not measured, which is
    faster. Without `carry`, the output is plain: nothing is kept under a `pantrace` key."""
    paths = [path_at(each) for each in ([sources] if isinstance(sources, (str, PathLike)) else sources)]
    if (to := to or format_named_by(target)) is None:
        raise no_format(target)
    if not sub_agents:
        selection = replace(selection or Selection(), sub_agents=False)
    refuse_overwriting(paths, [Output(Path(target), recording=True)])
    if on_loss is None and engine != ONE_PROCESS and (format_ := by_name(to)).writes and not Path(target).is_dir():
        chosen = options if isinstance(options, Record) else parse_options(format_, options or {})
        task = ConvertParts(write_run, to, chosen, measure and format_.reads, carry, strict, selection or Selection())
        done = in_parts(paths, Path(target), task, engine, format=format, on_sample=on_sample)
        if done is not None:
            return done
    report = Report(to=to, notes=Notes() if strict else Notes.keeping(), measured=measure)
    report.notes.unread = (
        Balance(copied_as=to if len(paths) == 1 and not (selection and selection.narrows) else None)
        if measure
        else None
    )
    run = read_pile(paths, format=format, notes=report.notes)
    samples = selection.apply(run.samples) if selection else run.samples
    if on_sample is not None:
        samples = watch(samples, on_sample)
    write_run(
        with_samples(run, samples),
        Path(target),
        to=to,
        options=options,
        strict=strict,
        measure=measure,
        carry=carry,
        on_loss=on_loss,
        report=report,
        read=paths,
    )
    return report


def write(
    run: Run, target: str | PathLike[str], *, to: str | None = None, options: dict[str, str] | Record | None = None
) -> Report:
    """Write a run as a format, and report what was lost. Without `to`, the name of the output says the format."""
    if (to := to or format_named_by(target)) is None:
        raise no_format(target)
    read = [Path(run.source.path)] if run.source and run.source.path else []
    refuse_overwriting(read, [Output(Path(target), recording=True)])
    return write_run(run, Path(target), to=to, options=options, read=read)


def write_run(
    run: Run,
    target: Path,
    *,
    to: str,
    options: dict[str, str] | Record | None = None,
    strict: bool = False,
    measure: bool = True,
    carry: bool = True,
    on_loss: OnLoss | None = None,
    report: Report | None = None,
    read: Iterable[Path] = (),
    goes_on: bool = False,
) -> Report:
    """Write a run and measure its losses; `read` are the files it comes from, of which none is written over. `goes_on`:
    what becomes of its header was told with an earlier part of it.

    All is measured and decided while the output is still hidden: it appears when nothing can go wrong any more."""
    format_ = by_name(to)
    report = report or Report(to=to, measured=measure)
    if not format_.writes:
        raise UsageError(f"{to} can be read but not written; `pantrace formats` lists formats that can")
    chosen = options if isinstance(options, Record) else parse_options(format_, options or {})
    measure = report.measured = measure and format_.reads
    if strict and not measure:
        raise UsageError("--strict needs the losses to be measured")
    if target.is_dir() and not format_.is_split:
        raise UsageError(f"{target} is a directory; {to} is written to one file: name it with -o")
    rows = _Rows(format_, chosen, report, on_loss, carry=carry)
    report.notes.on_header = rows.drop_header
    with closing(rows.scales), staging(target) as place:
        with noting_repairs(report.repair), carrying_allowed(carry):
            try:
                outputs = _save(run, rows, target, place, chosen)
            except UNFORESEEN as error:
                raise WriteError(f"not written as {to}: {UNWRITABLE}: {type(error).__name__}: {error}") from error
        if format_.is_split:
            refuse_overwriting(read, [Output(each, recording=True) for each in outputs])
        with any_record_size():
            written = _reopened(place, format_) if format_.save is not None else None
        if measure and not rows.headers and not goes_on:
            rows.scales.add_header(run, written or RunHeader(), place, carry=carry)
        if measure and report.samples:
            files = [place / each.name for each in outputs] if place.is_dir() else [place]
            with any_record_size():
                rows.scales.add_files(files, report.notes.unread)
        if not report.samples:
            _refuse_nothing(rows, place, written)
        if strict:
            refuse_losses(report)
    report.outputs += outputs
    return report


@dataclass
class _Rows:
    """The samples of a run as rows of a format, and what is lost and counted on the way."""

    format: Format
    options: Record
    report: Report
    on_loss: OnLoss | None
    seen: int = 0
    """Samples that came, written or not."""
    carry: bool = True
    """Whether what the target has no place for is kept for pantrace."""
    headers: int = 0
    """Inputs of a pile, whose headers have no place in it; its own header is none that an input has."""
    cases: set[str] = field(default_factory=set)
    """Those that were written, where each may be written once."""
    scales: Scales = field(init=False)

    def __post_init__(self) -> None:
        self.scales = Scales(self.format, self.report, self.lose, on_loss=self.on_loss)

    def lose(self, loss: Loss) -> None:
        self.report.add(loss)
        if self.on_loss is not None:
            self.on_loss(loss)

    def drop_header(self, name: str, header: RunHeader) -> None:
        self.headers += 1
        why = {"run": "several inputs become one run: their samples are kept, but not their headers"}
        for loss in header_losses(header, RunHeader(), why, self.format.name) if self.report.measured else ():
            self.report.headers[name] += 1
            self.lose(msgspec.structs.replace(loss, input=name))

    def of(self, run: Run) -> Iterator[Row]:
        format_, report = self.format, self.report
        samples = run.samples if format_.nests else split_children(run.samples, self._staff)
        for sample in unique_samples(samples, report, repeats=format_.repeats):
            self.seen += 1
            report.ids.add(sample.id)
            if format_.dump is None:
                self._lose_sample(sample, "absent", _no_samples(format_))
                continue
            try:
                row = self._row(sample)
            except SampleRefused as error:
                report.refused.append((sample.id, str(error)))
                self._lose_sample(sample, "refused", str(error))
                continue
            self._note_wordless(sample)
            if report.measured:
                self.scales.add(row)
            report.samples += 1
            yield row

    def _row(self, sample: Sample) -> Row:
        assert self.format.dump is not None
        if self.format.once and sample.id in self.cases:
            why = self.format.lost.get("epoch", f"{self.format.name} holds each case once")
            raise SampleRefused(f"epoch {sample.epoch}: {why}")
        try:
            row = _shallow(self.format.dump(sample, self.options), self.format)
            self._refuse_invalid(sample, row)
        except UNFORESEEN as error:
            raise SampleRefused(f"{UNWRITABLE}: {type(error).__name__}: {error}") from error
        self.cases.add(sample.id)
        return Row(sample, row if self.carry else without_carried(row, self.format.corners))

    def _refuse_invalid(self, sample: Sample, row: Any) -> None:
        """No row is written that its own format calls wrong, but for a copy of one that is as wrong in its source."""
        format_ = self.format
        if format_.check is None or format_.typed or format_.repairs:
            return
        wrong = next((each for each in format_.check(row) if each.level == "error"), None)
        if wrong is None:
            return
        what = f"{wrong.place}: {wrong.message}" if wrong.place else wrong.message
        source = sample.trajectory.source if sample.trajectory is not None else None
        if (sample.case is not None and source is None) or (source is not None and source.format == format_.name):
            self.report.faults.append((sample.id, what))
        else:
            raise SampleRefused(f"it would not be valid {format_.name}: {what}")

    def _lose_sample(self, sample: Sample, what: str, why: str) -> None:
        found = plain(sample) if self.report.measured else {}
        self.report.values += common_weight(found)
        values, own = weights(found)
        self.lose(Loss(sample=sample.id, path="sample", what=what, why=why, values=values, own=own))

    def _note_wordless(self, sample: Sample) -> None:
        """What was never recorded cannot be lost, but who only looks at what was written would take it for lost."""
        trajectory = sample.trajectory
        if trajectory is None or not trajectory.steps or has_words(trajectory):
            return
        self.report.wordless.append(sample.id)
        if self.on_loss is not None:
            why = "the recording has no texts: its steps say who acted and when, not what was said"
            self.on_loss(Loss(sample=sample.id, path="trajectory.steps[].parts", what="never recorded", why=why))

    def _staff(self, sample: Sample, child: Trajectory) -> None:
        """A conversation of a grader or of a simulated user, which no target may take for a run of the agent."""
        found = to_plain(child)
        values, own = weights(found)
        self.report.values += values - own
        who = child.purpose.replace("_", " ")
        why = f"what a {who} said is no run of the agent, and {self.format.name} holds no others"
        self.lose(Loss(sample=sample.id, path="trajectory.children[]", what="absent", why=why, values=values, own=own))


UNWRITABLE = "a value is not what the writer expects"
_AROUND = 4
"""Levels that a document may have around its rows."""


def _shallow(row: Any, format_: Format) -> Any:
    """The row, unless it is nested so deeply that nobody could read it again."""
    most = limits().depth - _AROUND + (OURS if format_.typed else 0)
    if is_too_deep(row, most):
        raise SampleRefused(f"nested deeper than {most} levels")
    return row


def _no_samples(format_: Format) -> str:
    return format_.lost.get("sample", f"{format_.name} holds no samples")


def _refuse_nothing(rows: _Rows, place: Path, written: Run | None) -> None:
    """No sample was written: an error, unless the file says something of the run and can be read again."""
    format_, report = rows.format, rows.report
    read, broken = sum(report.notes.formats.values()), len(report.notes.broken)
    if report.refused:
        sample, why = report.refused[0]
        none = "the only sample cannot" if rows.seen == 1 else f"none of {rows.seen} samples can"
        reason = f"{none} be written as {format_.name}: {sample}: {why}"
    elif rows.seen and any(each.value is not None for each in (written.results if written else ())):
        return
    elif rows.seen:
        made = f"`pantrace measure ... --format {format_.name}` makes them from the samples"
        reason = f"{_no_samples(format_)}, and this run has no results ({made})"
    elif read:
        reason = f"{few(read, 'sample')} {'was' if read == 1 else 'were'} read, but none was selected"
    elif rows.headers:
        reason = f"{rows.headers} inputs have no samples, and their headers cannot be joined (convert them one by one)"
    elif _is_recognised(place, format_):
        return
    else:
        reason = f"there is no sample to write, and {format_.name} cannot hold a run without samples"
    left_out = f"; {few(broken, 'record')} could not be read" if broken else ""
    raise NothingWritten(f"{reason}{left_out}; nothing was written")


def _is_recognised(place: Path, format_: Format) -> bool:
    try:
        return detect(place)[0] is format_
    except ReadError:
        return False


def _reopened(place: Path, format_: Format) -> Run | None:
    """What was written, read again; None for a format that is only written."""
    try:
        return open_run(place, format_, "", raise_broken) if format_.open is not None else None
    except ReadError as error:
        raise WriteError(f"what was written as {format_.name} cannot be read back: {error.message}") from None


def _save(run: Run, rows: _Rows, target: Path, place: Path, options: Record) -> list[Path]:
    """Write all into a private place; gives what the target's files will be called."""
    format_ = rows.format
    if format_.is_split:
        return _save_documents(run, rows, target, place)
    if format_.save is not None:
        format_.save(header_of(run), rows.of(run), place, options)
    else:
        rows.scales.seals[place] = write_rows(rows.of(run), place, default=format_.layout)
    return [target]


def _save_documents(run: Run, rows: _Rows, target: Path, place: Path) -> list[Path]:
    """One file per sample: a directory of them, or the named file when there is only one."""
    format_, seals = rows.format, rows.scales.seals
    if not target.is_dir() and (target.exists() or files.bare_suffix(target) in (".json", ".jsonl", format_.suffix)):
        for number, row in enumerate(rows.of(run)):
            if number:
                raise UsageError(f"{format_.name} has one sample per file: name a directory, -o {target.stem}/")
            seals[place] = write_rows([row], place, default=format_.layout)
        return [target]
    place.mkdir()
    names, outputs = FileNames(format_.suffix), []
    for row in rows.of(run):
        sample = row.sample
        stem = sample.id if sample.epoch is None else f"{sample.id}_{sample.epoch}"
        name = names.name(stem)
        if name != f"{stem}{format_.suffix}":
            rows.report.named.append((sample.id, name))
        seals[place / name] = write_rows([row], place / name, default=format_.layout)
        outputs.append(target / name)
    return outputs


def to_stream(run_to: Callable[[Path], Report], stream: IO[bytes], suffix: str) -> Report:
    """Convert into a temporary file and send its bytes to a stream, so that a failure sends nothing."""
    with private_folder() as folder:
        target = folder / f"out{suffix}"
        report = run_to(target)
        for output in report.outputs:
            with output.open("rb") as file:
                shutil.copyfileobj(file, stream)
        report.outputs = []
    return report
