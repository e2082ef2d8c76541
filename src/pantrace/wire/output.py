"""Output: every file is written through this module.

A file is written in a private folder and gets its name only when it is complete. So an error, Ctrl-C or `kill -9`
leaves what was there before unchanged. Links are followed, and a file that is replaced keeps its mode and its owner.
Devices and pipes are never replaced: the finished bytes are sent into them.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from errno import EACCES, EISDIR
from pathlib import Path
from typing import IO, cast

import zstandard

from pantrace.errors import WriteError

from .private_folder import is_private, private_folder


@contextmanager
def writing(target: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when all of it is written; `.gz` and `.zst` names are compressed."""
    if any(map(is_private, target.parts)):
        # Already inside a private folder, which will be published as a whole.
        with _compressed(target) as file:
            yield file
        return
    if stat.S_ISDIR(_mode(target)):
        raise WriteError(f"{target}: is a directory; name a file to write")
    with staging(target) as staged, _compressed(staged) as file:
        yield file


@contextmanager
def staging(target: Path) -> Iterator[Path]:
    """A private path with the target's name, for a new file or folder; at the end it becomes the target.

    Files of a folder are added to those in the target, and replace those of the same name."""
    _refuse_url(target)
    try:
        # A pipe is opened now, not at the end: its reader must see the end of it even if we fail.
        # Also for files inside a folder: one of them may be a pipe or a device.
        with _stream(target) or nullcontext() as stream:
            place = real_place(target)
            if stream is None and not place.is_dir():
                _refuse_unwritable(place)
            # On the same file system as the place, so that renaming is enough.
            with private_folder(nearest_folder(place) if stream is None else None) as folder:
                staged = folder / (target.name if target.name.strip(".") else "out")
                yield staged
                if stream is None:
                    _publish(staged, place)
                else:
                    _send(staged, stream)
    except OSError as error:
        raise write_error(target, error) from None


def _refuse_url(target: Path) -> None:
    """Refuse a URL that became a path and lost a slash, rather than create a folder of that name."""
    if found := re.match(r"(s3|gs|az|https?|file):/", str(target)):
        raise WriteError(f"{target}: cannot be written to {found[1]}://; write a local file and copy it")


def write_error(target: Path, error: OSError) -> WriteError:
    """A system error as a WriteError with a sentence."""
    return WriteError(f"{target}: cannot be written: {error.strerror or error}")


def real_place(target: Path) -> Path:
    """Where links lead; for a dangling link, the file that it names."""
    with suppress(FileNotFoundError):
        target.stat()  # a loop of links, or a file in place of a folder, must fail now and not at the end
    return Path(os.path.realpath(target))


def nearest_folder(place: Path) -> Path:
    """The nearest existing folder for a new file: the place itself, its folder, or one above."""
    return next(each for each in (place, *place.parents) if each.is_dir())


def is_stream(target: Path) -> bool:
    """Whether the target is a device, a pipe or an open file (/dev/stdout), which cannot be replaced."""
    kind = stat.S_IFMT(_mode(target))
    return kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind != 0 and _descriptor(target) is not None)


def _mode(target: Path) -> int:
    """The target's mode; 0 if it does not exist or cannot be reached."""
    try:
        return target.stat().st_mode
    except OSError:
        return 0


def _stream(target: Path) -> IO[bytes] | None:
    """The open device or pipe; None if the target is a file or folder, or does not exist yet."""
    if not is_stream(target):
        return None
    if target.is_block_device():
        raise PermissionError(EACCES, "it is a disk")
    # An open file is duplicated, not opened again: opening would start at its beginning and overwrite it.
    handle = _descriptor(target)
    return os.fdopen(os.open(target, os.O_WRONLY) if handle is None else os.dup(handle), "wb")


def _descriptor(target: Path) -> int | None:
    """The file descriptor that a name such as /dev/stdout or /dev/fd/3 stands for."""
    own = Path("/dev/fd").resolve()
    # /dev/stdout leads to a descriptor through two or three links; more would be a loop.
    for _ in range(8):
        if target.name.isdecimal() and target.parent.resolve() == own:
            return int(target.name)
        if not target.is_symlink():
            return None
        target = target.parent / target.readlink()
    return None


@contextmanager
def _compressed(path: Path) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if path.suffix == ".gz":
            # No name and no time in the header: the same content always gives the same bytes.
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as inner:
                yield cast("IO[bytes]", inner)
        elif path.suffix == ".zst":
            with zstandard.ZstdCompressor().stream_writer(file, closefd=False) as inner:
                yield inner
        else:
            yield file


def _publish(staged: Path, place: Path) -> None:
    if not staged.is_dir():
        _replace(staged, place)
    elif not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        staged.replace(place)
    else:
        pairs = [(each, place / each.name) for each in sorted(staged.iterdir())]
        # All are checked before the first is replaced: half a folder of new files would be worse than none.
        for _, each in pairs:
            _refuse_unwritable(each)
        for file, each in pairs:
            with _stream(each) or nullcontext() as stream:
                if stream:
                    _send(file, stream)
                else:
                    _replace(file, real_place(each))


def _send(staged: Path, stream: IO[bytes]) -> None:
    with staged.open("rb") as file:
        shutil.copyfileobj(file, stream)


def _replace(staged: Path, place: Path) -> None:
    _refuse_unwritable(place)
    if place.exists():
        before = place.stat()
        with suppress(OSError, AttributeError):  # only root may change the owner; Windows has no chown
            os.chown(staged, before.st_uid, before.st_gid)
        staged.chmod(stat.S_IMODE(before.st_mode))
    place.parent.mkdir(parents=True, exist_ok=True)
    staged.replace(place)


def _refuse_unwritable(place: Path) -> None:
    """Refuse a protected file or a folder of that name; renaming would replace them silently."""
    if place.is_dir():
        raise IsADirectoryError(EISDIR, "it is a directory")
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES))
