"""Overwriting: no command overwrites what it reads, or writes where its next run would read the output.

Files are compared by device and inode, so that neither kind of link can hide an input. A recording is not written into
a folder that is searched. An output that no run would read (a table, a picture, a list of losses) may be there, but
must not replace an input.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pantrace.errors import ReadError, UnknownFormat, UsageError
from pantrace.formats import detect
from pantrace.places import is_mirrored
from pantrace.store import OWN_NAMES, PARTS, is_run_directory
from pantrace.wire.output import nearest_folder, real_place, write_error

from .fingerprint import read_beside
from .search import is_searched, sqlite_owner

Identity = tuple[int, int]
"""Device and inode of a file."""

NOTHING: Identity = (-1, -1)


@dataclass(frozen=True)
class Output:
    """Something that a command is about to write."""

    path: Path
    recording: bool = False
    """Whether a later run would read it."""


def refuse_overwriting(read: Iterable[Path], written: Iterable[Output]) -> None:
    """A UsageError if an output is an input, would be read by the next run, or is named twice."""
    outputs = [each for each in written if _can_be_lost(each.path)]
    _refuse_twice(outputs)
    files = {found: each for each in outputs if (found := _identity(each.path))}
    # By folder, because an output usually does not exist yet and has no identity of its own.
    by_folder: dict[Identity, list[Output]] = {}
    for each in outputs:
        if room := _identity(nearest_folder(_place(each))):
            by_folder.setdefault(room, []).append(each)
    logs = {_place(each).with_name(name): each for each in outputs if (name := sqlite_owner(each.path.name))}
    parts = {found: each for found, each in files.items() if not _is_whole(each.path)}
    for source in read:
        _refuse_in_bucket(outputs, source)
        if same := files.get(_identity(source) or NOTHING):
            raise UsageError(f"{same.path} is an input and would be overwritten: name another output")
        if (part := _part_of(source, logs, parts)) is not None:
            raise UsageError(f"{part} is read together with {source} and would be overwritten: name another output")
        for identity, folder, entries in _folders(source) if source.is_dir() and outputs else ():
            for each in by_folder.get(identity, ()):
                _refuse_inside(each, folder, source)
            for entry in entries if files else ():
                same = _same(entry, files)
                if same is not None and _is_read(Path(entry), source):
                    raise UsageError(
                        f"{same.path} is read as a part of {source} and would be overwritten: name another output"
                    )


def _refuse_in_bucket(outputs: list[Output], source: Path) -> None:
    """The same by URL: each command has its own local copy of a bucket, so identities say nothing."""
    for each in outputs if is_mirrored(source) else ():
        if is_mirrored(each.path) and str(each.path).startswith(f"{source}/"):
            raise UsageError(
                f"{each.path} is inside {source}, which is an input: the next run would read it, too; "
                "write it elsewhere"
            )


def _part_of(source: Path, logs: dict[Path, Output], parts: dict[Identity, Output]) -> Path | None:
    """The output that is read with an input: a database's log, the recording of a sub-agent, a tool's long output."""
    if logs and (log := logs.get(Path(os.path.realpath(source)))) is not None:
        return log.path
    if not parts or source.is_dir():
        return None
    try:
        format_, _ = detect(source)
    except ReadError:
        return None  # whoever reads it reports that
    for other in read_beside(source, format_):
        for file in other.rglob("*") if other.is_dir() else [other]:
            if (part := parts.get(_identity(file) or NOTHING)) is not None:
                return part.path
    return None


def _is_whole(path: Path) -> bool:
    """Whether a file is a recording of its own. The session from which an input was forked is one, and so is an earlier
    output beside its input: whoever names it as the output means it."""
    try:
        format_, _ = detect(path)
    except ReadError:
        return False
    return format_.owner(path) is None


def _same(entry: os.DirEntry[str], files: dict[Identity, Output]) -> Output | None:
    """The output that an entry leads to. For most entries the inode shows that there is none, without a system call."""
    if not entry.is_symlink() and all(number != entry.inode() for _, number in files):
        return None
    return files.get(_identity(Path(entry)) or NOTHING)


def _can_be_lost(path: Path) -> bool:
    """False for a device or a pipe, which has no content to lose."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _identity(path: Path) -> Identity | None:
    """The identity of what a path leads to; None if there is nothing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _place(output: Output) -> Path:
    try:
        return real_place(output.path)
    except OSError as error:
        raise write_error(output.path, error) from None


def _refuse_twice(outputs: list[Output]) -> None:
    seen: dict[Path, Output] = {}
    for each in outputs:
        place = _place(each)
        if place in seen:
            raise UsageError(f"two outputs would be written to {each.path}: name another file for one of them")
        seen[place] = each
    for place, each in seen.items():
        for folder in place.parents:
            # A run directory that is written has files of its own, whether they are there already or not.
            if (run := seen.get(folder)) is not None and run.recording and _is_own(place, folder):
                raise UsageError(
                    f"{each.path} is the name of a file of {run.path}, which is written, too: name another output"
                )


def _is_own(place: Path, folder: Path) -> bool:
    """Whether a run directory has a file of this name; file systems may take names that differ in case for the same."""
    return place.relative_to(folder).parts[0].casefold() in OWN_NAMES


def _refuse_inside(output: Output, folder: Path, source: Path) -> None:
    if output.recording and not is_run_directory(folder):
        raise UsageError(
            f"{output.path} is inside {source}, which is an input: the next run would read it, too; write it elsewhere"
        )


def _folders(source: Path) -> Iterator[tuple[Identity, Path, list[os.DirEntry[str]]]]:
    """The folders that a search enters, each once even if several links lead to it, with their entries."""
    seen: set[Identity] = set()
    waiting = [source]
    while waiting:
        folder = waiting.pop()
        identity = _identity(folder)
        if identity is None or identity in seen:
            continue
        seen.add(identity)
        entries = _entries(folder)
        yield identity, folder, entries
        folders = [each for each in entries if _is_folder(each)]
        if any(each.name == PARTS for each in folders) and is_run_directory(folder):
            # A run directory is not searched: its manifest names its files, which are all here and in `parts`.
            waiting.append(folder / PARTS)
        else:
            waiting += [path for each in folders if is_searched(path := Path(each))]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # the reader will report it


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a circular link


def _is_read(path: Path, source: Path) -> bool:
    """Whether a file in a folder that is read is an input: on its own, or as part of a folder that is one."""
    for folder in path.parents:
        if is_run_directory(folder):
            return path.relative_to(folder).parts[0] in OWN_NAMES
        if _claimed(folder):
            return True
        if folder == source:
            break
    return _claimed(path)


def _claimed(path: Path) -> bool:
    try:
        detect(path)
    except UnknownFormat:
        return False
    except ReadError:
        pass  # a damaged recording is still a recording
    return True
