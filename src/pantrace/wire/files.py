"""Reading files: regular ones only, decompressed by content, without a byte order mark."""

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

from .input_span import Span
from .json import BOM, UNFINISHED
from .limits import PackedTooTightly, TooLarge, limits
from .line_reading import Opened, whole_lines
from .progress import current_progress
from .read_listener import listener
from .unpacking import Unpacked, is_packed

_BUFFER = 1 << 18
"""Bytes. Lines of recordings are long: pieces of the usual 8 kB would be joined again and again."""


@contextmanager
def reading(path: Path, *, held: bool = False) -> Iterator[Opened]:
    """Open a regular file and decompress it if it is gzip or zstd; system and codec errors become ReadError. `held`:
    all of it will be in memory at once, so a stricter limit applies."""
    try:
        with open_unpacked(path) as file:
            # By content, not by name: files are renamed.
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
    """Open a regular file as it is. Others are refused: a pipe can block forever, and a device may never end."""
    try:
        # Checked before opening: opening a pipe without a writer would block for ever.
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            remedy = "it can be read only once: save its output to a file" if stat.S_ISFIFO(mode) else None
            raise ReadError(f"not a regular file but {special_kind(mode)}", path=str(path), remedy=remedy)
        return cast("Opened", path.open("rb", buffering=buffer))
    except OSError as error:
        raise read_error(path, error) from None


def special_kind(mode: int) -> str:
    """What kind of special file it is."""
    return "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"


def read_error(path: Path, error: Exception) -> ReadError:
    """A system error as a ReadError with a sentence."""
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
    data = read_unreported(path)
    # Only when loss is measured: every record is then compared with what became of it.
    if (tell := listener()) is not None:
        tell(path, data)
    return data


def has_more_lines(path: Path) -> bool:
    """Whether there is anything after the first line."""
    with reading(path) as file:
        ended = False
        while piece := file.read(1 << 20):
            if not ended:
                _, mark, piece = piece.partition(b"\n")
                ended = bool(mark)
            if ended and piece.strip():
                return True
    return False


def read_unreported(path: Path) -> bytes:
    """The same without telling the listener, for callers who report the records themselves."""
    with reading(path, held=True) as file:
        return (_unpacked(file) if isinstance(file.raw, Unpacked) else _plain(file)).removeprefix(BOM)


def _plain(file: Opened) -> bytes:
    if os.fstat(file.fileno()).st_size > limits().record:
        raise TooLarge.record("the file")
    # From the raw file: a buffer that was used already would be joined with the rest, and copying a document of some
    # megabytes costs a third of decoding it.
    file.raw.seek(0)
    return file.raw.read() or b""


def _unpacked(file: Opened) -> bytes:
    """Read in pieces: asking for as much as is allowed would allocate that much for a small file too."""
    pieces, length = [], 0
    while piece := file.read(_BUFFER):
        pieces.append(piece)
        length += len(piece)
        if length > limits().record:
            raise TooLarge.record("the document")
    return b"".join(pieces)


@contextmanager
def map_file(path: Path) -> Iterator[memoryview]:
    """Map a file's bytes without reading them into memory; a compressed file is unpacked to a temporary one first."""
    with tempfile.TemporaryFile() as unpacked, reading(path, held=True) as file:
        source: IO[bytes] = file
        if isinstance(file.raw, Unpacked):
            shutil.copyfileobj(file, unpacked)
            unpacked.flush()
            source = unpacked
        # Not closed here: records that are still in use keep the mapping alive, and the last of them ends it.
        view = memoryview(mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ))
        yield view[len(BOM) :] if view[: len(BOM)] == BOM else view


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a file, decompressed, without a byte order mark."""
    with reading(path) as file:
        found = bytearray()
        try:
            # read1: a damaged file can still be detected by what comes before the damage.
            while len(found) < size and (piece := file.read1(size - len(found))):
                found += piece
        except EOFError:
            if not found:  # the start is enough to detect the format; the reader reports that the file is cut off
                raise
        return bytes(found).removeprefix(BOM)


class _Between(io.RawIOBase):
    """The bytes of a file between two offsets."""

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
        """The share of these bytes that has been read."""
        return 1 - self._left / self._size if self._size else 1.0


@contextmanager
def _reading_between(path: Path, begin: int, end: int) -> Iterator[Opened]:
    with reading(path) as file, io.BufferedReader(_Between(file, begin, end), _BUFFER) as inner:
        yield inner


def is_packed_file(path: Path) -> bool:
    """Whether a file is compressed, judged by its first bytes."""
    with open_unpacked(path, 16) as file:
        return is_packed(file.read(4))


def lines(
    path: Path, span: Span | None = None, on_broken: Callable[[ReadError], None] | None = None, *, held: bool = False
) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank; with `span`, only its lines, numbered as in the whole file. A line that is too
    large goes to `on_broken`, or is raised without one. `held`: all lines will be in memory at once."""
    with reading(path) if span is None else _reading_between(path, span.begin, span.end) as file:
        if isinstance(file.raw, Unpacked):
            _weigh(path)  # a zip bomb is refused before its first line is used
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
            # Looked up for each line: a header may be read before the progress display exists.
            if (watched := current_progress()) is not None:
                watched.at(share)
            if line and not line.isspace():
                if (tell := listener()) is not None:
                    tell((path, number), line)
                yield number, line
            else:
                number += _pass_blank_lines(file)


def _share(file: Opened, size: int) -> float:
    """The share of a file that has been read. The progress display asks from another thread; the raw offset is always
    safe to read."""
    if isinstance(file.raw, _Between):
        return file.raw.share
    place = file.raw.packed if isinstance(file.raw, Unpacked) else file.raw.tell()
    return place / size


def _pass_blank_lines(file: Opened) -> int:
    """Skip blank lines in large steps, as there may be millions; returns how many."""
    passed = 0
    while stride := file.peek():
        blank = stride[: len(stride) - len(stride.lstrip())]
        if not (length := blank.rfind(b"\n") + 1):
            break
        passed += file.read(length).count(b"\n")
    return passed


def _weigh(path: Path) -> None:
    """Unpack up to the limit and throw it away, to refuse a zip bomb early. Torn data is reported later, when its lines
    are read."""
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
    """The suffix without compression: ".jsonl" for "x.jsonl.zst"."""
    return Path(path.stem).suffix if path.suffix in (".gz", ".zst") else path.suffix
