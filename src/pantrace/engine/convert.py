"""Convert: read, write as another format, and measure what was lost on the way."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from pantrace.errors import LossRefused, PantraceError, ReadError, SampleRefused, UsageError, WriteError
from pantrace.formats import Format, by_name
from pantrace.model import Loss, Record, Run, Sample, with_samples
from pantrace.wire import files
from pantrace.wire.carried import without_carried
from pantrace.wire.json import decode, encode
from pantrace.wire.loss import general, header_losses, sample_losses
from pantrace.wire.rows import raise_broken, write_rows

from .read import Notes, open_run, read_pile, split_children, watched
from .select import Selection

OnLoss = Callable[[Loss], None]

CARRIED = "carried"
"""What is said of a value that the target's own tools do not see, and pantrace reads back."""


@dataclass
class Report:
    """What a conversion did."""

    to: str
    samples: int = 0
    outputs: list[Path] = field(default_factory=list)
    losses: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """How often a path was lost: (path without numbers, what happened, why) -> count."""
    carried: Counter[str] = field(default_factory=Counter)
    """Path without numbers -> how often the target has no word for it and it rides along for pantrace to read."""
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Samples that the target cannot say, with the reason."""
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """Ids that occurred twice, and what they became."""
    measured: bool = True
    notes: Notes = field(default_factory=Notes)

    def add(self, loss: Loss) -> None:
        if loss.what == CARRIED:
            self.carried[general(loss.path)] += 1
            return
        self.losses[(general(loss.path), loss.what.partition(":")[0].partition(" ")[0], loss.why)] += 1


def parse_options(target: Format, given: dict[str, str]) -> Record:
    """The writer's options from their texts; a UsageError that lists what there is."""
    known = {each.name: each for each in msgspec.structs.fields(target.options)}
    for name in given:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise UsageError(f"{target.name} has no option {name!r}; its options: {listed}")
    try:
        return msgspec.convert(given, target.options, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"wrong option for {target.name}: {error}") from None


def convert(
    sources: str | Path | Iterable[str | Path],
    target: str | Path,
    *,
    to: str,
    format: str | None = None,  # noqa: A002
    options: dict[str, str] | Record | None = None,
    selection: Selection | None = None,
    strict: bool = False,
    measure: bool = True,
    on_loss: OnLoss | None = None,
    on_sample: Callable[[Sample], None] | None = None,
) -> Report:
    """Read one or many inputs, write them as format `to`, and report what the target could not carry.

    With `strict`, any loss and any broken record is an error and no output is left behind."""
    paths = [Path(each) for each in ([sources] if isinstance(sources, (str, Path)) else sources)]
    report = Report(to=to, notes=Notes() if strict else Notes.keeping(), measured=measure)
    run = read_pile(paths, format=format, notes=report.notes)
    samples = selection.apply(run.samples) if selection else run.samples
    if on_sample is not None:
        samples = watched(samples, on_sample)
    write_run(
        with_samples(run, samples),
        Path(target),
        to=to,
        options=options,
        strict=strict,
        measure=measure,
        on_loss=on_loss,
        report=report,
    )
    return report


def write(run: Run, target: str | Path, *, to: str, options: dict[str, str] | Record | None = None) -> Report:
    """Write a run as format `to`; gives a report of what the target could not carry."""
    return write_run(run, Path(target), to=to, options=options)


def write_run(
    run: Run,
    target: Path,
    *,
    to: str,
    options: dict[str, str] | Record | None = None,
    strict: bool = False,
    measure: bool = True,
    on_loss: OnLoss | None = None,
    report: Report | None = None,
) -> Report:
    """Write a run and measure its losses."""
    format_ = by_name(to)
    report = report or Report(to=to, measured=measure)
    if not format_.writes:
        raise UsageError(f"{to} can be read, not written; `pantrace formats` lists what can")
    chosen = options if isinstance(options, Record) else parse_options(format_, options or {})

    def lost(loss: Loss) -> None:
        report.add(loss)
        if on_loss is not None:
            on_loss(loss)

    def prepared() -> Iterator[Written]:
        for sample in _unique(run.samples if format_.nests else split_children(run.samples), report):
            if format_.dump is not None:
                try:
                    row = format_.dump(sample, chosen)
                except SampleRefused as error:
                    report.refused.append((sample.id, str(error)))
                    lost(Loss(sample=sample.id, path="sample", what="refused", why=str(error)))
                    continue
                if measure:
                    for loss in _measured(sample, row, format_):
                        lost(loss)
            else:
                why = format_.lost.get("sample", f"{to} holds no samples")
                lost(Loss(sample=sample.id, path="sample", what="absent", why=why))
                continue
            report.samples += 1
            yield sample, row
        if strict and report.losses:
            count = sum(report.losses.values())
            raise LossRefused(f"{count} losses and --strict: nothing was written; --loss FILE lists them")

    _save(run, prepared(), target, format_, chosen, report)
    if measure and format_.open is not None and format_.save is not None and report.outputs:
        written = _reopened(report.outputs[0], format_)
        if written is not None:
            for loss in header_losses(run, written, format_.lost, to):
                lost(loss)
    if strict and report.losses:
        for output in report.outputs:
            output.unlink(missing_ok=True)
        raise LossRefused("the run's header cannot be carried whole and --strict: nothing was written")
    return report


def _measured(sample: Sample, row: Any, format_: Format) -> list[Loss]:
    if format_.load is None:
        return []
    written = encode(row)
    try:
        losses = sample_losses(sample, format_.load(decode(written)), format_.lost, format_.name)
    except ReadError as error:
        message = f"sample {sample.id}: what was written as {format_.name} cannot be read back: {error}"
        raise WriteError(message) from None
    return losses if b'"pantrace":' not in written else [*losses, *_carried(sample, decode(written), format_, losses)]


def _carried(sample: Sample, row: Any, format_: Format, losses: list[Loss]) -> list[Loss]:
    """What would be lost as well if nothing rode along under the key `pantrace`."""
    assert format_.load is not None
    lost = {loss.path for loss in losses}
    why = f"{format_.name} has no word for it; it rides along under the key `pantrace`, which only pantrace reads"
    try:
        seen = format_.load(without_carried(row))
    except (ReadError, KeyError, TypeError, ValueError, AttributeError):
        return [Loss(sample=sample.id, path="sample", what=CARRIED, why=why)]
    found = sample_losses(sample, seen, format_.lost, format_.name)
    return [Loss(sample=sample.id, path=each.path, what=CARRIED, why=why) for each in found if each.path not in lost]


def _reopened(path: Path, format_: Format) -> Run | None:
    try:
        return open_run(path, format_, "", raise_broken)
    except PantraceError:
        return None


def _unique(samples: Iterable[Sample], report: Report) -> Iterator[Sample]:
    """Samples whose (id, epoch) no other has; a repeated one is led by the name of its source."""
    seen: set[tuple[str, int | None]] = set()
    for sample in samples:
        name = sample.id
        if (name, sample.epoch) in seen:
            source = sample.trajectory.source if sample.trajectory else None
            prefix = Path(source.path).stem if source and source.path else "other"
            name = f"{prefix}/{sample.id}"
            number = 2
            while (name, sample.epoch) in seen:
                name = f"{prefix}/{sample.id}#{number}"
                number += 1
            report.renamed.append((sample.id, name))
            sample = msgspec.structs.replace(sample, id=name)
        seen.add((name, sample.epoch))
        yield sample


Written = tuple[Sample, Any]
"""A sample and its row."""


def _save(run: Run, written: Iterator[Written], target: Path, format_: Format, options: Record, report: Report) -> None:
    if format_.save is not None:
        if target.is_dir():
            raise UsageError(f"{target} is a directory; {format_.name} is written to one file: name it with -o")
        format_.save(with_samples(run, (sample for sample, _ in written)), target, options)
        report.outputs.append(target)
    elif format_.layout == "document":
        _save_documents(written, target, format_, report)
    else:
        if target.is_dir():
            raise UsageError(f"{target} is a directory; {format_.name} is written to one file: name it with -o")
        write_rows((row for _, row in written), target, default=format_.layout)
        report.outputs.append(target)


def _save_documents(samples: Iterator[Written], target: Path, format_: Format, report: Report) -> None:
    """One file per sample: a directory of them, or the named file when there is only one."""
    single = not target.is_dir() and files.bare_suffix(target) in (".json", ".jsonl", format_.suffix)
    folder = target.parent if single else target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=folder) as temporary:
            written: list[str] = []
            for sample, row in samples:
                if single and written:
                    raise UsageError(f"{format_.name} holds one sample per file: give a directory, -o {target.stem}/")
                name = target.name if single else f"{_file_name(sample)}{format_.suffix}"
                write_rows([row], Path(temporary, name), default="document")
                written.append(name)
            for name in written:
                shutil.move(Path(temporary, name), folder / name)
                report.outputs.append(folder / name)
    except OSError as error:
        raise files.write_error(target, error) from None


def _file_name(sample: Sample) -> str:
    safe = "".join(letter if letter.isalnum() or letter in "-_.@+" else "_" for letter in sample.id).lstrip(".")
    return f"{safe or 'sample'}_{sample.epoch}" if sample.epoch is not None else safe or "sample"


def to_stream(run_to: Callable[[Path], Report], stream: IO[bytes], suffix: str) -> Report:
    """Convert into a temporary file and send its bytes to a stream, so that a failure sends nothing."""
    with tempfile.TemporaryDirectory(prefix="pantrace-") as folder:
        target = Path(folder, f"out{suffix}")
        report = run_to(target)
        for output in report.outputs:
            with output.open("rb") as file:
                shutil.copyfileobj(file, stream)
        report.outputs = []
    return report
