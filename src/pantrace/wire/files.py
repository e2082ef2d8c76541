"""Files: reading them, compression told by content, byte order marks."""

from __future__ import annotations

import gzip
import mmap
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import zstandard

from pantrace.errors import ReadError

from .json import BOM

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
_BUFFER = 1 << 18
"""Lines of recordings are long: pieces of the usual 8 kB would be joined again and again."""


@contextmanager
def reading(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed when it is gzip or zstd; errors of the system and of the codec as ReadError."""
    try:
        with path.open("rb", buffering=_BUFFER) as file:
            magic = file.read(4)
            file.seek(0)
            if magic.startswith(GZIP):
                with gzip.open(file) as inner:
                    yield cast("IO[bytes]", inner)
            elif magic == ZSTD:
                with zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as inner:
                    yield inner
            else:
                yield file
    except (OSError, EOFError, zstandard.ZstdError) as error:
        raise read_error(path, error) from None


def read_error(path: Path, error: Exception) -> ReadError:
    """A system error as a sentence."""
    if isinstance(error, FileNotFoundError):
        return ReadError("no such file or directory", path=str(path))
    if isinstance(error, PermissionError):
        return ReadError("not readable", path=str(path), remedy="check its permissions")
    if isinstance(error, IsADirectoryError):
        return ReadError("is a directory", path=str(path))
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ReadError(f"cannot be read: {text}", path=str(path), remedy="the file may be cut off or damaged")


def read_all(path: Path) -> bytes:
    """All bytes of a file, decompressed, without a byte order mark."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise read_error(path, error) from None
    if data.startswith((GZIP, ZSTD)):
        with reading(path) as file:
            data = file.read()
    return data.removeprefix(BOM)


@contextmanager
def mapped(path: Path) -> Iterator[memoryview]:
    """A file's bytes without reading them into memory; a compressed one is unpacked into a temporary file first."""
    with tempfile.TemporaryFile() as unpacked, path.open("rb") as file:
        magic = file.read(4)
        if magic.startswith(GZIP) or magic == ZSTD:
            with reading(path) as packed:
                shutil.copyfileobj(packed, unpacked)
            unpacked.flush()
        source = unpacked if magic.startswith(GZIP) or magic == ZSTD else file
        # Not closed here: records that are still held keep the mapping alive, and the last of them ends it.
        view = memoryview(mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ))
        yield view[len(BOM) :] if view[: len(BOM)] == BOM else view


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a file, decompressed, without a byte order mark; what a torn archive still gives."""
    with reading(path) as file:
        return file.read(size).removeprefix(BOM)


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank."""
    with reading(path) as file:
        buffered = file if hasattr(file, "readline") and not _is_zstd(file) else _Lines(file)
        for number, line in enumerate(buffered, 1):
            if number == 1:
                line = line.removeprefix(BOM)
            if line and not line.isspace():
                yield number, line


def _is_zstd(file: IO[bytes]) -> bool:
    return type(file).__module__.startswith("zstandard")


class _Lines:
    """Lines of a stream that only gives chunks."""

    def __init__(self, stream: IO[bytes]):
        self.stream = stream

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        while chunk := self.stream.read(1 << 20):
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (line + b"\n" for line in whole)
        if rest:
            yield rest


def bare_suffix(path: Path) -> str:
    """The suffix without compression: ".jsonl" of "x.jsonl.zst"."""
    return Path(path.stem).suffix if path.suffix in (".gz", ".zst") else path.suffix
