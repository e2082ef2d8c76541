"""The key `pantrace`: where data that a format has no place for is kept, in corners that the format's own tools ignore.

A format names these corners as paths: "pantrace", "metadata.pantrace", "steps[].observation.pantrace"; "[]" stands for
records of our own in a log. A key of the same name anywhere else (in a tool's arguments, say) is somebody's data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import msgspec

from pantrace.model import Sample

CARRIER = "pantrace"
"""The key."""

_may_carry: ContextVar[bool] = ContextVar("may_carry", default=True)

may_carry = _may_carry.get
"""Whether a writer may keep data for pantrace. Rows are stripped later anyway; code that writes a header must ask."""


@contextmanager
def carrying_allowed(allowed: bool) -> Iterator[None]:
    """Allow or forbid, for what is written inside, to keep data for pantrace."""
    token = _may_carry.set(allowed)
    try:
        yield
    finally:
        _may_carry.reset(token)


_reads_carried: ContextVar[bool] = ContextVar("reads_carried", default=True)

reads_carried = _reads_carried.get
"""Whether a reader of a header takes what is kept there for pantrace. Rows need not ask: their corners are taken away
before they are read."""


@contextmanager
def carried_ignored() -> Iterator[None]:
    """Read headers inside as the format's own tools do."""
    token = _reads_carried.set(False)
    try:
        yield
    finally:
        _reads_carried.reset(token)


def is_ours(record: Any) -> bool:
    """Whether a record of a log is one that only pantrace reads."""
    return isinstance(record, dict) and record.get("type") == CARRIER and CARRIER in record


def without_carried(value: Any, corners: Iterable[str]) -> Any:
    """A record as its own tools see it; parts without a corner are not copied."""
    for corner in corners:
        value = _without(value, _steps(corner))
    return value


@lru_cache
def _steps(corner: str) -> tuple[str, ...]:
    return tuple(corner.replace("[]", ".[]").removeprefix(".").split("."))


def _without(value: Any, steps: tuple[str, ...]) -> Any:
    first, *rest = steps
    if first == "[]":
        if not isinstance(value, list):
            return value
        items = (
            [_without(item, tuple(rest)) for item in value] if rest else [each for each in value if not is_ours(each)]
        )
        # Without a copy where nothing was removed: rows may be large.
        same = len(items) == len(value) and all(one is two for one, two in zip(value, items, strict=True))
        return value if same else items
    if not isinstance(value, dict) or first not in value:
        return value
    if not rest:
        return {key: item for key, item in value.items() if key != first}
    inner = _without(value[first], tuple(rest))
    if inner is value[first]:
        return value
    # An object that held nothing else was made for it.
    return {key: inner if key == first else item for key, item in value.items() if key != first or inner}


def without_notes(sample: Sample) -> Sample:
    """A sample without pantrace's own notes from reading, which its recording does not contain."""
    if CARRIER not in sample.extra:
        return sample
    return msgspec.structs.replace(sample, extra={key: value for key, value in sample.extra.items() if key != CARRIER})
