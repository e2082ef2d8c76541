"""Diagnose: recordings and run directories read, each sample looked at, failures grouped by cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from pantrace.diagnosis import Diagnosis, Tally, diagnose_sample, diagnosis_of
from pantrace.errors import ReadError, UnknownFormat
from pantrace.formats import Format
from pantrace.model import Sample
from pantrace.store import Result, RunDirectory, is_run_directory

from .measure import References
from .read import Notes, inputs, open_run, read_pile
from .select import Selection

EXAMPLES = 3


def diagnose(
    *sources: str | Path,
    format: str | None = None,  # noqa: A002
    reference: str | Path | None = None,
    selection: Selection | None = None,
    examples: int = EXAMPLES,
) -> Diagnosis:
    """Why did samples of these files and run directories fail? A broken record raises a ReadError."""
    paths = [Path(each) for each in sources]
    references = References.of(read_pile([Path(reference)], notes=Notes())) if reference is not None else None
    return diagnose_pile(paths, Notes(), format=format, references=references, selection=selection, examples=examples)


def diagnose_pile(
    paths: Sequence[Path],
    notes: Notes,
    *,
    format: str | None = None,  # noqa: A002
    references: References | None = None,
    selection: Selection | None = None,
    examples: int = EXAMPLES,
    on_sample: Callable[[Sample], None] = lambda _: None,
) -> Diagnosis:
    """The same, with notes of what could not be read."""
    tally = Tally()
    for number, (source, result) in enumerate(results_of(paths, format, notes, selection)):
        sample = result.sample if references is None else references.join(result.sample)
        tally.add(diagnose_sample(sample, result.scores, result.decisions, number=number, source=source))
        on_sample(sample)
    return diagnosis_of(tally, examples)


def results_of(
    paths: Sequence[Path],
    format_name: str | None,
    notes: Notes,
    selection: Selection | None = None,
) -> Iterator[tuple[str, Result]]:
    """The wanted samples with what a run made of them, each with the path that it comes from."""
    found = _readable(paths, format_name, notes)
    if selection is None:
        yield from found
        return
    selection.begin()
    for source, result in found:
        # Conditions may be about scores of the run, too.
        whole = replace(result.sample, scores=result.sample.scores + result.scores)
        if any(selection.wanted([whole])):
            yield source, result
        if selection.taken == selection.limit:
            break
    selection.settle()


def _readable(paths: Sequence[Path], format_name: str | None, notes: Notes) -> Iterator[tuple[str, Result]]:
    opened = list(inputs(paths, format_name, notes))
    if not opened:
        where = ", ".join(str(path) for path in paths)
        raise UnknownFormat("nothing readable in it", path=where, remedy="`pantrace formats` lists what can be read")
    read = 0
    for path, chosen, variant in opened:
        try:
            for result in _results(path, chosen, variant, notes):
                read += 1
                yield str(path), result
        except ReadError as error:
            notes.on_broken(error)
    if notes.broken and not read:
        # A pile of which nothing could be read is an error, not an empty pile.
        raise notes.broken[0]


def _results(path: Path, chosen: Format, variant: str, notes: Notes) -> Iterable[Result]:
    if is_run_directory(path):
        return RunDirectory.open(path).results()
    return (Result(sample=sample) for sample in open_run(path, chosen, variant, notes.on_broken).samples)
