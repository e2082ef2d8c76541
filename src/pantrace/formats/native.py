"""pantrace's own format: the model itself, as JSON Lines.

Spec: `pantrace schema`. The first line is `{"pantrace": "2", "run": {...}}`, each further line one sample. Keys that
the model does not know are kept in the `extra` of their level, under `native`. Files of version 1 are read, too.
Detect: the key `pantrace` in the first line.
Lost: nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from pantrace.errors import ReadError, WriteError
from pantrace.model import Extra, Run, RunHeader, Sample, Source, Violation, with_samples
from pantrace.wire import files
from pantrace.wire.closest_name import closest_name
from pantrace.wire.head import Head
from pantrace.wire.input_cuts import Cutting, by_lines
from pantrace.wire.input_span import Span
from pantrace.wire.json import decode, decode_as, decode_document, encode, first_misfit, to_plain
from pantrace.wire.optional import text_of
from pantrace.wire.output import writing
from pantrace.wire.output_row import Row
from pantrace.wire.rows import OnBroken
from pantrace.wire.unknown_keys import UnknownKey, with_unknown
from pantrace.wire.upgrade import upgrade

from .format import Format, NoOptions

NAME = "native"
VERSION = "2"
OLD = "1"
"""The earlier version: its samples are upgraded as they are read."""

T = TypeVar("T", bound=msgspec.Struct)


class FirstLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The line that says what the file is."""

    pantrace: str
    """Version of the format; a reader refuses one it does not know."""
    run: RunHeader = RunHeader()
    extra: Extra = {}


def detect(head: Head) -> str | None:
    version = head.record.get("pantrace")
    return text_of(version)


def load(row: Any) -> Sample:
    try:
        return with_unknown(row, Sample, NAME)
    except msgspec.ValidationError as error:
        raise ReadError(f"not a sample of the native format: {error}") from None


def dump(sample: Sample, options: NoOptions) -> Any:
    return to_plain(sample)


def plan(path: Path, cutting: Cutting) -> Iterable[Span]:
    return by_lines(path, cutting.size)


def open_span(path: Path, span: Span, on_broken: OnBroken) -> Run:
    return open_run(path, on_broken, span)


def open_run(path: Path, on_broken: OnBroken, span: Span | None = None) -> Run:
    lines = files.lines(path, None, on_broken)
    number, first = next(lines, (1, b"{}"))
    # A worker that reads a later part of the file still needs the version and run in its first line.
    if span is not None:
        header = number
        lines = ((each, line) for each, line in files.lines(path, span, on_broken) if each > header)
    try:
        head = _decode_line(first, FirstLine)
    except (ReadError, msgspec.ValidationError) as error:
        raise ReadError(
            f"the first line is not that of a native file: {error}", path=str(path), place=f"line {number}"
        ) from None
    # A newer version may mean something else by the same keys.
    if head.pantrace not in (VERSION, OLD):
        raise ReadError(
            f"version {head.pantrace} of the native format is not known here",
            path=str(path),
            place=f"line {number}",
            remedy=f"this version of pantrace reads versions {OLD} and {VERSION}; a newer one may help",
        )
    is_old = head.pantrace == OLD

    def samples() -> Iterator[Sample]:
        for number, line in lines:
            try:
                sample = _decode_line(line, Sample)
                yield upgrade(sample) if is_old else sample
            except ReadError as error:
                on_broken(ReadError(error.message, path=str(path), place=f"line {number}"))
            except msgspec.ValidationError as error:
                on_broken(ReadError(f"not a sample: {error}", path=str(path), place=f"line {number}"))

    source = head.run.source or Source(format=NAME, version=head.pantrace, path=str(path))
    # Unknown keys of the line and of the run inside it end in one place; neither may overwrite the other.
    extra = {**head.run.extra, **head.extra}
    if NAME in extra:
        extra[NAME] = {**head.run.extra.get(NAME, {}), **head.extra.get(NAME, {})}
    return with_samples(msgspec.structs.replace(head.run, source=source, extra=extra), samples())


def _decode_line(line: bytes, kind: type[T]) -> T:
    """A line as a struct, with unknown keys kept."""
    try:
        return decode_as(line, kind)
    except msgspec.ValidationError:
        # The slower path, only for lines with keys that the model does not know.
        return with_unknown(decode(line), kind, NAME)


def save(header: RunHeader, rows: Iterable[Row], target: Path, options: NoOptions) -> None:
    """Write one line for the header and one for each sample; refuse a value that could not be read again."""
    if header.source is not None and header.source.format == NAME:
        # The source would be the path of the file we read: with it, a copy would differ from its original.
        header = msgspec.structs.replace(header, source=None)
    with writing(target) as file:
        if (why := first_misfit(header, RunHeader)) is not None:
            raise WriteError(f"{target}: not written: the run's {why}")
        file.write(encode(FirstLine(pantrace=VERSION, run=header)) + b"\n")
        for row in rows:
            if (why := first_misfit(row.sample, Sample)) is not None:
                raise WriteError(f"{target}: not written: sample {row.sample.id}: {why}")
            # The row was encoded when its loss was measured; encoding it again would double the work.
            file.write(row.data + b"\n")


def validate(path: Path) -> Iterable[Violation]:
    # Raises if the first line is wrong: then the other lines cannot be checked.
    open_run(path, lambda _: None)
    for number, line in files.lines(path):
        try:
            row = decode_document(line)
        except ReadError as error:
            yield Violation(level="error", message=error.message, place=f"line {number}")
            continue
        for found in check(row):
            inside = f", {found.place}" if found.place else ""
            yield msgspec.structs.replace(found, place=f"line {number}{inside}")


def check(row: Any) -> Iterable[Violation]:
    kind: type[FirstLine | Sample] = FirstLine if isinstance(row, dict) and "pantrace" in row else Sample
    unknown: list[UnknownKey] = []
    try:
        with_unknown(row, kind, NAME, unknown.append)
    except msgspec.ValidationError as error:
        # msgspec gives the place only as the end of its message.
        what, _, where = str(error).partition(" - at ")
        yield Violation(level="error", message=f"not a sample: {what}", place=where.strip("`$.") or None)
    for place, key, known in unknown:
        yield Violation(level="warning", message=_unknown_key_message(key, known), place=place or None)


_SHOWN = 200
"""Letters of a key in a message."""


def _unknown_key_message(key: str, known: tuple[str, ...]) -> str:
    if repeated := re.fullmatch(r"(.+) \(duplicate \d+\)", key):
        return f"repeated key {repeated[1]!r}: the last one counts"
    close = closest_name(key, known)
    hint = f"; did you mean {close}?" if close else ""
    shown = key if len(key) <= _SHOWN else f"{key[:_SHOWN]}…"
    return f"unknown key {shown!r}, kept in extra.{NAME}{hint}"


FORMAT = Format(
    name=NAME,
    title="pantrace's own JSON Lines: the model itself, without loss",
    spec="`pantrace schema`",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    plan=plan,
    open_span=open_span,
    save=save,
    check=check,
    validate=validate,
    suffix=".trace.jsonl",
    typed=True,
    nests=True,
)
