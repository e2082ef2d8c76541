"""Redact: recordings without their secrets, in their own format or another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pantrace.errors import UsageError
from pantrace.formats import Format, by_name
from pantrace.model import Sample, with_samples
from pantrace.normalise.secrets import Redactor, Replacement

from .convert import Report, write_run
from .read import Notes, inputs, read_pile
from .select import Selection


def redact(
    paths: list[Path],
    target: Path,
    *,
    to: str | None = None,
    format: str | None = None,  # noqa: A002
    redactor: Redactor,
    selection: Selection,
    on_replacement: Callable[[Replacement], None],
) -> Report:
    """Read, replace secrets, write; the format is kept unless another is named."""
    notes = Notes.keeping()
    chosen = by_name(to) if to else _own_format(paths, format)
    run = read_pile(paths, format=format, notes=notes)
    samples = _redacted(selection.apply(run.samples), redactor, on_replacement)
    report = Report(to=chosen.name, notes=notes)
    return write_run(with_samples(run, samples), target, to=chosen.name, report=report)


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


def _redacted(
    samples: Iterable[Sample], redactor: Redactor, on_replacement: Callable[[Replacement], None]
) -> Iterator[Sample]:
    for sample in samples:
        clean, found = redactor.sample(sample)
        for each in found:
            on_replacement(each)
        yield clean
