"""Whether the files of a run are as they were written.

Hashing takes about 0.7 s per gigabyte, so a process hashes a file once, and again only if its size, times or inode have
changed."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

from pantrace.errors import ReadError
from pantrace.places import bring, size_in_bucket

from .durable import renewal
from .manifest import CommittedPart, PartFile
from .run_file import PARTS

_hashes: dict[str, tuple[tuple[int, ...], str]] = {}
_unverified: set[Path] = set()

_TICK = 100_000_000
"""Nanoseconds. Two changes within one tick of the file system's clock have the same time, so the hash of a file that
changed a moment ago is not remembered."""


def file_hash(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    found = path.stat()
    state = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)
    name = os.path.abspath(path)  # noqa: PTH100 -- Path.absolute keeps "..", and resolve() reads every link again
    known = _hashes.get(name)
    if known is not None and known[0] == state:
        return known[1]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _TICK:
        _hashes[name] = (state, digest)
    return digest


def damage(path: Path, file: PartFile, *, hashed: bool = True) -> str | None:
    """What is wrong with a file of a part; None if it is as it was written. Without `hashed`, and for a file that is
    still in its bucket, only the size is checked."""
    try:
        size = path.stat().st_size
        if size != file.bytes:
            return f"it has {size:,} bytes, and {file.bytes:,} were written"
        if not hashed:
            return None
        if file.sha256 is None:
            _unverified.add(path.parent.parent)
            return None
        return None if file_hash(path) == file.sha256 else "its content is not what was written"
    except FileNotFoundError:
        left = size_in_bucket(path)
        if left is None:
            return "it is missing"
        return None if left == file.bytes else f"it has {left:,} bytes, and {file.bytes:,} were written"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


def check(path: Path, file: PartFile, *, hashed: bool = True) -> None:
    """A ReadError if a file is not as it was written. A file that is still in its bucket is fetched."""
    if hashed:
        bring(path)
    if why := damage(path, file, hashed=hashed):
        raise damaged_part(path, why)


def check_whole(folder: Path, part: CommittedPart) -> None:
    """A ReadError if any file of a part is not as it was written. Of files that are still in a bucket, only the size is
    checked: nobody has asked for their content."""
    for file in part.files:
        path = folder / PARTS / file.file
        if why := damage(path, file):
            raise damaged_part(path, why)


def damaged_part(path: Path, why: str) -> ReadError:
    """The error for a part that counts but cannot be read, with what to do about it."""
    return ReadError(f"this part of the run is damaged: {why}", path=str(path), remedy=renewal(path.parent.parent))


def unverified() -> list[Path]:
    """Run directories of which this process has read files without a hash, from before parts had one."""
    return sorted(_unverified)


def now_verified(folder: Path) -> None:
    """Record that every file of a run directory has a hash now."""
    _unverified.discard(folder)
