"""Many inputs processed in parts, with the same notes as if they were read one after the other (`engine.read`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pantrace.errors import ReadError
from pantrace.model import Aggregate, Sample
from pantrace.wire.input_cuts import SPAN_BYTES, Cutting
from pantrace.wire.progress import current_progress

from .executor import Executor
from .input_part import InputPart, open_part, parts_of
from .measure import References
from .nothing_read import nothing_read
from .read import GivenUp, Notes, inputs, split_children
from .select import Selection
from .twice import Twice


@dataclass(kw_only=True)
class PartNotes:
    """What was noticed while a part was read."""

    samples: int = 0
    broken: list[ReadError] = field(default_factory=list)
    results: list[tuple[str, Aggregate]] = field(default_factory=list)
    """Aggregates that the run itself stores; only its first part has them."""
    references: References | None = None
    """Only the counts, so that the references are not sent back with each part."""
    selection: Selection = field(default_factory=Selection)
    twice: Twice = field(default_factory=Twice)


@dataclass(kw_only=True)
class PileTask:
    """What a task over many inputs needs to read one part."""

    selection: Selection
    sub_agents: bool
    """Whether each sub-agent is also a sample of its own."""
    references: References | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of the inputs, if there are several."""

    def read(self, part: InputPart, found: PartNotes, use: Callable[[str, Iterable[Sample]], None]) -> None:
        """Pass the selected samples of a part and the name of their run to `use`, and note what happens on the way."""
        references = self.references.fresh() if self.references is not None else None
        found.selection = self.selection.fresh()
        try:
            run = open_part(part, found.broken.append)
            name = self.names.get(part.path) or run.name or Path(part.path).name
            # Every part opens the same header, which must count once.
            if part.number == 0:
                found.results = [(name, each) for each in run.results]
            all_samples = found.twice.watch(run.samples, part.path) if self.names else run.samples
            samples = found.selection.wanted(split_children(all_samples) if self.sub_agents else all_samples)
            use(name, samples if references is None else map(references.join, samples))
        except ReadError as error:
            # A single input that cannot be read is an error; one of several is left out and reported.
            if not self.names:
                raise
            found.broken.append(error)
        if references is not None:
            found.references = References(
                met=references.met, unmatched=references.unmatched, prompted=references.prompted
            )


Done = TypeVar("Done", bound=PartNotes, covariant=True)


class PartsTask(Protocol[Done]):
    """A `PileTask` that yields the results of a part."""

    selection: Selection
    references: References | None
    names: Mapping[str, str]

    def __call__(self, part: InputPart) -> Iterator[Done]: ...


def done_parts(
    paths: list[Path],
    format_name: str | None,
    task: PartsTask[Done],
    executor: Executor,
    notes: Notes,
    *,
    span_bytes: int = SPAN_BYTES,
) -> Iterator[Done]:
    """The results of each part, in order; notes, selection and references of the task add up their counts."""
    opened = [*inputs(paths, format_name, notes)]
    if not opened:
        raise nothing_read(paths, notes.broken)
    if len(opened) > 1:
        shared = Counter(path.name for path, _, _ in opened)
        # The file's name is enough unless two inputs share it.
        task.names = {str(path): path.name if shared[path.name] == 1 else str(path) for path, _, _ in opened}
    given_up: set[str] = set()
    if (watched := current_progress()) is not None:
        watched.expect(path for path, _, _ in opened)
    with ExitStack() as held:
        cutting = Cutting(span_bytes, held)
        parts = (part for path, chosen, variant in opened for part in parts_of(path, chosen, variant, cutting))
        for part, records in executor.map_parts(task, parts):
            if watched is not None:
                watched.begin_part(part.weight)
            # An input that was given up ends there, as if it were read in a row; later parts may be done already.
            for found in records if part.path not in given_up else ():
                _absorb(found, part, task, notes)
                if any(isinstance(error, GivenUp) for error in found.broken):
                    given_up.add(part.path)
                yield found
            if watched is not None:
                watched.end()
    if notes.broken and not any(notes.formats.values()):
        raise nothing_read(paths, notes.broken)
    task.selection.settle()


def _absorb(found: PartNotes, part: InputPart, task: PartsTask[Any], notes: Notes) -> None:
    for error in found.broken:
        notes.on_broken(error)
    notes.formats[part.format] = notes.formats.get(part.format, 0) + found.selection.read
    notes.results += found.results
    notes.twice.absorb(found.twice)
    task.selection.absorb(found.selection)
    if task.references is not None and found.references is not None:
        task.references.absorb(found.references)
