"""The records of a JSON Lines file, a JSON array or a single JSON document, one at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn
from zlib import crc32

import msgspec

from pantrace.errors import ReadError

from . import files
from .input_cuts import by_lines
from .input_span import Span
from .json import UNFINISHED, decode_document, encode, indent_json, typed_decoder
from .limits import TooLarge, limits
from .objects_on_line import objects_on_line
from .output import writing
from .output_row import Row
from .progress import report_place
from .read_listener import listener

Layout = Literal["lines", "array", "document", "log"]
"""How a file contains rows: one on each line, as items of an array, a single one, or (log) a single one whose records
are the lines of the file."""

_items = typed_decoder(list[msgspec.Raw])

OnBroken = Callable[[ReadError], None]
"""Takes the error of one broken record; reading continues after it."""

Decode = Callable[[bytes | memoryview], Any]
"""Turns text into a record; ReadError if that is not possible."""


def raise_broken(error: ReadError) -> NoReturn:
    """Stop at the first broken record; the strict choice for `on_broken`."""
    raise error


def layout_of(start: bytes, *, whole: bool) -> Layout:
    """The layout of a text that begins like this; `whole`: the text is complete."""
    text = start.lstrip()
    first, newline, rest = text.partition(b"\n")
    if text.startswith(b"["):
        # A conversation on each line, as a list of its messages.
        return "lines" if rest.lstrip().startswith(b"[") and _is_value(first) else "array"
    if newline and (rest.strip() or not whole):
        try:
            decode_document(first)
        except ReadError:
            # Two lines that both begin like an object are lines, even if the first is cut off.
            alike = rest.lstrip(b" \t").startswith(b"{") and not first.rstrip().endswith(b"{")
            return "lines" if alike and not (whole and _is_value(text)) else "document"
        return "lines"
    # The line is longer than the head. Read as lines, a document on a single line comes out the same.
    if not newline and not whole:
        return "lines" if text.startswith(b"{") else "document"
    return "lines" if objects_on_line(first) else "document"


def layout_at(path: Path) -> Layout:
    """The layout of the file at a path."""
    size = 1 << 16
    start = files.read_start(path, size)
    # Minus 8: a byte order mark of 3 bytes may have been removed.
    return layout_of(start, whole=len(start) < size - 8)


def read_log(path: Path, on_broken: OnBroken) -> list[Any]:
    """All records of a file that form one recording; ReadError if it is larger than a record may be."""
    return [record for _, record in read_rows(path, on_broken, held=True)]


def read_rows(
    path: Path,
    on_broken: OnBroken,
    span: Span | None = None,
    decode: Decode = decode_document,
    *,
    held: bool = False,
) -> Iterator[tuple[str | None, Any]]:
    """Each record with its place ("line 3", "item 3"; None for a document). Broken ones go to `on_broken`. With `span`,
    only the records of these lines. `held`: all will be in memory at once."""
    layout = "lines" if span is not None else layout_at(path)
    if layout == "lines":
        yield from _read_lines(path, on_broken, span, decode, held=held)
        return
    if layout == "array":
        with files.map_file(path) as view:
            if held and len(view) > limits().record:
                raise TooLarge.record("the recording").at(path=str(path))
            yield from _read_array(path, view, on_broken, decode)
        return
    yield from _read_values(path, on_broken, decode)


def _read_document(path: Path, on_broken: OnBroken, decode: Decode) -> Iterator[tuple[None, Any]]:
    data = files.read_all(path)
    try:
        yield None, decode(data)
    except ReadError as error:
        on_broken(error.at(path=str(path)))


def _is_value(text: bytes) -> bool:
    try:
        decode_document(text)
    except ReadError:
        return False
    return True


def rows_in(
    path: Path, layout: Layout, on_broken: OnBroken, span: Span | None = None, decode: Decode = decode_document
) -> Iterator[tuple[str | None, Any]]:
    """Each row of a file with its place. A document is one row, even if it is a list; so is a whole log."""
    if layout == "document":
        yield from _read_document(path, on_broken, decode)
    elif layout == "log":
        records = read_log(path, on_broken)
        if records:
            yield None, records
    else:
        yield from read_rows(path, on_broken, span, decode)


def cut_rows(path: Path, size: int) -> Iterator[Span]:
    """Spans of a file that has one row per line; none for any other file."""
    if layout_at(path) == "lines":
        yield from by_lines(path, size)


def _read_lines(
    path: Path, on_broken: OnBroken, span: Span | None, decode: Decode, *, held: bool
) -> Iterator[tuple[str, Any]]:
    for number, line in files.lines(path, span, on_broken, held=held):
        place = f"line {number}"
        try:
            row = decode(line)
        except ReadError as error:
            if pieces := objects_on_line(line):
                yield from _read_pieces(path, number, pieces, on_broken, decode)
            else:
                on_broken(_on_line(path, place, error))
            continue
        yield place, row


def _read_pieces(
    path: Path, number: int, pieces: list[bytes], on_broken: OnBroken, decode: Decode
) -> Iterator[tuple[str, Any]]:
    """The objects on one line, reported one by one; the line as a whole was reported before and is not JSON."""
    for count, piece in enumerate(pieces, 1):
        place = f"line {number}, object {count}"
        if (tell := listener()) is not None:
            tell((path, number, count), piece)
        try:
            row = decode(piece)
        except ReadError as error:
            on_broken(_on_line(path, place, error))
            continue
        yield place, row


def _on_line(path: Path, place: str, error: ReadError) -> ReadError:
    column = (error.place or "").rpartition(", ")[2]
    where = f"{place}, {column}" if column else place
    return ReadError(error.message, path=str(path), place=where, remedy=error.remedy)


def _read_array(path: Path, data: memoryview, on_broken: OnBroken, decode: Decode) -> Iterator[tuple[str, Any]]:
    try:
        # Only cut into raw items: each is decoded when it is its turn, so that one broken item does not cost the array.
        items: Iterable[Any] = _items(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        items = _split_items(path, data, on_broken)
    yield from _decode_or_report(path, items, "item", on_broken, decode)


def _read_values(path: Path, on_broken: OnBroken, decode: Decode) -> Iterator[tuple[str | None, Any]]:
    """JSON values one after another, each on many lines, as a pretty printer writes them; or a single document."""
    data = files.read_unreported(path)
    try:
        whole = decode(data)
    except ReadError as error:
        values = list(_split_values(path, memoryview(data), on_broken))
        # A single value that cannot be decoded is a broken document, whose error says more.
        if not values or bytes(values[0]).strip() == data.strip():
            on_broken(error.at(path=str(path)))
            return
        yield from _decode_or_report(path, values, "value", on_broken, decode)
        return
    if (tell := listener()) is not None:
        tell(path, data)
    yield None, whole


def _decode_or_report(
    path: Path, items: Iterable[Any], word: str, on_broken: OnBroken, decode: Decode = decode_document
) -> Iterator[tuple[str, Any]]:
    for number, item in enumerate(items, 1):
        place = f"{word} {number}"
        if isinstance(items, list):
            report_place(number, len(items))
        # The array is only mapped; decoding an item would put all of it in memory.
        if len(memoryview(item)) > limits().record:
            on_broken(TooLarge.record().at(path=str(path), place=place))
            continue
        if (tell := listener()) is not None:
            item = bytes(item)
            tell((path, place), item)
        try:
            row = decode(item)
        except ReadError as error:
            on_broken(ReadError(error.message, path=str(path), place=place))
            continue
        yield place, row


_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)
"""A string ends at its quote or at the end of the text; otherwise a cut-off one would be tried again at each quote."""


_LAST = "what follows it in the array is not read"


def _split_items(path: Path, data: memoryview, on_broken: OnBroken) -> Iterator[memoryview]:
    """Items of an array that msgspec refuses: the complete ones, then the error of the cut-off or too deep one."""
    depth = 0
    begin = 0
    number = 0
    for token in _TOKEN.finditer(data):
        mark = bytes(data[token.start() : token.start() + 1])  # one byte: the whole token may be a long text
        if mark in (b"[", b"{"):
            depth += 1
            begin = token.end() if depth == 1 else begin
            if depth > limits().depth:
                message = f"nested deeper than {limits().depth} levels"
                on_broken(ReadError(message, path=str(path), place=f"item {number + 1}", remedy=_LAST))
                return
        elif mark in (b"]", b"}"):
            depth -= 1
        if (mark == b"," and depth == 1) or depth == 0:
            item = data[begin : token.start()]
            if bytes(item).strip():
                number += 1
                yield item
            begin = token.end()
            if depth == 0:
                return
    line = bytes(data[:begin]).count(b"\n") + 1
    place = f"item {number + 1}, line {line}"
    message = f"the JSON is cut off at byte {len(data):,} of {len(data):,}: the item that starts here does not end"
    on_broken(ReadError(message, path=str(path), place=place, remedy=UNFINISHED))


def values_in(start: bytes) -> list[bytes]:
    """The values that a text has one after another, the last perhaps cut off; [] if it has less than two."""
    torn: list[ReadError] = []
    found = [bytes(value) for value in _split_values(Path(), memoryview(start), torn.append)]
    if torn:
        found.append(start[sum(map(len, found)) :])
    return found if len(found) > 1 else []


def _split_values(path: Path, data: memoryview, on_broken: OnBroken) -> Iterator[memoryview]:
    """The complete values of a text, then the error of a cut-off one at its end; nothing if none is complete."""
    depth = begin = found = 0
    for token in _TOKEN.finditer(data):
        mark = token.group()
        depth += (mark in (b"[", b"{")) - (mark in (b"]", b"}"))
        if depth == 0 and mark in (b"]", b"}"):
            found += 1
            yield data[begin : token.end()]
            begin = token.end()
    if found and (rest := bytes(data[begin:])).strip():
        line = bytes(data[:begin]).count(b"\n") + rest[: len(rest) - len(rest.lstrip())].count(b"\n") + 1
        place = f"value {found + 1}, line {line}"
        on_broken(ReadError("the value that starts here does not end", path=str(path), place=place, remedy=UNFINISHED))


def count_rows(path: Path) -> int:
    """The number of records in a file; decoded only if there is a listener. ReadError if the file is damaged."""
    layout = layout_at(path)
    if layout == "lines":
        return sum(1 for _ in files.lines(path))
    if layout == "array" and listener() is None:
        with files.map_file(path) as view:
            try:
                return len(_items(view))
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass  # the slow way says where it is broken
    return sum(1 for _ in read_rows(path, raise_broken))


def written_layout(target: Path, default: Layout) -> Layout:
    """The layout of a file to write: by its suffix, otherwise the default."""
    by_suffix: dict[str, Layout] = {".jsonl": "lines", ".ndjson": "lines", ".json": "array"}
    layout = by_suffix.get(files.bare_suffix(target), default)
    # A log always consists of lines, and a single document named .json is not put into an array.
    return default if default == "log" or (layout == "array" and default == "document") else layout


class Seal(NamedTuple):
    """How many rows were written to a file, and the checksum of its bytes before compression."""

    rows: int
    checksum: int


def write_rows(rows: Iterable[Any], target: Path, *, default: Layout, indent: int = 2) -> Seal:
    """Write rows (values, or `Row`s that may be encoded already) as lines or as an array, by the name's suffix."""
    layout = written_layout(target, default)
    count = checksum = 0
    with writing(target) as file:
        for count, row in enumerate(rows, 1):
            text = _text(row, layout, indent, is_first=count == 1)
            checksum = crc32(text, checksum)
            file.write(text)
        if layout == "array":
            text = b"\n]\n" if count else b"[]\n"
            checksum = crc32(text, checksum)
            file.write(text)
    return Seal(count, checksum)


def _text(row: Any, layout: Layout, indent: int, *, is_first: bool) -> bytes:
    if layout == "log":
        records = row.value if isinstance(row, Row) else row
        return b"".join([encode(record) + b"\n" for record in records])
    data = row.data if isinstance(row, Row) else encode(row)
    if layout == "lines":
        return data + b"\n"
    if layout == "document":
        return indent_json(data, indent) + b"\n"
    return (b"[\n" if is_first else b",\n") + indent_json(data, indent)


def is_sealed(path: Path, seal: Seal) -> bool:
    """Whether a file still has exactly the bytes that were written to it."""
    checksum = 0
    with files.reading(path) as file:
        while piece := file.read(1 << 20):
            checksum = crc32(piece, checksum)
    return checksum == seal.checksum
