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


def diagnose_pile(
    paths: Sequence[Path],
    notes: Notes,
    *,
    format: str | None = None,  # noqa: A002
    references: References | None = None,
    selection: Selection | None = None,
    examples: int = EXAMPLES,
    on_sample: Callable[[Sample], None] = lambda _: None,
    on_unfinished: Callable[[Path], None] = lambda _: None,
) -> Diagnosis:
    """Why samples of these files and run directories failed. `on_unfinished` is called with runs that never came to
    their end."""
    tally = Tally()
    for number, (source, result) in enumerate(results_of(paths, format, notes, selection, on_unfinished)):
        sample = result.sample if references is None else references.join(result.sample)
        tally.add(diagnose_sample(sample, result.scores, result.decisions, number=number, source=source))
        on_sample(sample)
    if references is not None and (selection is None or not selection.narrows):
        for sample in references.not_run():
            tally.add(diagnose_sample(sample))
    return diagnosis_of(tally, examples)


def results_of(
    paths: Sequence[Path],
    format_name: str | None,
    notes: Notes,
    selection: Selection | None = None,
    on_unfinished: Callable[[Path], None] = lambda _: None,
) -> Iterator[tuple[str, Result]]:
    """The wanted samples with what a run made of them, each with the path that it comes from."""
    found = _readable(paths, format_name, notes, on_unfinished)
    if selection is None:
        yield from found
        return
    selection.begin()
    if selection.sessions:
        # The start of an id is enough; conditions are looked at below, since they may be about scores of the run.
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


def _readable(
    paths: Sequence[Path], format_name: str | None, notes: Notes, on_unfinished: Callable[[Path], None]
) -> Iterator[tuple[str, Result]]:
    opened = list(inputs(paths, format_name, notes))
    if not opened:
        where = ", ".join(str(path) for path in paths)
        raise UnknownFormat("nothing readable in it", path=where, remedy="`pantrace formats` lists what can be read")
    read = 0
    for path, chosen, variant in opened:
        try:
            for result in _results(path, chosen, variant, notes, on_unfinished):
                read += 1
                yield str(path), result
        except ReadError as error:
            notes.on_broken(error)
    if notes.broken and not read:
        # A pile of which nothing could be read is an error, not an empty pile.
        raise notes.broken[0]


def _results(
    path: Path, chosen: Format, variant: str, notes: Notes, on_unfinished: Callable[[Path], None]
) -> Iterable[Result]:
    if is_run_directory(path):
        directory = RunDirectory.open(path)
        if directory.header.status != "complete":
            on_unfinished(path)
        return directory.results()
    return (Result(sample=sample) for sample in open_run(path, chosen, variant, notes.on_broken).samples)
