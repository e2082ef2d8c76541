"""Validation of single records of a log (a sample, a header); what inspect_ai refuses is an error."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pantrace.model import Violation
from pantrace.wire.shape import violations
from pantrace.wire.violation import error, under, warning

from .migration import header_today, sample_today
from .shapes import EVENT, EVENTS, HEADER, HEADER_DEMANDS, SAMPLE, SAMPLE_DEMANDS, USAGE


def check(row: Any) -> Iterator[Violation]:
    """Every violation of one sample."""
    if not isinstance(row, dict):
        yield error("must be an object")
        return
    row = sample_today(row)
    yield from violations(row, SAMPLE)
    # Separate from the shape: only the guide requires these, so they are warnings.
    yield from violations(row, SAMPLE_DEMANDS)
    yield from check_usage(row.get("model_usage"), "model_usage")
    for key in ("started_at", "completed_at"):
        yield from _time(row.get(key), key, empty=False)
    events = row.get("events")
    for number, event in enumerate(events if isinstance(events, list) else ()):
        yield from _event(event, f"events[{number}]")


def _event(event: Any, place: str) -> Iterator[Violation]:
    yield from violations(event, EVENT, place)
    if not isinstance(event, dict):
        return
    kind = event.get("event")
    if not isinstance(kind, str) or kind not in EVENTS:
        yield error(f"{kind!r} is not one of the 25 event types; inspect_ai refuses the whole sample", f"{place}.event")
        return
    yield from violations(event, EVENTS[kind], place)
    if kind == "score":
        yield from check_usage(event.get("model_usage"), f"{place}.model_usage")
    for key in ("timestamp", "completed"):
        yield from _time(event.get(key), f"{place}.{key}", empty=False)
    if event.get("timestamp", "") is None:
        yield error("must be a time, is null", f"{place}.timestamp")


def _time(value: Any, place: str, *, empty: bool = True) -> Iterator[Violation]:
    """What is wrong with a time; `empty` text is allowed where Inspect itself writes it."""
    if value is None or (value == "" and empty):
        return
    if not isinstance(value, str):
        yield error("is not an ISO 8601 time", place)
        return
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        yield error(f"{value!r} is not an ISO 8601 time", place)
        return
    if moment.tzinfo is None:
        yield warning("has no time zone", place)


def check_usage(usage: Any, place: str) -> Iterator[Violation]:
    """Check usage, which is keyed by model name: flat counts break readers, an empty object leaves the Models tab
    empty."""
    if usage is None:
        return
    if not isinstance(usage, dict):
        yield error("must be an object keyed by model name", place)
    elif not usage:
        yield warning("is empty: the Models tab shows nothing", place)
    elif any(not isinstance(value, dict) for value in usage.values()):
        yield error("must be keyed by model name, but has the counts themselves", place)
    else:
        for model, counts in usage.items():
            yield from violations(counts, USAGE, f"{place}.{model}")


def check_header(as_read: dict[str, Any], name: str) -> Iterator[Violation]:
    """Every violation of a header."""
    raw = header_today(as_read)
    yield from under(name, violations(raw, HEADER), ", ")
    if isinstance(as_read.get("eval"), dict):
        # As it was read: the migration fills in keys that the guide requires.
        yield from under(name, violations(as_read, HEADER_DEMANDS), ", ")
    stats = raw.get("stats")
    if isinstance(stats, dict):
        yield from under(name, check_usage(stats.get("model_usage", {}), "stats.model_usage"), ", ")
        for key in ("started_at", "completed_at"):
            yield from under(name, _time(stats.get(key), f"stats.{key}"), ", ")
    spec = raw.get("eval")
    if isinstance(spec, dict):
        yield from under(name, _time(spec.get("created"), "eval.created"), ", ")
