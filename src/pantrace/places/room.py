"""Room in the cache: what is deleted when it becomes too large, and what does not fit."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from pantrace.errors import UsageError
from pantrace.wire.limits import in_words

_FREE = 100 << 20
"""Bytes that stay free on the disk."""
_RECENT = 3600.0
"""Seconds after its last use for which a part of a run directory counts as in use."""


def make_room(root: Path, size: int, most: int, url: str, is_held: Callable[[Path], bool]) -> None:
    """Delete the oldest unused copies if the cache becomes too large; UsageError if the new ones do not fit."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{root}: cannot be made: {error.strerror}; PANTRACE_CACHE names another folder") from None
    if _kept(root) + size > most:
        _let_go(root, _kept(root) + size - most, is_held)
    # Checked before the download: a disk that fills up halfway would break other programs, too.
    free = shutil.disk_usage(root).free - _FREE
    if size > free:
        raise UsageError(
            f"{url}: {in_words(size)} must be fetched, but only {in_words(max(0, free))} are free at {root}; "
            "name fewer of them, or set PANTRACE_CACHE to a folder with more room"
        )


def _files(root: Path) -> dict[Path, os.stat_result]:
    """Copies of objects, and of parts of run directories."""
    found = [*(root / "objects").glob("*/*"), *(root / "runs").glob("*/*/parts/*.parquet")]
    return {each: state for each in found if each.suffix != ".lock" and (state := _stat(each)) is not None}


def _kept(root: Path) -> int:
    return sum(state.st_size for state in _files(root).values())


def _let_go(root: Path, size: int, is_held: Callable[[Path], bool]) -> None:
    """Remove `size` bytes, oldest first; views that no process uses go before, since their links keep copies alive."""
    for view in (root / "views").glob("*"):
        if view.is_dir() and not is_held(view):
            shutil.rmtree(view, ignore_errors=True)
    files = _files(root)
    recent = time.time() - _RECENT
    for each in sorted(files, key=lambda each: files[each].st_atime):
        state = _stat(each)
        is_part = each.suffix == ".parquet"
        if size <= 0:
            return
        # More than one link: a view uses the copy, and deleting this name would free nothing.
        if state is None or state.st_nlink > 1 or (is_part and state.st_atime > recent):
            continue
        each.unlink(missing_ok=True)
        size -= state.st_size


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
