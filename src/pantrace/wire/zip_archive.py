"""Zip archives of JSON members (stored, deflate, zstd as method 93), read member by member and written as a stream.

The standard library knows method 93 only from Python 3.14 on, and spends most of its time on things a log does not
need. Repeated member names are legal: the last one counts.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Literal, NamedTuple

import zstandard

from pantrace.errors import ReadError

from .files import open_unpacked
from .json import UNFINISHED
from .limits import PackedTooTightly, TooLarge, limits
from .read_listener import listener

STORED, DEFLATE, ZSTD = 0, 8, 93

Compression = Literal["zstd", "deflate", "stored"]

_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_LOCATOR = struct.Struct("<4sIQI")
_END_64 = struct.Struct("<4sQHHIIQQQQ")
_PACKING, _PACKING_AT = struct.Struct("<H8xII"), 10
"""Method, packed size and size in an entry of the directory."""
_BUFFER = 1 << 13
"""Bytes. Members are read all over the file; a large buffer would be filled again for each."""
_PIECE = 1 << 20
"""Bytes of the directory that are read at once."""
_PACKING_ADDS = 1 << 16
_FULL = 0xFFFFFFFF
_UTF8 = 0x800
_DATE = (1 << 5) | 1  # 1980-01-01, so that the same content gives the same bytes


class Member(NamedTuple):
    """One entry of the archive's directory."""

    name: str
    method: int
    crc: int
    packed: int
    size: int
    offset: int


def inflater() -> Callable[[bytes, int], bytes]:
    """A raw inflate function with a limit on its output: ISA-L if installed (twice as fast), otherwise zlib."""
    try:
        isal_zlib = import_module("isal.isal_zlib")
    except ImportError:
        return lambda data, most: zlib.decompressobj(-15).decompress(data, most)

    def inflate(data: bytes, most: int) -> bytes:
        try:
            return bytes(isal_zlib.decompressobj(-15).decompress(data, most))
        except isal_zlib.error as error:
            raise zlib.error(str(error)) from None

    return inflate


class Archive:
    """An open archive; `members` in the order of the directory, with only the last of repeated names."""

    def __init__(self, file: IO[bytes], path: str):
        self.file = file
        self.path = path
        self.members: dict[str, int] = {}
        """Names, with their offsets in the directory: a parsed entry for each would need more memory."""
        self._length = file.seek(0, 2)
        self._directory = bytearray()
        for name, place in _entries(file, self._directory, path):
            # Popped first, so that a repeated name takes the place of its last occurrence in the order.
            self.members.pop(name, None)
            self.members[name] = place
        self._weigh()
        self._inflate = inflater()
        self._zstd = zstandard.ZstdDecompressor()

    def _weigh(self) -> None:
        """Refuse an archive whose members are each small enough, but too large together."""
        total, ratio = 0, 0
        for place in self.members.values():
            method, packed, size = _PACKING.unpack_from(self._directory, place + _PACKING_AT)
            total += min(size, _most(packed, method))
            ratio = max(ratio, _ratio(method))
        if total > max(limits().flowing, ratio * self._length):
            raise PackedTooTightly.beyond(limits().flowing, ratio).at(path=self.path)

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def size(self, name: str) -> int:
        """A member's size as the directory states it."""
        return _member(name, self._directory, self.members[name]).size

    def read(self, name: str) -> bytes:
        """The content of a member; ReadError names it if it is damaged."""
        try:
            member = _member(name, self._directory, self.members[name])
            content = self._content(member)
        except (OSError, zlib.error, zstandard.ZstdError, struct.error, ValueError, IndexError, MemoryError) as error:
            raise ReadError(f"cannot be unpacked: {error}", path=self.path, place=name) from None
        except (PackedTooTightly, TooLarge) as error:
            raise error.at(path=self.path, place=name) from None
        # Checked, because damage inside JSON could look like other data.
        if len(content) != member.size or zlib.crc32(content) != member.crc:
            raise ReadError(
                "its checksum does not match", path=self.path, place=name, remedy="the file is damaged; copy it again"
            )
        if (tell := listener()) is not None:
            tell((self.path, name), content)
        return content

    def _content(self, member: Member) -> bytes:
        if member.size > _most(member.packed, member.method):
            raise PackedTooTightly.beyond(limits().held, _ratio(member.method))
        if member.size > limits().record:
            raise TooLarge.record("the member")
        if member.offset + member.packed > self._length:
            raise ValueError("it is longer than the archive")
        # Packing adds some bytes for each stretch; without this, a small member could claim the rest of a huge file.
        if member.packed > 2 * member.size + _PACKING_ADDS:
            raise ValueError("its packed size is far larger than its size")
        self.file.seek(member.offset)
        signature, *_, name_size, extra_size = _LOCAL.unpack(self.file.read(_LOCAL.size))
        if signature != b"PK\x03\x04":
            raise ValueError("no member where the directory says there is one")
        self.file.seek(name_size + extra_size, 1)
        packed = self.file.read(member.packed)
        if member.method == STORED:
            return packed
        if member.method == DEFLATE:
            # One byte more than declared, so that a member with more data is noticed.
            return self._inflate(packed, member.size + 1)
        if member.method == ZSTD:
            return self._unpack_zstd(packed, member.size)
        raise ReadError(
            f"compressed by method {member.method}, which is not supported", path=self.path, place=member.name
        )

    def _unpack_zstd(self, packed: bytes, size: int) -> bytes:
        if not size:
            return b""
        # The frame's own claim is checked before any memory is allocated for it.
        if zstandard.frame_content_size(packed) > size:
            raise ValueError("it is larger than the archive's directory declares")
        content = self._zstd.decompress(packed, max_output_size=size)
        if len(content) == size:
            return content
        # Several frames follow each other: Inspect begins a new one every 200 MiB.
        with self._zstd.stream_reader(packed, read_across_frames=True) as reader:
            return reader.read(size)


def _ratio(method: int) -> int:
    return limits().zstd_ratio if method == ZSTD else limits().deflate_ratio


def _most(packed: int, method: int) -> int:
    """Maximum bytes of a member with this packed size, since all of it will be in memory."""
    return max(limits().held, _ratio(method) * packed)


@contextmanager
def reading(path: Path) -> Iterator[Archive]:
    """Open an archive; members are read on demand."""
    with open_unpacked(path, _BUFFER) as file:
        yield Archive(file, str(path))


def member_names(path: Path) -> tuple[str, ...]:
    """The names in an archive; none if it is damaged."""
    try:
        with open_unpacked(path, _BUFFER) as file:
            return tuple(name for name, _ in _entries(file, bytearray(), str(path)))
    except (ReadError, OSError):
        return ()


def missing_directory(path: str) -> ReadError:
    """The error for an archive without its list of members, which is at the end of the file."""
    size = f"{Path(path).stat().st_size:,}"
    message = f"the archive is cut off at byte {size} of {size}: its list of members is missing or broken"
    return ReadError(message, path=path, remedy=UNFINISHED)


def _go_to_directory(file: IO[bytes], path: str) -> tuple[int, int]:
    """Go to where the directory begins; its size and its number of entries, as the archive declares them."""
    try:
        length = file.seek(0, 2)
        # A comment of up to 65,535 bytes may follow the end record.
        begin = file.seek(max(length - _END.size - 0xFFFF, 0))
        tail = file.read()
        place = tail.rfind(b"PK\x05\x06")
        if place < 0:
            raise missing_directory(path)
        *_, count, size, offset, _ = _END.unpack_from(tail, place)
        if count == 0xFFFF or _FULL in (size, offset):
            file.seek(begin + place - _LOCATOR.size)
            _, _, end_64, _ = _LOCATOR.unpack(file.read(_LOCATOR.size))
            file.seek(end_64)
            *_, count, size, offset = _END_64.unpack(file.read(_END_64.size))
        if count > limits().members:
            raise ReadError(f"more than {limits().members:,} members", path=path, remedy="split the archive")
        file.seek(offset)
        return size, count
    except (struct.error, OSError, OverflowError):
        raise missing_directory(path) from None


def _entries(file: IO[bytes], directory: bytearray, path: str) -> Iterator[tuple[str, int]]:
    """Each name with the place of its entry in `directory`, which is filled piece by piece: its declared size may be
    that of the whole file."""
    left, count = _go_to_directory(file, path)
    place = 0
    try:
        for _ in range(count):
            # An entry has three parts of at most 65,535 bytes.
            if len(directory) < place + _CENTRAL.size + 3 * 0xFFFF and left:
                piece = file.read(min(left, _PIECE))
                left = left - len(piece) if piece else 0
                directory += piece
                if len(directory) > limits().record:
                    raise TooLarge.record("the list of members").at(path=path)
            entry = _CENTRAL.unpack_from(directory, place)
            flags, (name_size, extra_size, comment_size) = entry[3], entry[10:13]
            if entry[0] != b"PK\x01\x02":
                raise missing_directory(path)
            begin = place + _CENTRAL.size
            raw = bytes(directory[begin : begin + name_size])
            # Without the flag, the zip specification says that names are in the old DOS code page.
            yield raw.decode() if flags & _UTF8 or raw.isascii() else raw.decode("cp437"), place
            place = begin + name_size + extra_size + comment_size
    except (struct.error, UnicodeDecodeError):
        raise missing_directory(path) from None


def _member(name: str, directory: bytearray, place: int) -> Member:
    entry = _CENTRAL.unpack_from(directory, place)
    method, (crc, packed, size, name_size, extra_size), offset = entry[4], entry[7:12], entry[16]
    if _FULL in (packed, size, offset):
        begin = place + _CENTRAL.size + name_size
        size, packed, offset = _sizes_64(bytes(directory[begin : begin + extra_size]), size, packed, offset)
    return Member(name, method, crc, packed, size, offset)


def _sizes_64(extra: bytes, size: int, packed: int, offset: int) -> tuple[int, int, int]:
    place = 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, place)
        if kind == 1:
            values = [number for (number,) in struct.iter_unpack("<Q", extra[place + 4 : place + 4 + length // 8 * 8])]
            size = values.pop(0) if size == _FULL else size
            packed = values.pop(0) if packed == _FULL else packed
            offset = values.pop(0) if offset == _FULL else offset
        place += 4 + length
    return size, packed, offset


class Writer:
    """An archive written member by member; only its directory is kept in memory."""

    def __init__(self, file: IO[bytes], compression: Compression = "zstd"):
        self.file = file
        self.method = {"zstd": ZSTD, "deflate": DEFLATE, "stored": STORED}[compression]
        self.members: list[Member] = []
        self.offset = 0
        self._zstd = zstandard.ZstdCompressor(level=3)

    def add(self, name: str, content: bytes) -> None:
        """Write one member."""
        packed = self._compress(content)
        member = Member(name, self.method, zlib.crc32(content), len(packed), len(content), self.offset)
        raw = name.encode()
        extra = _extra_64(member.size, member.packed)
        sizes = (_FULL, _FULL) if extra else (member.packed, member.size)
        self._write(
            _LOCAL.pack(
                b"PK\x03\x04", self._version(), _UTF8, member.method, 0, _DATE, member.crc, *sizes, len(raw), len(extra)
            )
        )
        self._write(raw)
        self._write(extra)
        self._write(packed)
        self.members.append(member)

    def finish(self) -> None:
        """Write the directory."""
        begin = self.offset
        for member in self.members:
            raw = member.name.encode()
            # If one does not fit, all three go into the zip64 field, in the order that the specification requires.
            large = max(member.size, member.packed, member.offset) >= _FULL
            extra = struct.pack("<HHQQQ", 1, 24, member.size, member.packed, member.offset) if large else b""
            sizes = (_FULL, _FULL) if large else (member.packed, member.size)
            offset = _FULL if large else member.offset
            version = self._version()
            entry = (b"PK\x01\x02", (3 << 8) | version, version, _UTF8, member.method, 0, _DATE, member.crc, *sizes)
            self._write(_CENTRAL.pack(*entry, len(raw), len(extra), 0, 0, 0, 0o600 << 16, offset) + raw + extra)
        size, count = self.offset - begin, len(self.members)
        if count >= 0xFFFF or self.offset >= _FULL:
            end_64 = self.offset
            self._write(_END_64.pack(b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, begin))
            self._write(_LOCATOR.pack(b"PK\x06\x07", 0, end_64, 1))
            count, size, begin = min(count, 0xFFFF), min(size, _FULL), _FULL
        self._write(_END.pack(b"PK\x05\x06", 0, 0, count, count, size, begin, 0))

    def _compress(self, content: bytes) -> bytes:
        if self.method == ZSTD:
            return self._zstd.compress(content)
        if self.method == DEFLATE:
            packer = zlib.compressobj(6, zlib.DEFLATED, -15)
            return packer.compress(content) + packer.flush()
        return content

    def _version(self) -> int:
        # The zip version that a reader needs: 6.3 for zstd, 4.5 for zip64.
        return 63 if self.method == ZSTD else 45

    def _write(self, data: bytes) -> None:
        self.file.write(data)
        self.offset += len(data)


def _extra_64(size: int, packed: int) -> bytes:
    return struct.pack("<HHQQ", 1, 16, size, packed) if max(size, packed) >= _FULL else b""
