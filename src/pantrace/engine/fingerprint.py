"""Fingerprint: identifies the content of an input, so that it is read again only if it has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from pantrace.formats import Format
from pantrace.places import is_mirrored
from pantrace.wire import files


def name_of(path: Path) -> str:
    """A short name for an input, from its path as given, because its samples store this path as their source."""
    return sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]


class Unwanted(Exception):
    """The hash is no longer needed."""


def content_hash(path: Path, is_over: Callable[[], bool] = lambda: False) -> str:
    """The hash of a file's bytes, or of a directory's names and bytes. `is_over`: whether to stop halfway."""
    digest = sha256()
    for file in _files(path):
        digest.update(_name(file.relative_to(path) if path.is_dir() else "") + b"\0")
        try:
            with file.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
                    if is_over():
                        raise Unwanted
        except OSError as error:
            raise files.read_error(file, error) from None
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def fingerprint(path: Path, chosen: Format, variant: str, content: str, circumstances: str) -> str:
    """The hash of everything that decides which samples an input gives: its content, neighbouring files that its reader
    uses, its format, and the circumstances (selection and reference)."""
    # The format, too: after an update, the same bytes may be read by another one.
    digest = sha256(repr((content, chosen.name, variant, circumstances)).encode("utf-8", "surrogatepass"))
    for other in read_beside(path, chosen):
        digest.update(_name(other) + b"\0" + content_hash(other).encode())
    return digest.hexdigest()[:32]


def signature(path: Path, chosen: Format) -> str:
    """The hash of names, sizes and times: changes whenever the fingerprint does, unless a file's time is set back."""
    digest = sha256()
    for file in (each for one in (path, *read_beside(path, chosen)) for each in _files(one)):
        try:
            found = file.stat()
        except OSError as error:
            raise files.read_error(file, error) from None
        # A copy of an object in a bucket has the object's time, but another inode on every machine.
        number = 0 if is_mirrored(file) else found.st_ino
        digest.update(_name(file) + f"\0{found.st_size} {found.st_mtime_ns} {number}\0".encode())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if _holds_data(each)) if path.is_dir() else [path]


def _holds_data(path: Path) -> bool:
    """False for the index of a database's log and for an empty log: merely reading a database can create them."""
    if path.name.endswith("-shm") or not path.is_file():
        return False
    return not path.name.endswith("-wal") or path.stat().st_size > 0


def read_beside(path: Path, chosen: Format) -> Iterator[Path]:
    """Files that are read together with an input: the log of a database, and those that the format knows."""
    logs: Iterable[Path] = () if path.is_dir() else (path.with_name(path.name + end) for end in ("-wal", "-journal"))
    for other in (*logs, *chosen.beside(path)):
        if other != path and (other.is_dir() or _holds_data(other)):
            yield other


def _name(path: Path | str) -> bytes:
    return str(path).encode("utf-8", "surrogateescape")
