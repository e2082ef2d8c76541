"""Progress: how far a command is with its inputs, for the progress display.

Readers report how far they are in a file; the code that opens inputs reports their sizes. A process has one terminal,
so there is one `Progress` at a time, which every thread sees. Without a display, a report costs one look at a
variable."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Progress:
    """Samples and bytes done, and how many bytes there are; updated while inputs are read."""

    def __init__(self) -> None:
        self.samples = 0
        self.total: int | None = None
        """Maximum number of samples, if known."""
        self.skipped = 0
        """Expected samples that need no work."""
        self.taken = 0
        """Samples that were read and wait for later work (judges); 0 if each is finished before the next is read."""
        self.expected = 0
        """Bytes of all inputs; 0 until they are known."""
        self._done = 0
        self._size = 0
        self._place: Callable[[], float] | None = None

    def expect(self, paths: Iterable[Path]) -> None:
        """Note inputs that will be read."""
        self.expected += sum(map(size_of, paths))

    def begin(self, path: Path) -> None:
        """Note that an input is being read now, and the one before is done."""
        self.begin_part(size_of(path))

    def begin_part(self, size: int) -> None:
        """Note that `size` bytes are being read now, and those before are done."""
        self.end()
        self._size = size

    def at(self, share: Callable[[], float]) -> None:
        """Set the function that returns the share of the current input that is read. Another thread calls it."""
        self._place = share

    def end(self) -> None:
        """Note that the current input is done."""
        self._done += self._size
        self._size, self._place = 0, None

    def add(self, samples: int = 0, size: int = 0) -> None:
        """Add what another process has done: samples, and the bytes they were read from."""
        self.samples += samples
        self._done += size

    def done(self) -> float:
        """Bytes done. If samples wait for later work, only the share of those that are finished counts."""
        return self._read() * min(self.samples / self.taken, 1.0) if self.taken else self._read()

    def _read(self) -> float:
        inside = 0.0
        if self._place is not None:
            with suppress(ValueError, OSError, AttributeError):  # the file was closed just now
                # Clamped: a file may grow while it is read.
                inside = min(max(self._place(), 0.0), 1.0)
        return self._done + inside * self._size


_watched: Progress | None = None


def current_progress() -> Progress | None:
    """The progress that is being watched, or None."""
    return _watched


def report_place(number: int, total: int) -> None:
    """Report that `number` of `total` records of the current input are read."""
    if _watched is not None and total:
        _watched.at(lambda: number / total)


@contextmanager
def watching(new: Progress) -> Iterator[Progress]:
    """Count what is read inside."""
    global _watched
    before, _watched = _watched, new
    try:
        yield new
    finally:
        _watched = before


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a directory; 0 if it no longer exists."""
    with suppress(OSError):
        if not path.is_dir():
            return path.stat().st_size
    return sum(
        each.stat(follow_symlinks=False).st_size for each in _entries(path) if each.is_file(follow_symlinks=False)
    )


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    waiting = [os.fspath(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for each in entries:
                if each.is_dir(follow_symlinks=False):
                    waiting.append(each.path)
                yield each
