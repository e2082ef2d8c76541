"""Validation: every place where a log is not as Inspect or the Inspect log guide wants it, above all the id rule.

A sample shows only if its id is the same, type included, in the sample, in its member's name, in its summary and in
`dataset.sample_ids`; otherwise the viewer stays blank without a word.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from pantrace.errors import ReadError
from pantrace.model import Violation
from pantrace.wire import ziplog
from pantrace.wire.json import encode
from pantrace.wire.shape import violations

from .migration import header_today, sample_today
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
from .shapes import (
    EVENT,
    EVENTS,
    HEADER_DEMANDS,
    SAMPLE,
    SAMPLE_DEMANDS,
    SCORE,
    SUMMARY,
    SUMMARY_DEMANDS,
    USAGE,
)
from .shapes import HEADER as HEADER_SHAPE
from .shapes import START as START_SHAPE


def validate(path: Path) -> Iterator[Violation]:
    """Every violation of a log, with member and path."""
    if is_archive(path):
        with ziplog.reading(path) as archive:
            yield from _archive(archive)
        return
    raw = document(path)
    rows = raw.pop("samples", None) or []
    yield from _header(raw, "")
    ids = _sample_ids(raw)
    for number, row in enumerate(rows):
        place = f"samples[{number}]"
        row = decode_row(row)
        yield from _placed(check(row), place, ".")
        if isinstance(row, dict) and ids is not None and not _is_in(row.get("id"), ids):
            yield _wrong(f"{place}.id", f"{row.get('id')!r} is not in eval.dataset.sample_ids")


def check(row: Any) -> Iterator[Violation]:
    """Every violation of one sample."""
    if not isinstance(row, dict):
        yield Violation(level="error", message="must be an object")
        return
    row = sample_today(row)
    yield from violations(row, SAMPLE)
    yield from violations(row, SAMPLE_DEMANDS)
    scores = row.get("scores")
    for name, score in scores.items() if isinstance(scores, dict) else ():
        yield from violations(score, SCORE, f"scores.{name}")
    yield from _usage(row.get("model_usage"), "model_usage")
    for key in ("started_at", "completed_at"):
        yield from _time(row.get(key), key)
    events = row.get("events")
    for number, event in enumerate(events if isinstance(events, list) else ()):
        yield from _event(event, f"events[{number}]")


def _event(event: Any, place: str) -> Iterator[Violation]:
    yield from violations(event, EVENT, place)
    if not isinstance(event, dict):
        return
    kind = event.get("event")
    if not isinstance(kind, str) or kind not in EVENTS:
        yield _wrong(f"{place}.event", f"{kind!r} is none of the 25 event types; inspect_ai refuses the whole sample")
        return
    yield from violations(event, EVENTS[kind], place)
    yield from _time(event.get("timestamp"), f"{place}.timestamp")


def _time(value: Any, place: str) -> Iterator[Violation]:
    if not isinstance(value, str) or not value:
        return
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        yield _wrong(place, f"{value!r} is not an ISO 8601 time")
        return
    if moment.tzinfo is None:
        yield Violation(level="warning", message="has no time zone", place=place)


def _usage(usage: Any, place: str) -> Iterator[Violation]:
    """Usage is keyed by model name: flat counts break readers, an empty object leaves the Models tab empty."""
    if usage is None:
        return
    if not isinstance(usage, dict):
        yield _wrong(place, "must be an object keyed by model name")
    elif not usage:
        yield Violation(level="warning", message="is empty: the Models tab shows nothing", place=place)
    elif any(not isinstance(value, dict) for value in usage.values()):
        yield _wrong(place, "must be keyed by model name, holds the counts themselves")
    else:
        for model, counts in usage.items():
            yield from violations(counts, USAGE, f"{place}.{model}")


def _header(raw: dict[str, Any], name: str) -> Iterator[Violation]:
    raw = header_today(raw)
    yield from _placed(violations(raw, HEADER_SHAPE), name, ", ")
    if isinstance(raw.get("eval"), dict):
        yield from _placed(violations(raw, HEADER_DEMANDS), name, ", ")
    stats = raw.get("stats")
    if isinstance(stats, dict):
        yield from _placed(_usage(stats.get("model_usage", {}), "stats.model_usage"), name, ", ")
        for key in ("started_at", "completed_at"):
            yield from _placed(_time(stats.get(key), f"stats.{key}"), name, ", ")
    spec = raw.get("eval")
    if isinstance(spec, dict):
        yield from _placed(_time(spec.get("created"), "eval.created"), name, ", ")


def _sample_ids(raw: dict[str, Any]) -> list[Any] | None:
    spec = raw.get("eval")
    dataset = spec.get("dataset") if isinstance(spec, dict) else None
    ids = dataset.get("sample_ids") if isinstance(dataset, dict) else None
    return ids if isinstance(ids, list) else None


def _is_in(value: Any, ids: list[Any]) -> bool:
    return any(value == each and type(value) is type(each) for each in ids)


def _archive(archive: ziplog.Archive) -> Iterator[Violation]:
    raw: dict[str, Any] = {}
    start = _read(archive, START) if START in archive else None
    if HEADER in archive:
        header = _read(archive, HEADER)
        if isinstance(header, Violation):
            yield header
        elif isinstance(header, dict):
            raw = header
            yield from _header(raw, HEADER)
        else:
            yield _wrong(HEADER, "must be an object")
    elif START in archive:
        yield Violation(level="warning", message="missing: the run goes on or has crashed", place=HEADER)
    else:
        yield _wrong(HEADER, "missing, and _journal/start.json too: nothing can read this log")
    if isinstance(start, Violation):
        yield start
    elif start is None:
        yield Violation(level="warning", message="missing", place=START)
    else:
        for violation in _placed(violations(start, START_SHAPE), START, ", "):
            # Nobody reads the journal of a finished log.
            yield msgspec.structs.replace(violation, level="warning") if HEADER in archive else violation
        raw = raw or (start if isinstance(start, dict) else {})
    summaries = yield from _summaries(archive)
    yield from _samples(archive, raw, summaries)


Summaries = dict[tuple[Any, Any], dict[str, Any]]


def _summaries(archive: ziplog.Archive) -> Generator[Violation, None, Summaries]:
    """Violations of the summaries; gives the summaries by id and epoch."""
    found: Summaries = {}
    journal = sorted_journal(archive, JOURNAL)
    if not journal and sample_names(archive):
        yield Violation(level="warning", message="missing", place=f"{JOURNAL}1.json")
    if HEADER in archive and SUMMARIES not in archive:
        yield _wrong(SUMMARIES, "missing: viewer and dataframes show no samples")
    for name in [SUMMARIES] if SUMMARIES in archive else journal:
        value = _read(archive, name)
        if isinstance(value, Violation):
            yield value
            continue
        if not isinstance(value, list):
            yield _wrong(name, "must be an array")
            continue
        for number, each in enumerate(value):
            yield from _placed(violations(each, SUMMARY, f"[{number}]"), name, ", ")
            if isinstance(each, dict):
                yield from _placed(violations(each, SUMMARY_DEMANDS, f"[{number}]"), name, ", ")
                yield from _placed(_usage(each.get("model_usage"), f"[{number}].model_usage"), name, ", ")
                found[(each.get("id"), each.get("epoch"))] = each
    return found


def _samples(archive: ziplog.Archive, raw: dict[str, Any], summaries: Summaries) -> Iterator[Violation]:
    ids = _sample_ids(raw)
    seen: set[tuple[Any, Any]] = set()
    for name in sample_names(archive):
        row = _read(archive, name)
        if isinstance(row, Violation):
            yield row
            continue
        yield from _placed(check(row), name, ", ")
        if not isinstance(row, dict):
            continue
        identity, epoch = row.get("id"), row.get("epoch")
        seen.add((identity, epoch))
        if name != f"samples/{identity}_epoch_{epoch}.json":
            yield _wrong(f"{name}, id", f"{identity!r} and epoch {epoch!r} are not those of the member's name")
        if ids is not None and not _is_in(identity, ids):
            yield _wrong(f"{name}, id", f"{identity!r} is not in eval.dataset.sample_ids: the streaming reader fails")
        summary = summaries.get((identity, epoch))
        if summary is None or type(summary.get("id")) is not type(identity):
            yield _wrong(f"{name}, id", f"no summary has the id {identity!r}: the sample's page stays blank")
        elif _values(row.get("scores")) != _values(summary.get("scores")):
            yield Violation(level="warning", message="differ from those of the summary", place=f"{name}, scores")
    for identity, epoch in summaries.keys() - seen:
        place = SUMMARIES if SUMMARIES in archive else JOURNAL
        yield _wrong(place, f"the sample with id {identity!r} and epoch {epoch!r} is not in the log")


def _values(scores: Any) -> bytes:
    found = scores.items() if isinstance(scores, dict) else ()
    return encode({name: score.get("value") if isinstance(score, dict) else score for name, score in found})


def _read(archive: ziplog.Archive, name: str) -> Any:
    """The content of a member, or the violation that it cannot be read."""
    try:
        return member(archive, name)
    except ReadError as error:
        return Violation(level="error", message=error.message, place=error.place or name)


def _placed(found: Iterator[Violation], name: str, joint: str) -> Iterator[Violation]:
    for violation in found:
        place = joint.join(part for part in (name, violation.place) if part)
        yield msgspec.structs.replace(violation, place=place or None)


def _wrong(place: str, message: str) -> Violation:
    return Violation(level="error", message=message, place=place)
