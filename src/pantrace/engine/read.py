"""Read: a file, a directory or many of them as one run of lazily read samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pantrace.errors import ReadError, UnknownFormat
from pantrace.formats import Format, by_name, detect
from pantrace.model import Aggregate, Run, Sample, Source, all_trajectories
from pantrace.store import RunDirectory, is_run_directory
from pantrace.wire.rows import OnBroken, raise_broken, read_rows
from pantrace.wire.source import with_source

from .sound import sound

_SKIPPED = {".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"}


@dataclass
class Notes:
    """What reading a pile came across; filled while its samples are iterated."""

    on_broken: OnBroken = raise_broken
    """What to do with a broken record: raise, or count it (`keeping`)."""
    broken: list[ReadError] = field(default_factory=list)
    ignored: list[Path] = field(default_factory=list)
    """Files in a directory that no format recognises."""
    formats: dict[str, int] = field(default_factory=dict)
    """Samples read, by format."""
    reading: str | None = None
    """Name of the run whose samples are being read: its own, or in a pile of several that of its file."""
    results: list[tuple[str, Aggregate]] = field(default_factory=list)
    """Aggregates that the runs read so far store themselves, with the names of these runs."""

    @classmethod
    def keeping(cls) -> Notes:
        """Notes that count broken records and go on."""
        notes = cls()
        notes.on_broken = notes.broken.append
        return notes


def read(path: str | Path, *, format: str | None = None, on_broken: OnBroken = raise_broken) -> Run:  # noqa: A002
    """Read a file or a directory of any known format.

    The samples are read while they are iterated, one at a time. A broken record raises a ReadError, or goes to
    `on_broken` and is left out."""
    path = Path(path)
    if is_run_directory(path):
        return open_run(path, RUN_DIRECTORY, "", on_broken)
    if format is None and path.is_dir():
        try:
            chosen, variant = detect(path)
        except UnknownFormat:
            return read_pile([path], notes=Notes(on_broken=on_broken))
        return open_run(path, chosen, variant, on_broken)
    if format is None:
        chosen, variant = detect(path)
    else:
        chosen, variant = by_name(format), ""
        if not path.exists():
            raise ReadError("no such file or directory", path=str(path))
    return open_run(path, chosen, variant, on_broken)


def open_run(path: Path, chosen: Format, variant: str, on_broken: OnBroken) -> Run:
    """Open one input of a known format; what does not fit the model is left out."""
    if chosen.open is not None:
        return sound(chosen.open(path, on_broken), chosen, path, on_broken)
    if chosen.load is None:
        raise ReadError(f"{chosen.name} can be written, not read", path=str(path))
    source = Source(format=chosen.name, version=variant or None, path=str(path))
    run = Run(name=path.name, source=source, samples=_row_samples(path, chosen, source, on_broken))
    return sound(run, chosen, path, on_broken)


def _row_samples(path: Path, chosen: Format, source: Source, on_broken: OnBroken) -> Iterator[Sample]:
    assert chosen.load is not None
    for place, row in read_rows(path, on_broken):
        try:
            sample = chosen.load(row)
        except ReadError as error:
            on_broken(error.at(path=str(path), place=place))
            continue
        except (KeyError, TypeError, ValueError, AttributeError, msgspec.ValidationError) as error:
            on_broken(not_of_format(chosen.name, error).at(path=str(path), place=place))
            continue
        yield stamped(sample, msgspec.structs.replace(source, place=place))


def not_of_format(name: str, error: Exception) -> ReadError:
    """The error of a record that has not even the outline of its format."""
    detail = f"key {error} is missing" if isinstance(error, KeyError) else str(error)
    return ReadError(f"not a record of {name}: {detail}", remedy="is --from right?")


def stamped(sample: Sample, source: Source) -> Sample:
    """The sample with a note of where it was read, unless it has one."""
    if sample.trajectory is None or sample.trajectory.source is not None:
        return sample
    return with_source(sample, source)


def inputs(paths: Iterable[Path], format_name: str | None, notes: Notes) -> Iterator[tuple[Path, Format, str]]:
    """What is to be opened: each path that a format claims, directories searched where none claims them whole."""
    for path in paths:
        if is_run_directory(path):
            yield path, RUN_DIRECTORY, ""
        elif format_name is not None and (not path.is_dir() or _takes_directories(by_name(format_name), path)):
            yield path, by_name(format_name), ""
        elif path.is_dir():
            yield from _search(path, format_name, notes)
        else:
            yield path, *detect(path)


def _open_directory(path: Path, on_broken: OnBroken) -> Run:
    return RunDirectory.open(path).run()


RUN_DIRECTORY = Format(
    name="run-directory",
    title="what `pantrace eval` leaves behind",
    spec="docs/store.md",
    detect=lambda head: "" if is_run_directory(head.path) else None,
    open=_open_directory,
    typed=True,
)
"""Run directories are read like any format; `eval` writes them."""


def _takes_directories(format_: Format, path: Path) -> bool:
    from pantrace.wire.head import Head

    return format_.detect(Head(path)) is not None


def _search(folder: Path, format_name: str | None, notes: Notes) -> Iterator[tuple[Path, Format, str]]:
    if is_run_directory(folder):
        yield folder, RUN_DIRECTORY, ""
        return
    try:
        found, variant = detect(folder)
    except UnknownFormat:
        pass
    else:
        if format_name in (None, found.name):
            yield folder, found, variant
        return
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        notes.on_broken(ReadError(f"cannot be listed: {error.strerror}", path=str(folder)))
        return
    for child in children:
        if child.is_dir():
            if child.name not in _SKIPPED:
                yield from _search(child, format_name, notes)
            continue
        try:
            found, variant = detect(child)
        except UnknownFormat:
            notes.ignored.append(child)
        except ReadError as error:
            notes.on_broken(error)
        else:
            if format_name in (None, found.name):
                yield child, found, variant
            else:
                notes.ignored.append(child)


def read_pile(paths: Iterable[Path], *, format: str | None = None, notes: Notes) -> Run:  # noqa: A002
    """Many inputs as one run. One alone keeps its header; of several only the samples are taken."""
    paths = list(paths)
    # A file that is named twice, or named beside its folder, is there once.
    opened = list({each[0].resolve(): each for each in inputs(paths, format, notes)}.values())
    if not opened:
        where = ", ".join(str(path) for path in paths)
        raise UnknownFormat("nothing readable in it", path=where, remedy="`pantrace formats` lists what can be read")
    if len(opened) == 1:
        path, chosen, variant = opened[0]
        run = open_run(path, chosen, variant, notes.on_broken)
        samples = _counted(run, chosen, notes, run.name or path.name)
        return msgspec.structs.replace(run, samples=_readable(samples, notes))
    return Run(name=", ".join(path.name for path in paths), samples=_readable(_chained(opened, notes), notes))


def _readable(samples: Iterator[Sample], notes: Notes) -> Iterator[Sample]:
    """Samples of a pile; a pile of which nothing at all could be read is an error, not an empty pile."""
    yield from samples
    if notes.broken and not any(notes.formats.values()):
        raise notes.broken[0]


def _chained(opened: list[tuple[Path, Format, str]], notes: Notes) -> Iterator[Sample]:
    shared = Counter(path.name for path, _, _ in opened)
    for path, chosen, variant in opened:
        try:
            run = open_run(path, chosen, variant, notes.on_broken)
            yield from _counted(run, chosen, notes, path.name if shared[path.name] == 1 else str(path))
        except ReadError as error:
            notes.on_broken(error)


def _counted(run: Run, chosen: Format, notes: Notes, name: str) -> Iterator[Sample]:
    notes.formats.setdefault(chosen.name, 0)
    notes.reading = name
    notes.results += [(name, each) for each in run.results]
    for sample in run.samples:
        notes.formats[chosen.name] += 1
        yield sample


def watched(samples: Iterable[Sample], on_sample: Callable[[Sample], None]) -> Iterator[Sample]:
    """The same samples, each shown to a function as it passes."""
    for sample in samples:
        on_sample(sample)
        yield sample


def split_children(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Samples without sub-agents inside; each of these follows as a sample of its own."""
    for sample in samples:
        if sample.trajectory is None or not sample.trajectory.children:
            yield sample
            continue
        for number, trajectory in enumerate(all_trajectories(sample.trajectory)):
            alone = msgspec.structs.replace(trajectory, children=())
            if number == 0:
                yield msgspec.structs.replace(sample, trajectory=alone)
            else:
                yield Sample(id=trajectory.id or f"{sample.id}/{number}", epoch=sample.epoch, trajectory=alone)
