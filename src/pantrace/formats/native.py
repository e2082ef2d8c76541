"""pantrace's own format: the model itself, as JSON Lines.

Spec: `pantrace schema`. The first line is `{"pantrace": "1", "run": {...}}`, each further line one sample.
Detect: the key `pantrace` in the first line.
Lost: nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Run, RunHeader, Sample, Source, Violation, header_of, with_samples
from pantrace.wire import files
from pantrace.wire.head import Head
from pantrace.wire.json import decode, decode_as, encode, to_plain
from pantrace.wire.rows import OnBroken

from .format import Format, NoOptions

VERSION = "1"


class FirstLine(msgspec.Struct, frozen=True, kw_only=True):
    """The line that says what the file is."""

    pantrace: str
    """Version of the format; a reader refuses one it does not know."""
    run: RunHeader = RunHeader()


def detect(head: Head) -> str | None:
    version = head.record.get("pantrace")
    return version if isinstance(version, str) else None


def load(row: Any) -> Sample:
    try:
        return msgspec.convert(row, Sample)
    except msgspec.ValidationError as error:
        raise ReadError(f"not a sample of the native format: {error}") from None


def dump(sample: Sample, options: NoOptions) -> Any:
    return to_plain(sample)


def open_run(path: Path, on_broken: OnBroken) -> Run:
    lines = files.lines(path)
    number, first = next(lines, (1, b"{}"))
    try:
        head = decode_as(first, FirstLine)
    except (ReadError, msgspec.ValidationError) as error:
        raise ReadError(
            f"the first line is not that of a native file: {error}", path=str(path), place=f"line {number}"
        ) from None
    if head.pantrace != VERSION:
        raise ReadError(
            f"version {head.pantrace} of the native format is not known here",
            path=str(path),
            place=f"line {number}",
            remedy=f"this pantrace reads version {VERSION}; a newer one may help",
        )

    def samples() -> Iterator[Sample]:
        for number, line in lines:
            try:
                yield decode_as(line, Sample)
            except ReadError as error:
                on_broken(ReadError(error.message, path=str(path), place=f"line {number}"))
            except msgspec.ValidationError as error:
                on_broken(ReadError(f"not a sample: {error}", path=str(path), place=f"line {number}"))

    source = head.run.source or Source(format="native", version=VERSION, path=str(path))
    return with_samples(msgspec.structs.replace(head.run, source=source), samples())


def save(run: Run, target: Path, options: NoOptions) -> None:
    with files.writing(target) as file:
        file.write(encode(FirstLine(pantrace=VERSION, run=header_of(run))) + b"\n")
        for sample in run.samples:
            file.write(encode(sample) + b"\n")


def validate(path: Path) -> Iterable[Violation]:
    broken: list[ReadError] = []
    for _ in open_run(path, broken.append).samples:
        while broken:
            error = broken.pop(0)
            yield Violation(level="error", message=error.message, place=error.place)
    for error in broken:
        yield Violation(level="error", message=error.message, place=error.place)


def check(row: Any) -> Iterable[Violation]:
    if isinstance(row, dict) and "pantrace" in row:
        return
    try:
        msgspec.convert(decode(encode(row)), Sample)
    except msgspec.ValidationError as error:
        yield Violation(level="error", message=str(error))


FORMAT = Format(
    name="native",
    title="pantrace's own JSON Lines: the model itself, nothing lost",
    spec="`pantrace schema`",
    detect=detect,
    load=load,
    dump=dump,
    open=open_run,
    save=save,
    check=check,
    validate=validate,
    suffix=".trace.jsonl",
    nests=True,
)
