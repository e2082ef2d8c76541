"""Patches: what a record says beyond what a foreign shape could say of it, as a list of places and values.

A writer that has a free corner in its format (ADK's `custom_metadata`) puts the patch there; its reader applies it.
What the foreign shape adds is not undone: a patch only brings back what would be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pantrace.errors import ReadError

Entry = list[Any]
"""[path, value]; a path is a list of keys and indices."""

_EXACT = {"arguments", "output", "state", "state_delta", "raw", "parameters", "config", "dataset", "labels"}
"""Fields that hold data: a value that differs at all is brought back whole."""


def difference(before: Any, after: Any) -> list[Entry]:
    """What must be set in `after` so that it says all that `before` says; both plain values without `source`."""
    return [[list(path), value] for path, value in _differences((), before, after)]


def _differences(path: tuple[Any, ...], before: Any, after: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if type(before) is type(after) and before == after:
        return
    exact = bool(path) and (path[-1] in _EXACT or path[-2:-1] == ("extra",))
    if not exact and isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key == "source":
                continue
            if key in after:
                yield from _differences((*path, key), value, after[key])
            else:
                yield (*path, key), value
    elif not exact and isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (item, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences((*path, index), item, other)
    else:
        yield path, before


def applied(value: Any, patch: Any) -> Any:
    """The value with a patch applied; changes the plain value it is given. ReadError when the patch does not fit."""
    try:
        for path, new in patch:
            if not path:
                value = new
                continue
            place = value
            for key in path[:-1]:
                place = place.setdefault(key, {}) if isinstance(place, dict) else place[key]
            place[path[-1]] = new
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        raise ReadError("the pantrace notes in it do not fit the record", remedy="was it edited by hand?") from None
    return value
