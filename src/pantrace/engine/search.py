"""Search: every file of a directory is an input, belongs to an input, or is left out with a reason."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from errno import ELOOP
from pathlib import Path
from typing import NamedTuple

from pantrace.errors import ReadError, TornFile, UnknownFormat
from pantrace.formats import NO_FORMAT, Format
from pantrace.wire.claimed_files import Claim, everything
from pantrace.wire.files import special_kind
from pantrace.wire.private_folder import is_private
from pantrace.wire.rows import OnBroken

Found = tuple[Path, Format, str]
"""An input, its format, and the format's version or variant."""

_SKIPPED = {".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"}
_BESIDE = ("-wal", "-shm", "-journal")
"""Files that SQLite keeps next to a database."""


class Ignored(NamedTuple):
    """Something in a directory that is not read."""

    path: Path
    reason: str


class _Entry(NamedTuple):
    path: Path
    real: str
    """The path without links."""
    is_folder: bool = False
    claimed: tuple[Path, Claim] | None = None
    """An input in a folder above that may own this entry, too."""


class Search:
    """One search through files and directories, in which everything is found once, even if several links lead to it."""

    def __init__(
        self,
        recognise: Callable[[Path], tuple[Format, str]],
        wanted: str | None,
        on_broken: OnBroken,
        on_ignored: Callable[[Ignored], None],
    ):
        self._recognise = recognise
        self._wanted = wanted
        """The only format to search for, if one is named."""
        self._on_broken = on_broken
        self._on_ignored = on_ignored
        self._seen: dict[str, Path] = {}
        self._read: set[str] = set()
        self._root = Path()
        self.belonging: Counter[Path] = Counter()
        """How many files belong to each input, if there are more than its own file."""

    def is_new(self, path: Path) -> bool:
        """Whether a path was not seen before; afterwards it counts as seen."""
        return self._note(_Entry(path, os.path.realpath(path)))

    def read(self, path: Path) -> None:
        """Note that a file is read, so that SQLite's files next to it belong to it."""
        self._read.add(os.path.realpath(path))

    def directory(self, root: Path) -> Iterator[Found]:
        """The inputs in a directory, sorted by name."""
        self._root = root
        # A stack instead of recursion: a deeply nested directory must not end in a RecursionError.
        waiting = [_Entry(root, os.path.realpath(root), is_folder=True)]
        while waiting:
            entry = waiting.pop()
            if not self._note(entry):
                continue
            if not entry.is_folder:
                yield from self._file(entry)
                continue
            # A folder that an input above owns is not an input itself, but its files are still accounted for.
            if entry.claimed is None or not entry.claimed[1].reaches(entry.path):
                entry = entry._replace(claimed=None)
                for found in self._whole(entry.path):
                    claim = found[1].claim or everything
                    entry = entry._replace(claimed=(entry.path, claim(entry.path)))
                    yield found
            waiting += reversed(list(self._entries(entry)))

    def _note(self, entry: _Entry) -> bool:
        before = self._seen.get(entry.real)
        if before is None:
            self._seen[entry.real] = entry.path
            return True
        if before != entry.path:
            self._leave_out(entry.path, "read already under another name")
        return False

    def _leave_out(self, path: Path, reason: str) -> None:
        self._on_ignored(Ignored(path, reason))

    def _whole(self, folder: Path) -> Iterator[Found]:
        """The directory itself, if a format reads directories as a whole."""
        try:
            format_, variant = self._recognise(folder)
        except UnknownFormat:
            return
        except ReadError as error:
            self._on_broken(error)
            return
        if self._wanted in (None, format_.name):
            yield folder, format_, variant

    def _file(self, entry: _Entry) -> Iterator[Found]:
        path = entry.path
        owner = self._owner(entry)
        if owner is not None:
            self.belonging[owner] += 1
            return
        try:
            format_, variant = self._recognise(path)
        # A cut-off file of a known format is damage to report, not a file to ignore.
        except TornFile as error:
            self._on_broken(error)
        except UnknownFormat as error:
            self._leave_out(path, "no known format" if error.message.startswith(NO_FORMAT) else error.message)
        except ReadError as error:
            self._on_broken(error)
        else:
            if self._wanted not in (None, format_.name):
                self._leave_out(path, f"{format_.name}, not {self._wanted}")
            elif (main := format_.owner(path)) is not None and main.is_relative_to(self._root):
                self.belonging[main] += 1
            # Only if the other file is part of this search; otherwise the copy is all there is.
            elif (main := format_.copy_of(path)) is not None and main.is_relative_to(self._root):
                self._leave_out(path, "a copy of a session that is read from another file")
            else:
                self._read.add(entry.real)
                yield path, format_, variant

    def _owner(self, entry: _Entry) -> Path | None:
        """The input that a file belongs to."""
        if entry.claimed is not None and entry.claimed[1].holds(entry.path):
            return entry.claimed[0]
        if (database := sqlite_owner(entry.real)) is not None and database in self._read:
            return entry.path.with_name(Path(database).name)
        return None

    def _entries(self, folder: _Entry) -> Iterator[_Entry]:
        """The entries of a folder, sorted by name; what cannot be read is left out."""
        try:
            with os.scandir(folder.path) as entries:
                found = sorted(entries, key=lambda each: each.name)
        except OSError as error:
            self._on_broken(ReadError(f"cannot be listed: {error.strerror}", path=str(folder.path)))
            return
        for each in found:
            path = folder.path / each.name
            try:
                mode = _mode(each)
            except OSError as error:
                leads = "in a circle" if error.errno == ELOOP else "nowhere"
                self._leave_out(path, f"a link that leads {leads}" if each.is_symlink() else "it has disappeared")
                continue
            is_folder = stat.S_ISDIR(mode)
            if is_folder and each.name in _SKIPPED:
                self._leave_out(path, "a folder that is never searched")
            elif is_private(each.name):
                self._leave_out(path, "left over from a write that was not finished")
            elif not is_folder and not stat.S_ISREG(mode):
                self._leave_out(path, f"not a regular file but {special_kind(mode)}")
            else:
                # Only links need a system call: the real path of the folder is already known.
                real = (
                    os.path.realpath(path) if each.is_symlink() else f"{folder.real.rstrip(os.sep)}{os.sep}{each.name}"
                )
                yield _Entry(path, real, is_folder, folder.claimed)


def sqlite_owner(name: str) -> str | None:
    """The name of the database that a file of this name would be a log of."""
    return next((name.removesuffix(ending) for ending in _BESIDE if name.endswith(ending)), None)


def is_searched(folder: Path) -> bool:
    """Whether a search enters a folder: not if it is a tool's own (.git), or left over from a killed writer."""
    return folder.name not in _SKIPPED and not is_private(folder.name)


def _mode(entry: os.DirEntry[str]) -> int:
    """The type of an entry, without a system call for each plain file."""
    if entry.is_file(follow_symlinks=False):
        return stat.S_IFREG
    return entry.stat().st_mode
