"""Read: files and directories as one run, whose samples are read lazily."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.formats import Format, by_name, detect
from pantrace.model import Aggregate, Run, RunHeader, Sample, Source, Trajectory, header_of, is_staff
from pantrace.places import path_at
from pantrace.store import is_run_directory
from pantrace.wire.files import read_error
from pantrace.wire.head import Head
from pantrace.wire.input_span import Span
from pantrace.wire.progress import current_progress
from pantrace.wire.rows import OnBroken, raise_broken, rows_in
from pantrace.wire.source import with_source

from .balance import Balance
from .nothing_read import nothing_read
from .run_format import RUN_DIRECTORY, unfinished_words
from .search import Found, Ignored, Search
from .sound import sound
from .twice import Twice

OnHeader = Callable[[str, RunHeader], None]
"""Called with the name of an input and the header of its run."""


def _nobody_asks(_name: str, _header: RunHeader) -> None:
    """A function with a name, because a lambda cannot be sent to another process with the notes."""


@dataclass
class Notes:
    """What was noticed while inputs were read; filled while the samples are iterated."""

    on_broken: OnBroken = raise_broken
    """What to do with a broken record: raise, or count it (`keeping`)."""
    broken: list[ReadError] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    """What is not read in a directory, with the reason."""
    belonging: Counter[Path] = field(default_factory=Counter)
    """How many files belong to an input, if there are more than the input itself."""
    formats: dict[str, int] = field(default_factory=dict)
    """Samples read, by format."""
    reading: str | None = None
    """Name of the run whose samples are being read: its own, or that of its file if there are several inputs."""
    results: list[tuple[str, Aggregate]] = field(default_factory=list)
    """Aggregates stored in the runs read so far, with the names of these runs."""
    on_header: OnHeader = _nobody_asks
    """What to do with the headers of several inputs, of which only the samples are kept."""
    twice: Twice = field(default_factory=Twice)
    """Recordings that are in two files."""
    unfinished: list[str] = field(default_factory=list)
    """Run directories whose evaluation has not ended, each with a sentence."""
    unread: Balance | None = None
    """What is in the sources but in no sample; None if it is not measured."""

    @classmethod
    def keeping(cls) -> Notes:
        """Notes that count broken records and continue."""
        notes = cls()
        notes.on_broken = notes.broken.append
        return notes

    def unread_words(self) -> str:
        """What could not be read, to be added to a sentence; empty if everything was."""
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

    The samples are read while they are iterated, one at a time. A second iteration reads them again, and reports broken
    records again. A broken record raises a ReadError, or goes to `on_broken` and is left out."""
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
    """The samples of an input. Each iteration reads them: the first from the file that is already open, the next from
    the beginning again."""

    def __init__(self, opened: Iterable[Sample], again: Callable[[], Iterable[Sample]]):
        self._opened: Iterable[Sample] | None = opened
        self._again = again

    def __iter__(self) -> Iterator[Sample]:
        opened, self._opened = self._opened, None
        return iter(self._again() if opened is None else opened)

    def __repr__(self) -> str:
        return "<samples, read as you iterate>"


def open_run(path: Path, chosen: Format, variant: str, on_broken: OnBroken, span: Span | None = None) -> Run:
    """Open one input of a known format, or one span of it; samples that break the model's promises are left out."""
    patience = _Patience(path, on_broken)
    several = chosen.holds_several(path)
    if chosen.open is not None and not several:
        run = sound(_opened(path, chosen, patience.broken, span), chosen, path, patience.broken)
        return msgspec.structs.replace(run, samples=patience.over(run.samples))
    if chosen.load is None:
        raise ReadError(f"{chosen.name} can be written but not read", path=str(path))
    source = Source(format=chosen.name, version=variant or None, path=str(path))
    run = Run(name=path.name, source=source, samples=_row_samples(path, chosen, source, patience.broken, span, several))
    run = sound(run, chosen, path, patience.broken)
    return msgspec.structs.replace(run, samples=patience.over(run.samples))


IN_A_ROW = 1_000
"""After this many broken records in a row, the rest of an input is not read: its format is probably another one."""


class GivenUp(ReadError):
    """The rest of an input is not read."""


class _Patience:
    """Reports broken records, and gives up on an input that seems to have nothing else."""

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
            # The file is cut off, or we gave up on it: what was read before is kept.
            self._on_broken(error)


def _row_samples(
    path: Path, chosen: Format, source: Source, on_broken: OnBroken, span: Span | None, several: bool
) -> Iterator[Sample]:
    assert chosen.load is not None
    for place, row in rows_in(path, "lines" if several else chosen.layout, on_broken, span, chosen.decode):
        try:
            sample = chosen.load(row)
        except ReadError as error:
            on_broken(error.at(path=str(path), place=place))
            continue
        except UNFORESEEN as error:
            on_broken(not_of_format(chosen.name, error).at(path=str(path), place=place))
            continue
        if chosen.name_in_file is not None:
            name = chosen.name_in_file(sample.id, path)
            # Of several documents in a file, its name does not name one.
            name = f"{name} {place}" if several and name != sample.id else name
            sample = msgspec.structs.replace(sample, id=name)
        yield stamp_source(sample, msgspec.structs.replace(source, place=place))


UNFORESEEN = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, AssertionError)
"""What a reader or writer raises if it meets an unexpected value. Almost always the input is wrong and not our code, so
these become errors of the record; the original error is kept as the cause."""


def _opened(path: Path, chosen: Format, on_broken: OnBroken, span: Span | None) -> Run:
    """A run of a format that opens its inputs itself. If its reader fails, that is reported as an error of the input,
    and the rest of the input is not read."""
    assert chosen.open is not None
    try:
        if span is not None and chosen.open_span is not None:
            run = chosen.open_span(path, span, on_broken)
        else:
            run = chosen.open(path, on_broken)
    except UNFORESEEN as error:
        raise not_of_format(chosen.name, error).at(path=str(path)) from error
    except OSError as error:  # an input may name a neighbouring file in a way that no file system accepts
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
    """The error for a record that does not have the basic shape of its format."""
    detail = f"key {error} is missing" if isinstance(error, KeyError) else str(error)
    return ReadError(f"not a record of {name}: {detail}", remedy="is --from right?")


def stamp_source(sample: Sample, source: Source) -> Sample:
    """The sample with its source, unless it has one."""
    if sample.trajectory is None or sample.trajectory.source is not None:
        return sample
    return with_source(sample, source)


def inputs(paths: Iterable[Path], format_name: str | None, notes: Notes) -> Iterator[Found]:
    """The inputs to open: each path that a format claims, each once. Directories are searched; what is not read in them
    is noted."""
    search = Search(partial(_recognised, format_name), format_name, notes.on_broken, notes.ignored.append)
    for path in paths:
        if path.is_dir():
            for each in search.directory(path):
                if each[1] is RUN_DIRECTORY and (told := unfinished_words(each[0])) is not None:
                    notes.unfinished.append(told)
                yield each
        elif search.is_new(path):
            found = _named(path, format_name) if format_name is not None else detect(path)
            search.read(path)
            yield path, *found
    notes.belonging += search.belonging


_CONTAINERS = {"sqlite": "a SQLite database", "zip": "a zip archive"}


def _named(path: Path, name: str) -> tuple[Format, str]:
    """The format that the user named for a file; an error if the file is clearly a container of another format, because
    its reader would only say that it is not text."""
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
    """The format of an entry in a directory. A named format takes precedence for directories."""
    if path.is_dir():
        if is_run_directory(path):
            return RUN_DIRECTORY, ""
        if format_name is not None and (variant := by_name(format_name).detect(Head(path))) is not None:
            return by_name(format_name), variant
    return detect(path)


def read_pile(paths: Iterable[Path], *, format: str | None = None, notes: Notes) -> Run:  # noqa: A002
    """Many inputs as one run. A single input keeps its header; of several, only the samples are used."""
    paths = list(paths)
    opened = list(inputs(paths, format, notes))
    if not opened:
        raise nothing_read(paths, notes.broken)
    if len(opened) == 1:
        path, chosen, variant = opened[0]
        run = _open_noting(path, chosen, variant, notes)
        samples = _paced(_counted(run, chosen, notes, run.name or path.name), path)
        return msgspec.structs.replace(run, samples=_readable(samples, paths, notes))
    return Run(name=", ".join(path.name for path in paths), samples=_readable(_chained(opened, notes), paths, notes))


def _readable(samples: Iterator[Sample], paths: Iterable[Path], notes: Notes) -> Iterator[Sample]:
    """The samples; if nothing at all could be read, that is an error and not an empty result."""
    yield from samples
    if notes.broken and not any(notes.formats.values()):
        raise nothing_read(paths, notes.broken)


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
    """The samples of the only input; the progress bar starts when the first one is requested."""
    watched = current_progress()
    if watched is not None:
        watched.expect([path])
        watched.begin(path)
    yield from samples
    if watched is not None:
        watched.end()


def _open_noting(path: Path, chosen: Format, variant: str, notes: Notes) -> Run:
    # A run directory's own data (its version, its plan) is not part of any recording, so it is not "unread".
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
    """The same samples; the function is called with each of them."""
    for sample in samples:
        on_sample(sample)
        yield sample


def split_children(
    samples: Iterable[Sample], on_staff: Callable[[Sample, Trajectory], None] = lambda _sample, _child: None
) -> Iterator[Sample]:
    """Samples without sub-agents inside; each sub-agent follows as a sample of its own. Graders and simulated users are
    not runs of the agent: they go to `on_staff`."""
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
