"""Validation: every violation of what Inspect or the Inspect log guide requires, above all of the id rule.

A sample is shown only if its id is the same, type included, in the sample, in its member's name, in its summary and in
`dataset.sample_ids`; otherwise the viewer stays blank without an error.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Violation
from pantrace.wire import zip_archive
from pantrace.wire.json import encode
from pantrace.wire.optional import object_of
from pantrace.wire.shape import violations
from pantrace.wire.violation import error, under, warning

from .reading import (
    HEADER,
    JOURNAL,
    START,
    SUMMARIES,
    decode_row,
    document,
    is_archive,
    member,
    sample_names,
    sorted_journal,
)
from .records import check, check_header, check_usage
from .shapes import START as START_SHAPE
from .shapes import SUMMARY, SUMMARY_DEMANDS


def validate(path: Path) -> Iterator[Violation]:
    """Every violation of a log, with member and path."""
    if is_archive(path):
        with zip_archive.reading(path) as archive:
            yield from _archive(archive)
        return
    raw = document(path)
    rows = raw.pop("samples", None) or []
    yield from check_header(raw, "")
    ids = _sample_ids(raw)
    for number, row in enumerate(rows):
        place = f"samples[{number}]"
        row = decode_row(row)
        yield from under(place, check(row), ".")
        if isinstance(row, dict) and ids is not None and not _is_in(row.get("id"), ids):
            yield error(f"{row.get('id')!r} is not in eval.dataset.sample_ids", f"{place}.id")


def _sample_ids(raw: dict[str, Any]) -> list[Any] | None:
    spec = raw.get("eval")
    dataset = spec.get("dataset") if isinstance(spec, dict) else None
    ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    return ids if isinstance(ids, list) else None


def _is_in(value: Any, ids: list[Any]) -> bool:
    # 1 and "1" are different ids to the viewer, and in Python True equals 1.
    return any(value == each and type(value) is type(each) for each in ids)


def _archive(archive: zip_archive.Archive) -> Iterator[Violation]:
    raw: dict[str, Any] = {}
    start = _read(archive, START) if START in archive else None
    if HEADER in archive:
        header = _read(archive, HEADER)
        if isinstance(header, Violation):
            yield header
        elif isinstance(header, dict):
            raw = header
            yield from check_header(raw, HEADER)
        else:
            yield error("must be an object", HEADER)
    elif START in archive:
        # header.json is written last.
        yield warning("missing: the run is still going on, or has crashed", HEADER)
    else:
        yield error("missing, and _journal/start.json too: nothing can read this log", HEADER)
    if isinstance(start, Violation):
        yield start
    elif start is None:
        yield warning("missing", START)
    else:
        for violation in under(START, violations(start, START_SHAPE), ", "):
            # No program reads the journal of a finished log.
            yield msgspec.structs.replace(violation, level="warning") if HEADER in archive else violation
        raw = raw or object_of(start)
    summaries = yield from _summaries(archive)
    yield from _samples(archive, raw, summaries)


Summaries = dict[tuple[Any, Any], dict[str, Any]]


def _summaries(archive: zip_archive.Archive) -> Generator[Violation, None, Summaries]:
    """Violations of the summaries; returns them by id and epoch."""
    found: Summaries = {}
    journal = sorted_journal(archive, JOURNAL)
    if not journal and sample_names(archive):
        yield warning("missing", f"{JOURNAL}1.json")
    if HEADER in archive and SUMMARIES not in archive:
        yield error("missing: viewer and dataframes show no samples", SUMMARIES)
    for name in [SUMMARIES] if SUMMARIES in archive else journal:
        value = _read(archive, name)
        if isinstance(value, Violation):
            yield value
            continue
        if not isinstance(value, list):
            yield error("must be an array", name)
            continue
        for number, each in enumerate(value):
            yield from under(name, violations(each, SUMMARY, f"[{number}]"), ", ")
            if isinstance(each, dict):
                yield from under(name, violations(each, SUMMARY_DEMANDS, f"[{number}]"), ", ")
                yield from under(name, check_usage(each.get("model_usage"), f"[{number}].model_usage"), ", ")
                # A sample that ran again has two entries; the last one counts, as in Inspect.
                found[_key(each)] = each
    return found


def _key(row: dict[str, Any]) -> tuple[Any, Any]:
    """Id and epoch; a list or object in their place as text."""
    identity, epoch = (
        str(each) if isinstance(each, (dict, list)) else each for each in (row.get("id"), row.get("epoch"))
    )
    return identity, epoch


def _samples(archive: zip_archive.Archive, raw: dict[str, Any], summaries: Summaries) -> Iterator[Violation]:
    ids = _sample_ids(raw)
    seen: set[tuple[Any, Any]] = set()
    for name in sample_names(archive):
        row = _read(archive, name)
        if isinstance(row, Violation):
            yield row
            continue
        yield from under(name, check(row), ", ")
        if not isinstance(row, dict):
            continue
        identity, epoch = row.get("id"), row.get("epoch")
        seen.add(_key(row))
        # The viewer makes the member's name from the id.
        if name != f"samples/{identity}_epoch_{epoch}.json":
            yield error(f"{identity!r} and epoch {epoch!r} do not match the member's name", f"{name}, id")
        if ids is not None and not _is_in(identity, ids):
            yield error(f"{identity!r} is not in eval.dataset.sample_ids: the streaming reader fails", f"{name}, id")
        # The keys may be equal although the types differ: in Python, 1 equals 1.0 and True.
        summary = summaries.get(_key(row))
        if summary is None or type(summary.get("id")) is not type(identity):
            yield error(f"no summary has the id {identity!r}: the sample's page stays blank", f"{name}, id")
        elif _values(row.get("scores")) != _values(summary.get("scores")):
            yield warning("differ from the summary", f"{name}, scores")
    for identity, epoch in summaries.keys() - seen:
        place = SUMMARIES if SUMMARIES in archive else JOURNAL
        yield error(f"the sample with id {identity!r} and epoch {epoch!r} is not in the log", place)


def _values(scores: Any) -> bytes:
    found = scores.items() if isinstance(scores, dict) else ()
    return encode({name: score.get("value") if isinstance(score, dict) else score for name, score in found})


def _read(archive: zip_archive.Archive, name: str) -> Any:
    """The content of a member, or the violation that it cannot be read."""
    try:
        return member(archive, name)
    except ReadError as broken:
        return error(broken.message, broken.place or name)
