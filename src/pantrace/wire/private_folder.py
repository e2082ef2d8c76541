"""Private folders: where a process builds something that is not complete yet.

Its name contains the process, and a lock shows that the process is running. The system releases the lock however its
holder dies, so the next run recognises what a killed one has left behind, and removes it. Folders of another machine or
another user, or of a running process, are never touched.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_PREFIX, _SUFFIX = ".pantrace-", ".tmp"
_PRIVATE = re.compile(r"\.pantrace-\w+\.tmp")
_OWNED = re.compile(r"\.pantrace-([0-9a-f]{8})_(\d+)_\w+\.tmp")


def is_private(name: str) -> bool:
    """Whether a name is that of a private folder, which a killed process may leave behind."""
    return _PRIVATE.fullmatch(name) is not None


@contextmanager
def private_folder(where: Path | None = None) -> Iterator[Path]:
    """A folder for this process alone, removed at the end. Leftovers of killed runs next to it are removed, too."""
    place = Path(tempfile.gettempdir()) if where is None else where
    _clean_once(place)
    folder, handle = _make(place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _make(place: Path) -> tuple[Path, int | None]:
    """A new folder and its lock; None as the lock if the file system has none."""
    while True:
        folder = Path(tempfile.mkdtemp(_SUFFIX, f"{_PREFIX}{_machine()}_{os.getpid()}_", place))
        handle = _open_lock(folder)
        held = handle is not None and _lock(handle)
        # Another process may have removed it as a leftover before it was opened or locked: then make a new one.
        if (handle is None or held is not False) and folder.exists():
            return folder, handle
        if handle is not None:
            os.close(handle)


@cache
def _machine() -> str:
    """An id of this machine and its process ids: two containers can have the same host name."""
    try:
        room = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        room = 0
    return hashlib.sha256(f"{platform.node()}/{room}".encode()).hexdigest()[:8]


_cleaned: set[Path] = set()


def _clean_once(place: Path) -> None:
    """Remove leftovers, once per folder: listing it takes time, and a program may write many files."""
    if place in _cleaned:
        return
    _cleaned.add(place)
    try:
        with os.scandir(place) as entries:
            left = [each.name for each in entries if each.name.startswith(_PREFIX)]
    except OSError:
        return  # writing will report the problem
    for name in left:
        owner = _OWNED.fullmatch(name)
        if owner is not None and owner[1] == _machine():
            _remove_if_left(place / name, int(owner[2]))


def _remove_if_left(folder: Path, pid: int) -> None:
    handle = _open_lock(folder)
    if handle is None:
        return
    try:
        held = _lock(handle)
        if os.fstat(handle).st_uid == os.geteuid() and (held or (held is None and not is_alive(pid))):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(handle)


def is_alive(pid: int) -> bool:
    """Whether a process exists on this machine. Never call it on Windows, where signal 0 ends the process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # it belongs to another user
    return True


if sys.platform == "win32":

    def _open_lock(folder: Path) -> int | None:
        return None  # folders cannot be opened on Windows, so nothing is locked and nothing is removed

    def _lock(handle: int) -> bool | None:
        return None
else:
    import fcntl

    def _open_lock(folder: Path) -> int | None:
        try:
            return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return None

    def _lock(handle: int) -> bool | None:
        """Whether the lock is ours now; None if the file system has no locks, like some network file systems."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True
