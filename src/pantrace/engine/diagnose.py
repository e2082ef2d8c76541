"""Diagnose: reads recordings and run directories, examines each sample, and groups failures by cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from pantrace.diagnosis import Diagnosis, Tally, diagnose_sample, diagnosis_of
from pantrace.errors import ReadError
from pantrace.formats import Format
from pantrace.model import Sample
from pantrace.store import Result, RunDirectory, is_run_directory

from .measure import References
from .nothing_read import nothing_read
from .read import Notes, inputs, open_run, read_pile
from .select import Selection

EXAMPLES = 3


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
    """Why samples of these files and run directories failed."""
    tally = Tally()
    for number, (source, result) in enumerate(results_of(paths, format, notes, selection)):
        sample = result.sample if references is None else references.join(result.sample)
        tally.add(diagnose_sample(sample, result.scores, result.decisions, number=number, source=source))
        on_sample(sample)
    # With a selection, a case that is missing may simply not have been selected.
    if references is not None and (selection is None or not selection.narrows):
        for sample in references.not_run():
            tally.add(diagnose_sample(sample))
    return diagnosis_of(tally, examples)


def results_of(
    paths: Sequence[Path],
    format_name: str | None,
    notes: Notes,
    selection: Selection | None = None,
) -> Iterator[tuple[str, Result]]:
    """The selected samples with the results of a run, each with the path that it comes from."""
    found = _readable(paths, format_name, notes)
    if selection is None:
        yield from found
        return
    selection.begin()
    if selection.sessions:
        # Completes the prefix of an id. Conditions come below, because they may be about scores of the run.
        named = Selection(sessions=selection.sessions)
        named.look_up(lambda: read_pile(paths, format=format_name, notes=Notes.keeping()).samples)
        selection.sessions = named.sessions
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
        raise nothing_read(paths, notes.broken)
    read = 0
    for path, chosen, variant in opened:
        try:
            for result in _results(path, chosen, variant, notes):
                read += 1
                yield str(path), result
        except ReadError as error:
            notes.on_broken(error)
    if notes.broken and not read:
        # If nothing could be read that is an error, not an empty result.
        raise nothing_read(paths, notes.broken)


def _results(path: Path, chosen: Format, variant: str, notes: Notes) -> Iterable[Result]:
    if is_run_directory(path):
        return RunDirectory.open(path).results()
    return (Result(sample=sample) for sample in open_run(path, chosen, variant, notes.on_broken).samples)
