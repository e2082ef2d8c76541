"""Diagnose: recordings and run directories read, each sample looked at, failures grouped by cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pantrace.diagnosis import Diagnosis, Group, Tally, as_json, diagnose_sample, diagnosis_of
from pantrace.diagnosis.agent_code import read_code
from pantrace.errors import ReadError, UnknownFormat
from pantrace.formats import Format
from pantrace.model import Sample
from pantrace.store import Result, RunDirectory, is_run_directory

from .judge import Bench
from .measure import References
from .read import Notes, inputs, open_run, read_pile
from .select import Selection
from .table import Table, Tabular

EXAMPLES = 3


class DiagnosisTable(Diagnosis, Tabular, frozen=True, kw_only=True):
    """A diagnosis that can be handed on as a table."""

    __repr__ = Tabular.__repr__

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `--json` prints it."""
        return as_json(self)

    def table(self) -> Table:
        """One row for each group of failures with one cause."""
        columns: dict[str, type] = {"samples": int, "share": float, "cause": str, "subject": str, "title": str}
        columns |= {"certain": bool, "example": str}
        rows = [
            (each.samples, each.share, each.cause, each.subject, each.title, each.certain, _first(each))
            for each in self.groups
        ]
        return Table(columns, [*rows], sentence=self.sentence)


def _first(group: Group) -> str | None:
    return group.examples[0].sample if group.examples else None


def diagnose(
    *sources: str | Path,
    format: str | None = None,  # noqa: A002
    reference: str | Path | None = None,
    selection: Selection | None = None,
    examples: int = EXAMPLES,
    judging: Bench | None = None,
    code: str | Path | None = None,
) -> DiagnosisTable:
    """Why did samples of these files and run directories fail? A broken record raises a ReadError.

    With `judging` (see pantrace.engine.judge.bench) its judge is asked about each group, with the agent's `code` if
    that directory is named."""
    paths = [Path(each) for each in sources]
    references = References.of(read_pile([Path(reference)], notes=Notes())) if reference is not None else None
    found = diagnose_pile(paths, Notes(), format=format, references=references, selection=selection, examples=examples)
    if judging is None or judging.judge is None or not found.groups:
        return _tabular(found)
    from .diagnose_judge import questions_for, with_opinions

    files = read_code(Path(code), judging.clean) if code is not None else None
    asked = questions_for(found, paths, judging, format=format, references=references, selection=selection, code=files)
    return _tabular(with_opinions(found, asked, judging))


def _tabular(found: Diagnosis) -> DiagnosisTable:
    return DiagnosisTable(**{name: getattr(found, name) for name in found.__struct_fields__})


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
    """The same, with notes of what could not be read. `on_unfinished` is told of runs that never came to their end."""
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
