"""What a format has no place for is kept under the key `pantrace`, in corners of a record that its own tools ignore.

A format names these corners as paths: "pantrace", "metadata.pantrace", "steps[].observation.pantrace". A key of the
same name anywhere else (in a tool's arguments, say) is somebody's data.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from pantrace.model import Sample

CARRIER = "pantrace"
"""The key."""


def without_carried(value: Any, corners: Iterable[str]) -> Any:
    """A record as its own tools see it; parts without a corner are the same objects as before."""
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
        items = [_without(item, tuple(rest)) for item in value]
        return value if all(one is two for one, two in zip(value, items, strict=True)) else items
    if not isinstance(value, dict) or first not in value:
        return value
    if not rest:
        return {key: item for key, item in value.items() if key != first}
    inner = _without(value[first], tuple(rest))
    return value if inner is value[first] else {**value, first: inner}


def without_notes(sample: Sample) -> Sample:
    """A sample without what pantrace noted about it while reading: nothing that its recording says."""
    if CARRIER not in sample.extra:
        return sample
    return msgspec.structs.replace(sample, extra={key: value for key, value in sample.extra.items() if key != CARRIER})
