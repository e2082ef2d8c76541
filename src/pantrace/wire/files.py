"""Files: reading them, compression told by content, byte order marks."""

from __future__ import annotations

import io
import mmap
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from pantrace.errors import ReadError

from .json import BOM, UNFINISHED
from .limits import PackedTooTightly, TooLarge, limits
from .line_reading import Opened, whole_lines
from .pace import pace
from .span import Span
from .tap import listener
from .unpacking import Unpacked, is_packed

_BUFFER = 1 << 18
"""Lines of recordings are long: pieces of the usual 8 kB would be joined again and again."""


@contextmanager
def reading(path: Path, *, held: bool = False) -> Iterator[Opened]:
    """The bytes of a regular file, decompressed when it is gzip or zstd; errors of the system and of the codec as
    ReadError. `held`: all of it will be in memory at once."""
    try:
        with open_unpacked(path) as file:
            magic = file.read(4)
            file.seek(0)
            if is_packed(magic):
                with io.BufferedReader(Unpacked(file, magic, held=held), _BUFFER) as inner:
                    yield inner
            else:
                yield file
    except (PackedTooTightly, TooLarge) as error:
        raise error.at(path=str(path)) from None
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise read_error(path, error) from None


def open_unpacked(path: Path, buffer: int = _BUFFER) -> Opened:
    """A regular file as it is. A pipe may keep its reader waiting for ever, and a device may never end."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            remedy = "it can be read only once: save what comes out of it to a file" if stat.S_ISFIFO(mode) else None
            raise ReadError(f"not a regular file but {special(mode)}", path=str(path), remedy=remedy)
        return cast("Opened", path.open("rb", buffering=buffer))
    except OSError as error:
        raise read_error(path, error) from None


def special(mode: int) -> str:
    """What a file is that is neither regular nor a directory."""
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def read_error(path: Path, error: Exception) -> ReadError:
    """A system error as a sentence."""
    if isinstance(error, FileNotFoundError):
        return ReadError("no such file or directory", path=str(path))
    if isinstance(error, PermissionError):
        return ReadError("not readable", path=str(path), remedy="check its permissions")
    if isinstance(error, IsADirectoryError):
        return ReadError("is a directory", path=str(path))
    if isinstance(error, EOFError):
        return ReadError(f"the compressed data is {error}", path=str(path), remedy=UNFINISHED)
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ReadError(f"cannot be read: {text}", path=str(path), remedy="the file may be cut off or damaged")


def read_all(path: Path) -> bytes:
    """All bytes of a file, decompressed, without a byte order mark."""
    data = read_quietly(path)
    if (tell := listener()) is not None:
        tell(path, data)
    return data


def read_quietly(path: Path) -> bytes:
    """The same for who tells by itself what was read."""
    with reading(path, held=True) as file:
        return (_unpacked(file) if isinstance(file.raw, Unpacked) else _plain(file)).removeprefix(BOM)


def _plain(file: Opened) -> bytes:
    if os.fstat(file.fileno()).st_size > limits().record:
        raise TooLarge.record("the file")
    # From the file itself: a buffer that has been looked into already would be joined with what follows it, and copying
    # a document of some megabytes costs a third of decoding it.
    file.raw.seek(0)
    return file.raw.read() or b""


def _unpacked(file: Opened) -> bytes:
    """In pieces: a buffer that holds as much as is allowed would be made even for a small file."""
    pieces, length = [], 0
    while piece := file.read(_BUFFER):
        pieces.append(piece)
        length += len(piece)
        if length > limits().record:
            raise TooLarge.record("the document")
    return b"".join(pieces)


@contextmanager
def map_file(path: Path) -> Iterator[memoryview]:
    """A file's bytes without reading them into memory; a compressed one is unpacked into a temporary file first."""
    with tempfile.TemporaryFile() as unpacked, reading(path, held=True) as file:
        source: IO[bytes] = file
        if isinstance(file.raw, Unpacked):
            shutil.copyfileobj(file, unpacked)
            unpacked.flush()
            source = unpacked
        # Not closed here: records that are still held keep the mapping alive, and the last of them ends it.
        view = memoryview(mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ))
        yield view[len(BOM) :] if view[: len(BOM)] == BOM else view


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a file, decompressed, without a byte order mark."""
    with reading(path) as file:
        found = bytearray()
        try:
            while len(found) < size and (piece := file.read1(size - len(found))):
                found += piece
        except EOFError:
            if not found:  # what is there tells the format; whoever reads on is told that it is cut off
                raise
        return bytes(found).removeprefix(BOM)


class _Between(io.RawIOBase):
    """The bytes of a file from one place to another."""

    def __init__(self, file: Opened, begin: int, end: int):
        self._file, self._begin = file, begin
        self._left = self._size = end - begin
        file.seek(begin)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = io.SEEK_SET, /) -> int:
        if whence != io.SEEK_SET:
            place += self._size if whence == io.SEEK_END else self._size - self._left
        self._file.seek(self._begin + place)
        self._left = self._size - place
        return place

    def readinto(self, buffer: Any) -> int:
        count: int = self._file.readinto(memoryview(buffer)[: self._left])
        self._left -= count
        return count

    @property
    def share(self) -> float:
        """How much of it is read."""
        return 1 - self._left / self._size if self._size else 1.0


@contextmanager
def _reading_between(path: Path, begin: int, end: int) -> Iterator[Opened]:
    with reading(path) as file, io.BufferedReader(_Between(file, begin, end), _BUFFER) as inner:
        yield inner


def is_packed_file(path: Path) -> bool:
    """Whether a file is compressed, by its first bytes."""
    with open_unpacked(path, 16) as file:
        return is_packed(file.read(4))


def lines(
    path: Path, span: Span | None = None, on_broken: Callable[[ReadError], None] | None = None, *, held: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank; with `span`, those of it, numbered as in the whole file. One that is too large
    is told to `on_broken` and left out, or raised where nobody is told. `held`: all will be in memory at once."""
    with reading(path) if span is None else _reading_between(path, span.begin, span.end) as file:
        if isinstance(file.raw, Unpacked):
            _weigh(path)  # a bomb is refused before its first line
        share = partial(_share, file, path.stat().st_size)
        number = 0 if span is None else span.before
        length = 0
        for line in whole_lines(file):
            number += 1
            if line is None:
                error = TooLarge.record().at(path=str(path), place=f"line {number}")
                if on_broken is None:
                    raise error
                on_broken(error)
                continue
            length += len(line)
            if held and length > limits().record:
                raise TooLarge.record("the recording").at(path=str(path))
            if number == 1:
                line = line.removeprefix(BOM)
            if (watched := pace()) is not None:  # asked each time: a header may be read before anybody watches
                watched.at(share)
            if line and not line.isspace():
                if (tell := listener()) is not None:
                    tell((path, number), line)
                yield number, line
            else:
                number += _pass_blank_lines(file)


def _share(file: Opened, size: int) -> float:
    """How much of a file is read. Asked while another thread reads it: the raw place can be told at any time."""
    if isinstance(file.raw, _Between):
        return file.raw.share
    place = file.raw.packed if isinstance(file.raw, Unpacked) else file.raw.tell()
    return place / size


def _pass_blank_lines(file: Opened) -> int:
    """Pass over blank lines in strides, as there may be millions of them; gives their number."""
    passed = 0
    while stride := file.peek():
        blank = stride[: len(stride) - len(stride.lstrip())]
        if not (length := blank.rfind(b"\n") + 1):
            break
        passed += file.read(length).count(b"\n")
    return passed


def _weigh(path: Path) -> None:
    """Unpack as much as may be unpacked at any ratio and throw it away. What is torn shows when its lines are read."""
    left, buffer = limits().flowing, bytearray(_BUFFER)
    try:
        with reading(path) as file:
            while left >= 0 and (count := file.readinto(buffer)):
                left -= count
    except PackedTooTightly:
        raise
    except ReadError:
        return


def bare_suffix(path: Path) -> str:
    """The suffix without compression: ".jsonl" of "x.jsonl.zst"."""
    return Path(path.stem).suffix if path.suffix in (".gz", ".zst") else path.suffix
