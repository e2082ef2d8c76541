"""Validate: every place where a file is not as its format demands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError, UsageError
from pantrace.formats import Format, by_name, detect
from pantrace.model import Sample, Violation
from pantrace.wire.rows import read_rows

from .read import Notes, inputs, open_run


def validate(path_or_data: str | Path | Any, format: str | None = None) -> list[Violation]:  # noqa: A002
    """Violations of a file, or of one decoded record before it is written (then `format` must be named)."""
    if isinstance(path_or_data, (str, Path)):
        return list(file_violations(Path(path_or_data), format))
    if format is None:
        raise UsageError("validating data needs the name of its format")
    chosen = by_name(format)
    if chosen.check is not None:
        return list(chosen.check(path_or_data))
    return list(_load_violations(chosen, path_or_data))


def file_violations(path: Path, format_name: str | None) -> Iterator[Violation]:
    """Violations of a file, or of all files of a directory; ReadError when it is not readable at all."""
    if path.is_dir():
        for inner, chosen, _ in inputs([path], format_name, Notes.keeping()):
            yield from _violations(inner, chosen)
        return
    if not path.exists():
        raise ReadError("no such file or directory", path=str(path))
    yield from _violations(path, by_name(format_name) if format_name else detect(path)[0])


def _violations(path: Path, chosen: Format) -> Iterator[Violation]:
    for violation in _of(path, chosen):
        yield msgspec.structs.replace(violation, path=str(path))


def _of(path: Path, chosen: Format) -> Iterator[Violation]:
    if chosen.validate is not None:
        yield from chosen.validate(path)
        return
    broken: list[ReadError] = []
    if chosen.load is None or (chosen.open is not None and chosen.check is None):
        for _ in open_run(path, chosen, "", broken.append).samples:
            pass
        yield from (Violation(level="error", message=each.message, place=each.place) for each in broken)
        return
    for place, row in read_rows(path, broken.append):
        yield from (Violation(level="error", message=each.message, place=each.place) for each in broken)
        broken.clear()
        checked = chosen.check(row) if chosen.check else _load_violations(chosen, row)
        for violation in checked:
            inner = ", ".join(part for part in (place, violation.place) if part)
            yield msgspec.structs.replace(violation, place=inner or None)
    yield from (Violation(level="error", message=each.message, place=each.place) for each in broken)


def _load_violations(chosen: Format, row: Any) -> Iterator[Violation]:
    assert chosen.load is not None
    try:
        sample: Sample = chosen.load(row)
    except ReadError as error:
        yield Violation(level="error", message=error.message, place=error.place)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        yield Violation(level="error", message=f"not a record of {chosen.name}: {error}")
    else:
        if not sample.id:
            yield Violation(level="warning", message="the record has no id")
