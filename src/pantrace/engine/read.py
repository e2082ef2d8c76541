"""Read: a file, a directory or many of them as one run of lazily read samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError, UnknownFormat
from pantrace.formats import Format, by_name, detect
from pantrace.model import Aggregate, Run, RunHeader, Sample, Source, Trajectory, header_of, is_staff
from pantrace.places import path_at
from pantrace.store import FILES, RECORDINGS, WORKSPACES, RunDirectory, is_run_directory
from pantrace.wire.claimed_files import either, inside, of_patterns
from pantrace.wire.files import read_error
from pantrace.wire.head import Head
from pantrace.wire.input_span import Span
from pantrace.wire.progress import current_progress
from pantrace.wire.rows import OnBroken, raise_broken, rows_in
from pantrace.wire.source import with_source

from .balance import Balance
from .search import Found, Ignored, Search
from .sound import sound
from .twice import Twice

OnHeader = Callable[[str, RunHeader], None]
"""Takes the name of an input and all that its run says beside its samples."""


def _nobody_asks(_name: str, _header: RunHeader) -> None:
    """By name, so that notes can be sent to another process."""


@dataclass
class Notes:
    """What reading a pile came across; filled while its samples are iterated."""

    on_broken: OnBroken = raise_broken
    """What to do with a broken record: raise, or count it (`keeping`)."""
    broken: list[ReadError] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    """What is not read in a directory, each with the reason."""
    belonging: Counter[Path] = field(default_factory=Counter)
    """How many files belong to an input, where they are more than the input itself."""
    formats: dict[str, int] = field(default_factory=dict)
    """Samples read, by format."""
    reading: str | None = None
    """Name of the run whose samples are being read: its own, or in a pile of several that of its file."""
    results: list[tuple[str, Aggregate]] = field(default_factory=list)
    """Aggregates that the runs read so far store themselves, with the names of these runs."""
    on_header: OnHeader = _nobody_asks
    """What to do with the headers of several inputs, of which a pile keeps only the samples."""
    twice: Twice = field(default_factory=Twice)
    """Recordings that are there in two files."""
    unread: Balance | None = None
    """What the sources say and no sample holds; None: nobody asks."""

    @classmethod
    def keeping(cls) -> Notes:
        """Notes that count broken records and go on."""
        notes = cls()
        notes.on_broken = notes.broken.append
        return notes

    def unread_words(self) -> str:
        """What could not be read, behind a sentence that says that there is nothing; else nothing."""
        if not self.broken:
            return ""
        more = f", and {len(self.broken) - 1:,} more" if len(self.broken) > 1 else ""
        return f"; not read: {self.broken[0]}{more}"

    def left_out(self) -> dict[str, list[dict[str, Any]]]:
        """Broken records and ignored files as plain data, the same for every result."""
        return {
            "broken": [{"path": each.path, "place": each.place, "message": each.message} for each in self.broken],
            "ignored": [{"path": str(each.path), "reason": each.reason} for each in self.ignored],
        }


def read(path: str | Path, *, format: str | None = None, on_broken: OnBroken = raise_broken) -> Run:  # noqa: A002
    """Read a file or a directory of any known format.

    The samples are read while they are iterated, one at a time; iterated again, they are read again, and broken records
    are told again. A broken record raises a ReadError, or goes to `on_broken` and is left out."""
    path = path_at(path)

    def opened() -> Run:
        if path.is_dir():
            return read_pile([path], format=format, notes=Notes(on_broken=on_broken))
        if format is None:
            chosen, variant = detect(path)
        else:
            chosen, variant = _named(path, format)
            if not path.exists():
                raise ReadError("no such file or directory", path=str(path))
        return open_run(path, chosen, variant, on_broken)

    run = opened()
    return msgspec.structs.replace(run, samples=Samples(run.samples, lambda: opened().samples))


class Samples:
    """The samples of an input. Each iteration reads them: the first from what is open already, the next from anew."""

    def __init__(self, opened: Iterable[Sample], again: Callable[[], Iterable[Sample]]):
        self._opened: Iterable[Sample] | None = opened
        self._again = again

    def __iter__(self) -> Iterator[Sample]:
        opened, self._opened = self._opened, None
        return iter(self._again() if opened is None else opened)

    def __repr__(self) -> str:
        return "<samples, read as you iterate>"


def open_run(path: Path, chosen: Format, variant: str, on_broken: OnBroken, span: Span | None = None) -> Run:
    """Open one input of a known format, or one span of it; what does not fit the model is left out."""
    patience = _Patience(path, on_broken)
    if chosen.open is not None:
        run = sound(_opened(path, chosen, patience.broken, span), chosen, path, patience.broken)
        return msgspec.structs.replace(run, samples=patience.over(run.samples))
    if chosen.load is None:
        raise ReadError(f"{chosen.name} can be written but not read", path=str(path))
    source = Source(format=chosen.name, version=variant or None, path=str(path))
    run = Run(name=path.name, source=source, samples=_row_samples(path, chosen, source, patience.broken, span))
    run = sound(run, chosen, path, patience.broken)
    return msgspec.structs.replace(run, samples=patience.over(run.samples))


IN_A_ROW = 1_000
"""Broken records one after another, after which the rest of an input is not read: it is not what it seems to be."""


class GivenUp(ReadError):
    """The last error of an input."""


class _Patience:
    """Tells broken records to whoever keeps them, and gives an input up that seems to hold nothing else."""

    def __init__(self, path: Path, on_broken: OnBroken):
        self._path = str(path)
        self._on_broken = on_broken
        self._row = 0

    def broken(self, error: ReadError) -> None:
        if isinstance(error, GivenUp):
            raise error
        self._on_broken(error)
        self._row += 1
        if self._row == IN_A_ROW:
            raise GivenUp(f"{IN_A_ROW:,} broken records in a row: the rest is not read", path=self._path)

    def over(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        try:
            for sample in samples:
                self._row = 0
                yield sample
        except ReadError as error:
            # The file breaks off, or is given up: what was read so far stands.
            self._on_broken(error)


def _row_samples(
    path: Path, chosen: Format, source: Source, on_broken: OnBroken, span: Span | None
) -> Iterator[Sample]:
    assert chosen.load is not None
    for place, row in rows_in(path, chosen.layout, on_broken, span, chosen.decode):
        try:
            sample = chosen.load(row)
        except ReadError as error:
            on_broken(error.at(path=str(path), place=place))
            continue
        except UNFORESEEN as error:
            on_broken(not_of_format(chosen.name, error).at(path=str(path), place=place))
            continue
        if chosen.name_in_file is not None:
            sample = msgspec.structs.replace(sample, id=chosen.name_in_file(sample.id, path))
        yield stamp_source(sample, msgspec.structs.replace(source, place=place))


UNFORESEEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, AssertionError)
"""What a reader or a writer ends in that meets a value which it did not expect: the input's fault before ours."""


def _opened(path: Path, chosen: Format, on_broken: OnBroken, span: Span | None) -> Run:
    """A run of a format that opens its inputs itself. What its reader stumbles over is an error of the input, in
    words, and the rest of that input is not read."""
    assert chosen.open is not None
    try:
        if span is not None and chosen.open_span is not None:
            run = chosen.open_span(path, span, on_broken)
        else:
            run = chosen.open(path, on_broken)
    except UNFORESEEN as error:
        raise not_of_format(chosen.name, error).at(path=str(path)) from error
    except OSError as error:  # what it says of files beside it may be a name that no file can have
        raise read_error(path, error) from error
    return msgspec.structs.replace(run, samples=_caught(run.samples, path, chosen, on_broken))


def _caught(samples: Iterable[Sample], path: Path, chosen: Format, on_broken: OnBroken) -> Iterator[Sample]:
    try:
        yield from samples
    except UNFORESEEN as error:
        why = not_of_format(chosen.name, error)
        message = f"{why.message}; the rest is not read"
        broken = ReadError(message, path=str(path), remedy=why.remedy)
        broken.__cause__ = error
        on_broken(broken)
    except OSError as error:
        on_broken(read_error(path, error))


def not_of_format(name: str, error: Exception) -> ReadError:
    """The error of a record that has not even the outline of its format."""
    detail = f"key {error} is missing" if isinstance(error, KeyError) else str(error)
    return ReadError(f"not a record of {name}: {detail}", remedy="is --from right?")


def stamp_source(sample: Sample, source: Source) -> Sample:
    """The sample with a note of where it was read, unless it has one."""
    if sample.trajectory is None or sample.trajectory.source is not None:
        return sample
    return with_source(sample, source)


def inputs(paths: Iterable[Path], format_name: str | None, notes: Notes) -> Iterator[Found]:
    """What is to be opened: each path that a format claims, each once. Directories are searched; what is not read in
    them is noted."""
    search = Search(partial(_recognised, format_name), format_name, notes.on_broken, notes.ignored.append)
    for path in paths:
        if path.is_dir():
            yield from search.directory(path)
        elif search.is_new(path):
            found = _named(path, format_name) if format_name is not None else detect(path)
            search.read(path)
            yield path, *found
    notes.belonging += search.belonging


_CONTAINERS = {"sqlite": "a SQLite database", "zip": "a zip archive"}


def _named(path: Path, name: str) -> tuple[Format, str]:
    """The format that somebody named for a file, unless the file is plainly a container of another one: its reader
    would only find that it is no text."""
    chosen = by_name(name)
    if not path.is_file() or (what := _CONTAINERS.get((head := Head(path)).kind)) is None:
        return chosen, ""
    if chosen.detect(head) is not None:
        return chosen, ""
    try:
        fits, _ = detect(path)
    except ReadError:
        raise ReadError(f"{what}, and no known format has one like it", path=str(path)) from None
    remedy = f"use --from {fits.name}, or leave --from out"
    raise ReadError(f"{what} of {fits.name}, not {chosen.name}", path=str(path), remedy=remedy)


def _recognised(format_name: str | None, path: Path) -> tuple[Format, str]:
    """The format of something in a directory. One that is named takes a directory before any other may."""
    if path.is_dir():
        if is_run_directory(path):
            return RUN_DIRECTORY, ""
        if format_name is not None and (variant := by_name(format_name).detect(Head(path))) is not None:
            return by_name(format_name), variant
    return detect(path)


def _open_directory(path: Path, on_broken: OnBroken) -> Run:
    return RunDirectory.open(path).run()


RUN_DIRECTORY = Format(
    name="run-directory",
    title="what `pantrace eval` leaves behind",
    spec="docs/store.md",
    detect=lambda head: "" if is_run_directory(head.path) else None,
    open=_open_directory,
    claim=lambda folder: either(of_patterns(folder, *FILES), inside(folder / RECORDINGS), inside(folder / WORKSPACES)),
    typed=True,
)
"""Run directories are read like any format; `eval` writes them."""


def read_pile(paths: Iterable[Path], *, format: str | None = None, notes: Notes) -> Run:  # noqa: A002
    """Many inputs as one run. One alone keeps its header; of several only the samples are taken."""
    paths = list(paths)
    opened = list(inputs(paths, format, notes))
    if not opened:
        where = ", ".join(str(path) for path in paths)
        raise UnknownFormat("nothing readable in it", path=where, remedy="`pantrace formats` lists what can be read")
    if len(opened) == 1:
        path, chosen, variant = opened[0]
        run = _open_noting(path, chosen, variant, notes)
        samples = _paced(_counted(run, chosen, notes, run.name or path.name), path)
        return msgspec.structs.replace(run, samples=_readable(samples, notes))
    return Run(name=", ".join(path.name for path in paths), samples=_readable(_chained(opened, notes), notes))


def _readable(samples: Iterator[Sample], notes: Notes) -> Iterator[Sample]:
    """Samples of a pile; a pile of which nothing at all could be read is an error, not an empty pile."""
    yield from samples
    if notes.broken and not any(notes.formats.values()):
        raise notes.broken[0]


def _chained(opened: list[tuple[Path, Format, str]], notes: Notes) -> Iterator[Sample]:
    shared = Counter(path.name for path, _, _ in opened)
    watched = current_progress()
    if watched is not None:
        watched.expect(path for path, _, _ in opened)
    for path, chosen, variant in opened:
        if watched is not None:
            watched.begin(path)
        try:
            run = _open_noting(path, chosen, variant, notes)
            name = path.name if shared[path.name] == 1 else str(path)
            notes.on_header(name, header_of(run))
            for sample in _counted(run, chosen, notes, name):
                notes.twice.see(sample, str(path))
                yield sample
        except ReadError as error:
            notes.on_broken(error)
    if watched is not None:
        watched.end()


def _paced(samples: Iterator[Sample], path: Path) -> Iterator[Sample]:
    """The samples of the only input; whoever watches the pace is told of it when the first one is asked for."""
    watched = current_progress()
    if watched is not None:
        watched.expect([path])
        watched.begin(path)
    yield from samples
    if watched is not None:
        watched.end()


def _open_noting(path: Path, chosen: Format, variant: str, notes: Notes) -> Run:
    # What a run directory keeps of itself (its version, its plan) is nothing that a recording says.
    if notes.unread is None or chosen is RUN_DIRECTORY:
        return open_run(path, chosen, variant, notes.on_broken)
    return notes.unread.open(path, chosen, variant, notes.on_broken, partial(open_run, path, chosen, variant))


def _counted(run: Run, chosen: Format, notes: Notes, name: str) -> Iterator[Sample]:
    notes.formats.setdefault(chosen.name, 0)
    notes.reading = name
    notes.results += [(name, each) for each in run.results]
    for sample in run.samples:
        notes.formats[chosen.name] += 1
        yield sample


def watch(samples: Iterable[Sample], on_sample: Callable[[Sample], None]) -> Iterator[Sample]:
    """The same samples, each shown to a function as it passes."""
    for sample in samples:
        on_sample(sample)
        yield sample


def split_children(
    samples: Iterable[Sample], on_staff: Callable[[Sample, Trajectory], None] = lambda _sample, _child: None
) -> Iterator[Sample]:
    """Samples without sub-agents inside; each of these follows as a sample of its own. Graders and simulated users are
    no runs of the agent: they go to `on_staff`."""
    for sample in samples:
        if sample.trajectory is None or not sample.trajectory.children:
            yield sample
            continue
        for number, trajectory in enumerate(_own_trajectories(sample, sample.trajectory, on_staff)):
            alone = msgspec.structs.replace(trajectory, children=())
            if number == 0:
                yield msgspec.structs.replace(sample, trajectory=alone)
            else:
                yield Sample(id=trajectory.id or f"{sample.id}/{number}", epoch=sample.epoch, trajectory=alone)


def _own_trajectories(
    sample: Sample, trajectory: Trajectory, on_staff: Callable[[Sample, Trajectory], None]
) -> Iterator[Trajectory]:
    yield trajectory
    for child in trajectory.children:
        if is_staff(child.purpose):
            on_staff(sample, child)
        else:
            yield from _own_trajectories(sample, child, on_staff)
