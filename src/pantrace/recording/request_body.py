"""The body of an HTTP request: with a content-length or in chunks, gzipped or not, and never larger than allowed."""

from __future__ import annotations

import re
import zlib
from email.message import Message
from io import BufferedIOBase

from pantrace.errors import ReadError

_LINE = 4_096
"""Maximum bytes of the line before a chunk, or of a trailer."""
_TRAILERS = 100


def read_body(file: BufferedIOBase, headers: Message, most: int) -> bytes:
    """The whole body, unpacked; ReadError if it breaks off, is malformed, or has more than `most` bytes."""
    try:
        data = _sent(file, headers, most)
    except OSError as error:
        raise ReadError(f"the request ended early: {error}") from None
    coding = (headers.get("content-encoding") or "identity").strip().lower()
    if coding == "identity":
        return data
    if coding != "gzip":
        raise ReadError(f"the content-encoding {coding} is not supported; send gzip, or none")
    return _unpacked(data, most)


def _sent(file: BufferedIOBase, headers: Message, most: int) -> bytes:
    transfer = headers.get("transfer-encoding")
    if transfer is not None:
        # If there is a content-length as well, the chunks count (RFC 9112, 6.3).
        if transfer.strip().lower() != "chunked":
            raise ReadError(f"the transfer-encoding {transfer} is not supported; send chunked, or a content-length")
        return _chunks(file, most)
    # Twelve digits: Python's int() takes quadratic time for thousands of them.
    size = headers.get("content-length")
    if size is None or not re.fullmatch("[0-9]{1,12}", size) or int(size) > most:
        raise ReadError(f"a request needs a content-length of at most {most:,} bytes, or comes in chunks")
    return _exactly(file, int(size))


def _chunks(file: BufferedIOBase, most: int) -> bytes:
    found = bytearray()
    while True:
        # An extension may follow the length; it says nothing that we need.
        length = _line(file).partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,12}", length):
            raise ReadError(f"a chunk has no length: {length[:40]!r}")
        size = int(length, 16)
        if size == 0:
            break
        if len(found) + size > most:
            raise ReadError(f"the chunks have more than {most:,} bytes")
        found += _exactly(file, size)
        if _line(file).strip():
            raise ReadError("a chunk is longer than it says")
    for _ in range(_TRAILERS):
        if not _line(file).strip():
            return bytes(found)
    raise ReadError(f"more than {_TRAILERS} lines follow the last chunk")


def _line(file: BufferedIOBase) -> bytes:
    line = file.readline(_LINE)
    if not line.endswith(b"\n"):
        raise ReadError("the request ended early between two chunks" if len(line) < _LINE else "a line is too long")
    return line


def _exactly(file: BufferedIOBase, size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise ReadError(f"the request ended early: {len(data):,} of {size:,} bytes came")
    return data


def _unpacked(data: bytes, most: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        # With a limit: a few kilobytes of gzip can unpack to gigabytes.
        found = unpacker.decompress(data, most)
    except zlib.error as error:
        raise ReadError(f"not gzip: {error}") from None
    if unpacker.unconsumed_tail:
        raise ReadError(f"unpacks to more than {most:,} bytes")
    if not unpacker.eof:
        raise ReadError("not gzip: it is cut off")
    return found
