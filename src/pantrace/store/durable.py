"""Files that are complete on the disk, or not there at all."""

from __future__ import annotations

import os
import sqlite3
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pantrace.errors import ReadError, WriteError
from pantrace.wire.files import special_kind

LOGS = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps next to a database."""


def database_files(path: Path) -> list[Path]:
    """A database and the files that SQLite may open with it."""
    return [path, *(path.with_name(path.name + ending) for ending in LOGS)]


def refuse_special(*paths: Path) -> None:
    """A ReadError for a pipe or a device in place of a file: opening it, even by SQLite, could block forever."""
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise ReadError(f"not a regular file but {special_kind(mode)}", path=str(path))


def temporary_name(folder: Path) -> Path:
    """A name that nobody else uses; its form identifies leftovers after a crash."""
    return folder / f".{uuid.uuid4().hex}.tmp"


def remove_temporaries(folder: Path) -> None:
    """Remove the leftovers of writers that died."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make the system write a file, or the names in a directory, to the disk."""
    # Windows cannot open a directory as a file.
    if path.is_dir() and os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: Path, data: bytes) -> None:
    """Give a file new content: a reader sees the old or the new one, never half of it."""
    temporary = temporary_name(path.parent)
    try:
        temporary.write_bytes(data)
        # Content before name: after a power cut the name could otherwise lead to an empty file.
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Turns errors of the system, of SQLite and of Arrow into a sentence that says what they mean for the run."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        if reason == "disk I/O error":
            # All that SQLite says if there is no room for its log.
            reason += " (is the disk full?)"
        raise WriteError(
            f"{folder}: cannot be written: {reason}; what was committed stays valid; run the same command to continue"
        ) from None


def renewal(folder: Path) -> str:
    """What to do about damage in a run directory."""
    return f"run the same `pantrace eval` with --out {folder} again: it renews what is damaged or missing"
