"""Redact: writes recordings without their secrets, in their own format or another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pantrace.errors import UsageError
from pantrace.formats import Format, by_name
from pantrace.model import Run, Sample, header_of, with_samples
from pantrace.normalise.secrets import Redactor, Replacement

from .convert import write_run
from .loss_report import Report
from .overwriting import Output, refuse_overwriting
from .read import Notes, inputs, read_pile
from .select import Selection

OnReplacement = Callable[[Replacement], None]


def redact(
    paths: list[Path],
    target: Path,
    *,
    to: str | None = None,
    format: str | None = None,  # noqa: A002
    redactor: Redactor,
    selection: Selection,
    on_replacement: OnReplacement,
) -> Report:
    """Read, replace secrets, write; the format is kept unless another is named."""
    # Before anything is read: the input with its secrets may be the only copy.
    refuse_overwriting(paths, [Output(target, recording=True)])
    notes = Notes.keeping()
    chosen = by_name(to) if to else _own_format(paths, format)
    run = read_pile(paths, format=format, notes=notes)
    samples = _redacted(selection.apply(run.samples), redactor, on_replacement)
    report = Report(to=chosen.name, notes=notes)
    whole = _with_header(run, samples, redactor, on_replacement)
    return write_run(whole, target, to=chosen.name, report=report, read=paths)


def _own_format(paths: list[Path], format_name: str | None) -> Format:
    found = {chosen.name: chosen for _, chosen, _ in inputs(paths, format_name, Notes.keeping())}
    if len(found) > 1:
        raise UsageError(f"the inputs are of several formats ({', '.join(found)}): name one to write with --to")
    if not found:
        raise UsageError("nothing readable in the inputs")
    chosen = next(iter(found.values()))
    if not chosen.writes:
        raise UsageError(f"{chosen.name} can be read, not written: name another format with --to")
    return chosen


def _with_header(run: Run, samples: Iterable[Sample], redactor: Redactor, on_replacement: OnReplacement) -> Run:
    """The run, with secrets removed from its header."""
    header, found = redactor.record(header_of(run), "run")
    for each in found:
        on_replacement(each)
    return with_samples(header, samples)


def _redacted(samples: Iterable[Sample], redactor: Redactor, on_replacement: OnReplacement) -> Iterator[Sample]:
    for sample in samples:
        clean, found = redactor.sample(sample)
        for each in found:
            on_replacement(each)
        yield clean
