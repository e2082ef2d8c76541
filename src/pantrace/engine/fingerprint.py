"""Fingerprint: what an input is made of, so that it is read again when that has changed, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from pantrace.formats import Format
from pantrace.places import is_mirrored
from pantrace.wire import files


def name_of(path: Path) -> str:
    """A short name for an input, by its path as it was given: its samples say that they are from there."""
    return sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]


class Unwanted(Exception):
    """Nobody waits for the hash any more."""


def content_hash(path: Path, is_over: Callable[[], bool] = lambda: False) -> str:
    """Of a file's bytes, or of a directory's names and bytes. `is_over`: whether to stop in the middle."""
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
    """Of all that decides which samples an input gives: its content, files beside it that its reader looks into, its
    format, and the circumstances: selection and reference."""
    digest = sha256(repr((content, chosen.name, variant, circumstances)).encode("utf-8", "surrogatepass"))
    for other in read_beside(path, chosen):
        digest.update(_name(other) + b"\0" + content_hash(other).encode())
    return digest.hexdigest()[:32]


def signature(path: Path, chosen: Format) -> str:
    """Of names, sizes and times: changes whenever the fingerprint does, unless someone sets a file's time back."""
    digest = sha256()
    for file in (each for one in (path, *read_beside(path, chosen)) for each in _files(one)):
        try:
            found = file.stat()
        except OSError as error:
            raise files.read_error(file, error) from None
        # A copy of what is in a bucket has the object's time, and on every machine another number.
        number = 0 if is_mirrored(file) else found.st_ino
        digest.update(_name(file) + f"\0{found.st_size} {found.st_mtime_ns} {number}\0".encode())
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if _holds_data(each)) if path.is_dir() else [path]


def _holds_data(path: Path) -> bool:
    """Not so the index of a database's log, and an empty log: whoever reads the database may leave them."""
    if path.name.endswith("-shm") or not path.is_file():
        return False
    return not path.name.endswith("-wal") or path.stat().st_size > 0


def read_beside(path: Path, chosen: Format) -> Iterator[Path]:
    """Files that are read along: the log of a database, and what the format knows of."""
    logs: Iterable[Path] = () if path.is_dir() else (path.with_name(path.name + end) for end in ("-wal", "-journal"))
    for other in (*logs, *chosen.beside(path)):
        if other != path and (other.is_dir() or _holds_data(other)):
            yield other


def _name(path: Path | str) -> bytes:
    return str(path).encode("utf-8", "surrogateescape")
